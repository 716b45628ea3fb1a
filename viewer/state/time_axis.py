"""The time axis: the window in view and the history of where one has been."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Signal

Window = tuple[int, int]
"""[start, end) in integer nanoseconds from the trace's zero; end > start."""

Steps = tuple[tuple[Window, ...], tuple[Window, ...]]
"""The windows to go back to and those to go forward to, the next one last."""

MIN_WIDTH_NS = 20
RUN_OF_NOTCHES_S = 0.6


class TimeAxis(QObject):
    """Owner of the window in view.

    Signals
    -------
    changed()
        The window is another one, or its limits are.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.limits: Window = (0, 1)
        self.window: Window = (0, 1)
        self._back: list[Window] = []
        self._forward: list[Window] = []
        self._run: tuple[str, float] = ("", 0.0)

    @property
    def steps(self) -> Steps:
        """The history of where one has been."""
        return tuple(self._back), tuple(self._forward)

    def reset(self, limits: Window, window: Window, steps: Steps = ((), ())) -> None:
        """Start over on another trace, or another view of it, with this history."""
        self.limits = limits
        self._back, self._forward = list(steps[0]), list(steps[1])
        self._run = ("", 0.0)
        self.window = self._fitted(*window)
        self.changed.emit()

    def limit(self, limits: Window) -> None:
        """Take other limits; the window is moved and shrunk into them."""
        before = self.limits, self.window
        self.limits = limits
        self.go(*self.window)
        if self.window == before[1] and limits != before[0]:
            self.changed.emit()

    def go(self, start_ns: int, end_ns: int, run: str = "") -> None:
        """Show [start, end), moved and shrunk into the limits.

        Parameters
        ----------
        run : str
            Steps of the same non-empty `run` in quick succession (wheel notches, a pan by dragging)
            are one step of the history.
        """
        window = self._fitted(start_ns, end_ns)
        if window == self.window:
            return
        now = time.monotonic()
        if not (run and run == self._run[0] and now - self._run[1] < RUN_OF_NOTCHES_S):
            self._back.append(self.window)
            self._forward.clear()
        self._run = (run, now)
        self.window = window
        self.changed.emit()

    def zoom(self, factor: float, at_ns: int, run: str = "zoom") -> None:
        """Show `factor` times the length (below 1: closer); the instant `at_ns` stays where it is."""
        start, end = self.window
        at_ns = min(max(at_ns, start), end)
        length = max(MIN_WIDTH_NS, round((end - start) * factor))
        new_start = at_ns - round((at_ns - start) * length / (end - start))
        self.go(new_start, new_start + length, run)

    def pan(self, delta_ns: int, run: str = "pan") -> None:
        """Move the window by `delta_ns`, keeping its length."""
        self.go(self.window[0] + delta_ns, self.window[1] + delta_ns, run)

    def center(self, start_ns: int, end_ns: int, share: float = 0.1) -> None:
        """Show [start, end) in the middle, filling `share` of the width."""
        length = max(MIN_WIDTH_NS, round(max(end_ns - start_ns, 1) / share))
        start = (start_ns + end_ns) // 2 - length // 2
        self.go(start, start + length)

    @property
    def can_back(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self._back)

    @property
    def can_forward(self) -> bool:
        """Whether there is a step to redo."""
        return bool(self._forward)

    def back(self) -> None:
        """Undo a navigation step."""
        self._step(self._back, self._forward)

    def forward(self) -> None:
        """Redo a navigation step."""
        self._step(self._forward, self._back)

    def _step(self, taken: list[Window], kept: list[Window]) -> None:
        if taken:
            kept.append(self.window)
            self.window = self._fitted(*taken.pop())
            self._run = ("", 0.0)
            self.changed.emit()

    def _fitted(self, start_ns: int, end_ns: int) -> Window:
        low, high = self.limits
        length = min(max(end_ns - start_ns, MIN_WIDTH_NS), max(high - low, MIN_WIDTH_NS))
        start = min(max(start_ns, low), max(high - length, low))
        return int(start), int(start + length)
