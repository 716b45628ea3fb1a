"""Bands: what is drawn in a row, from top to bottom.

A kind of band is drawn by its `viewer.drawing.band_drawer.BandDrawer`, listed in `viewer.drawing.scene`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from viewer.drawing.lane_sizes import LaneSizes, Size
from viewer.rows.kinds import Lanes, RowKind
from viewer.rows.row import Role, Row

MAX_LANES = 8
MAX_MIXED_LANES = 4
RANGES, STATE, OPEN_STATE = Size(8, 14, 20), Size(13, 36, 200, True), Size(14, 26, 160, True)
"""Of a process: its outline, the state of its GPU while it is folded, and while it is unfolded."""
BAR, HALF_BAR, SMALL_BAR, THIN_BAR = Size(12, 16, 64), Size(9, 11, 28), Size(11, 11, 24), Size(3, 4, 8)
"""Of a row of one lane, of a stream that communicates, of one of several lanes, of several such streams."""
NESTED, PREVIEW, CURVE = Size(12, 12, 20), Size(9, 9, 9), Size(36, 36, 96)
PAD, GAP, LINE = Size(2, 3, 4), Size(1, 2, 3), Size(1, 1, 1)
FOLDED_PAD = Size(2, 4, 6)

_SLIM = Size(17, 17, 17)
LEAST_HEIGHT = {
    RowKind.PROCESS: Size(19, 22, 22),
    RowKind.GPU: Size(19, 20, 20),
    RowKind.STREAM: Size(15, 18, 18),
    RowKind.FAMILY: _SLIM,
    RowKind.KERNEL_NAME: _SLIM,
    RowKind.MEMORY_KIND: _SLIM,
    RowKind.CPU: _SLIM,
}
"""Of a row, so that its name can be read."""
_LEAST, _LEAST_HALF = Size(18, 18, 18), Size(11, 13, 13)


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
    y: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class StateBand:
    """The five-colour state lane of a GPU, an index into the trace's GPUs."""

    gpu: int
    y: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class CounterBand:
    """The curve of a counter row."""

    row: Row
    y: int = 0
    height: int = 0


Band = EventBand | StateBand | CounterBand


@dataclass(frozen=True, slots=True)
class RowShape:
    """What a row draws, at any sizes.

    Attributes
    ----------
    bands : tuple of Band
        Not placed yet.
    sizes : tuple of Size
        A gap and a height for each band in turn, from the top, and the gap below the last.
    least : Size
        The row is at least so high.
    """

    bands: tuple[Band, ...]
    sizes: tuple[Size, ...]
    least: Size

    def height(self, sizes: LaneSizes) -> int:
        """Return how high the row is, logical pixels."""
        return max(sum(sizes.of(size) for size in self.sizes), sizes.of(self.least))

    def placed(self, sizes: LaneSizes) -> tuple[Band, ...]:
        """Return the bands where they lie; what the row is higher than its bands need is above and below."""
        heights = [sizes.of(size) for size in self.sizes]
        spare = max(sizes.of(self.least) - sum(heights), 0) // 2
        placed: list[Band] = []
        y = spare
        for number, band in enumerate(self.bands):
            y += heights[2 * number]
            placed.append(replace(band, y=y, height=heights[2 * number + 1]))
            y += heights[2 * number + 1]
        return tuple(placed)


_Stack = list[tuple[Band, Size]]
_StackOf = Callable[[Row, bool], _Stack]


def lane_count(row: Row) -> int:
    """Return how many lanes the events of a row need, 0 where it has none; loads the events."""
    return row.events.lane_count if row.events is not None else 0


def hidden_lanes(row: Row) -> int:
    """Return how many lanes of a row are too deep to be drawn: "+3 deeper"."""
    return max(lane_count(row) - _lane_limit(row), 0)


def shape_of(row: Row, expanded: bool) -> RowShape:
    """Return what a row draws.

    A folded process shows its top-level NVTX ranges over the state lane of each of its GPUs. Unfolded, a
    process of one GPU shows its state alone, and the GPUs of others have rows of their own. A folded thread
    previews the outermost ranges and calls under it.
    """
    stack = _STACK_OF.get(row.kind, _own_stack)(row, expanded)
    is_process = row.kind is RowKind.PROCESS and not expanded
    pad = FOLDED_PAD if is_process else PAD
    gap = GAP if is_process else LINE
    least = LEAST_HEIGHT.get(row.kind, _LEAST)
    if row.role is Role.COMMUNICATION:
        pad, least = LINE, _LEAST_HALF
    sizes: list[Size] = []
    for number, (_, size) in enumerate(stack):
        sizes += (gap if number else pad, size)
    return RowShape(tuple(band for band, _ in stack), (*sizes, pad), least)


def _lane_limit(row: Row) -> int:
    return MAX_MIXED_LANES if row.kind.traits.lanes is Lanes.MIXED else MAX_LANES


def _own_stack(row: Row, _expanded: bool) -> _Stack:
    """Return the curve of a counter row, or the lanes of a row's own events."""
    if row.kind.traits.counter is not None:
        return [(CounterBand(row), CURVE)]
    lanes = range(min(lane_count(row), _lane_limit(row)))
    size = BAR
    if row.kind.traits.lanes is Lanes.NESTED:
        size = NESTED
    elif row.kind is RowKind.OTHER_STREAMS and len(lanes) > 1:
        size = THIN_BAR
    elif row.role is Role.COMMUNICATION:
        size = HALF_BAR
    elif len(lanes) > 1 or row.kind is not RowKind.STREAM:
        size = SMALL_BAR
    return [(EventBand(row, lane), size) for lane in lanes]


def _process_stack(row: Row, expanded: bool) -> _Stack:
    gpus = [child.gpu for child in row.children if child.kind is RowKind.GPU and child.gpu is not None]
    if expanded and row.gpu is not None:
        return [(StateBand(row.gpu), OPEN_STATE)]
    ranges: _Stack = [(EventBand(row, 0), RANGES)] if lane_count(row) else []
    return ranges if expanded else ranges + [(StateBand(gpu), STATE) for gpu in gpus]


def _gpu_stack(row: Row, _expanded: bool) -> _Stack:
    return [(StateBand(row.gpu), OPEN_STATE)] if row.gpu is not None else []


def _thread_stack(row: Row, expanded: bool) -> _Stack:
    if expanded:
        return []
    previewed = [
        child
        for kind in RowKind
        if kind.traits.is_previewed
        for child in row.children
        if child.kind is kind and lane_count(child)
    ]
    return [(EventBand(child, 0), PREVIEW) for child in previewed[:2]]


_STACK_OF: dict[RowKind, _StackOf] = {
    RowKind.PROCESS: _process_stack,
    RowKind.GPU: _gpu_stack,
    RowKind.THREAD: _thread_stack,
}
"""The kinds of rows that draw something else than their own events or samples."""
