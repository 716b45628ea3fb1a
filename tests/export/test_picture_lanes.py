"""The rows of a picture: names of bars are read over a selection too."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from viewer.drawing.colour import channels, contrast
from viewer.drawing.palette import Palette
from viewer.drawing.scale import Scale
from viewer.drawing.theme import DARK, LIGHT
from viewer.export import picture_lanes
from viewer.export.figure import FigurePage
from viewer.export.figure_style import PAPER, TIMELINE
from viewer.export.first_view import first_view
from viewer.export.picture import page_of, picture
from viewer.export.picture_lanes import ink_over
from viewer.rows import build_rows

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)


def tinted(argb, tint):
    """Colours under a translucent one, as a painter mixes them."""
    share = (tint >> 24) / 255
    mixed = channels(argb) * (1 - share) + channels(np.array(tint, np.uint32)) * share
    byte = np.round(mixed * 255).astype(np.uint32)
    return (0xFF000000 | byte[:, 0] << 16 | byte[:, 1] << 8 | byte[:, 2]).astype(np.uint32)


@THEMES
def test_names_have_their_contrast_over_a_selection(demo_study, theme):
    palette = Palette(demo_study)
    argb, ink = palette.argb(theme), palette.ink(theme)
    over = ink_over(argb, ink, theme.selection)
    ground = tinted(argb, theme.selection)
    assert contrast(ground, over).min() >= 4.5
    # Where their own ink serves it stays.
    serves = contrast(ground, ink) >= 4.5
    assert serves.mean() > 0.8
    assert (over == ink)[serves].all()
    strong = ink_over(argb, ink, (theme.selection & 0xFFFFFF) | 0x80000000)
    assert contrast(tinted(argb, (theme.selection & 0xFFFFFF) | 0x80000000), strong).min() >= 4.5


@THEMES
@pytest.mark.parametrize("preset", [TIMELINE, PAPER])
def test_names_are_painted_over_the_tint(demo_study, preset, theme, qapp):
    iterations = demo_study.iterations()
    rows = [(row, False) for row in build_rows(demo_study)[0].walk() if row.label == "Stream 7"]
    start = iterations.start_ns(1)
    span = start + 20_000_000, start + 20_400_000
    marked = replace(first_view(demo_study, span, theme=theme), rows=rows, selections=(span,), preset=preset)
    page, image = page_of(marked, scale=2), picture(marked, scale=2)
    assert page.frame.labels
    is_figure = isinstance(page, FigurePage)
    axis, below = (page.layout.axis, page.layout.top) if is_figure else (page._axis, page._top)
    left, top = round(axis.left * page.dpr), round(below * page.dpr)
    inks = ink_over(page.frame.argb, page.frame.ink, theme.selection)
    for label in page.frame.labels[:3]:
        ink = QColor(int(inks[label.colour])).rgb()
        inside = (
            image.pixel(left + x, top + y)
            for y in range(int(label.y), int(label.y + label.height))
            for x in range(max(0, int(label.x)), min(int(label.x) + 200, int(label.x + label.width)))
        )
        assert any(pixel == ink for pixel in inside)


def test_tags_of_close_selections_stand_beside_each_other(qapp, monkeypatch):
    tags = []

    def paint_tag(*arguments, **more):
        tags.append(real(*arguments, **more))
        return tags[-1]

    real = picture_lanes.marks.paint_tag
    monkeypatch.setattr(picture_lanes.marks, "paint_tag", paint_tag)
    image = QImage(900, 40, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    selections = [(500, 510), (480, 490), (520, 600), (100, 101)]
    picture_lanes.paint_lengths(painter, Scale(0, 1000, 900), selections, 10, LIGHT, 1.0)
    painter.end()
    assert len(tags) == 4
    for left, right in pairwise(tags):
        assert left.right() < right.left()
    assert tags[0].center().x() == pytest.approx(90.5, abs=1)
