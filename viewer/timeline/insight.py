"""What the timeline shows of a trace that would keep it from opening: found beside the window."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from viewer.analysis.collectives import Collectives
from viewer.analysis.finding import Finding
from viewer.analysis.slices import Slices
from viewer.analysis.study import Study
from viewer.rows import Row, RowKind
from viewer.state import ViewState
from viewer.state.work import Worker


class Insight(QObject):
    """Collectives, findings and slices of the open trace, each None or empty until it is known.

    Signals
    -------
    changed()
        More is known, or the trace is another one.
    """

    changed = Signal()

    def __init__(self, state: ViewState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.collectives: Collectives | None = None
        self.slices: Slices | None = None
        self.warnings: dict[int, str] = {}
        self._lost: dict[int, str] = {}
        self._marker = 0
        self._worker = Worker(self)
        state.study_changed.connect(self.restart)
        state.laps_changed.connect(self._follow_marker)
        self.restart()

    def restart(self) -> None:
        """Forget everything, and find it for the open trace."""
        self._worker.cancel()
        self.collectives = self.slices = None
        self.warnings, self._lost = {}, {}
        self.changed.emit()
        if (study := self.state.study) is not None and not study.partial:
            self._worker.start(lambda _: (study.findings, study.collectives), self._take_first)

    def _take_first(self, found: tuple[tuple[Finding, ...], Collectives]) -> None:
        study = self.state.study
        if study is not None:
            findings, self.collectives = found
            self.warnings = warnings_of(findings)
            self._lost = {f.process: _text(f) for f in findings if f.process is not None and f.gpu is None}
            self.changed.emit()
            self._find_slices(study)

    def _follow_marker(self) -> None:
        study = self.state.study
        if study is not None and self.slices is not None and self._marker != self.state.marker:
            self._find_slices(study)

    def _find_slices(self, study: Study) -> None:
        marker = self._marker = self.state.marker
        self._worker.start(lambda _: study.slices(marker), self._take_slices)

    def _take_slices(self, slices: Slices) -> None:
        self.slices = slices
        self.changed.emit()

    def warning(self, row: Row) -> str:
        """Return what makes the row of a GPU, or of a process, doubtful or empty; "" for nothing."""
        if row.kind is RowKind.GPU and row.gpu is not None:
            return self.warnings.get(row.gpu, "")
        if row.kind is RowKind.PROCESS:
            gpus = [
                child.gpu for child in row.children if child.kind is RowKind.GPU and child.gpu is not None
            ]
            told = [self.warnings[gpu] for gpu in gpus if gpu in self.warnings]
            return "\n".join(told) or self._lost.get(-1 if row.process is None else row.process, "")
        return ""


def _text(finding: Finding) -> str:
    return f"{finding.title}\n{finding.meaning}"


def warnings_of(findings: tuple[Finding, ...]) -> dict[int, str]:
    """Return, by GPU, what spoils its numbers: a shifted clock, lost rows."""
    found: dict[int, str] = {}
    for finding in findings:
        if finding.spoils and finding.gpu is not None:
            text = _text(finding)
            found[finding.gpu] = f"{found[finding.gpu]}\n{text}" if finding.gpu in found else text
    return found
