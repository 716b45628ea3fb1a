"""The critical path in pictures: the same line in every form, and what stands beside it."""

import numpy as np
import pytest

from tests.timeline.make import pixels
from viewer.drawing.theme import DARK, LIGHT
from viewer.export.first_view import first_view
from viewer.export.legend_block import entries
from viewer.export.page import PicturePage
from viewer.export.picture import picture
from viewer.export.picture_files import picture_bytes

WIDTH = 1200


def view(study, theme=LIGHT, overlays=frozenset({"path"})):
    return first_view(study, iteration=1, overlays=overlays, theme=theme)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_the_line_runs_through_the_lanes_of_the_ranks_on_the_path(demo_study, qapp, theme, scale):
    shown, without = view(demo_study, theme), view(demo_study, theme, frozenset())
    page = PicturePage(shown, WIDTH, scale)
    drawn = pixels(picture(shown, WIDTH, scale)) != pixels(picture(without, WIDTH, scale))
    left = round(page._axis.left * scale)
    path = demo_study.critical_paths()[1]
    line = shown.line
    spent = line.spent_ns(*shown.path_window, len(demo_study.trace.gpus))
    assert int(spent.sum()) == path.length_ns
    top = round(page._top * scale)
    for box in page.frame.states:
        middle = top + (box.top + box.bottom) // 2
        share = drawn[middle - 1 : middle + 1, left:].all(axis=0).mean()
        expected = spent[box.band.gpu] / spent.sum()
        # A step through a lane, and its casing, add a few columns.
        assert share == pytest.approx(expected, abs=0.08)


@pytest.mark.parametrize("form", ["svg", "pdf"])
def test_other_forms_have_it_too(demo_study, qapp, form):
    with_line = picture_bytes(view(demo_study), f".{form}", WIDTH, 1.0)
    without = picture_bytes(view(demo_study, overlays=frozenset()), f".{form}", WIDTH, 1.0)
    assert with_line != without
    if form == "svg":
        ink = f"#{LIGHT.event & 0xFFFFFF:06x}".encode()
        assert with_line.count(ink) > without.count(ink)


def test_the_legend_names_it_only_where_it_is_drawn(demo_study, qapp):
    shown = view(demo_study)
    page = PicturePage(shown, WIDTH)
    texts = [entry.text for entry in entries(shown, page.scene, page._placed)]
    assert "critical path" in texts
    without = view(demo_study, overlays=frozenset({"idle"}))
    assert "critical path" not in [e.text for e in entries(without, page.scene, page._placed)]


def test_the_filled_page_is_the_same_each_time(demo_study, qapp):
    shown = view(demo_study)
    assert np.array_equal(pixels(picture(shown, WIDTH)), pixels(picture(shown, WIDTH)))
