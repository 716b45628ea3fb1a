"""NVTX ranges projected onto the GPU, by own thread and by all threads (docs/definitions.md, section 5)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.arrays import narrowed
from viewer.analysis.core.parallel import each
from viewer.analysis.launches.attribution import Cover, ranges_of
from viewer.analysis.launches.launches import Launches
from viewer.trace import Trace
from viewer.trace.events import Int64

Projection = Literal["thread", "process"]
# Of one track: its index, and of each range its index, first start, last end, depth, count and busy time.
_Piece = tuple[int, Int64, Int64, Int64, npt.NDArray[np.uint8], Int64, Int64]
_LATEST, _EARLIEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def project(launches: Launches, mode: Projection) -> pd.DataFrame:
    """Return where the NVTX ranges lie on the GPU: one row for each range that covers an operation.

    Parameters
    ----------
    launches : Launches
    mode : {"thread", "process"}
        "thread": operations launched by the range's own thread, equal to ``nvtx_gpu_proj_trace``.
        "process": these, and the operations of other threads of the process that the range adopts.

    Returns
    -------
    DataFrame
        By (process, start_ns): `process`, `track` (indices into the trace, int32), `range` (index into
        ``trace.nvtx``, int32), `name_id`, `start_ns`, `end_ns` (first start to last end of its operations),
        `depth` (of the range among those of its track, uint8), `ops` (number of operations covered),
        `busy_ns` (sum of their durations).
    """
    launches.prepare()
    working = sorted({gpu.process for gpu in launches.trace.gpus})
    tables = each(lambda process: _of_process(launches, process, mode), working)
    filled = [table for table in tables if len(table)]
    table = pd.concat(filled, ignore_index=True) if filled else _table(launches.trace, 0, [])
    return table.sort_values(["process", "start_ns", "end_ns"], kind="stable", ignore_index=True)


def _of_process(launches: Launches, process: int, mode: Projection) -> pd.DataFrame:
    trace, nvtx = launches.trace, launches.trace.nvtx
    cover = Cover(launches, process)
    pieces: list[_Piece] = []
    tracks = [track for thread in trace.threads_of(process) for track in trace.tracks_of(thread.index)]
    for track in sorted(tracks, key=lambda track: track.index) if len(cover.launched) else ():
        ranges = ranges_of(trace, track.index)
        if not len(ranges):
            continue
        start, end = nvtx.start_ns[ranges], nvtx.end_ns[ranges]
        first, last, count, busy = _spans(cover, track.thread, track.domain, mode, start, end)
        # The depth is that among all ranges of the track, also those that cover nothing.
        depth = nesting_depth(start, end)
        covers = np.flatnonzero(count)
        times = first[covers], last[covers]
        pieces.append((track.index, ranges[covers], *times, depth[covers], count[covers], busy[covers]))
    return _table(trace, process, pieces)


def _spans(
    cover: Cover, thread: int, domain: str, mode: Projection, start: Int64, end: Int64
) -> tuple[Int64, Int64, Int64, Int64]:
    """Return (first start, last end, number, sum of durations) of the operations that each range covers."""
    first = np.full(len(start), _LATEST, np.int64)
    last = np.full(len(start), _EARLIEST, np.int64)
    count, busy = np.zeros(len(start), np.int64), np.zeros(len(start), np.int64)
    launched = cover.launched
    for positions in cover.callers(thread, domain, mode, int(start[0]), int(end.max())):
        for layer in _layers(launched.call_end_ns[positions]):
            calls = positions[layer]
            # Starts and ends of the calls of a layer are both sorted: a range covers a run of them, from the
            # first that begins inside it to the last that ends inside it.
            low = np.searchsorted(launched.call_start_ns[calls], start, side="left")
            high = np.searchsorted(launched.call_end_ns[calls], end, side="right")
            filled = np.flatnonzero(high > low)
            if not len(filled):
                continue
            # `reduceat` over (low, high) pairs: every second result is that of a range, those between are
            # dropped. One more element, which changes no extreme, lets `high` point behind the last call.
            edges = np.stack((low[filled], high[filled]), axis=1).ravel()
            earliest = np.minimum.reduceat(np.append(launched.start_ns[calls], _LATEST), edges)[::2]
            latest = np.maximum.reduceat(np.append(launched.end_ns[calls], _EARLIEST), edges)[::2]
            first[filled] = np.minimum(first[filled], earliest)
            last[filled] = np.maximum(last[filled], latest)
            count[filled] += high[filled] - low[filled]
            busy_before = np.append(0, np.cumsum(launched.end_ns[calls] - launched.start_ns[calls]))
            busy[filled] += busy_before[high[filled]] - busy_before[low[filled]]
    return first, last, count, busy


def _layers(ends: Int64) -> list[npt.NDArray[np.int64]]:
    """Split calls that are sorted by start into layers in which the ends are sorted too.

    The calls of a thread are disjoint, so that there is one layer, except where a call makes another one and
    both launch.
    """
    layers, left = [], np.arange(len(ends))
    while len(left):
        # A call that ends before an earlier one lies inside that one and goes to a deeper layer.
        is_outer = ends[left] >= np.maximum.accumulate(ends[left])
        layers.append(left[is_outer])
        left = left[~is_outer]
    return layers


def nesting_depth(start: Int64, end: Int64) -> npt.NDArray[np.uint8]:
    """Return how many ranges lie around each, shape (n,); they are sorted by (start, -end) and nest.

    A range of length zero counts as 1 ns long, else it would not lie inside one that ends where it is.
    """
    # Around a range lie those that began before it in the order, less those that are over by its start.
    ends = np.sort(np.maximum(end, start + 1))
    depth = np.arange(len(start)) - np.searchsorted(ends, start, side="right")
    return np.asarray(np.clip(depth, 0, 255), np.uint8)


def _table(trace: Trace, process: int, pieces: list[_Piece]) -> pd.DataFrame:
    none = np.empty(0, np.int64)
    pieces = pieces or [(0, none, none, none, np.empty(0, np.uint8), none, none)]
    tracks = [np.full(len(piece[1]), piece[0], np.int32) for piece in pieces]
    ranges, first, last, depth, count, busy = (
        np.concatenate([piece[column] for piece in pieces]) for column in range(1, 7)
    )
    return pd.DataFrame(
        {
            "process": np.full(len(ranges), process, np.int32),
            "track": np.concatenate(tracks),
            "range": ranges.astype(np.int32),
            "name_id": trace.nvtx.name_id[ranges],
            "start_ns": first,
            "end_ns": last,
            "depth": depth.astype(np.uint8),
            "ops": narrowed(count),
            "busy_ns": busy,
        }
    )
