"""ShownPath: the critical paths of the open trace, as the timeline draws them and the docks list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from viewer.drawing.critical_line import CriticalLine, critical_line
from viewer.state.jobs import Worker

if TYPE_CHECKING:
    from viewer.analysis.replay.critical_path import CriticalPath
    from viewer.analysis.study import Study
    from viewer.state.view_state import ViewState

OVERLAY = "path"
"""What the overlay is called in `ViewState.overlays`."""


class ShownPath(QObject):
    """Computes the critical paths once somebody asks for them, and keeps them for the marker in use.

    Attributes
    ----------
    paths : tuple of CriticalPath
        Of each iteration; () until they are computed.
    line : CriticalLine or None
        All of them as they are drawn; None until then.

    Signals
    -------
    changed()
        The line is another one, or is shown or hidden.
    """

    changed = Signal()

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self._state = state
        self.paths: tuple[CriticalPath, ...] = ()
        self.line: CriticalLine | None = None
        self._of: tuple[Study | None, int] = (None, 0)
        self._worker = Worker(self)
        state.study_changed.connect(self._forget)
        state.iterations_changed.connect(self._follow_marker)
        state.overlays_changed.connect(self._follow_overlays)

    @property
    def is_wanted(self) -> bool:
        """Whether the overlay is on."""
        return OVERLAY in self._state.overlays

    @property
    def shown(self) -> CriticalLine | None:
        """The line where it is drawn: the overlay is on, and the paths are known."""
        return self.line if self.is_wanted else None

    @property
    def is_busy(self) -> bool:
        """Whether the paths are being computed."""
        return self._worker.is_busy

    def find(self, *, background: bool = False) -> None:
        """Compute the paths of the open trace, unless they are known or being computed."""
        state = self._state
        study, marker = state.study, state.marker
        if study is None or state.iterations is None or self._of == (study, marker):
            return
        self._of = (study, marker)
        self._worker.start(
            lambda _: (study.critical_paths(marker), critical_line(study, marker)),
            self._take,
            background=background,
        )

    def _take(self, found: tuple[tuple[CriticalPath, ...], CriticalLine]) -> None:
        self.paths, self.line = found
        self.changed.emit()

    def _forget(self) -> None:
        self._worker.cancel()
        self._of = (None, 0)
        if self.line is not None:
            self.paths, self.line = (), None
            self.changed.emit()

    def _follow_marker(self) -> None:
        if self._of[0] is not None and self._of[1] != self._state.marker:
            self._forget()
            self.find(background=self._state.is_restoring)

    def _follow_overlays(self) -> None:
        if self.is_wanted:
            self.find(background=self._state.is_restoring)
        self.changed.emit()
