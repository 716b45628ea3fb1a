"""Garbage is collected in the main thread alone."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 200


class GarbageCollector(QObject):
    """Collects Python's reference cycles from the main thread, now and then, instead of Python itself.

    Python collects in whatever thread happens to allocate. A job beside the window would then delete the
    actions, timers and models of a dialog that was closed, and Qt's objects may only be deleted in the thread
    that they live in: the window may be going over them at that moment, which ends the process.

    Lives as long as its parent; `stop` gives the work back to Python.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.collect_due)
        self._timer.start()

    def collect_due(self) -> None:
        """Collect the oldest generation that is due, by Python's own thresholds."""
        due = [
            generation
            for generation, (count, threshold) in enumerate(
                zip(gc.get_count(), gc.get_threshold(), strict=True)
            )
            if count > threshold
        ]
        # An older generation is only due with the youngest: its count says how often that was collected.
        if 0 in due:
            gc.collect(max(due))

    def stop(self) -> None:
        """Let Python collect by itself again."""
        self._timer.stop()
        gc.enable()
