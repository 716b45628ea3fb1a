"""ShownWait: what the selected event waited for, computed beside the window for timeline and docks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from viewer.drawing.event_waits import EventWait, event_wait, wait_before
from viewer.rows import EventRef
from viewer.state.jobs import Worker
from viewer.trace import GPU_KINDS, Kind

if TYPE_CHECKING:
    from viewer.analysis.study import Study
    from viewer.state.view_state import ViewState


class ShownWait(QObject):
    """Follows the selected event, or the stall that is selected after it.

    Attributes
    ----------
    wait : EventWait or None
        None while it is being computed, and where nothing is known.

    Signals
    -------
    changed()
        The wait is another one, or none.
    """

    changed = Signal()

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self._state = state
        self.wait: EventWait | None = None
        self._worker = Worker(self)
        state.study_changed.connect(self._follow_event)
        state.event_changed.connect(self._follow_event)
        state.stall_changed.connect(self._follow_stall)

    @property
    def is_busy(self) -> bool:
        """Whether what the selection waited for is being computed."""
        return self._worker.is_busy

    def _follow_event(self) -> None:
        study, chosen = self._state.study, self._state.chosen
        self._drop()
        if study is None or chosen is None or not study.loading.is_complete:
            return
        if chosen.kind in GPU_KINDS or chosen.kind is Kind.API:
            self._worker.start(lambda _: event_wait(study, chosen), self._take)

    def _follow_stall(self) -> None:
        study, number, marker = self._state.study, self._state.stall_number, self._state.marker
        if study is None or number is None:
            self._follow_event()
            return
        self._drop()
        self._worker.start(lambda _: _wait_of_stall(study, marker, number), self._take)

    def _drop(self) -> None:
        self._worker.cancel()
        if self.wait is not None:
            self.wait = None
            self.changed.emit()

    def _take(self, wait: EventWait | None) -> None:
        self.wait = wait
        self.changed.emit()


def _wait_of_stall(study: Study, marker: int, number: int) -> EventWait | None:
    ref: EventRef | None = wait_before(study, marker, number)
    return event_wait(study, ref) if ref is not None else None
