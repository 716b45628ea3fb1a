"""Metrics of copies and of synchronising calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from viewer.analysis.core.location import Location
from viewer.analysis.kernels.sync_time import ALL_CALLS
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, sum_of
from viewer.analysis.summary.sections import COPIES, SYNCHRONISATION


def _not_hidden(inputs: MetricInputs) -> Iterator[Result]:
    gpus = len(inputs.study.trace.gpus)
    for kind, rows in inputs.copies.groupby("kind", sort=False):
        size, time, count = int(rows["bytes"].sum()), int(rows["sum_ns"].sum()), int(rows["count"].sum())
        hidden, streams = int(rows["hidden_ns"].sum()), ", ".join(sorted(set(rows["streams"])))
        queued = int(rows["on_compute_stream"].sum())
        result = sum_of(_per_gpu(rows, "copy_only_ns", gpus), _locations(rows, gpus))
        yield replace(
            result,
            suffix=f"_{str(kind).lower().replace(' ', '_')}",
            title=f"{kind}: not hidden",
            definition=f"{_NOT_HIDDEN} {count:,} copies, {size / 1e9:,.3f} GB at "
            f"{size / max(time, 1):,.2f} GB/s (bytes over duration, 10⁹); on streams {streams}; {queued:,} "
            "of them on a stream that also computes, where a copy queues with the kernels and cannot hide; "
            f"{hidden / 1e6:,.3f} ms beside a kernel.",
        )


def _in_calls(column: str, inputs: MetricInputs) -> Result:
    gpus = len(inputs.study.trace.gpus)
    rows = inputs.syncs[inputs.syncs["call"] == ALL_CALLS]
    return sum_of(_per_gpu(rows, column, gpus), _locations(rows, gpus), inputs.scope.total_ns)


def _per_gpu(rows: pd.DataFrame, column: str, gpus: int) -> list[int]:
    """Return a column of a table with at most one row a GPU, 0 where a GPU has none."""
    # GPUs that copied nothing have no row in the table, and a zero here.
    values = np.zeros(gpus, np.int64)
    values[rows["gpu"].to_numpy(np.int64)] = rows[column]
    return [int(value) for value in values]


def _locations(rows: pd.DataFrame, gpus: int) -> tuple[Location | None, ...]:
    """Return the locations that a table names, one a GPU."""
    locations: list[Location | None] = [None] * gpus
    for row in rows.to_dict("records"):
        locations[row["gpu"]] = Location(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))
    return tuple(locations)


_NOT_HIDDEN = "Copies or sets of this kind while no kernel runs."

METRICS = (
    Metric("copy", COPIES, "not hidden", "ns", _NOT_HIDDEN, _not_hidden),
    Metric(
        "sync_time",
        SYNCHRONISATION,
        "CPU in synchronising calls",
        "ns",
        "Time with a thread of the process in a synchronising call; one that copies pageable memory waits, "
        "too. By itself it is no stall: the GPU may well be working.",
        partial(_in_calls, "union_ns"),
    ),
    Metric(
        "sync_idle",
        SYNCHRONISATION,
        "of that the GPU is idle",
        "ns",
        "The intersection of synchronising calls with the idle time of the GPU: this is what counts.",
        partial(_in_calls, "idle_ns"),
    ),
)
