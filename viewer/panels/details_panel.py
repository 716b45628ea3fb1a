"""The Details dock: everything known about the selection, to read and to copy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import QFont, QFontInfo, QGuiApplication, QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QTextBrowser, QVBoxLayout

from viewer import definitions
from viewer.analysis.kernels.name_stats import neighbour
from viewer.analysis.replay.changes import Change
from viewer.drawing.change_proposals import Proposal
from viewer.drawing.theme import Theme
from viewer.panels.details_html import show_details
from viewer.panels.panel import Panel
from viewer.panels.path_details import (
    PathDetails,
    path_details,
    path_section,
    savings,
    slack_lines,
    what_if_section,
)
from viewer.panels.selection_details import (
    DetailSection,
    SelectionDetails,
    details_of_event,
    details_of_ranges,
)
from viewer.panels.stall_sections import details_of_stall
from viewer.panels.wait_sections import wait_sections
from viewer.rows import EventRef
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.places import go_to_event
from viewer.timeline.definitions_dialog import MEANING, show_definitions
from viewer.timeline.paint.fonts import family
from viewer.timeline.what_if_menu import proposals_for
from viewer.trace import GPU_KINDS, Kind

PAUSE_MS = 80
"""How long the selection must stay before its details are computed: a held key passes many events."""

FOLLOWS = "Being computed…"
_SCROLL_ROOM, _LEAST_BAR = 4, 60
EVENT, STALL, RANGE = "event", "stall", "range"
_HINT = (
    "Click a bar in the timeline, drag over a range, or choose a stall in its dock:\n"
    "everything known about the selection stands here."
)


class DetailsPanel(Panel):
    """Shows the selected event, stall or range: of what is selected, what was selected last."""

    title = "Details"

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.details: SelectionDetails | None = None
        self._facts: SelectionDetails | None = None
        self._latest = EVENT
        self._worker = Worker(self)
        self.page = QTextBrowser()
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._gather)
        self._fit = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._fit.timeout.connect(self._compose)
        self._composed_for = 0
        self._path: PathDetails | None = None
        self._path_worker, self._saving_worker = Worker(self), Worker(self)
        self._proposals: list[Proposal] = []
        self._saved: dict[Change, int] = {}
        self._asked: set[Change] = set()
        state.study_changed.connect(self._forget_savings)
        self.page.document().setDocumentMargin(8)
        self._set_font()
        self.page.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.page.customContextMenuRequested.connect(self._open_menu)
        self.page.setAccessibleName("Details of the selection")
        self.previous, self.next = QPushButton("‹ Same name"), QPushButton("Same name ›")
        self.other = QPushButton("Launch")
        self.copy_button, self.save_button = QPushButton("Copy"), QPushButton("Save as…")
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        # Two rows: in one, a dock of the usual width cut the texts of all buttons.
        layout.addLayout(_row(self.previous, self.next, self.other))
        layout.addLayout(_row(self.copy_button, self.save_button))
        layout.addWidget(self.page, 1)
        self.previous.clicked.connect(lambda: self.step(-1))
        self.next.clicked.connect(lambda: self.step(1))
        self.other.clicked.connect(self.follow_link)
        self.copy_button.clicked.connect(self.copy)
        self.save_button.clicked.connect(self.save)
        state.event_changed.connect(partial(self._take, EVENT))
        state.selection_changed.connect(partial(self._take, RANGE))
        state.stall_changed.connect(partial(self._take, STALL))
        state.iterations_changed.connect(self._follow_iterations)
        state.wait.changed.connect(self._compose)
        self.page.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.page.setOpenLinks(False)
        self.page.anchorClicked.connect(self._follow_anchor)

    def _set_font(self) -> None:
        """Write in the size of the window, without a fixed weight as its font has: headings can be strong."""
        weighable = QFont(family())
        weighable.setPixelSize(QFontInfo(QGuiApplication.font()).pixelSize())
        self.page.document().setDefaultFont(weighable)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours, and the size of the texts."""
        self._set_font()
        super().set_theme(theme)

    def refresh(self) -> None:
        """Show the details of the selection as soon as they are computed."""
        study, ref = self.state.study, self.state.chosen
        shown = self._shown()
        if study is None or not shown:
            self._pause.stop()
            self._worker.cancel()
            self.details = self._facts = None
            self.show_empty(_HINT if study else "Open a trace first.")
            return
        self.show_empty("")
        on_event = shown == EVENT
        for button in (self.previous, self.next):
            button.setVisible(on_event)
        has_link = ref is not None and (ref.kind in GPU_KINDS or ref.kind is Kind.API)
        self.other.setVisible(on_event and has_link)
        self.other.setText("Launch" if ref is not None and ref.kind in GPU_KINDS else "What it launched")
        self._pause.start()

    def _shown(self) -> str:
        """Return what is shown, "" where nothing is selected."""
        # A stall is selected together with its range, and says more.
        state = self.state
        is_selected = {
            EVENT: state.chosen is not None,
            STALL: state.stall_number is not None,
            RANGE: bool(state.selections.items) and state.stall_number is None,
        }
        latest = STALL if self._latest == RANGE and is_selected[STALL] else self._latest
        return next((kind for kind in (latest, STALL, RANGE, EVENT) if is_selected[kind]), "")

    def _gather(self) -> None:
        state, shown, study = self.state, self._shown(), self.state.study
        if study is None:
            return
        marker, number, ref = state.marker, state.stall_number, state.chosen
        ranges, iterations = state.selections.items, state.iterations
        if shown == STALL and number is not None:
            self._worker.start(lambda _: details_of_stall(study, marker, number), self._show)
        elif shown == EVENT and ref is not None:
            self._worker.start(lambda _: details_of_event(study, ref), self._show)
        elif shown == RANGE:
            self._worker.start(lambda _: details_of_ranges(study, ranges, iterations), self._show)

    def step(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) event of the same name."""
        ref, study = self.state.chosen, self.state.study
        if ref is None or study is None:
            return
        index = neighbour(study.trace, ref.kind, ref.index, direction)
        if index is not None:
            row = self.state.rows.row(ref.row_key)
            same = row if row is not None and ref.kind not in GPU_KINDS else None
            go_to_event(self.state, ref.kind, index, same)

    def follow_link(self) -> None:
        """Go to the other end of the launch."""
        follow_link(self.state)

    def copy(self) -> None:
        """Copy all details as text."""
        if self.details is not None:
            QGuiApplication.clipboard().setText(self.details.text)

    def save(self) -> None:
        """Request a file of all details."""
        if self.details is not None:
            self.save_requested.emit(self.details.frame)

    def _open_menu(self, at: QPoint) -> None:
        menu = self.page.createStandardContextMenu(at)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addSeparator()
        menu.addAction(MEANING, lambda: show_definitions(self, self._definition_at(at)))
        menu.popup(self.page.viewport().mapToGlobal(at))

    def _definition_at(self, at: QPoint) -> str:
        """Return the definition's key for the label at a point, else for the page."""
        cursor = self.page.cursorForPosition(at)
        if (table := cursor.currentTable()) is not None:
            first = table.cellAt(table.cellAt(cursor).row(), 0).firstCursorPosition()
            if matches := definitions.search(first.block().text().replace("\u00a0", " ")):
                return matches[0].keys[0]
        return {STALL: "cause", RANGE: "compute_only"}.get(self._shown(), "latency_ns")

    def _follow_iterations(self) -> None:
        if self._shown() == RANGE:
            self.invalidate()

    def _take(self, kind: str) -> None:
        self._latest = kind
        self.invalidate()

    def _show(self, details: SelectionDetails) -> None:
        self._facts = details
        self._path_worker.cancel()
        self._path = None
        self._compose()
        if self._shown() == EVENT:
            self._find_path()

    def _compose(self) -> None:
        """Show the facts, and after the first of them what the selection waited for, once it is known."""
        facts, state = self._facts, self.state
        if facts is None or state.study is None:
            return
        more: tuple[DetailSection, ...] = ()
        wait = state.wait.wait
        if self._shown() in (EVENT, STALL) and wait is not None:
            more = wait_sections(wait)
        elif self._shown() in (EVENT, STALL) and state.wait.is_busy:
            more = (DetailSection("Waited for", (("", FOLLOWS),)),)
        first, *rest = facts.sections
        if self._shown() == EVENT:
            more += self._path_sections()
            first = replace(first, lines=(*first.lines, *slack_lines(self._path)))
        self.details = replace(facts, sections=(first, *more, *rest))
        # A page that is written anew begins at its top; what is read further down stays where it is.
        bar = self.page.verticalScrollBar()
        value = bar.value()
        show_details(
            self.page.document(), self.details, self.theme, self._bar_width(), self.devicePixelRatioF()
        )
        bar.setValue(value if self._composed_for == id(facts) else 0)
        self._composed_for = id(facts)

    def _path_sections(self) -> tuple[DetailSection, ...]:
        state, sections = self.state, []
        self._proposals = [p for p in proposals_for(state, state.chosen) if not p.is_scale]
        if self._proposals:
            sections.append(what_if_section(self._proposals, self._saved))
            self._find_savings()
        if self._path is not None:
            sections.append(path_section(self._path))
        return tuple(sections)

    def _find_path(self) -> None:
        """Find slack and critical path after the facts: the first time the trace is replayed for them."""
        state, ref, marker = self.state, self.state.chosen, self.state.marker
        study = state.study
        self._path = None
        if study is not None and ref is not None and state.iterations is not None:
            self._path_worker.start(lambda _: path_details(study, ref, marker), self._take_path)

    def _take_path(self, path: PathDetails | None) -> None:
        self._path = path
        self._compose()

    def _find_savings(self) -> None:
        study, marker = self.state.study, self.state.marker
        changes = [p.change for p in self._proposals if p.change not in self._asked]
        if study is not None and changes and not self._saving_worker.is_busy:
            self._asked.update(changes)
            self._saving_worker.start(
                lambda _: savings(study, marker, changes), self._take_savings, background=True
            )

    def _take_savings(self, saved: dict[Change, int]) -> None:
        self._saved |= saved
        self._compose()

    def _forget_savings(self) -> None:
        for worker in (self._path_worker, self._saving_worker):
            worker.cancel()
        self._path, self._proposals = None, []
        self._saved, self._asked = {}, set()

    def _bar_width(self) -> int:
        margin = round(self.page.document().documentMargin())
        # Beside the scroll bar, also where there is none yet: a longer page brings it.
        room = self.page.width() - self.page.verticalScrollBar().sizeHint().width() - 2 * margin
        return max(room - _SCROLL_ROOM, _LEAST_BAR)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit.start()

    def _follow_anchor(self, url: QUrl) -> None:
        """Go to the event of a step, or try a change."""
        kind, _, index = url.toString().partition("/")
        if kind == "try":
            self.state.what_if.add(self._proposals[int(index)].change)
            return
        go_to_event(self.state, Kind[kind], int(index))


def _row(*buttons: QPushButton) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(8, 4, 8, 0)
    for button in buttons:
        row.addWidget(button)
    row.addStretch(1)
    return row


def follow_link(state: ViewState) -> bool:
    """Go to the other end of the selected event's launch; return whether there is one."""
    ref: EventRef | None = state.chosen
    if ref is None or state.study is None:
        return False
    ends = state.study.other_ends(ref.kind, ref.index)
    if ends:
        go_to_event(state, *ends[0])
    return bool(ends)
