"""Frames of the timeline: rectangles, painting, and the whole way to the screen; pointer and selection.

Run by `run.py`, in a process of its own: ``python -m tests.benchmarks.frames TRACE raster|gl SCALE``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication

from tests.benchmarks.figures import Figure, median, p95, print_json, timed
from viewer.analysis.study import Study
from viewer.drawing.scale import Scale
from viewer.readers import read
from viewer.rows import build_rows
from viewer.rows.presets import PRESETS
from viewer.state import Hover, ViewState
from viewer.state.work import is_anything_running
from viewer.timeline.paint import make_frame, paint_frame
from viewer.timeline.timeline import Timeline

ZOOMS = ("whole trace", "1/3", "1/30", "1/1000", "1 µs a pixel")
STEPS = 24
_BUDGETS = {("raster", 1.0): (16.0, 33.0, 3.0), ("raster", 2.0): (33.0, None, None)}
"""By renderer and scale: a frame's median and 95th percentile, and what follows the pointer, ms."""


def _length(zoom: str, whole: int, width: int) -> int:
    if zoom == "whole trace":
        return whole
    return whole // int(zoom[2:]) if zoom.startswith("1/") else 1_000 * width


def main(path: Path, renderer: str, scale: float) -> None:
    """Measure every zoom."""
    app = QApplication([])
    app.setStyle("Fusion")
    study = Study(read(path))
    study.laps()
    study.prepare()
    state = ViewState()
    state.set_study(study, build_rows(study))
    state.rows.set_expanded(PRESETS["everything"](state.rows.roots)[0], True)
    state.set_overlays(frozenset(("idle", "exposed")))
    timeline = Timeline(state, renderer)  # type: ignore[arg-type]
    timeline.resize(1600, 900)
    timeline.show()
    app.processEvents()
    while is_anything_running():
        app.processEvents()
    canvas = timeline.canvas
    group = f"frames, {renderer} at a scale of {scale:g}, {len(canvas.placed)} rows"
    frame_ms, p95_ms, mark_ms = _BUDGETS.get((renderer, scale), (None, None, None))
    found = []
    low, high = state.axis.limits
    for zoom in ZOOMS:
        length = _length(zoom, high - low, canvas.columns())
        start = low if length == high - low else low + (high - low) // 3
        step = max(1, length // 100)

        def go(k: int, start: int = start, length: int = length, step: int = step) -> None:
            # Both pan and zoom a little: nothing of the last frame can be used again.
            state.axis.go(start + k * step, start + k * step + length - k)
            app.processEvents()

        go(0)
        found += _parts(timeline, group, zoom)
        spent = [timed(lambda k=k: go(k))[0] for k in range(1, STEPS + 1)]
        found.append(Figure(group, f"{zoom}: frame, median", median(spent), "ms", frame_ms))
        found.append(Figure(group, f"{zoom}: frame, p95", p95(spent), "ms", p95_ms))
        at = [start + (k + 5) * length // 60 for k in range(STEPS)]
        spent = [timed(lambda t=t: (state.set_hover(Hover(t)), app.processEvents()))[0] for t in at]
        state.set_hover(None)
        found.append(Figure(group, f"{zoom}: pointer", median(spent), "ms", mark_ms))
        state.select((start, at[0]))
        app.processEvents()
        spent = [
            timed(lambda t=t, start=start: (state.select((start, t)), app.processEvents()))[0] for t in at[1:]
        ]
        state.select(None)
        found.append(
            Figure(
                group,
                f"{zoom}: dragged selection",
                median(spent),
                "ms",
                mark_ms,
            )
        )
    print_json(found)
    sys.stdout.flush()


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
                overlays=state.overlays, laps=state.laps,
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
