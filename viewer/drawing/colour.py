"""Colour arithmetic: ARGB integers, and shades that look evenly apart."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Argb = npt.NDArray[np.uint32]

OPAQUE = 0xFF000000


def hex_argb(text: str) -> int:
    """Return "#rrggbb" as an opaque ARGB integer."""
    return OPAQUE | int(text.lstrip("#"), 16)


def channels(argb: Argb) -> npt.NDArray[np.float64]:
    """Return red, green and blue in [0, 1], shape (n, 3)."""
    packed = np.asarray(argb, np.uint32)
    return np.stack([(packed >> shift) & 0xFF for shift in (16, 8, 0)], axis=-1) / 255.0


def from_channels(rgb: npt.NDArray[np.float64]) -> Argb:
    """Return opaque ARGB integers of red, green and blue in [0, 1], shape (n, 3) to (n,)."""
    # Clipped first: a component a hair above 1 would wrap around to black.
    byte = np.floor(np.clip(rgb, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint32)
    packed = np.uint32(OPAQUE) | (byte[..., 0] << 16) | (byte[..., 1] << 8) | byte[..., 2]
    return np.asarray(packed, np.uint32)


def luminance(argb: Argb) -> npt.NDArray[np.float64]:
    """Return the relative luminance of WCAG, in [0, 1]."""
    rgb = channels(argb)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(first: Argb, second: Argb) -> npt.NDArray[np.float64]:
    """Return the contrast of WCAG between colours of one shape, from 1 to 21."""
    low, high = np.sort(np.stack([luminance(first), luminance(second)]), axis=0)
    return np.asarray((high + 0.05) / (low + 0.05))


def mix(argb: Argb, other: int, share: float) -> Argb:
    """Return colours moved towards another by `share`."""
    return from_channels(channels(argb) * (1 - share) + channels(np.array(other, np.uint32)) * share)


def oklch(lightness: float, chroma: float, hue_deg: float) -> int:
    """Return a colour of the OKLCH space as opaque ARGB, its chroma lowered until it can be shown."""
    while True:
        rgb = _linear_rgb(lightness, chroma, hue_deg)
        if chroma <= 0 or all(-1e-4 <= c <= 1 + 1e-4 for c in rgb):
            break
        # The lightness stays, since it carries the contrast with the text; only the colourfulness gives way.
        chroma -= 0.004
    shown = np.array([[_gamma(min(max(c, 0.0), 1.0)) for c in rgb]])
    return int(from_channels(shown)[0])


def to_oklch(argb: int) -> tuple[float, float, float]:
    """Return lightness, chroma and hue (degrees) of an opaque colour in the OKLCH space."""
    rgb = channels(np.array(argb, np.uint32))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lightness, a, b = np.cbrt(linear @ _TO_CONES.T) @ _TO_LAB.T
    return float(lightness), math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360


# From linear sRGB to cone responses, and from their cube roots to OKLab: the space's definition.
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _gamma(c: float) -> float:
    """Return a linear component as sRGB encodes it."""
    return float(12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055)


def _linear_rgb(lightness: float, chroma: float, hue_deg: float) -> tuple[float, float, float]:
    # From OKLCH to OKLab, its cone responses, and linear sRGB: the matrices of the space's definition.
    a = chroma * math.cos(math.radians(hue_deg))
    b = chroma * math.sin(math.radians(hue_deg))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
