"""Frames of the timeline: rectangles, painting, and the whole way to the screen; pointer and selection.

Run by `run.py`, in a process of its own: ``python -m tests.benchmarks.frames TRACE raster|gl SCALE``.

Twice: with everything unfolded in a window of 1600 x 900, which holds fewer than 60 rows, for nested ranges
make rows high; and with 60 rows of one or two lanes (ranks, states, kernels, streams, NVTX, API, OS calls),
in a window as high as they need: 60 rows of the least height are more than 900 pixels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication

from tests.benchmarks.figures import Figure, median, p95, print_json, timed
from viewer.analysis.study import Study
from viewer.app.trace_loader import LoadedTrace, warm_up
from viewer.drawing.layout import row_bands
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.readers import read
from viewer.rows import build_rows
from viewer.rows.presets import PRESETS
from viewer.state import Hover, ViewState
from viewer.state.jobs import is_anything_running
from viewer.timeline.paint.paint_rows import make_frame, paint_frame
from viewer.timeline.timeline import Timeline

ZOOMS = ("whole trace", "1/3", "1/30", "1/1000", "1 µs a pixel")
WIDTH, HEIGHT, ROWS = 1600, 900, 60
STEPS, NOTCH_PX = 24, 60
MOST_LANES = 2
_BUDGETS = {("raster", 1.0): (16.0, 33.0, 3.0), ("raster", 2.0): (33.0, None, None)}
"""By renderer and scale: a frame's median and 95th percentile, and what follows the pointer, ms."""


def _length(zoom: str, whole: int, width: int) -> int:
    if zoom == "whole trace":
        return whole
    return whole // int(zoom[2:]) if zoom.startswith("1/") else 1_000 * width


def main(path: Path, renderer: str, scale: float) -> None:
    """Measure both windows."""
    app = QApplication([])
    app.setStyle("Fusion")
    study = Study(read(path))
    study.iterations()
    study.prepare()
    state = ViewState()
    timeline = Timeline(state, renderer)  # type: ignore[arg-type]
    roots = build_rows(study)
    timeline.prepared = Scene(study)
    timeline.prepared.prepare_states()
    warm_up(LoadedTrace(study, roots, False, scene=timeline.prepared), lambda: False)
    state.set_study(study, roots)
    state.rows.set_expanded(PRESETS["everything"](roots)[0], True)
    state.set_overlays(frozenset(("idle", "exposed", "waiting")))
    timeline.resize(WIDTH, HEIGHT)
    timeline.show()
    app.processEvents()
    while is_anything_running():
        app.processEvents()
    measured = _Measured(timeline, renderer, scale)
    measured.all()
    every = [row for root in roots for row in root.walk()]
    # Counter rows are one lane, and higher than two of others: they are measured with everything unfolded.
    others = [
        row.key
        for row in every
        if row.kind.value.counter or len(row_bands(row, row.key in state.rows.expanded)) > MOST_LANES
    ]
    state.rows.set_hidden(others, True)
    app.processEvents()
    while len(timeline.canvas.placed) < ROWS and timeline.scroll_bar.maximum():
        timeline.resize(WIDTH, timeline.height() + 4)
        app.processEvents()
    measured.all()
    print_json(measured.found)
    sys.stdout.flush()


class _Measured:
    """The figures of one timeline."""

    def __init__(self, timeline: Timeline, renderer: str, scale: float) -> None:
        self.found: list[Figure] = []
        self._timeline, self._state = timeline, timeline.state
        self._name = f"frames, {renderer} at a scale of {scale:g}"
        self._budgets = _BUDGETS.get((renderer, scale), (None, None, None))

    def all(self) -> None:
        """Measure every zoom at the timeline's size."""
        timeline, state = self._timeline, self._state
        group = (
            f"{self._name}, {len(timeline.canvas.placed)} rows in {timeline.width()} x {timeline.height()}"
        )
        low, high = state.axis.limits
        for zoom in ZOOMS:
            length = _length(zoom, high - low, timeline.place.pixels.columns)
            start = low if length == high - low else low + (high - low) // 3
            self._zoom(group, zoom, start, length)

    def _zoom(self, group: str, zoom: str, start: int, length: int) -> None:
        state, bar = self._state, self._timeline.scroll_bar
        step = max(1, length // 100)

        def go(k: int) -> None:
            # Both pan and zoom a little: nothing of the last frame can be used again.
            state.axis.go(start + k * step, start + k * step + length - k)

        def select(k: int) -> None:
            state.select((start, start + (k + 5) * length // 60))

        frame, slowest, mark = self._budgets
        go(0)
        QApplication.processEvents()
        self.found += _parts(self._timeline, group, zoom)
        for what, work in (("frame", go), ("scrolled frame", lambda k: bar.setValue(k * NOTCH_PX))):
            spent = _each(work)
            self.found.append(Figure(group, f"{zoom}: {what}, median", median(spent), "ms", frame))
            self.found.append(Figure(group, f"{zoom}: {what}, p95", p95(spent), "ms", slowest))
        bar.setValue(0)
        go(0)
        spent = _each(lambda k: state.set_hover(Hover(start + (k + 5) * length // 60)))
        state.set_hover(None)
        self.found.append(Figure(group, f"{zoom}: pointer", median(spent), "ms", mark))
        select(0)
        QApplication.processEvents()
        self.found.append(Figure(group, f"{zoom}: dragged selection", median(_each(select)), "ms", mark))
        state.select(None)


def _each(work: Callable[[int], object]) -> list[float]:
    """Return how long each step takes until it is on the screen, ms."""

    def step(k: int) -> None:
        work(k)
        QApplication.processEvents()

    return [timed(lambda k=k: step(k))[0] for k in range(1, STEPS + 1)]  # type: ignore[misc]


def _parts(timeline: Timeline, group: str, zoom: str) -> list[Figure]:
    """Measure what a frame consists of: computing its rectangles, and painting them."""
    canvas, state, scene = timeline.canvas, timeline.state, timeline.scene
    assert scene is not None
    grid = canvas.grid()
    start, end = state.axis.window
    frames = []

    def compute() -> None:
        moved = len(frames) + 1
        scale = Scale(start + moved, end + moved, grid.columns)
        frames.append(
            make_frame(
                scene, canvas.placed, scale, grid.rows, canvas.theme, dpr=grid.dpr, origin_y=grid.y,
                overlays=state.overlays, iterations=state.iterations,
            )
        )  # fmt: skip

    computed = timed(compute, 9)
    image = QImage(grid.columns, grid.rows, QImage.Format.Format_RGB32)

    def paint() -> None:
        painter = QPainter(image)
        paint_frame(painter, frames[-1])
        painter.end()

    return [
        Figure(group, f"{zoom}: computing", median(computed), "ms"),
        Figure(group, f"{zoom}: painting", median(timed(paint, 9)), "ms"),
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
