"""Chooses another marker of the iterations, which are found in a background thread first."""

from __future__ import annotations

from PySide6.QtCore import QObject

from viewer.state.jobs import Worker
from viewer.state.view_state import ViewState


class MarkerChoice(QObject):
    """Sets the marker once its iterations are found; of several choices the last one counts."""

    def __init__(self, state: ViewState, parent: QObject) -> None:
        super().__init__(parent)
        self._state = state
        self._worker = Worker(self)
        state.leaving.connect(self.cancel)

    def choose(self, position: int) -> bool:
        """Choose a candidate by its place among `ViewState.candidates`; return whether it is another one."""
        study = self._state.study
        self.cancel()
        if study is None or position == self._state.marker or not 0 <= position < len(study.candidates):
            return False
        self._worker.start(lambda _: study.iterations(position), lambda _: self._state.set_marker(position))
        return True

    def cancel(self) -> None:
        """Drop a choice that is being looked for."""
        self._worker.cancel()
