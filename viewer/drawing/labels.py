"""Labels: the names in the bars."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from viewer.drawing.format import format_ns
from viewer.rows.kinds import NameStyle
from viewer.trace.names import short_name, strip_arguments

MAX_LABELS = 500
MIN_LABEL_PX, MIN_LABEL_HEIGHT_PX = 22, 8
MEAN_CHAR_PX = 6.0
PAD_PX = 4
LEAST_LETTERS = 4
"""A text that is cut to fewer letters than these tells nothing, and hides what it stands on."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text inside a bar.

    Attributes
    ----------
    x, y, width, height : int
        The part of the bar that is in view, device pixels.
    text : str
        Cut to about what fits, by a mean character width; the painter clips the rest.
    colour : int
        The bar's position in the palette; `Palette.ink` has the colour of text on it.
    """

    x: int
    y: int
    width: int
    height: int
    text: str
    colour: int


@lru_cache(maxsize=65_536)
def label_text(name: str, style: NameStyle) -> str:
    """Return a name as a bar shows it: what is special in a kernel's name, a range without arguments."""
    return short_name(name) if style is NameStyle.KERNELS else strip_arguments(name).replace("\n", " ")


def fitted(name: str, style: NameStyle, duration_ns: int, width_px: float) -> str:
    """Return the text for a bar `width_px` logical pixels wide, "" where too little of it fits.

    Ranges carry their length where there is room for both; a name that is too long loses first what it
    shares with its neighbours (``aten::``, ``cuda``).
    """
    text = label_text(name, style)
    room = int((width_px - 2 * PAD_PX) / MEAN_CHAR_PX)
    if style is NameStyle.RANGES and text:
        timed = f"{text}  {format_ns(duration_ns)}"
        if len(timed) <= room:
            return timed
    if len(text) > room:
        text = _telling_part(text)
    if len(text) <= room:
        return text
    return telling(text[: max(room - 1, 0)].rstrip(" _:") + "…")


def telling(text: str) -> str:
    """Return a text, "" where so little is left before its ellipsis that it tells nothing."""
    return "" if text.endswith("…") and len(text) <= LEAST_LETTERS else text


def _telling_part(text: str) -> str:
    last = text.rsplit("::", 1)[-1]
    return last.removeprefix("cuda") if len(last) > len("cuda") else last
