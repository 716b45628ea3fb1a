"""Bands: what is drawn in a row, from top to bottom."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.rows.row import Row, RowKind

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
_MIXED = (RowKind.KERNELS, RowKind.MEMORY, RowKind.STREAM, RowKind.FAMILY, RowKind.MEMORY_KIND)
_NESTED = (RowKind.NVTX, RowKind.API, RowKind.OSRT, RowKind.PROJECTION, RowKind.OVERHEAD)
_PREVIEWS = (RowKind.NVTX, RowKind.API, RowKind.OSRT, RowKind.CPU)


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
class CurveBand:
    """The launch latency of a GPU, an index into the trace's GPUs."""

    gpu: int
    y: int
    height: int


Band = EventBand | StateBand | CurveBand


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
    if row.kind is RowKind.PROCESS:
        return _process_bands(row, expanded)
    if row.kind in (RowKind.GPU, RowKind.STATE) and row.gpu is not None:
        return (StateBand(row.gpu, 3, 14),)
    if row.kind is RowKind.LAUNCHES and row.gpu is not None:
        return (CurveBand(row.gpu, PAD_PX + 1, CURVE_PX),)
    if row.kind is RowKind.THREAD and not expanded:
        shown = [c for k in _PREVIEWS for c in row.children if c.kind is k and lane_count(c)][:2]
        return _stack([(child, 0, PREVIEW_PX) for child in shown], PAD_PX, 1)
    lanes = min(lane_count(row), _lane_limit(row))
    if row.kind in _NESTED:
        return _stack([(row, lane, NESTED_PX) for lane in range(lanes)], PAD_PX + 1, 1)
    small = lanes > 1 or MIN_HEIGHT.get(row.kind, _MIN_HEIGHT) < _MIN_HEIGHT
    return _stack(
        [(row, lane, SMALL_BAR_PX if small else BAR_PX) for lane in range(lanes)], PAD_PX + small, 1
    )


def height_of(row: Row, drawn: tuple[Band, ...]) -> int:
    """Return the height of a row with these bands, logical pixels."""
    bottom = max((b.y + b.height for b in drawn), default=0)
    return max(bottom + PAD_PX, MIN_HEIGHT.get(row.kind, _MIN_HEIGHT))


def _lane_limit(row: Row) -> int:
    return MAX_MIXED_LANES if row.kind in _MIXED else MAX_LANES


def _stack(lanes: list[tuple[Row, int, int]], top: int, gap: int) -> tuple[Band, ...]:
    out: list[Band] = []
    for row, lane, height in lanes:
        out.append(EventBand(row, lane, top, height))
        top += height + gap
    return tuple(out)


def _process_bands(row: Row, expanded: bool) -> tuple[Band, ...]:
    top = PAD_PX + 1
    out: list[Band] = []
    if lane_count(row):
        out.append(EventBand(row, 0, top, NVTX_PX))
        top += NVTX_PX + GAP_PX
    if not expanded:
        for child in row.children:
            if child.kind is RowKind.GPU and child.gpu is not None:
                height = STATE_PX if out else BAR_PX
                out.append(StateBand(child.gpu, top, height))
                top += height + GAP_PX
    return tuple(out)
