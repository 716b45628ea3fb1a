"""Traces with little in them, and with more than has room."""

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, state_of, study_of, training
from viewer.drawing.scale import Scale
from viewer.drawing.theme import LIGHT
from viewer.timeline.paint.fonts import metrics, squeezed
from viewer.timeline.paint.marks import paint_boundaries
from viewer.timeline.strips.empty_text import no_gpu_text
from viewer.timeline.strips.ruler import iteration_step
from viewer.timeline.timeline import Timeline


def test_a_trace_without_gpu_work_says_so_and_what_it_holds(on_screen):
    state = state_of(TraceMaker(session_ns=MS).range(0, 100, "step").call(10, 20).trace())
    timeline = on_screen(Timeline(state, "raster"), 1000, 500)
    assert "No GPU work" in timeline.no_gpu.text()
    assert "It holds 1 CUDA API call, 1 NVTX range." in timeline.no_gpu.text()
    assert timeline.no_gpu.isVisible()
    assert not timeline.legend.isVisible()
    study = study_of(training())
    state.set_study(study)
    assert no_gpu_text(study.trace) == ""
    assert not timeline.no_gpu.isVisible()
    assert timeline.legend.isVisible()


def test_where_no_row_matches_the_filter_it_says_so_and_what_to_do(on_screen):
    state = state_of(training())
    timeline = on_screen(Timeline(state, "raster"), 1000, 500)
    assert not timeline.no_gpu.isVisible()
    state.rows.set_filter("zzz")
    assert "No row matches “zzz”" in timeline.no_gpu.text()
    assert timeline.no_gpu.isVisible()
    assert timeline.no_gpu.height() > 100
    state.rows.set_filter("rank 1")
    assert not timeline.no_gpu.isVisible()
    state.rows.set_filter("")
    state.rows.set_hidden([root.key for root in state.rows.roots], True)
    assert "All rows are hidden" in timeline.no_gpu.text()
    assert timeline.no_gpu.isVisible()


def painted(apart):
    """Return which columns a boundary every `apart` pixels darkens."""
    image = QImage(600, 20, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    scale = Scale(0, 600 * 1000, 600)
    paint_boundaries(painter, scale, np.arange(0, 600, apart, dtype=np.int64) * 1000, 0, 20, LIGHT, 1.0)
    painter.end()
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(20, 600, 4)
    return pixels[..., :3].min(axis=(0, 2))


def test_boundaries_fade_where_they_crowd(qapp):
    assert (painted(8) == 255).all()
    assert painted(100)[100] < painted(20)[100] < 255


@pytest.mark.parametrize("room", [0.01, 1, 7, 13, 39, 40, 300])
def test_numbers_of_iterations_stand_evenly_and_have_room(room):
    step = iteration_step(room)
    assert step * room >= 40
    assert step == 1 or step * room < 250
    assert step in {1, 2, 5, 10, 20, 50, 100, 5000}


def test_a_long_name_keeps_both_of_its_ends(qapp):
    name = "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN"
    shown = squeezed(name, 120, 13)
    assert metrics(13).horizontalAdvance(shown) <= 120
    head, tail = shown.split("…")
    assert name.startswith(head)
    assert name.endswith(tail)
    assert len(tail) >= 5
    assert squeezed("gemm", 120, 13) == "gemm"
