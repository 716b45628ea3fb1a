"""The innermost NVTX range around what was launched (docs/definitions.md, section 5)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.core.nvtx_texts import is_library_domain
from viewer.analysis.launches.attribution import Cover, ranges_of
from viewer.analysis.launches.projection import nesting_depth
from viewer.trace.events import Int64


def innermost_names(cover: Cover, process: int) -> Int64:
    """Return the text of the innermost range around each launched operation of a process, -1 for none.

    Ids into ``trace.names``, shape (len(cover.launched),). Ranges of libraries' domains are left out, since
    they say how a library works and not what the program does; all threads' ranges count, see `Cover`.
    """
    trace, nvtx = cover.trace, cover.trace.nvtx
    shortest = np.full(len(cover.launched), np.iinfo(np.int64).max)
    name = np.full(len(cover.launched), -1, np.int64)
    for thread in trace.threads_of(process):
        for track in trace.tracks_of(thread.index):
            ranges = ranges_of(trace, track.index)
            if not len(ranges) or is_library_domain(track.domain):
                continue
            for layer in _disjoint_layers(nvtx.start_ns[ranges], nvtx.end_ns[ranges]):
                start, end = nvtx.start_ns[ranges[layer]], nvtx.end_ns[ranges[layer]]
                for positions, around in cover.around(track.thread, track.domain, start, end, "process"):
                    # The shortest around a launch is the innermost, on whichever thread it lies.
                    length = np.where(around >= 0, (end - start)[around], np.iinfo(np.int64).max)
                    inner = (around >= 0) & (length < shortest[positions])
                    shortest[positions[inner]] = length[inner]
                    name[positions[inner]] = nvtx.name_id[ranges[layer]][around[inner]]
    return name


def _disjoint_layers(start: Int64, end: Int64) -> list[Int64]:
    """Return ranges, sorted by (start, -end), by nesting depth: those of a layer do not overlap."""
    depth = nesting_depth(start, end)
    return [np.flatnonzero(depth == d) for d in range(int(depth.max()) + 1)]
