"""Opening in the real window: when the GPUs and when everything stands, and how long the window is deaf.

Run by `run.py`, in a process of its own: ``python -m tests.benchmarks.opening TRACE first|second``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QEventLoop, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from tests.benchmarks.figures import Figure, peak_bytes, print_json, private_bytes
from viewer.app.crash import CrashGuard
from viewer.app.main_window import MainWindow
from viewer.app.run import be_responsive
from viewer.app.settings import Settings
from viewer.app.theme_manager import ThemeManager
from viewer.rows.presets import PRESETS
from viewer.state.jobs import is_anything_running
from viewer.trace import Kind

LONGEST_BLOCK_MS = 100
FELT_MS = 50
"""From here on a hand that drags feels that the window waits."""
BEAT_MS = 5


class _Paints(QObject):
    """Notes when the canvas has been painted."""

    def __init__(self) -> None:
        super().__init__()
        self.last = 0.0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            QTimer.singleShot(0, self._painted)
        return False

    def _painted(self) -> None:
        self.last = time.perf_counter()


class _Heart:
    """Beats every 5 ms if the main thread lets it; the longest pause more is how long the window was deaf."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self._timer = QTimer(interval=BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        self._last = time.perf_counter()
        self._timer.start()

    def _beat(self) -> None:
        now = time.perf_counter()
        self.pauses.append(now - self._last - BEAT_MS / 1e3)
        self._last = now

    def take(self) -> tuple[float, int]:
        """Return the longest pause in ms, and how many are felt, since this was last asked."""
        longest, felt = max(self.pauses) * 1e3, sum(pause * 1e3 > FELT_MS for pause in self.pauses)
        self.pauses = [0.0]
        return longest, felt


def _wait(is_over: Callable[[], bool]) -> None:
    """Let the window work, as it does for a user, until something has happened."""
    loop = QEventLoop()
    look = QTimer(interval=BEAT_MS)
    look.timeout.connect(lambda: is_over() and loop.quit())
    look.start()
    loop.exec()


def main(path: Path, which: str) -> None:
    """Open a trace, wait until nothing is being computed any more, unfold everything."""
    be_responsive()
    app = QApplication([])
    window = MainWindow(Settings(), ThemeManager(app, "light"), CrashGuard(), "raster")
    window.resize(1600, 900)
    window.show()
    app.processEvents()
    before = private_bytes()
    paints, heart = _Paints(), _Heart()
    window.timeline.canvas.installEventFilter(paints)
    shown: dict[str, float] = {}
    waiting: list[str] = []

    def hung(step: str) -> None:
        waiting.append(step)
        paints.last = 0.0  # What was painted before shows the step before.

    loader = window.loader
    loader.gpus_ready.connect(lambda _: hung("early"))
    loader.rows_ready.connect(lambda _: hung("whole"))
    loader.finished.connect(lambda _: hung("numbers"))
    began = time.perf_counter()
    heart.start()
    window.open(path)

    def is_shown() -> bool:
        if waiting and paints.last > began:
            shown[waiting.pop(0)] = paints.last - began
            paints.last = 0.0
        return "numbers" in shown

    _wait(is_shown)
    _wait(lambda: not is_anything_running() and not window.loader.is_warming)
    sorted_events = time.perf_counter() - began
    blocked, felt = heart.take()
    study = window.state.study
    assert study is not None
    events = sum(len(study.trace.events[kind]) for kind in Kind)
    roots = window.state.rows.roots
    expanded, _ = PRESETS["everything"](roots)
    window.state.rows.set_expanded(expanded, True)
    for _ in range(20):
        app.processEvents()
    unfolded, _ = heart.take()
    own = (private_bytes() - before) / events
    group = f"{which} open"
    whole = shown.get("whole", shown["numbers"])
    print_json(
        [
            Figure(group, "events", events, ""),
            Figure(
                group, "first picture", shown.get("early", whole), "s", 1.0 if which == "second" else None
            ),
            Figure(group, "whole picture", whole, "s"),
            Figure(group, "iterations and sums", shown["numbers"], "s"),
            Figure(group, "everything computed", sorted_events, "s"),
            Figure(group, "longest block of the window", blocked, "ms", LONGEST_BLOCK_MS),
            Figure(group, f"blocks over {FELT_MS} ms", felt, ""),
            Figure(group, "block when everything is unfolded", unfolded, "ms"),
            Figure(group, "private memory, everything open", own, "B/event", 120.0),
            Figure(group, "peak memory, mapped files included", peak_bytes() / events, "B/event"),
        ]
    )
    sys.stdout.flush()
    window.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
