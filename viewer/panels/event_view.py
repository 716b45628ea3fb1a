"""Which events are listed and in which order: filter, stable sort and histogram, on arrays alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.launches.launches import UNKNOWN
from viewer.analysis.time.scope import Scope
from viewer.drawing.times import TimeError, parse_ns
from viewer.panels.event_columns import EventColumn
from viewer.panels.event_set import GROUPS, EventSet, Positions

if TYPE_CHECKING:
    # State needs Qt; `lightbox events` works without it.
    from viewer.state.jobs import IsCancelled

BINS_PER_DECADE = 8
_LONGEST = int(np.iinfo(np.int64).max)
_COMPARED = re.compile(r"\s*(>=|<=|>|<|≥|≤)\s*(.+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be listed.

    Attributes
    ----------
    text : str
        Words that a name must hold, in any case.
    least_ns, most_ns : int
        Durations, both inclusive.
    group : str
        One of `GROUPS`, "" for all.
    scope : Scope or None
        Only events that touch its time.
    sort : str
        The key of the column to sort by, "" for the order in time.
    descending : bool
    """

    text: str = ""
    least_ns: int = 0
    most_ns: int = _LONGEST
    group: str = ""
    scope: Scope | None = None
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
    """The events that passed, in order: positions in an `EventSet`, and the sum of their durations."""

    order: Positions
    total_ns: int
    histogram: Histogram


def parse_durations(text: str) -> tuple[int, int]:
    """Return least and most duration in ns, both inclusive: ">10us", "1ms..5ms", "1ms.."; "" is all.

    Raises
    ------
    TimeError
        If it is none of these.
    """
    text = text.strip()
    if not text:
        return 0, _LONGEST
    if found := _COMPARED.fullmatch(text):
        sign, time_ns = found[1], parse_ns(found[2])
        if sign in (">", ">=", "≥"):
            return time_ns + (sign == ">"), _LONGEST
        return 0, time_ns - (sign == "<")
    if ".." not in text:
        raise TimeError(f"write >10us, <5ms or 1ms..5ms, not '{text}'")
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
    """Filter and sort events; None where the result is not wanted any more."""
    positions = _passing(events, wanted)
    lengths = events.durations(positions)
    histogram = histogram_of(lengths)
    if wanted.least_ns > 0 or wanted.most_ns < _LONGEST:
        held = (lengths >= wanted.least_ns) & (lengths <= wanted.most_ns)
        positions, lengths = positions[held], lengths[held]
    if asked():
        return None
    column = next((c for c in columns if c.key == wanted.sort), None)
    if column is not None:
        keys = column.sort_keys(events, positions)
        if wanted.descending:
            keys = (
                -keys.astype(np.float64)
                if keys.dtype.kind == "f"
                else -np.maximum(keys.astype(np.int64), UNKNOWN + 1)
            )
        positions = positions[np.argsort(keys, kind="stable")]
    # A column that stands in the file alone is read whole when it is first asked for: here, not by the table.
    for column in columns:
        column.values(events, positions[:1])
    return Listed(positions, int(lengths.sum()), histogram)


def histogram_of(lengths_ns: npt.NDArray[np.int64]) -> Histogram:
    """Return durations in eight bins a decade, from the shortest to the longest; 0 ns counts as 1 ns."""
    if not len(lengths_ns):
        return Histogram(np.array([1.0, 10.0]), np.zeros(1, np.int64), np.zeros(1, np.int64))
    edges = 10.0 ** (np.arange(19 * BINS_PER_DECADE + 1) / BINS_PER_DECADE)
    at = np.searchsorted(edges, np.maximum(lengths_ns, 1), side="right") - 1
    low, high = int(at.min()), int(at.max()) + 1
    count = np.bincount(at - low, minlength=high - low)
    total = np.zeros(high - low, np.int64)
    np.add.at(total, at - low, lengths_ns)
    return Histogram(edges[low : high + 1], count, total)


def frame_of(events: EventSet, columns: tuple[EventColumn, ...], positions: Positions) -> pd.DataFrame:
    """Return events as a table for files: a column each, times in ns, texts spelled."""
    return pd.DataFrame({c.key: c.written(events, positions) for c in columns})


def _passing(events: EventSet, wanted: Wanted) -> Positions:
    """Return the positions that pass everything but the filter by duration."""
    held = np.ones(len(events), bool)
    if words := wanted.text.casefold().split():
        name_id = np.asarray(events.events.name_id)
        ids = np.flatnonzero(np.bincount(name_id, minlength=len(events.study.trace.names)))
        passing = np.zeros(len(events.study.trace.names), bool)
        texts = events.study.trace.names.take(ids)
        passing[ids] = [all(w in text for w in words) for text in map(str.casefold, texts)]
        held &= passing[name_id]
    if wanted.group:
        groups = events.groups(np.arange(len(events), dtype=np.int32))
        held &= groups == GROUPS.index(wanted.group)
    if wanted.scope is not None:
        start = events.events.start_ns
        end = np.maximum(events.events.end_ns, start + 1)
        held &= wanted.scope.of(events.row.gpu).covered(start, end) > 0
    return np.flatnonzero(held).astype(np.int32)
