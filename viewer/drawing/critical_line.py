"""The critical path as one line over the state lanes: stretches of time, each on the lane of one GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from viewer.analysis.replay.critical_path import CriticalPath
from viewer.analysis.study import Study
from viewer.drawing.scale import Scale
from viewer.trace.events import Int64

Int32 = npt.NDArray[np.int32]

FEWEST = 64
"""So many stretches are drawn as they are at every zoom."""
APART_PX = 16
"""Logical pixels: where the path changes its lane more often than this, it is drawn on the lane that it is on
most of the time there. Its steps would fill the picture, and hide what it leads through."""
_OUTSIDE = 16
_FEWER = 0.7


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of time on GPUs, in order and disjoint.

    Attributes
    ----------
    gpu : ndarray of int32, shape (n,)
    start_ns, end_ns : ndarray of int64, shape (n,)
    """

    gpu: Int32
    start_ns: Int64
    end_ns: Int64

    def __len__(self) -> int:
        return len(self.gpu)

    def joined(self) -> Stretches:
        """Return the same with neighbours on one GPU that touch as one, and without empty ones."""
        has_length = self.end_ns > self.start_ns
        gpu, start, end = self.gpu[has_length], self.start_ns[has_length], self.end_ns[has_length]
        if not len(gpu):
            return Stretches(gpu, start, end)
        begins = np.append(True, (gpu[1:] != gpu[:-1]) | (start[1:] != end[:-1]))
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(gpu)) - 1
        return Stretches(gpu[first], start[first], end[last])

    def coarse(self, bucket_ns: int) -> Stretches:
        """Return the same where stretches shorter than a bucket are drawn together with their neighbours.

        Those that begin in one bucket of absolute time become one, on the GPU that has most of their time:
        panning changes nothing.
        """
        start, end = self.start_ns, self.end_ns
        is_short = end - start < bucket_ns
        bucket = start // bucket_ns
        same = (
            (is_short[1:] & is_short[:-1]) & (bucket[1:] == bucket[:-1]) & (start[1:] == end[:-1])
        )  # fmt: skip
        first = np.flatnonzero(np.append(True, ~same))
        group = np.cumsum(np.append(True, ~same)) - 1
        gpus = int(self.gpu.max()) + 1
        # Float sums decide only which GPU is drawn.
        spent = np.bincount(group * gpus + self.gpu, end - start, len(first) * gpus).reshape(-1, gpus)
        last = np.append(first[1:], len(start)) - 1
        return Stretches(np.argmax(spent, 1).astype(np.int32), start[first], end[last]).joined()


@dataclass(frozen=True, eq=False)
class CriticalLine:
    """The critical paths of a trace, ready to be drawn at every zoom.

    Attributes
    ----------
    exact : Stretches
        As they are.
    levels : mapping of int to Stretches
        By k, what is drawn where `APART_PX` are 2^k ns; a k above all of them has the last, one below the
        exact stretches.
    """

    exact: Stretches
    levels: Mapping[int, Stretches] = field(default_factory=dict)
    _spent: dict[tuple[int, int, int], Int64] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, gpu: Int32, start_ns: Int64, end_ns: Int64) -> CriticalLine:
        """Return the line of pieces in order; slow for many, so call it off the main thread."""
        exact = Stretches(gpu, start_ns, end_ns).joined()
        levels: dict[int, Stretches] = {}
        drawn = exact
        if len(exact) > FEWEST:
            first = max(int(np.min(exact.end_ns - exact.start_ns)), 1).bit_length()
            for level in range(first, 63):
                # From the exact stretches each time: errors of the levels below would add up.
                coarse = exact.coarse(1 << level)
                # Where hardly anything is joined, what is drawn below serves here too.
                drawn = levels[level] = coarse if len(coarse) < _FEWER * len(drawn) else drawn
                if len(drawn) <= FEWEST:
                    break
        return cls(exact, levels)

    def at(self, ns_per_px: float) -> Stretches:
        """Return what is drawn where a logical pixel is so long."""
        if not self.levels:
            return self.exact
        level = max(int(APART_PX * ns_per_px), 1).bit_length()
        if level < min(self.levels):
            return self.exact
        return self.levels[min(level, max(self.levels))]

    def spent_ns(self, start_ns: int, end_ns: int, gpus: int) -> Int64:
        """Return how long the path is on each GPU within a range of time, int64, shape (gpus,)."""
        asked = start_ns, end_ns, gpus
        if asked not in self._spent:
            # The headers of all ranks ask for the same window one after another.
            self._spent.clear()
            self._spent[asked] = self._sum(*asked)
        return self._spent[asked]

    def _sum(self, start_ns: int, end_ns: int, gpus: int) -> Int64:
        low = int(np.searchsorted(self.exact.end_ns, start_ns, "right"))
        high = int(np.searchsorted(self.exact.start_ns, end_ns, "left"))
        part = slice(low, max(high, low))
        spent = np.zeros(gpus, np.int64)
        lengths = np.minimum(self.exact.end_ns[part], end_ns) - np.maximum(
            self.exact.start_ns[part], start_ns
        )
        np.add.at(spent, self.exact.gpu[part], lengths)
        return spent

    def changes(self, start_ns: int, end_ns: int) -> int:
        """Return how often the path goes to another GPU within a range of time."""
        low = int(np.searchsorted(self.exact.end_ns, start_ns, "right"))
        high = int(np.searchsorted(self.exact.start_ns, end_ns, "left"))
        gpu = self.exact.gpu[low : max(high, low)]
        return int(np.count_nonzero(gpu[1:] != gpu[:-1]))


def lane_middles(lanes: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """Return the device row on which the line runs through each lane.

    Parameters
    ----------
    lanes : iterable of (int, int, int)
        GPU, top and bottom of its state lane; the first one of a GPU counts.
    """
    middles: dict[int, int] = {}
    for gpu, top, bottom in lanes:
        middles.setdefault(gpu, (top + bottom) // 2)
    return middles


def widened(segments: Int32, width: int) -> Int32:
    """Return the segments of a line as rectangles of a width around them: left, top, width, height."""
    near = width // 2
    # Each reaches half the width beyond its ends: so corners are filled.
    return segments + np.array([-near, -near, width, width], np.int32)


def line_segments(stretches: Stretches, scale: Scale, middles: Mapping[int, int], height: int) -> Int32:
    """Return the line: a level segment for each stretch in view, an upright one for each step between lanes.

    Parameters
    ----------
    middles : mapping of int to int
        Device rows of the lanes (`lane_middles`). A GPU whose lane is above all of them is beyond the upper
        edge of the area, one below them beyond the lower edge; one between that has none is left out.
    height : int
        Of the area, device pixels.

    Returns
    -------
    ndarray of int32, shape (n, 4)
        Left, top, length to the right and downwards, device pixels; one of the two is 0.
    """
    low = int(np.searchsorted(stretches.end_ns, scale.start_ns, "left"))
    high = int(np.searchsorted(stretches.start_ns, scale.end_ns, "right"))
    if not middles or high <= low:
        return np.empty((0, 4), np.int32)
    part = slice(low, high)
    gpu = stretches.gpu[part]
    known = np.arange(int(gpu.max()) + 1)
    lanes = np.full(len(known), np.nan)
    lanes[known < min(middles)] = -_OUTSIDE
    lanes[known > max(middles)] = height + _OUTSIDE
    for number, middle in middles.items():
        if number < len(lanes):
            lanes[number] = middle
    y = lanes[gpu]
    # Clipped before they become 32-bit numbers: far away they would not fit.
    ends = [
        np.floor(np.clip(scale.to_px(t[part]), -_OUTSIDE, scale.width + _OUTSIDE) + 0.5)
        for t in (stretches.start_ns, stretches.end_ns)
    ]
    left, right = ends
    shown = ~np.isnan(y)
    runs = np.stack([left, y, right - left, np.zeros(len(y))], 1)[shown]
    touch = stretches.start_ns[part][1:] == stretches.end_ns[part][:-1]
    steps_at = np.flatnonzero(touch & shown[1:] & shown[:-1] & (y[1:] != y[:-1]))
    upper, lower = np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:])
    steps = np.stack([right[:-1], upper, np.zeros(len(y) - 1), lower - upper], 1)[steps_at]
    segments: Int32 = np.concatenate([runs, steps]).astype(np.int32)
    return segments


def critical_line(study: Study, candidate: int = 0) -> CriticalLine:
    """Return the line of all iterations by one of the study's candidates; slow, so off the main thread."""
    paths = study.critical_paths(candidate)
    gpus = [gpus_on_path(study, path) for path in paths]
    none, times = np.empty(0, np.int32), np.empty(0, np.int64)
    return CriticalLine.of(
        np.concatenate([none, *gpus]),
        np.concatenate([times, *(path.start_ns for path in paths)]),
        np.concatenate([times, *(path.end_ns for path in paths)]),
    )


def gpus_on_path(study: Study, path: CriticalPath) -> Int32:
    """Return the GPU on whose lane each piece of a path is drawn, int32, shape (pieces,).

    What the host does is drawn on the lane of its rank, of several GPUs of one process on the first.
    """
    trace, stream = study.trace, study.dependencies.operations.stream
    of_stream = np.array([s.gpu for s in trace.streams] or [-1], np.int32)
    own = [trace.gpus_of(thread.process) for thread in trace.threads]
    of_thread = np.array([gpus[0].index if gpus else -1 for gpus in own] or [-1], np.int32)
    gpu = np.full(len(path), -1, np.int32)
    runs, calls = path.operation >= 0, path.call >= 0
    gpu[runs] = of_stream[stream[path.operation[runs]]]
    thread = np.searchsorted(trace.api.offsets, path.call[calls], side="right") - 1
    gpu[calls] = of_thread[thread]
    # What belongs to no GPU lies on the lane of the piece after it, which it led to; the last on that before.
    known = np.flatnonzero(gpu >= 0)
    if not len(known):
        return np.zeros(len(path), np.int32)
    after = np.minimum(np.searchsorted(known, np.arange(len(gpu))), len(known) - 1)
    return gpu[known[after]]
