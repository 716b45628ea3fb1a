"""Traces and canvases for the tests of the picture."""

import numpy as np
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study
from viewer.drawing.layout import place
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT
from viewer.rows import build_rows
from viewer.state import ViewState
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.paint.paint_rows import make_frame, paint_frame

MS = 1_000_000


def training(ranks=2, iterations=3, start_ns=0):
    """Iterations of a copy, compute, a collective that is half hidden, and a hole of 4 ms."""
    maker = TraceMaker(session_ns=start_ns + iterations * 20 * MS + 10 * MS)
    for rank in range(ranks):
        correlation = 1
        for iteration in range(iterations):
            at = start_ns + iteration * 20 * MS + 2 * MS
            maker.range(at - MS, at + 15 * MS, f"step {iteration}", process=rank)
            maker.copy(at, at + 2 * MS, process=rank, bytes=1 << 20, correlation=correlation)
            maker.call(at - MS // 2, at - MS // 4, "cudaMemcpyAsync", process=rank, correlation=correlation)
            for k in range(10):
                correlation += 1
                begin = at + (2 + k) * MS
                maker.kernel(begin, begin + MS - 1000, f"gemm_{k % 3}", process=rank, correlation=correlation)
                maker.call(begin - 60_000, begin - 50_000, process=rank, correlation=correlation)
            maker.kernel(at + 11 * MS, at + 13 * MS, "ncclDevKernel_AllReduce", stream=20, process=rank)
            correlation += 1
    return maker.trace()


def study_of(trace):
    """The numbers of a trace, with the rules that come with the program."""
    from viewer.analysis.core.classify import Rules

    return Study(trace, Rules.builtin())


def state_of(trace):
    """A window's state on a trace."""
    state = ViewState()
    study = study_of(trace)
    state.set_study(study, build_rows(study))
    return state


def lone_axis(width):
    """The axis of a canvas that stands alone, at the left edge of its window."""
    axis = AxisPlace(QWidget())
    axis.left, axis.width = 0, width
    return axis


def rows_of(study, *kinds):
    """All rows of these kinds, placed one under another."""
    rows = [row for root in build_rows(study) for row in root.walk() if row.kind in kinds]
    return place((row, False) for row in rows)


def painted(study, placed, window, width, overlays=(), theme=LIGHT, scope=None, scene=None):
    """A window painted by the raster path, as an array of ARGB, shape (height, width)."""
    height = placed[-1].y + placed[-1].height + 1
    scale = Scale(*window, width)
    scene = scene or Scene(study)
    frame = make_frame(scene, placed, scale, height, theme, overlays=overlays, scope=scope)
    image = QImage(width, height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    paint_frame(painter, frame)
    painter.end()
    return pixels(image)


def pixels(image):
    """An image as an array of ARGB, shape (height, width)."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    flat = np.frombuffer(image.constBits(), np.uint32)
    return flat.reshape(image.height(), image.bytesPerLine() // 4)[:, : image.width()].copy()
