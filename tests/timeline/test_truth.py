"""The picture never lies: what is a tenth busy looks a tenth busy, on both paint paths."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from tests.timeline.make import painted, rows_of, study_of
from viewer.analysis.parts import PARTS
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT
from viewer.rows import RowKind

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


@pytest.mark.parametrize("length_ms", [40, 20, 13, 8])
def test_stream_busy_one_tenth_fills_one_tenth_of_its_height(tenth, length_ms):
    placed = rows_of(tenth, RowKind.STREAM)
    window = (0, length_ms * 1_000_000)
    image = painted(tenth, placed, window, WIDTH)
    scene = Scene(tenth)
    colour = scene.palette.argb(LIGHT)[scene.palette.index[tenth.trace.kernels.name_id[0]]]
    (lane,) = [p for p in placed if p.row.stream is not None]
    filled = (image[lane.y : lane.y + lane.height] == colour).sum(axis=0)
    height = 14
    assert np.abs(filled - 0.1 * height).max() <= 1
    assert filled.min() >= 1


def test_state_lane_of_a_column_one_tenth_busy_is_one_tenth_compute(tenth):
    placed = rows_of(tenth, RowKind.GPU)
    image = painted(tenth, placed, (0, 40_000_000), WIDTH)
    filled = (image == LIGHT.parts[0]).sum(axis=0)
    assert np.abs(filled - 0.1 * 14).max() <= 1


def tint(study, window):
    """How far the idle overlay moves the colour of a row's pixels, beside its bars; the hatch's strongest."""
    placed = rows_of(study, RowKind.KERNELS)
    plain, tinted = (
        painted(study, placed, window, WIDTH, overlays)[1:3].view(np.uint8).astype(int)
        for overlays in ((), ("idle",))
    )
    return int(np.abs(tinted - plain).max())


def test_overlay_of_a_column_one_tenth_idle_is_tinted_one_tenth():
    maker = TraceMaker(session_ns=100_000_000)
    for start in range(0, 40_000_000, PERIOD_NS):
        maker.kernel(start, start + PERIOD_NS * 9 // 10)
    study = study_of(maker.kernel(90_000_000, 100_000_000).trace())
    window = (0, 40_000_000)
    assert study.parts[0].totals(*window)[PARTS.index("idle")] == window[1] // 10
    whole = tint(study, (50_000_000, 80_000_000))
    assert whole > 20
    assert tint(study, window) == pytest.approx(0.1 * whole, abs=1.5)


def test_columns_tile_the_window_where_they_are_snapped(tenth):
    placed = rows_of(tenth, RowKind.STREAM)
    scene = Scene(tenth)
    scale = Scale(0, 40_000_000, WIDTH)
    draw = scene.draw_list(placed, scale)
    assert (draw.rect == np.floor(draw.rect)).all()
    assert draw.rect[:, 0].min() == 0
    assert (draw.rect[:, 0] + draw.rect[:, 2]).max() == WIDTH
