"""Bands: what is drawn in a row, from top to bottom.

A kind of band is drawn by its `viewer.drawing.band_drawer.BandDrawer`, listed in `viewer.drawing.scene`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewer.rows.kinds import Lanes, RowKind
from viewer.rows.row import Row

MAX_LANES = 8
MAX_MIXED_LANES = 4
NVTX_PX, STATE_PX, BAR_PX, SMALL_BAR_PX, NESTED_PX, PREVIEW_PX = 14, 11, 14, 11, 12, 9
CURVE_PX = 36
PAD_PX, GAP_PX = 2, 2

MIN_HEIGHT = {
    RowKind.PROCESS: 22,
    RowKind.GPU: 20,
    RowKind.FAMILY: 17,
    RowKind.KERNEL_NAME: 17,
    RowKind.MEMORY_KIND: 17,
    RowKind.CPU: 17,
}
_MIN_HEIGHT = 18
_BandsOf = Callable[[Row, bool], tuple["Band", ...]]


@dataclass(frozen=True, slots=True)
class EventBand:
    """One lane of a row's events.

    Attributes
    ----------
    row : Row
        Whose events: the row itself, or one of its descendants where a folded row shows a preview.
    lane : int
        Events of this depth.
    y, height : int
        In logical pixels from the row's top.
    """

    row: Row
    lane: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class StateBand:
    """The five-colour state lane of a GPU, an index into the trace's GPUs."""

    gpu: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class CounterBand:
    """The curve of a counter row."""

    row: Row
    y: int
    height: int


Band = EventBand | StateBand | CounterBand


def lane_count(row: Row) -> int:
    """Return how many lanes the events of a row need, 0 where it has none; loads the events."""
    return row.events.lane_count if row.events is not None else 0


def hidden_lanes(row: Row) -> int:
    """Return how many lanes of a row are too deep to be drawn: "+3 deeper"."""
    return max(lane_count(row) - _lane_limit(row), 0)


def bands(row: Row, expanded: bool) -> tuple[Band, ...]:
    """Return what a row draws.

    A folded process shows its top-level NVTX ranges over the state lane of each of its GPUs; unfolded, its
    GPUs have rows of their own. A folded thread previews the outermost ranges and calls under it.
    """
    return _BANDS_OF.get(row.kind, _own_bands)(row, expanded)


def height_of(row: Row, drawn: tuple[Band, ...]) -> int:
    """Return the height of a row with these bands, logical pixels."""
    bottom = max((b.y + b.height for b in drawn), default=0)
    return max(bottom + PAD_PX, MIN_HEIGHT.get(row.kind, _MIN_HEIGHT))


def _lane_limit(row: Row) -> int:
    return MAX_MIXED_LANES if row.kind.traits.lanes is Lanes.MIXED else MAX_LANES


def _own_bands(row: Row, _expanded: bool) -> tuple[Band, ...]:
    """Return the curve of a counter row, or the lanes of a row's own events."""
    if row.kind.traits.counter is not None:
        return (CounterBand(row, PAD_PX + 1, CURVE_PX),)
    lanes = range(min(lane_count(row), _lane_limit(row)))
    if row.kind.traits.lanes is Lanes.NESTED:
        return _stack([(row, lane, NESTED_PX) for lane in lanes], PAD_PX + 1)
    is_small = len(lanes) > 1 or MIN_HEIGHT.get(row.kind, _MIN_HEIGHT) < _MIN_HEIGHT
    height = SMALL_BAR_PX if is_small else BAR_PX
    return _stack([(row, lane, height) for lane in lanes], PAD_PX + is_small)


def _stack(lanes: list[tuple[Row, int, int]], top: int) -> tuple[Band, ...]:
    """Return lanes (row, lane, height) one under another, a pixel apart."""
    stacked: list[Band] = []
    for row, lane, height in lanes:
        stacked.append(EventBand(row, lane, top, height))
        top += height + 1
    return tuple(stacked)


def _process_bands(row: Row, expanded: bool) -> tuple[Band, ...]:
    top = PAD_PX + 1
    stacked: list[Band] = []
    if lane_count(row):
        stacked.append(EventBand(row, 0, top, NVTX_PX))
        top += NVTX_PX + GAP_PX
    if not expanded:
        for child in row.children:
            if child.kind is RowKind.GPU and child.gpu is not None:
                height = STATE_PX if stacked else BAR_PX
                stacked.append(StateBand(child.gpu, top, height))
                top += height + GAP_PX
    return tuple(stacked)


def _gpu_bands(row: Row, _expanded: bool) -> tuple[Band, ...]:
    return (StateBand(row.gpu, 3, 14),) if row.gpu is not None else ()


def _thread_bands(row: Row, expanded: bool) -> tuple[Band, ...]:
    if expanded:
        return ()
    previewed = [
        child
        for kind in RowKind
        if kind.traits.is_previewed
        for child in row.children
        if child.kind is kind and lane_count(child)
    ]
    return _stack([(child, 0, PREVIEW_PX) for child in previewed[:2]], PAD_PX)


_BANDS_OF: dict[RowKind, _BandsOf] = {
    RowKind.PROCESS: _process_bands,
    RowKind.GPU: _gpu_bands,
    RowKind.THREAD: _thread_bands,
}
"""The kinds of rows that draw something else than their own events or samples."""
