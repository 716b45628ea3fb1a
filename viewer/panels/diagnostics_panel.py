"""The Diagnostics dock: what is wrong with a recording, worst first, and what it means for numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.study import Study
from viewer.drawing.spreadsheet import csv_text
from viewer.drawing.theme import Theme
from viewer.panels.panel import Panel
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.places import reveal_gpu
from viewer.timeline.definitions_dialog import show_definitions
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import PlainLabel

TITLE_PX = 13
SIGNS = {"error": "▲", "warning": "▲", "info": "○"}
_RECORDED = {
    "cuda": "CUDA",
    "nvtx": "NVTX",
    "osrt": "OS runtime",
    "context-switches": "context switches",
    "call-chains": "call chains",
    "nccl": "NCCL's own ranges",
    "mpi": "MPI",
}


def badge_of(diagnostics: Sequence[Diagnostic]) -> str:
    """Return "2 !" for two things that make numbers wrong or doubtful, "" for none."""
    count = sum(f.severity != "info" for f in diagnostics)
    return f"{count} !" if count else ""


def summary_of(diagnostics: Sequence[Diagnostic]) -> str:
    """Return "1 error, 2 warnings", "" for neither."""
    counted = [(sum(f.severity == s for f in diagnostics), s) for s in ("error", "warning")]
    return ", ".join(f"{n} {s}{'s' if n > 1 else ''}" for n, s in counted if n)


def recorded_text(study: Study) -> str:
    """Return a line that lists what was recorded and what was not."""
    recorded = study.trace.session.recorded
    names: dict[bool, list[str]] = {True: [], False: []}
    for what, name in _RECORDED.items():
        if what in recorded or what != "mpi":
            names[what in recorded].append(name)
    text = f"Recorded: {', '.join(names[True]) or 'nothing'}."
    return f"{text} Not recorded: {', '.join(names[False])}." if names[False] else text


class DiagnosticsPanel(Panel):
    """Lists the diagnostics of `Study.diagnostics`, each with the actions that help.

    Signals
    -------
    align_requested(object)
        {GPU: ns to add to its times}: align these GPUs, or undo that.
    checked(object)
        The diagnostics of the open trace, a tuple, worst first; sent when they are known.
    """

    title = "Diagnostics"
    align_requested = Signal(object)
    checked = Signal(object)

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.diagnostics: tuple[Diagnostic, ...] | None = None
        self._worker = Worker(self)
        self.head = PlainLabel()
        self.head.setObjectName("soft")
        self.align_all = QPushButton("Align all GPUs")
        self.copy_button, self.save_button = QPushButton("Copy"), QPushButton("Save as…")
        self.align_all.clicked.connect(lambda: self.align_requested.emit(self.offered))
        self.copy_button.clicked.connect(self.copy)
        self.save_button.clicked.connect(lambda: self.save_requested.emit(self.frame()))
        self.offered: dict[int, int] = {}
        top = QHBoxLayout()
        top.setContentsMargins(8, 4, 8, 0)
        top.addWidget(self.head, 1)
        top.addWidget(self.align_all)
        top.addWidget(self.copy_button)
        top.addWidget(self.save_button)
        self.area = QScrollArea()
        self.area.setAccessibleName("Diagnostics about the recording")
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(top)
        layout.addWidget(self.area, 1)
        state.study_changed.connect(self._check)
        self._check()

    def refresh(self) -> None:
        """Show the diagnostics of the trace."""
        study = self.state.study
        if study is None:
            self.show_empty("Open a trace to see whether its recording can be trusted.")
            return
        if self.diagnostics is None:
            self.show_empty("Checking the recording…")
            return
        self.show_empty("")
        self.offered = {f.gpu: f.align_ns for f in self.diagnostics if f.align_ns and f.gpu is not None}
        self.align_all.setVisible(len(self.offered) > 1)
        self.head.setText(recorded_text(study))
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(8, 2, 8, 8)
        column.setSpacing(0)
        for gpu in study.trace.gpus:
            if gpu.aligned_ns:
                column.addWidget(self._aligned(gpu.index, gpu.aligned_ns))
        if not any(f.severity != "info" for f in self.diagnostics):
            column.addWidget(PlainLabel("Nothing is wrong with this recording."))
        for diagnostic in self.diagnostics:
            column.addWidget(DiagnosticCard(diagnostic, self.theme, self._actions(diagnostic)))
        column.addStretch()
        self.area.setWidget(page)

    def copy(self) -> None:
        """Copy all diagnostics as tab-separated text with a header."""
        QGuiApplication.clipboard().setText(csv_text(self.frame(), "\t"))

    def frame(self) -> pd.DataFrame:
        """Return `severity`, `title`, `meaning` and `where` of all diagnostics, after what was recorded."""
        rows: list[tuple[str, str, str, str]] = [("info", self.head.text(), "", "")]
        rows += [(f.severity, f.title, f.meaning, f.where) for f in self.diagnostics or ()]
        return pd.DataFrame(rows, columns=["severity", "title", "meaning", "where"])

    def _check(self) -> None:
        """Check the trace in a background thread, also while the panel is hidden."""
        self.diagnostics = None
        self.badge_changed.emit("")
        if (study := self.state.study) is None or not study.loading.is_complete:
            self._worker.cancel()
        else:
            self._worker.start(lambda _: study.diagnostics, self._take, background=True)

    def _take(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        self.badge_changed.emit(badge_of(diagnostics))
        self.checked.emit(diagnostics)
        self.invalidate()

    def _aligned(self, gpu: int, ns: int) -> QWidget:
        assert self.state.study is not None
        label = self.state.study.trace.gpu_label(gpu)
        note = Diagnostic(
            "aligned",
            "info",
            f"{label} is moved by {ns / 1e6:+,.3f} ms",
            "Its times differ from the file's by that much wherever they appear.",
        )
        back = ("Put back", lambda: self.align_requested.emit({gpu: -ns}))
        return DiagnosticCard(note, self.theme, [back])

    def _actions(self, diagnostic: Diagnostic) -> list[tuple[str, Callable[[], object]]]:
        buttons: list[tuple[str, Callable[[], object]]] = []
        if diagnostic.align_ns and diagnostic.gpu is not None:
            gpu, ns = diagnostic.gpu, diagnostic.align_ns
            buttons.append(
                (f"Align this GPU by {ns / 1e6:+,.3f} ms", lambda: self.align_requested.emit({gpu: ns}))
            )
        if diagnostic.gpu is not None or diagnostic.time_ns is not None:
            buttons.append(("Show", lambda: self._show(diagnostic)))
        return buttons

    def _show(self, diagnostic: Diagnostic) -> None:
        if diagnostic.gpu is not None:
            reveal_gpu(self.state, diagnostic.gpu)
        if diagnostic.time_ns is not None:
            start, end = self.state.axis.window
            half = (end - start) // 2
            self.state.axis.go(diagnostic.time_ns - half, diagnostic.time_ns - half + end - start)


class DiagnosticCard(QFrame):
    """One diagnostic: a sign, its title, what it means, and buttons."""

    def __init__(
        self, diagnostic: Diagnostic, theme: Theme, actions: Sequence[tuple[str, Callable[[], object]]]
    ) -> None:
        super().__init__()
        self.diagnostic = diagnostic
        self.setAccessibleName(f"{diagnostic.severity}: {diagnostic.title}")
        colours = {"error": theme.error, "warning": theme.warning, "info": theme.text_faint}
        sign = PlainLabel(SIGNS[diagnostic.severity])
        sign.setStyleSheet(f"color: #{colours[diagnostic.severity] & 0xFFFFFF:06x};")
        sign.setFixedWidth(18)
        title, meaning = PlainLabel(diagnostic.title), PlainLabel(diagnostic.meaning)
        if diagnostic.severity != "info":
            title.setFont(font(TITLE_PX, STRONG))
        meaning.setObjectName("soft")
        texts = QVBoxLayout()
        texts.setSpacing(1)
        for label in (title, meaning):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            texts.addWidget(label)
        if not diagnostic.meaning:
            meaning.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 5, 0, 5)
        row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        self.buttons = []
        for text, run in actions:
            button = QPushButton(text)
            button.clicked.connect(lambda _, run=run: run())
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
            self.buttons.append(button)
        more = QToolButton()
        more.setText("?")
        more.setAutoRaise(True)
        more.setToolTip("What does this mean?")
        more.setAccessibleName(f"What does this mean: {diagnostic.title}")
        more.clicked.connect(lambda: show_definitions(self, f"diagnostic.{diagnostic.kind}"))
        row.addWidget(more, 0, Qt.AlignmentFlag.AlignTop)
