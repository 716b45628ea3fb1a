"""NVTX ranges projected on the GPU: by the same thread, and by the whole process.

See docs/definitions.md, section 5.
"""

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
_Piece = tuple[int, Int64, Int64, Int64, npt.NDArray[np.uint8], Int64, Int64]
_LATEST, _EARLIEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def project(launches: Launches, mode: Projection) -> pd.DataFrame:
    """Return every NVTX range that covers an operation, where it lies on the GPU.

    Parameters
    ----------
    launches : Launches
    mode : {"thread", "process"}
        "thread": operations launched by the range's own thread, equal to ``nvtx_gpu_proj_trace``.
        "process": these, and those of other threads of the process that the range adopts.

    Returns
    -------
    DataFrame
        One row a range, by (process, start_ns): `process`, `track` (indices into the trace), `range` (index
        into ``trace.nvtx``), `name_id`, `start_ns`, `end_ns` (first start to last end of its operations),
        `depth` (of the range among those of its track), `ops` (operations covered), `busy_ns` (sum of
        their durations).
    """
    launches.prepare()
    working = sorted({gpu.process for gpu in launches.trace.gpus})
    tables = each(lambda process: _of_process(launches, process, mode), working)
    held = [table for table in tables if len(table)]
    table = pd.concat(held, ignore_index=True) if held else _table(launches.trace, 0, [])
    return table.sort_values(["process", "start_ns", "end_ns"], kind="stable", ignore_index=True)


def _of_process(launches: Launches, process: int, mode: Projection) -> pd.DataFrame:
    trace, nvtx = launches.trace, launches.trace.nvtx
    cover = Cover(launches, process)
    pieces: list[_Piece] = []
    tracks = [t for thread in trace.threads_of(process) for t in trace.tracks_of(thread.index)]
    for track in sorted(tracks, key=lambda t: t.index) if len(cover.launched) else ():
        ranges = ranges_of(trace, track.index)
        if not len(ranges):
            continue
        start, end = nvtx.start_ns[ranges], nvtx.end_ns[ranges]
        first, last, count, busy = _spans(cover, track.thread, track.domain, mode, start, end)
        kept = np.flatnonzero(count)
        depth = nesting_depth(start, end)
        pieces.append(
            (track.index, ranges[kept], first[kept], last[kept], depth[kept], count[kept], busy[kept])
        )
    return _table(trace, process, pieces)


def _spans(
    cover: Cover, thread: int, domain: str, mode: Projection, start: Int64, end: Int64
) -> tuple[Int64, Int64, Int64, Int64]:
    """Return (first start, last end, number, sum of durations) of the operations that each range covers."""
    first = np.full(len(start), _LATEST, np.int64)
    last = np.full(len(start), _EARLIEST, np.int64)
    count, busy = np.zeros(len(start), np.int64), np.zeros(len(start), np.int64)
    ops = cover.launched
    for at in cover.callers(thread, domain, mode, int(start[0]), int(end.max())):
        for layer in _layers(ops.call_end_ns[at]):
            held = at[layer]
            low = np.searchsorted(ops.call_start_ns[held], start, side="left")
            high = np.searchsorted(ops.call_end_ns[held], end, side="right")
            full = np.flatnonzero(high > low)
            edges = np.stack((low[full], high[full]), axis=1).ravel()
            if not len(full):
                continue
            least = np.minimum.reduceat(np.append(ops.start_ns[held], _LATEST), edges)[::2]
            most = np.maximum.reduceat(np.append(ops.end_ns[held], _EARLIEST), edges)[::2]
            first[full] = np.minimum(first[full], least)
            last[full] = np.maximum(last[full], most)
            count[full] += high[full] - low[full]
            before = np.append(0, np.cumsum(ops.end_ns[held] - ops.start_ns[held]))
            busy[full] += before[high[full]] - before[low[full]]
    return first, last, count, busy


def _layers(ends: Int64) -> list[npt.NDArray[np.int64]]:
    """Split calls that are sorted by start into layers whose ends are sorted too.

    Calls of a thread are disjoint, so that there is one layer, except where an API calls another and both
    launch.
    """
    layers, left = [], np.arange(len(ends))
    while len(left):
        reach = np.maximum.accumulate(ends[left])
        outer = ends[left] >= reach
        layers.append(left[outer])
        left = left[~outer]
    return layers


def nesting_depth(start: Int64, end: Int64) -> npt.NDArray[np.uint8]:
    """Return how many ranges lie around each; they are sorted by (start, -end) and nest.

    One of length zero counts as 1 ns long, else it would not lie inside one that ends where it is.
    """
    ends = np.sort(np.maximum(end, start + 1))
    depth = np.arange(len(start)) - np.searchsorted(ends, start, side="right")
    return np.asarray(np.clip(depth, 0, 255), np.uint8)


def _table(trace: Trace, process: int, pieces: list[_Piece]) -> pd.DataFrame:
    none = np.empty(0, np.int64)
    pieces = pieces or [(0, none, none, none, np.empty(0, np.uint8), none, none)]
    tracks = [np.full(len(piece[1]), piece[0], np.int32) for piece in pieces]
    ranges, first, last, depth, count, busy = (np.concatenate([p[i] for p in pieces]) for i in range(1, 7))
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
