"""One time axis: ruler, overview, pinned rows and rows lie on the same device pixels, at every size."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from pyvirtualdisplay import Display

from tests.timeline.make import pixels

ROOT = Path(__file__).resolve().parents[2]
SWEEPS = [("raster", scale, 50) for scale in ("1", "1.25", "1.5", "2")] + [
    ("gl", "1.25", 12),
    ("gl", "1.5", 12),
]


@pytest.mark.parametrize(("renderer", "scale", "sizes"), SWEEPS)
def test_cut_tick_and_edge_are_in_one_device_pixel_in_all_strips(tmp_path, renderer, scale, sizes):
    if not shutil.which("Xvfb"):
        pytest.skip("needs a screen of its own, made by Xvfb")
    with Display(visible=False, size=(3600, 2300), manage_global_env=False) as display:
        scaled = {"QT_SCALE_FACTOR": scale, "QT_SCALE_FACTOR_ROUNDING_POLICY": "PassThrough"}
        command = [sys.executable, "-m", "tests.app.axis_sweep", renderer, str(sizes), str(tmp_path)]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | display.env() | scaled, check=False,
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *wrong, last = done.stdout.strip().splitlines()
    found_scale, looked_at, with_bar, compared, _, used = last.split()
    if used != renderer:
        pytest.skip("no OpenGL 3.3 on this display")
    assert not wrong, "\n".join(wrong)
    assert float(found_scale) == float(scale)
    assert int(looked_at) == sizes
    assert 0 < int(with_bar) < sizes
    assert int(compared) > 20 * sizes


def test_a_scroll_bar_that_comes_and_goes_moves_no_strip(window, qtbot):
    timeline, rows = window.timeline, window.state.rows
    strips = (timeline.overview, timeline.ruler, timeline.canvas)
    window.resize(1280, 720)
    seen = set()
    for unfolded in (False, True, False):
        rows.set_expanded([r.key for root in rows.roots for r in root.walk()], unfolded)
        qtbot.waitUntil(lambda shown=unfolded: timeline.scroll_bar.isVisible() == shown)
        seen |= {(s.geometry().left(), s.geometry().width()) for s in strips}
    assert len(seen) == 1


def test_a_trace_that_is_compared_lies_on_the_same_pixels(window, demo_path, qtbot):
    window.resize(1280, 900)
    window.open(demo_path)
    qtbot.waitUntil(
        lambda: not window.loader.is_busy and window.state.study.loading.is_complete, timeout=30_000
    )
    comparison = window.compare(demo_path)
    qtbot.waitUntil(lambda: comparison.dock is not None, timeout=30_000)
    first, second = window.timeline, comparison.timeline
    # The overview stripes what waits, once that is known of both.
    both = (first.background_results, second.background_results)
    qtbot.waitUntil(lambda: all(results.collectives is not None for results in both), timeout=30_000)
    assert first.state.overlays == second.state.overlays
    first.state.rows.set_hidden([root.key for root in first.state.rows.roots[1:]], True)
    second.state.rows.set_expanded([r.key for root in second.state.rows.roots for r in root.walk()], True)
    for timeline, width in ((first, 300), (second, 240), (first, 360)):
        timeline.place.set_header_width(width)
        qtbot.waitUntil(lambda: second.scroll_bar.isVisible() and not first.scroll_bar.isVisible())
        picture = pixels(window.grab().toImage())
        upper, lower = (
            picture[at.y() : at.y() + t.overview.height(), at.x() :]
            for t in (first, second)
            for at in (t.overview.mapTo(window, QPoint()),)
        )
        assert upper.shape == lower.shape
        assert len(np.unique(upper)) > 5
        assert np.array_equal(upper, lower)
