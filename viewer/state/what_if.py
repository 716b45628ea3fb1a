"""WhatIfs: the changes that are being tried on the open trace, and what they would win; one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from viewer.analysis.replay.changes import Change, ChangeError
from viewer.drawing.prediction import Prediction, predict
from viewer.state.jobs import Worker

if TYPE_CHECKING:
    from viewer.analysis.study import Study
    from viewer.state.view_state import ViewState


class WhatIfs(QObject):
    """Several changes add up; each time they are replayed together, beside the window.

    Attributes
    ----------
    changes : tuple of Change
        Those that are tried, in the order in which they were added; () while no prediction is shown.
    prediction : Prediction or None
        Of these changes; None until it is computed.
    failure : str
        Why there is none, "" where there is or will be one.

    Signals
    -------
    changed()
        The changes are others, or their prediction is there.
    """

    changed = Signal()

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self._state = state
        self.changes: tuple[Change, ...] = ()
        self.prediction: Prediction | None = None
        self.failure = ""
        self._worker = Worker(self)
        self._worker.busy_changed.connect(self._follow_worker)
        state.study_changed.connect(self.close)
        state.iterations_changed.connect(self._follow_marker)
        self._marker = 0

    @property
    def is_open(self) -> bool:
        """Whether changes are being tried."""
        return bool(self.changes)

    @property
    def is_busy(self) -> bool:
        """Whether the prediction is being computed."""
        return self._worker.is_busy

    @property
    def obstacle(self) -> str:
        """Why nothing can be tried now, "" where something can."""
        study = self._state.study
        if study is None:
            return "Open a trace first"
        if not study.loading.is_complete:
            return "The iterations are replayed once all of the trace is read and counted"
        return "" if self._state.iterations is not None else "No iterations were found that could be replayed"

    def add(self, change: Change) -> None:
        """Try one more change; one that is tried already stays."""
        if change not in self.changes:
            self.show((*self.changes, change))

    def remove(self, change: Change) -> None:
        """Leave a change out; without any the prediction is closed."""
        self.show(tuple(other for other in self.changes if other != change))

    def show(self, changes: tuple[Change, ...]) -> None:
        """Try these changes and no others."""
        study, marker = self._state.study, self._state.marker
        if study is None or self.obstacle or not changes:
            self.close()
            return
        self.changes, self.prediction, self.failure, self._marker = changes, None, "", marker
        self._worker.start(lambda _: _predicted(study, changes, marker), self._take)
        self.changed.emit()

    def close(self) -> None:
        """Try nothing any more."""
        self._worker.cancel()
        if self.changes:
            self.changes, self.prediction, self.failure = (), None, ""
            self.changed.emit()

    def _take(self, found: Prediction | str) -> None:
        if isinstance(found, str):
            self.failure = found
        else:
            self.prediction = found
        self.changed.emit()

    def _follow_worker(self, is_busy: bool) -> None:
        """Say so where a calculation ended without an answer; its error is in the log."""
        if not is_busy and self.changes and self.prediction is None and not self.failure:
            self.failure = "This could not be replayed; the log says why"
            self.changed.emit()

    def _follow_marker(self) -> None:
        if self.changes and self._marker != self._state.marker:
            self.show(self.changes)


def _predicted(study: Study, changes: tuple[Change, ...], marker: int) -> Prediction | str:
    try:
        return predict(study, changes, marker)
    except ChangeError as error:
        return str(error)
