"""The Summary dock: the summary of the steady state, or of what everything is filtered to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.summary.metric import Location, Metric
from viewer.analysis.summary.summary import Summary, summary
from viewer.drawing.format import format_share, format_value
from viewer.drawing.palette import Palette
from viewer.drawing.spec_table import SpecTable
from viewer.drawing.summary_tables import (
    class_grid,
    copy_grid,
    kernel_grid,
    numbers_grid,
    phase_grid,
    sync_grid,
    time_grid,
)
from viewer.drawing.theme import Theme
from viewer.panels.one_line import OneLine
from viewer.panels.panel import MEASURING, Panel
from viewer.panels.reconcile_page import ReconcilePage
from viewer.panels.spec_table_view import SpecTableView
from viewer.rows import RowKind
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.navigation import filter_to_iteration, filter_to_selection, show_range
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import Links, PlainLabel, tip

SECTIONS = (
    "Time",
    "Kernels",
    "Phases",
    "Iterations",
    "Small-kernel bursts",
    "Copies",
    "Synchronisation",
    "Ranks",
    "Reconcile",
)
_FIRST = {"Phases": "backward_to_forward", "Copies": "copies_in_front"}
"""What stands first on a page, wherever it belongs."""
LIST_WIDTH = 164
_DOT = 8
_NOT_OPEN = "Open a trace to see its summary."
_NO_GPU = (
    "No GPU operation was recorded, so there is nothing to measure.\nRecord with nsys profile -t cuda,nvtx."
)
_NOTHING = "There is nothing of the kind in this time."
_EMPTY = {
    "Phases": "No iterations were found, so there are no phases of one: choose a marker in Iterations.",
    "Iterations": "No iterations were found: choose a marker in Iterations.",
    "Ranks": "There are no two GPUs that do the same work in whole iterations of this time to compare.",
}


def numbers_of(sheet: Summary, section: str) -> tuple[Metric, ...]:
    """Return the numbers that stand on the page of a section."""
    found = sheet.section(section.lower())
    first = _FIRST.get(section)
    return (*(v for v in sheet.numbers if v.key == first), *(v for v in found if v.key != first))


def grids_of(sheet: Summary, section: str, palette: Palette, theme: Theme) -> list[list[SpecTable]]:
    """Return the grids of a section's page: those of one list stand side by side."""
    numbers = numbers_of(sheet, section)
    match section:
        case "Time":
            return [[time_grid(sheet)]]
        case "Kernels":
            of_class = class_grid(sheet, lambda name: palette.class_colour(str(name), theme))
            of_name = kernel_grid(sheet, lambda name: palette.colour(int(name), theme))
            return [[of_name, of_class]]
        case "Phases":
            return [[phase_grid(sheet)], [numbers_grid(sheet, numbers, section)]]
        case "Copies":
            return [[numbers_grid(sheet, numbers, section)], [copy_grid(sheet)]]
        case "Synchronisation":
            return [[numbers_grid(sheet, numbers, section)], [sync_grid(sheet)]]
        case _:
            return [[numbers_grid(sheet, numbers, section)]]


class SummaryPanel(Panel):
    """Shows one section of the summary; a click on a number leads to what it stands for."""

    title = "Summary"
    usual_badge = "8 !"

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.sheet: Summary | None = None
        self._palette: Palette | None = None
        self._measured: tuple[object, ...] = ()
        self._worker = Worker(self)
        self.what, self.notes, self.doubts, self.found = PlainLabel(), OneLine(), PlainLabel(), Links()
        self.over = QPushButton()
        self.sections, self.pages = QListWidget(), QStackedWidget()
        self.reconcile = ReconcilePage(state)
        self._build()
        self.sections.currentRowChanged.connect(lambda _: self._fill())
        self.found.linkActivated.connect(self.show_metric)
        self.reconcile.save_requested.connect(self.save_requested)
        state.filter_changed.connect(self.invalidate)
        state.iterations_changed.connect(self.invalidate)

    def _build(self) -> None:
        self.what.setFont(font(QGuiApplication.font().pixelSize(), STRONG))
        self.found.setObjectName("soft")
        self.found.setWordWrap(True)
        self.notes.setObjectName("soft")
        self.doubts.setObjectName("warning")
        for line in (self.found, self.doubts):
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.notes.setContentsMargins(12, 0, 8, 0)
        menu = QMenu(self)
        menu.aboutToShow.connect(lambda: self._fill_menu(menu))
        self.over.setMenu(menu)
        head = QHBoxLayout()
        head.setContentsMargins(12, 4, 8, 2)
        head.setSpacing(12)
        head.addWidget(self.what)
        head.addWidget(self.found, 1)
        head.addWidget(self.over)
        self.sections.addItems(SECTIONS)
        self.sections.setFixedWidth(LIST_WIDTH)
        self.sections.setFrameShape(QFrame.Shape.NoFrame)
        self.sections.setAccessibleName("Sections of the summary")
        self.sections.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sections.setObjectName("sections")
        self.sections.setIconSize(QSize(_DOT, _DOT))
        self.sections.setCurrentRow(0)
        for _ in SECTIONS[:-1]:
            self.pages.addWidget(_page())
        self.pages.addWidget(_scrolled(self.reconcile))
        across = QHBoxLayout()
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(0)
        across.addWidget(self.sections)
        across.addWidget(self.pages, 1)
        column = QVBoxLayout(self.body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self.notes)
        column.addWidget(self.doubts)
        column.addLayout(across, 1)

    def refresh(self) -> None:
        """Measure what everything is filtered to, else the steady state; or paint what is measured."""
        state, study = self.state, self.state.study
        if study is None or not study.trace.gpus:
            self.forget()
            self.show_empty(_NO_GPU if study else _NOT_OPEN)
            return
        wanted = (study, state.marker, state.steady_choice, state.filter)
        if wanted == self._measured:
            if self.sheet is not None:
                self._fill()
            return
        self._measured = wanted
        iterations, scope, palette = state.iterations, state.scope, self._palette
        self._worker.start(
            lambda _: (summary(study, iterations, scope=scope), palette or Palette(study)),
            lambda done: self._take(*done),
        )

    def forget(self) -> None:
        self._worker.cancel()
        self.sheet, self._palette, self._measured = None, None, ()
        self.badge_changed.emit("")
        self.show_empty(MEASURING)

    def _take(self, sheet: Summary, palette: Palette) -> None:
        self.sheet, self._palette = sheet, palette
        self.show_empty("")
        odd = sheet.findings
        self.badge_changed.emit(f"{len(odd)} !" if odd else "")
        self._fill()

    def _fill(self) -> None:
        sheet, palette = self.sheet, self._palette
        if sheet is None or palette is None:
            return
        scope = sheet.scope
        title = scope.what[0].upper() + scope.what[1:]
        self.what.setText(title if self.state.filter is None else f"Filtered to {scope.what}")
        self.over.setText(f"Over: {scope.what.split(':')[0]}")
        self.found.show_links(
            "Outside the usual range: " if sheet.findings else "Nothing outside of what is normal.",
            [(metric.key, _said(metric)) for metric in sheet.findings],
            colour=f"#{self.theme.error & 0xFFFFFF:06x}",
        )
        self.notes.setText("   ".join(sheet.notes))
        self.notes.setToolTip(tip("\n".join(sheet.notes)))
        self.notes.setVisible(bool(sheet.notes))
        self.doubts.setText("   ".join(f.title for f in sheet.doubts))
        self.doubts.setToolTip(tip("\n".join(f.text for f in sheet.doubts)))
        self.doubts.setVisible(bool(sheet.doubts))
        for row, section in enumerate(SECTIONS):
            odd = any(v.is_normal is False for v in numbers_of(sheet, section))
            item = self.sections.item(row)
            item.setIcon(_mark(self.theme.error if odd else None))
            item.setData(Qt.ItemDataRole.UserRole, odd)
            item.setToolTip("Outside the usual range" if odd else "")
        row = self.sections.currentRow()
        self.pages.setCurrentIndex(row)
        if SECTIONS[row] == "Reconcile":
            self.reconcile.take(scope, self.theme)
            return
        page = self.pages.widget(row)
        assert isinstance(page, QScrollArea)
        bands = [[g for g in band if g.rows] for band in grids_of(sheet, SECTIONS[row], palette, self.theme)]
        page.setWidget(self._made(bands) if any(bands) else _hint(_EMPTY.get(SECTIONS[row], _NOTHING)))

    def _made(self, bands: Sequence[Sequence[SpecTable]]) -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(4, 0, 8, 8)
        column.setSpacing(12)
        for grids in bands:
            across = QHBoxLayout()
            across.setSpacing(24)
            for grid in grids:
                made = SpecTableView(grid, self.theme)
                made.looked.connect(self.look)
                made.save_requested.connect(self.save_requested)
                across.addWidget(made, 1, Qt.AlignmentFlag.AlignTop)
            column.addLayout(across)
        column.addStretch(1)
        return body

    def show_metric(self, key: str) -> None:
        """Turn to the page of a number, and to where it can be seen."""
        if self.sheet is None:
            return
        metric = self.sheet[key]
        page = next(i for i, s in enumerate(SECTIONS) if metric in numbers_of(self.sheet, s))
        self.sections.setCurrentRow(page)
        if (spot := metric.where()) is not None:
            self.look(spot)

    def look(self, spot: Location) -> None:
        """Select the place where a number can be seen, and show it."""
        state = self.state
        state.select((spot.start_ns, spot.end_ns))
        show_range(state, spot.start_ns, spot.end_ns)
        if spot.gpu is not None and state.study is not None:
            process = state.study.trace.gpus[spot.gpu].process
            held = (r for r in state.rows.roots if r.kind is RowKind.PROCESS and r.process == process)
            if (row := next(held, None)) is not None:
                state.reveal(row.key)

    def _fill_menu(self, menu: QMenu) -> None:
        state, study = self.state, self.state.study
        menu.clear()
        if study is None:
            return
        whole = partial(study.range_scope, *study.trace.window_ns, "the whole trace")
        steady = menu.addAction("The steady state: no filter", lambda: state.set_filter(None))
        steady.setEnabled(state.filter is not None)
        menu.addAction("The iteration in view", lambda: filter_to_iteration(state)).setEnabled(
            state.iterations is not None
        )
        menu.addAction("The selection", lambda: filter_to_selection(state)).setEnabled(
            state.selection is not None
        )
        menu.addAction("The whole trace", lambda: state.set_filter(whole()))


def _said(metric: Metric) -> str:
    value = (
        format_share(metric.share) if metric.share is not None else format_value(metric.value, metric.unit)
    )
    return f"{metric.name.split(' (')[0]} {value}"


def _mark(argb: int | None) -> QIcon:
    """Return a dot of a colour, or as much room without one."""
    picture = QPixmap(_DOT * 2, _DOT * 2)
    picture.setDevicePixelRatio(2)
    picture.fill(Qt.GlobalColor.transparent)
    if argb is not None:
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor.fromRgba(argb))
        painter.drawEllipse(QRectF(1, 1, _DOT - 2, _DOT - 2))
        painter.end()
    return QIcon(picture)


def _hint(text: str) -> PlainLabel:
    hint = PlainLabel(text)
    hint.setObjectName("emptyState")
    hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
    hint.setWordWrap(True)
    return hint


def _page() -> QScrollArea:
    page = QScrollArea()
    page.setWidgetResizable(True)
    page.setFrameShape(QFrame.Shape.NoFrame)
    return page


def _scrolled(widget: QWidget) -> QScrollArea:
    page = _page()
    page.setWidget(widget)
    return page
