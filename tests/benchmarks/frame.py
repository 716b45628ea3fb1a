"""How long a whole frame takes in the window: zoom, pointer, selection; eight GPUs, millions of events.

Run by hand, on a display or under xvfb-run: ``python -m tests.benchmarks.frame [--events 580000]``. The
budgets are 16 ms a zoom frame (median), 3 ms for the pointer and for a dragged selection.
"""

import argparse
import statistics
import time

from PySide6.QtWidgets import QApplication

from tests.benchmarks.analysis import trace
from viewer.analysis.classify import Rules
from viewer.analysis.study import Study
from viewer.rows import build_rows
from viewer.state import Hover, ViewState
from viewer.timeline.timeline import Timeline

ZOOMS = (1, 2, 3, 5, 10, 30, 1000, 100_000)
STEPS = 24


def timed(app, change):
    """Median and 95th percentile, ms, of a change of the state until it is on the screen."""
    spent = []
    for step in range(STEPS):
        began = time.perf_counter()
        change(step)
        app.processEvents()
        spent.append((time.perf_counter() - began) * 1e3)
    spent.sort()
    return f"{statistics.median(spent):6.1f} {spent[-2]:6.1f}"


def main():
    """Print one line a zoom."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=580_000, help="kernels a rank")
    parser.add_argument("--renderer", default="raster", choices=("raster", "gl"))
    options = parser.parse_args()
    app = QApplication([])
    app.setStyle("Fusion")
    state, study = ViewState(), Study(trace(options.events), Rules.builtin())
    state.set_study(study, build_rows(study))
    state.rows.set_expanded([r.key for root in state.rows.roots for r in root.walk()], True)
    state.set_overlay("idle", True)
    state.set_overlay("exposed", True)
    timeline = Timeline(state, options.renderer)
    timeline.resize(1600, 900)
    timeline.show()
    app.processEvents()
    print(f"{len(timeline.canvas.placed)} rows, {timeline.renderer}; median and p95 in ms")
    low, high = state.axis.limits
    for zoom in ZOOMS:
        length = (high - low) // zoom
        start = low + (high - low) // 3 if zoom > 1 else low
        step = max(1, length // 400)
        frame = timed(app, lambda k, s=start, n=length, d=step: state.axis.go(s + k * d, s + n - k))
        hover = timed(app, lambda k, s=start, n=length: state.set_hover(Hover(s + (k + 5) * n // 40)))
        state.set_hover(None)
        select = timed(app, lambda k, s=start, n=length: state.select((s, s + (k + 2) * n // 40)))
        state.select(None)
        print(f"1/{zoom:<7} frame {frame}   pointer {hover}   selection {select}")


if __name__ == "__main__":
    main()
