"""The list of the Events dock as arrays: filter, stable sort and histogram, without Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.launches.launches import UNKNOWN
from viewer.analysis.time.scope import Scope
from viewer.drawing.times import TimeError, parse_ns
from viewer.panels.event_columns import EventColumn, gpu_of, stream_of
from viewer.panels.event_set import GROUPS, EventSet, Positions

if TYPE_CHECKING:
    # State needs Qt; `lightbox events` works without it.
    from viewer.state.jobs import IsCancelled

BINS_PER_DECADE = 8
_FEW = 16
_LONGEST = int(np.iinfo(np.int64).max)
_COMPARED = re.compile(r"\s*(>=|<=|>|<|≥|≤)\s*(.+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to list, and in which order.

    Attributes
    ----------
    text : str
        Words that a name must contain, in any case.
    least_ns, most_ns : int
        Durations, both inclusive.
    group : str
        One of `GROUPS`, "" for all.
    stream : int or None
        The number of a stream.
    scopes : tuple of Scope
        Only events that touch the time of each, as it is on their own GPU.
    selection : tuple of (int, int)
        Only events that touch one of these ranges, ns; () for all.
    sort : str
        The key of the column to sort by, "" for the order in time.
    descending : bool
    """

    text: str = ""
    least_ns: int = 0
    most_ns: int = _LONGEST
    group: str = ""
    stream: int | None = None
    scopes: tuple[Scope, ...] = ()
    selection: tuple[tuple[int, int], ...] = ()
    sort: str = ""
    descending: bool = False


@dataclass(frozen=True)
class Histogram:
    """Durations in logarithmic bins, before the filter by duration.

    Attributes
    ----------
    edges_ns : ndarray of float64, shape (bins + 1,)
    count : ndarray of int64, shape (bins,)
    total_ns : ndarray of int64, shape (bins,)
        Sum of the durations.
    """

    edges_ns: npt.NDArray[np.float64]
    count: npt.NDArray[np.int64]
    total_ns: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Listed:
    """The events that pass, in order, as positions in an `EventSet`, and the sum of their durations."""

    order: Positions
    total_ns: int
    histogram: Histogram


def parse_durations(text: str) -> tuple[int, int]:
    """Return least and most duration in ns, both inclusive: ">10us", "1ms..5ms", "1ms.."; "" is all.

    Raises
    ------
    TimeError
        If the text has another form, or ends before it begins.
    """
    text = text.strip()
    if not text:
        return 0, _LONGEST
    if match := _COMPARED.fullmatch(text):
        # Both bounds are inclusive and whole ns, so "> x" is "x + 1 or more".
        sign, time_ns = match[1], parse_ns(match[2])
        if sign in (">", ">=", "≥"):
            return time_ns + (sign == ">"), _LONGEST
        return 0, time_ns - (sign == "<")
    if ".." not in text:
        raise TimeError(f"write >10us, <5ms or 1ms..5ms, not '{text}'")
    # "1..5ms": a bare first number takes the unit of the last one.
    first, _, last = text.partition("..")
    unit = re.search(r"[a-zµμ]+\s*$", last)
    least = parse_ns(first, unit[0].strip() if unit else "") if first.strip() else 0
    most = parse_ns(last) if last.strip() else _LONGEST
    if most < least:
        raise TimeError(f"'{text}' ends before it begins")
    return least, most


def list_events(
    events: EventSet, columns: tuple[EventColumn, ...], wanted: Wanted, asked: IsCancelled
) -> Listed | None:
    """Filter and sort events; return None where the job was cancelled."""
    positions = _passing(events, wanted)
    lengths = events.durations(positions)
    # Before the filter by duration: the histogram is where the user chooses that filter.
    histogram = histogram_of(lengths)
    if wanted.least_ns > 0 or wanted.most_ns < _LONGEST:
        mask = (lengths >= wanted.least_ns) & (lengths <= wanted.most_ns)
        positions, lengths = positions[mask], lengths[mask]
    if asked():
        return None
    column = next((c for c in columns if c.key == wanted.sort), None)
    if column is not None:
        keys = column.sort_keys(events, positions)
        # Negate the keys instead of reversing the result: equal events then stay in the order of time.
        # UNKNOWN is the least int64, which has no negative; all unsigned keys fit into int64.
        if wanted.descending:
            keys = (
                -keys.astype(np.float64)
                if keys.dtype.kind == "f"
                else -np.maximum(keys.astype(np.int64), UNKNOWN + 1)
            )
        positions = positions[np.argsort(keys, kind="stable")]
    return Listed(positions, int(lengths.sum()), histogram)


def histogram_of(lengths_ns: npt.NDArray[np.int64]) -> Histogram:
    """Return durations in eight bins a decade, from the shortest to the longest; 0 ns counts as 1 ns."""
    if not len(lengths_ns):
        return Histogram(np.array([1.0, 10.0]), np.zeros(1, np.int64), np.zeros(1, np.int64))
    edges = 10.0 ** (np.arange(19 * BINS_PER_DECADE + 1) / BINS_PER_DECADE)
    bins = np.searchsorted(edges, np.maximum(lengths_ns, 1), side="right") - 1
    low, high = int(bins.min()), int(bins.max()) + 1
    count = np.bincount(bins - low, minlength=high - low)
    total = np.zeros(high - low, np.int64)
    np.add.at(total, bins - low, lengths_ns)
    return Histogram(edges[low : high + 1], count, total)


def frame_of(events: EventSet, columns: tuple[EventColumn, ...], positions: Positions) -> pd.DataFrame:
    """Return events as a table for files: times in ns, ids spelled as texts."""
    return pd.DataFrame({c.key: c.written(events, positions) for c in columns})


def _passing(events: EventSet, wanted: Wanted) -> Positions:
    """Return the positions that pass all filters except that by duration, ascending, int32."""
    mask = np.ones(len(events), bool)
    if words := wanted.text.casefold().split():
        # Match each distinct name once, then spread the answer over the events by their name id.
        name_id = np.asarray(events.events.name_id)
        ids = np.flatnonzero(np.bincount(name_id, minlength=len(events.study.trace.names)))
        passing = np.zeros(len(events.study.trace.names), bool)
        texts = events.study.trace.names.take(ids)
        passing[ids] = [all(w in text for w in words) for text in map(str.casefold, texts)]
        mask &= passing[name_id]
    everything = np.arange(len(events), dtype=np.int32)
    if wanted.group:
        mask &= events.groups(everything) == GROUPS.index(wanted.group)
    if wanted.stream is not None:
        mask &= stream_of(events, everything) == wanted.stream
    # An event of no length counts as 1 ns, else it would touch no time.
    start = events.events.start_ns
    end = np.maximum(events.events.end_ns, start + 1)
    if wanted.selection:
        low, high = np.array(wanted.selection, np.int64).T
        mask &= _meets(union(low, high), start, end)
    for scope in wanted.scopes:
        mask &= _touches(events, scope, start, end)
    return np.flatnonzero(mask).astype(np.int32)


def _touches(
    events: EventSet, scope: Scope, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which events touch a scope, on their own GPU; what belongs to no GPU in its joint time."""
    if events.row.gpu is not None or not scope.iterations:
        # A range is the same on all GPUs.
        return _meets(scope.of(events.row.gpu), start, end)
    gpu = gpu_of(events, np.arange(len(events), dtype=np.int32))
    mask = np.zeros(len(events), bool)
    for number in np.unique(gpu).tolist():
        rows = np.flatnonzero(gpu == number)
        mask[rows] = _meets(scope.of(number if number >= 0 else None), start[rows], end[rows])
    return mask


def _meets(
    time: Intervals, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which events share time with a set of time; each event has some length."""
    if len(time) > _FEW:
        return time.covered(start, end) > 0
    # A comparison costs a hundredth of the two binary searches.
    mask = np.zeros(len(start), bool)
    for low, high in zip(time.start_ns.tolist(), time.end_ns.tolist(), strict=True):
        mask |= (start < high) & (end > low)
    return mask
