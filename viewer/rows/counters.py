"""The counter rows of a GPU or a process: one for each kind of row that draws a table of (time, value)."""

from __future__ import annotations

from functools import partial
from typing import Literal

from viewer.analysis.study import Study
from viewer.rows.kinds import RowKind
from viewer.rows.row import Row


def counter_rows(study: Study, parent: Row, owner: Literal["gpu", "process"], index: int) -> list[Row]:
    """Return the counter rows of an owner, in the order of the kinds; no samples are made yet.

    Parameters
    ----------
    parent : Row
        The row that they stand under.
    owner, index
        What has them, and its index into the trace.
    """
    rows = []
    for kind in RowKind:
        counter = kind.traits.counter
        if counter is None or counter.owner != owner or not counter.has_row(study, index):
            continue
        rows.append(
            Row(
                f"{parent.key}/{kind.traits.name}",
                kind,
                counter.label,
                counter.detail,
                parent,
                index if owner == "gpu" else None,
                parent.process,
                load_samples=partial(counter.load, study, index),
            )
        )
    return rows
