"""Raster and OpenGL paint the same picture; a canvas whose OpenGL fails goes on without it."""

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication

from tests.timeline.make import MS, lone_axis, painted, pixels, rows_of, state_of, study_of, training
from viewer.drawing.scene import Scene
from viewer.rows import RowKind
from viewer.timeline.paint import paint_rows
from viewer.timeline.strips import gl_canvas
from viewer.timeline.strips.canvas import Canvas
from viewer.timeline.strips.gl_bars import is_hardware, renderer_name
from viewer.timeline.strips.gl_canvas import GlCanvas
from viewer.timeline.timeline import Timeline

SIZE = (900, 420)


@pytest.fixture
def opengl(qapp):
    """Skips where there is no OpenGL to compare with."""
    if QGuiApplication.platformName() == "offscreen" or not renderer_name():
        pytest.skip("no OpenGL 3.3 on this display")


def shown(on_screen, canvas, state):
    """A canvas of some rows on the screen, as an array of ARGB."""
    canvas.set_scene(Scene(state.study))
    kinds = (RowKind.PROCESS, RowKind.GPU, RowKind.KERNELS, RowKind.STREAM, RowKind.API, RowKind.NVTX)
    canvas.set_rows(rows_of(state.study, *kinds))
    on_screen(canvas, *SIZE)
    image = canvas.grabFramebuffer() if isinstance(canvas, GlCanvas) else canvas.grab().toImage()
    return pixels(image)


@pytest.mark.parametrize("window_ms", [(0, 70), (20, 42), (24, 26.5), (26.99, 27.02)])
def test_both_paths_agree(on_screen, opengl, monkeypatch, window_ms):
    monkeypatch.setattr(paint_rows, "paint_labels", lambda *_: None)
    state = state_of(training())
    state.axis.go(*(int(t * MS) for t in window_ms))
    state.set_overlay("idle", True)
    state.set_overlay("exposed", True)
    state.select((30 * MS, 32 * MS))
    raster = shown(on_screen, Canvas(state, lone_axis(SIZE[0])), state)
    failures = []
    gl = shown(on_screen, GlCanvas(state, lone_axis(SIZE[0]), lambda: failures.append(1)), state)
    assert not failures
    assert raster.shape == gl.shape
    apart = np.abs(raster.view(np.uint8).astype(int) - gl.view(np.uint8)).reshape(*raster.shape, 4)
    assert (apart[:, :, :3].max(axis=2) > 2).mean() < 0.001
    assert len(np.unique(raster)) > 5


def test_broken_opengl_falls_back_to_raster(qtbot, on_screen, opengl, monkeypatch):
    def broken():
        raise RuntimeError("no shaders today")

    monkeypatch.setattr(gl_canvas, "GlBars", broken)
    state = state_of(training())
    timeline = on_screen(Timeline(state, "gl"), *SIZE)
    qtbot.waitUntil(lambda: timeline.renderer == "raster")
    qtbot.waitUntil(lambda: len(np.unique(pixels(timeline.canvas.grab().toImage()))) > 5)


def test_exception_in_a_paint_is_survived_and_logged_once(on_screen, monkeypatch, caplog):
    state = state_of(training())

    def broken(*_, **__):
        raise ValueError("a bar of no colour")

    monkeypatch.setattr("viewer.timeline.strips.canvas.make_frame", broken)
    timeline = on_screen(Timeline(state, "raster"), *SIZE)
    for _ in range(3):
        timeline.canvas.refresh()
        timeline.canvas.grab()
    logged = [r for r in caplog.records if "a bar of no colour" in (r.exc_text or str(r.exc_info))]
    assert len(logged) == 1


@pytest.mark.parametrize(
    ("renderer", "hardware"),
    [
        ("NVIDIA H200/PCIe/SSE2", True),
        ("Mesa Intel(R) UHD Graphics 770 (ADL-S GT1)", True),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", False),
        ("Google SwiftShader", False),
        ("softpipe", False),
        ("GDI Generic", False),
        ("", False),
    ],
)
def test_software_renderers_are_not_taken_for_a_gpu(renderer, hardware):
    assert is_hardware(renderer) is hardware


def test_same_window_gives_the_same_pixels(qapp):
    study = study_of(training())
    placed = rows_of(study, RowKind.PROCESS, RowKind.STREAM)
    first, second = (painted(study, placed, (0, 40 * MS), 500, ("idle",)) for _ in range(2))
    assert (first == second).all()
