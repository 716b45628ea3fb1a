"""The state lane of a GPU and the overlay over its rows: five parts of the time, true at every zoom."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from viewer.analysis.parts import PARTS, GpuParts
from viewer.drawing.colour import channels
from viewer.drawing.drawlist import Layer, merged_runs
from viewer.drawing.scale import Scale
from viewer.drawing.theme import Theme

TILE_PX = 8
_COPY, _EXPOSED, _IDLE = (PARTS.index(p) for p in ("copy_only", "exposed_comm", "idle"))
_STRENGTH = {_EXPOSED: 0.26, _COPY: 0.20, _IDLE: 0.75}


def state_columns(parts: GpuParts, scale: Scale) -> npt.NDArray[np.float32]:
    """Return the share of each pixel column in each of the five parts, shape (5, width); columns sum to 1.

    Where a pixel is shorter than a nanosecond a column shows the nanosecond that holds it.
    """
    edges = scale.edges()
    spent = np.diff(parts.cumulative(edges), axis=1)
    widths = np.diff(edges)
    if (thin := widths == 0).any():
        low = edges[:-1][thin]
        spent[:, thin] = parts.cumulative(low + 1) - parts.cumulative(low)
        widths[thin] = 1
    return (spent / widths).astype(np.float32)


def state_layer(
    fractions: Sequence[npt.NDArray[np.float32]],
    top: npt.NDArray[np.int32],
    bottom: npt.NDArray[np.int32],
) -> Layer:
    """Return the stacked columns of state lanes between device rows `top` and `bottom`, shape (lanes,) each.

    From the bottom: compute, hidden and exposed communication, copies; idle stays empty. The borders are
    rounded, not the heights, so that each part is off by less than a pixel and the lane is never too full;
    a column that is busy at all shows one pixel of what it does most.
    """
    if not fractions:
        return np.empty((0, 4), np.float32), np.empty(0, np.uint16)
    shares = np.stack(fractions)[:, :_IDLE]
    room = (bottom - top).astype(np.float32)[:, None, None]
    above = np.cumsum(shares, axis=1)
    border = np.minimum(np.floor(above * room + np.float32(0.5)), room).astype(np.int32)
    lane, column = np.nonzero((border[:, -1] == 0) & (above[:, -1] > 0))
    if len(lane):
        most = shares[lane, :, column].argmax(axis=1)
        border[lane, :, column] = np.arange(_IDLE)[None, :] >= most[:, None]
    low = np.zeros_like(border)
    low[:, 1:] = border[:, :-1]
    look = np.where(border > low, (low << 12) | border, -1)
    row, x, width, of = merged_runs(look.reshape(-1, look.shape[-1]))
    y0, y1 = of >> 12, of & 0xFFF
    rect = np.empty((len(of), 4), np.float32)
    rect[:, 0], rect[:, 1], rect[:, 2], rect[:, 3] = x, bottom[row // _IDLE] - y1, width, y1 - y0
    return rect, (row % _IDLE).astype(np.uint16)


def overlay_tile(
    parts: GpuParts | npt.NDArray[np.float32], scale: Scale, theme: Theme, overlays: Collection[str]
) -> npt.NDArray[np.uint8]:
    """Return one tile of a GPU's overlay, to be repeated down its rows under the bars.

    Parameters
    ----------
    parts : GpuParts, or its `state_columns`
    overlays : collection of str
        "idle" (hatched; copies alone are a lighter tint) and "exposed".

    Returns
    -------
    ndarray of uint8, shape (8, width, 4)
        Premultiplied blue, green, red, alpha. The alpha of a column is its share of that part times the
        strength of the overlay.
    """
    shares = state_columns(parts, scale) if isinstance(parts, GpuParts) else parts
    out = np.zeros((TILE_PX, shares.shape[1], 4), np.float32)
    y, x = np.mgrid[0:TILE_PX, 0 : shares.shape[1]]
    hatch = ((x + y) % TILE_PX < 2).astype(np.float32)
    if "exposed" in overlays:
        _lay(out, theme.overlay_exposed, np.broadcast_to(shares[_EXPOSED] * _STRENGTH[_EXPOSED], hatch.shape))
    if "idle" in overlays:
        _lay(out, theme.overlay_copy, hatch * shares[_COPY] * _STRENGTH[_COPY])
        _lay(out, theme.hatch, hatch * shares[_IDLE] * _STRENGTH[_IDLE])
    return np.asarray(np.floor(out * 255 + 0.5), np.uint8)


def _lay(out: npt.NDArray[np.float32], argb: int, alpha: npt.NDArray[np.float32]) -> None:
    """Lay a colour over a premultiplied picture, in place."""
    red, green, blue = channels(np.array(argb, np.uint32)).astype(np.float32)
    keep = 1 - alpha
    for channel, value in enumerate((blue, green, red, np.float32(1))):
        out[:, :, channel] = out[:, :, channel] * keep + value * alpha
