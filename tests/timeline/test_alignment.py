"""Headers and canvas agree on every device pixel, also where the scale is no whole number."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
import numpy as np
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget
from tests.timeline.make import MS, pixels, state_of, training
from viewer.drawing.theme import LIGHT
from viewer.rows.presets import launch_rows
from viewer.timeline.timeline import Timeline

app = QApplication([])
app.setStyle("Fusion")
state = state_of(training(ranks=3))
state.axis.go(62 * MS, 65 * MS)
state.rows.set_expanded([r.key for root in state.rows.roots for r in root.walk()], True)
# The lines inside a launch latency would be taken for borders of rows.
state.rows.set_hidden(launch_rows(state.rows.roots), True)
window, bar = QWidget(), QLabel("bar")
timeline = Timeline(state, sys.argv[1])
layout = QVBoxLayout(window)
layout.setContentsMargins(0, 0, 0, 0)
layout.setSpacing(0)
layout.addWidget(bar)
layout.addWidget(timeline)
window.resize(600, 420)
window.show()

def wait(ms):
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()

wait(300)
d = window.devicePixelRatioF()
q = lambda v: int(np.floor(v + 0.5))
lines = {LIGHT.line, LIGHT.line_soft}
wrong = rows = 0
for height in (59, 60, 61):
    bar.setFixedHeight(height)
    for scroll in range(0, 60, 13):
        timeline.scroll_bar.setValue(scroll)
        wait(10)
        picture = pixels(window.screen().grabWindow(window.winId()).toImage())
        top = q(timeline.headers.mapTo(window, timeline.headers.rect().topLeft()).y() * d) + 2
        bottom = q((window.height() - 24) * d)
        header, canvas = picture[top:bottom, 1], picture[top:bottom, q((window.width() - 60) * d)]
        starts = []
        for column in (header, canvas):
            on = np.isin(column, list(lines))
            starts.append(np.flatnonzero(on[1:] & ~on[:-1]))
        rows += len(starts[0])
        wrong += len(np.setxor1d(*starts))
print(d, rows, wrong)
"""


@pytest.mark.parametrize("scale", ["1", "1.25", "1.5", "2"])
@pytest.mark.parametrize("renderer", ["raster", "gl"])
def test_rows_of_headers_and_canvas_start_on_the_same_device_pixel(qapp, scale, renderer):
    if QGuiApplication.platformName() == "offscreen":
        pytest.skip("needs a screen to read pixels from")
    environment = os.environ | {"QT_SCALE_FACTOR": scale, "QT_SCALE_FACTOR_ROUNDING_POLICY": "PassThrough"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, renderer],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found_scale, rows, wrong = done.stdout.split()[-3:]
    assert float(found_scale) == float(scale)
    assert int(rows) > 60
    assert int(wrong) == 0
