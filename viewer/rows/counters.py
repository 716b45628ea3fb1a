"""The counter rows of GPUs and processes: one for each kind of row that draws a table of (time, value)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from viewer.analysis.study import Study
from viewer.rows.counter import Samples, ValueScale
from viewer.rows.kinds import RowKind
from viewer.rows.row import Row


class CounterTable:
    """One kind of counter over all that have it; samples are made when first asked for.

    Attributes
    ----------
    owners : tuple of int
        The GPUs or processes that have such a row.
    """

    def __init__(self, study: Study, kind: RowKind) -> None:
        counter = kind.traits.counter
        if counter is None:
            raise ValueError(f"{kind} is no counter")
        self.kind, self.counter, self._study = kind, counter, study
        count = len(study.trace.gpus if counter.owner == "gpu" else study.trace.processes)
        # Asked for all owners now, since the tree of rows is built before any sample is loaded.
        self.owners = tuple(index for index in range(count) if counter.has_row(study, index))
        self._samples: dict[int, Samples] = {}
        self._scale = counter.scale

    def samples(self, owner: int) -> Samples:
        """Return the table of (time, value) of one owner."""
        if owner not in self._samples:
            self._samples[owner] = self.counter.load(self._study, owner)
        return self._samples[owner]

    def scale(self) -> ValueScale:
        """Return the one scale of all rows of the kind: they stand one under another to be compared."""
        if self._scale is None:
            # All owners are loaded for the first row that is drawn: a scale that grew later would move its
            # neighbours.
            values = [self.samples(owner).values for owner in self.owners]
            self._scale = ValueScale.around(np.concatenate([np.empty(0), *values]), self.counter.unit)
        return self._scale


def counter_tables(study: Study) -> tuple[CounterTable, ...]:
    """Return the table of every kind of counter, in the order of the kinds."""
    return tuple(CounterTable(study, kind) for kind in RowKind if kind.traits.counter is not None)


def counter_rows(tables: Iterable[CounterTable], parent: Row) -> list[Row]:
    """Return the counter rows that stand under the row of a GPU or a process."""
    owner, index = ("gpu", parent.gpu) if parent.kind is RowKind.GPU else ("process", parent.process)
    return [
        Row(
            f"{parent.key}/{table.kind.traits.name}",
            table.kind,
            table.counter.label,
            table.counter.detail,
            parent,
            parent.gpu if owner == "gpu" else None,
            parent.process,
            load_samples=partial(table.samples, index),
            load_scale=table.scale,
        )
        for table in tables
        if table.counter.owner == owner and index in table.owners and index is not None
    ]
