"""The kinds of pictures: the timeline as in the window, a slide, a figure for a paper; and their measures."""

from __future__ import annotations

from dataclasses import dataclass

TIMELINE, SLIDE, PAPER = "timeline", "slide", "paper"
PRESETS = (TIMELINE, SLIDE, PAPER)


@dataclass(frozen=True, slots=True)
class FigureStyle:
    """Measures of a figure in logical pixels.

    Attributes
    ----------
    width : int
        The width by default.
    ratio : float or None
        Width by height of the page; None: as high as its content. A page of a fixed ratio is scaled as a
        whole to other widths; the text of one without keeps its size.
    title, body, small : int
        The heights of its three texts.
    dots_per_inch : int
        Logical pixels to an inch of paper.
    scale : float
        Device pixels per logical pixel by default.
    lane_scale : float or None
        How many times the window's height a row has; None: as high as fills the page.
    """

    width: int
    ratio: float | None
    title: int
    body: int
    small: int
    margin: int
    gap: int
    dots_per_inch: int
    scale: float
    lane_scale: float | None


STYLES = {
    # 1600 x 900 logical pixels on 13 1/3 x 7 1/2 inches: the smallest text is a 53rd of the height, which is
    # read from eight times the height away.
    SLIDE: FigureStyle(1600, 16 / 9, 40, 22, 17, 48, 40, 120, 1.0, None),
    # 182 mm, the two columns of a page; the smallest text has 7.5 points.
    PAPER: FigureStyle(688, None, 14, 11, 10, 8, 16, 96, 3.0, 1.5),
}
