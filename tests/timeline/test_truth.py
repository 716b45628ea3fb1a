"""The picture never lies: what is a tenth busy looks a tenth busy, on both paint paths."""

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication

from tests.analysis.make import TraceMaker
from tests.timeline.make import lone_axis, painted, pixels, rows_of, state_of, study_of
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT
from viewer.rows import RowKind
from viewer.timeline.strips.gl_bars import renderer_name
from viewer.timeline.strips.gl_canvas import GlCanvas

pytestmark = pytest.mark.usefixtures("qapp")
WIDTH = 400
PERIOD_NS = 10_000


@pytest.fixture(scope="module")
def tenth():
    """A stream that is busy for 1 µs in every 10."""
    maker = TraceMaker(session_ns=40_000_000)
    for start in range(0, 40_000_000, PERIOD_NS):
        maker.kernel(start, start + PERIOD_NS // 10)
    return study_of(maker.trace())


@pytest.fixture(params=["raster", "gl"])
def paint(request, on_screen):
    """A function that paints a window of some rows on one of the two paths, as an array of ARGB."""
    if request.param == "raster":
        return painted
    if QGuiApplication.platformName() == "offscreen" or not renderer_name():
        pytest.skip("no OpenGL 3.3 on this display")

    def paint_by_gl(study, placed, window, width, overlays=()):
        state, failures = state_of(study.trace), []
        for overlay in ("idle", "exposed", "waiting"):
            state.set_overlay(overlay, overlay in overlays)
        state.axis.go(*window)
        assert state.axis.window == window
        canvas = GlCanvas(state, lone_axis(width), lambda: failures.append(1))
        canvas.set_scene(Scene(state.study))
        canvas.set_rows(placed)
        on_screen(canvas, width, placed[-1].y + placed[-1].height + 1)
        image = pixels(canvas.grabFramebuffer())
        assert not failures
        assert image.shape[1] == width
        return image

    return paint_by_gl


@pytest.mark.parametrize("length_ms", [40, 20, 13, 8])
def test_stream_busy_one_tenth_fills_one_tenth_of_its_height(tenth, paint, length_ms):
    placed = rows_of(tenth, RowKind.STREAM)
    window = (0, length_ms * 1_000_000)
    image = paint(tenth, placed, window, WIDTH)
    scene = Scene(tenth)
    colour = scene.palette.argb(LIGHT)[scene.palette.index[tenth.trace.kernels.name_id[0]]]
    (lane,) = [p for p in placed if p.row.stream is not None]
    filled = (image[lane.y : lane.y + lane.height] == colour).sum(axis=0)
    (band,) = lane.bands
    assert np.abs(filled - 0.1 * band.height).max() <= 1
    assert filled.min() >= 1


def test_state_lane_of_a_column_one_tenth_busy_is_one_tenth_compute(tenth, paint):
    placed = rows_of(tenth, RowKind.GPU)
    image = paint(tenth, placed, (0, 40_000_000), WIDTH)
    filled = (image == LIGHT.parts[0]).sum(axis=0)
    (band,) = placed[0].bands
    assert np.abs(filled - 0.1 * band.height).max() <= 1


def tint(paint, study, window, overlay):
    """How far an overlay moves the colour of a row's pixels, beside its bars; where it is strongest."""
    placed = rows_of(study, RowKind.KERNELS)
    plain, tinted = (
        paint(study, placed, window, WIDTH, overlays)[1:3].view(np.uint8).astype(int)
        for overlays in ((), (overlay,))
    )
    return int(np.abs(tinted - plain).max())


@pytest.mark.parametrize(
    ("part", "overlay", "name"),
    [("idle", "idle", None), ("copy_only", "idle", "copy"), ("exposed_comm", "exposed", "ncclAllReduce")],
)
def test_overlay_of_a_column_one_tenth_of_a_part_is_tinted_one_tenth(paint, part, overlay, name):
    maker = TraceMaker(session_ns=100_000_000)

    def fill(start, end):
        if name == "copy":
            maker.copy(start, end)
        elif name is not None:
            maker.kernel(start, end, name, stream=20)

    for start in range(0, 40_000_000, PERIOD_NS):
        maker.kernel(start, start + PERIOD_NS * 9 // 10)
        fill(start + PERIOD_NS * 9 // 10, start + PERIOD_NS)
    maker.kernel(40_000_000, 41_000_000)
    fill(41_000_000, 90_000_000)
    study = study_of(maker.kernel(90_000_000, 100_000_000).trace())
    window, full = (0, 40_000_000), (50_000_000, 80_000_000)
    assert study.parts[0].totals(*window)[CATEGORIES.index(part)] == window[1] // 10
    assert study.parts[0].totals(*full)[CATEGORIES.index(part)] == full[1] - full[0]
    whole = tint(paint, study, full, overlay)
    assert whole > 12
    assert tint(paint, study, window, overlay) == pytest.approx(0.1 * whole, abs=1.5)


def test_columns_tile_the_window_where_they_are_snapped(tenth):
    placed = rows_of(tenth, RowKind.STREAM)
    scene = Scene(tenth)
    scale = Scale(0, 40_000_000, WIDTH)
    draw = scene.draw_list(placed, scale)
    assert (draw.rect == np.floor(draw.rect)).all()
    assert draw.rect[:, 0].min() == 0
    assert (draw.rect[:, 0] + draw.rect[:, 2]).max() == WIDTH
