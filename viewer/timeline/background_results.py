"""BackgroundResults: collectives, diagnostics, stalls and what they waited for, late ranks, prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.collectives.stream_uses import StreamUse, stream_uses
from viewer.analysis.dependencies.stall_producers import StallProducers
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.recording.diagnostics import lost_gpus
from viewer.analysis.stalls.stalls import Stalls
from viewer.analysis.study import Study
from viewer.drawing.late_notes import LateNote, late_notes_of
from viewer.rows import Row, RowKind
from viewer.state import ViewState
from viewer.state.jobs import Worker


class BackgroundResults(QObject):
    """What is computed of the open trace beside the window, each None or empty until it is there.

    Signals
    -------
    changed()
        A result is ready, or the trace is another one.
    """

    changed = Signal()

    def __init__(self, state: ViewState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.collectives: Collectives | None = None
        self.stream_uses: Mapping[int, StreamUse] = {}
        self.stalls: Stalls | None = None
        self.producers: StallProducers | None = None
        self.doubts = Doubts()
        self._late_notes: Mapping[int, LateNote] = {}
        self._marker = 0
        self._steady: frozenset[int] | None = None
        self._worker, self._late_worker = Worker(self), Worker(self)
        self._tax_worker, self._producer_worker = Worker(self), Worker(self)
        state.study_changed.connect(self.restart)
        state.iterations_changed.connect(self._follow_iterations)
        self.restart()

    def restart(self) -> None:
        """Drop all results, and compute those of the open trace."""
        self._worker.cancel()
        self._late_worker.cancel()
        self._tax_worker.cancel()
        self._producer_worker.cancel()
        self._late_notes = {}
        self.collectives = self.stalls = self.producers = None
        self.stream_uses = {}
        self.doubts = Doubts()
        self.changed.emit()
        if (study := self.state.study) is not None and study.loading.is_complete:
            self._worker.start(
                lambda _: (doubts_of(study), study.collectives), self._take_first, background=True
            )

    def _take_first(self, found: tuple[Doubts, Collectives]) -> None:
        study = self.state.study
        if study is not None:
            self.doubts, self.collectives = found
            self.stream_uses = stream_uses(self.collectives)
            self.changed.emit()
            self._find_stalls(study, background=True)

    def _follow_iterations(self) -> None:
        study = self.state.study
        if study is None or self.stalls is None:
            return
        if self._marker != self.state.marker:
            self._find_stalls(study, background=self.state.is_restoring)
        elif self._steady != self.state.steady_choice:
            self._find_late(study)

    def _find_stalls(self, study: Study, background: bool) -> None:
        marker = self._marker = self.state.marker
        self._worker.start(lambda _: study.stalls(marker), self._take_stalls, background=background)

    def _take_stalls(self, stalls: Stalls) -> None:
        self.stalls, self.producers = stalls, None
        self.changed.emit()
        if (study := self.state.study) is not None:
            self._find_late(study)
            marker = self._marker
            self._producer_worker.start(
                lambda _: study.stall_producers(marker), self._take_producers, background=True
            )

    def _take_producers(self, producers: StallProducers) -> None:
        if producers.stalls is self.stalls:
            self.producers = producers
            self.changed.emit()

    def _find_late(self, study: Study) -> None:
        marker, steady = self.state.marker, self.state.steady_choice
        self._steady = steady
        self._late_worker.start(
            lambda _: late_notes_of(study, marker, steady), self._take_late, background=True
        )

    def _take_late(self, notes: Mapping[int, LateNote]) -> None:
        self._late_notes = notes
        self.changed.emit()
        self.state.path.find(background=True)
        # Last: cards alone wait for it, and it reads the kernels' table again.
        if (study := self.state.study) is not None and study.known_overlap_tax is None:
            self._tax_worker.start(lambda _: study.overlap_tax, lambda _: None, background=True)

    def late_note(self, row: Row) -> LateNote | None:
        """Return what makes the GPU of a row, or the only one of a process, late; None where nothing does."""
        if row.kind not in (RowKind.GPU, RowKind.PROCESS) or row.gpu is None:
            return None
        return self._late_notes.get(row.gpu)

    def warning(self, row: Row) -> str:
        """Return why the row of a GPU or a process is doubtful or empty; "" where it is neither."""
        return self.doubts.of(row)


def _text(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.title}\n{diagnostic.meaning}"


@dataclass(frozen=True)
class Doubts:
    """The reasons why rows are doubtful or empty.

    Attributes
    ----------
    gpus : mapping of int to str
        By GPU, the fault that makes its numbers wrong: a shifted clock, lost rows.
    processes : mapping of int to str
        By process without any GPU row, how its rows were lost.
    lost : frozenset of int
        The GPUs whose rows were lost: an empty lane there does not mean idle.
    """

    gpus: Mapping[int, str] = field(default_factory=dict)
    processes: Mapping[int, str] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()

    def of(self, row: Row) -> str:
        """Return why the row of a GPU or a process is doubtful or empty; "" where it is neither."""
        if row.kind is RowKind.GPU and row.gpu is not None:
            return self.gpus.get(row.gpu, "")
        if row.kind is RowKind.PROCESS and row.process is not None:
            gpus = [child.gpu for child in row.children if child.kind is RowKind.GPU]
            warnings = [self.gpus[gpu] for gpu in gpus if gpu is not None and gpu in self.gpus]
            return "\n".join(dict.fromkeys(warnings)) or self.processes.get(row.process, "")
        return ""


def doubts_of(study: Study) -> Doubts:
    """Return the rows that the diagnostics of a trace make doubtful."""
    gpus: dict[int, str] = {}
    processes: dict[int, str] = {}
    for diagnostic in study.diagnostics:
        text = _text(diagnostic)
        concerned = [diagnostic.gpu] if diagnostic.spoils and diagnostic.gpu is not None else []
        if diagnostic.process is not None:
            concerned = [gpu.index for gpu in study.trace.gpus_of(diagnostic.process)]
            if not concerned:
                processes[diagnostic.process] = text
        for gpu in concerned:
            gpus[gpu] = f"{gpus[gpu]}\n{text}" if gpu in gpus else text
    return Doubts(gpus, processes, lost_gpus(study.trace, study.diagnostics))
