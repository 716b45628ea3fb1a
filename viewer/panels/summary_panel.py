"""The Summary dock: the metrics of the steady state, or of the filter."""

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

from viewer.analysis.core.location import Location
from viewer.analysis.summary.metric import MetricValue
from viewer.analysis.summary.report_doubts import cautions
from viewer.analysis.summary.sections import SECTIONS
from viewer.analysis.summary.summary import Summary, summary
from viewer.drawing.format import format_share, format_value
from viewer.drawing.palette import Palette
from viewer.drawing.spec_table import SpecTable
from viewer.drawing.summary_tables import section_numbers, section_tables
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

RECONCILE = "Reconcile"
_DOT = 8
_NOT_OPEN = "Open a trace to see its summary."
_NO_GPU = (
    "No GPU operation was recorded, so there is nothing to measure.\nRecord with nsys profile -t cuda,nvtx."
)


def page_titles() -> tuple[str, ...]:
    """Return the pages of the dock: one for each section, and Reconcile."""
    return (*(section.title for section in SECTIONS), RECONCILE)


class _Sections(QListWidget):
    """The list of pages, as wide as the longest title in the current font, and a scroll bar."""

    def sizeHint(self) -> QSize:
        """Return the width of the longest title and of the scroll bar."""
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(self.sizeHintForColumn(0) + bar + 2 * self.frameWidth(), super().sizeHint().height())


class SummaryPanel(Panel):
    """Shows one section of the summary; a click on a number shows its location in the timeline."""

    title = "Summary"

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.summary: Summary | None = None
        self._palette: Palette | None = None
        self._measured: tuple[object, ...] = ()
        self._worker = Worker(self)
        self.what, self.notes, self.doubts, self.unusual = PlainLabel(), OneLine(), PlainLabel(), Links()
        self.over = QPushButton()
        self.sections, self.pages = _Sections(), QStackedWidget()
        self.reconcile = ReconcilePage(state)
        self._build()
        self.sections.currentRowChanged.connect(lambda _: self._fill())
        self.unusual.linkActivated.connect(self.show_metric)
        self.reconcile.save_requested.connect(self.save_requested)
        state.filter_changed.connect(self.invalidate)
        state.iterations_changed.connect(self.invalidate)

    def _build(self) -> None:
        self.what.setFont(font(QGuiApplication.font().pixelSize(), STRONG))
        self.unusual.setObjectName("soft")
        self.unusual.setWordWrap(True)
        self.notes.setObjectName("soft")
        self.doubts.setObjectName("warning")
        for line in (self.unusual, self.doubts):
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.notes.setContentsMargins(12, 0, 8, 0)
        menu = QMenu(self)
        menu.aboutToShow.connect(lambda: self._fill_menu(menu))
        self.over.setMenu(menu)
        head = QHBoxLayout()
        head.setContentsMargins(12, 4, 8, 2)
        head.setSpacing(12)
        head.addWidget(self.what)
        head.addWidget(self.unusual, 1)
        head.addWidget(self.over)
        self.sections.addItems(page_titles())
        self.sections.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.sections.setFrameShape(QFrame.Shape.NoFrame)
        self.sections.setAccessibleName("Sections of the summary")
        self.sections.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sections.setObjectName("sections")
        self.sections.setIconSize(QSize(_DOT, _DOT))
        for row in range(self.sections.count()):
            self.sections.item(row).setIcon(_mark(None))
        self.sections.setCurrentRow(0)
        for _ in SECTIONS:
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
        """Measure the filter's scope, else the steady state; paint at once where that is measured already."""
        state, study = self.state, self.state.study
        if study is None or not study.trace.gpus:
            self.forget()
            self.show_empty(_NO_GPU if study else _NOT_OPEN)
            return
        wanted = (study, state.marker, state.steady_choice, state.filter)
        if wanted == self._measured:
            if self.summary is not None:
                self._fill()
            return
        self._measured = wanted
        iterations, scope, palette = state.iterations, state.scope, self._palette
        self._worker.start(
            lambda _: (summary(study, iterations, scope=scope), palette or Palette(study)),
            lambda done: self._take(*done),
            background=self.state.is_restoring,
        )

    def forget(self) -> None:
        self._worker.cancel()
        self.summary, self._palette, self._measured = None, None, ()
        self.badge_changed.emit("")
        self.show_empty(MEASURING)

    def _take(self, measured: Summary, palette: Palette) -> None:
        self.summary, self._palette = measured, palette
        self.show_empty("")
        self.badge_changed.emit(f"{len(measured.unusual)} !" if measured.unusual else "")
        self._fill()

    def _fill(self) -> None:
        shown = self.summary
        if shown is None:
            return
        self._fill_head(shown)
        for row, section in enumerate(SECTIONS):
            is_unusual = any(number.is_usual is False for number in section_numbers(shown, section))
            item = self.sections.item(row)
            item.setIcon(_mark(self.theme.error if is_unusual else None))
            item.setData(Qt.ItemDataRole.UserRole, is_unusual)
            item.setToolTip("Outside the usual range" if is_unusual else "")
        row = self.sections.currentRow()
        self.pages.setCurrentIndex(row)
        if row == len(SECTIONS):
            self.reconcile.take(shown.scope, self.theme)
            return
        page = self.pages.widget(row)
        assert isinstance(page, QScrollArea)
        bands = section_tables(shown, SECTIONS[row], self._colour)
        page.setWidget(self._page_of(bands) if bands else _hint(SECTIONS[row].empty))

    def _fill_head(self, shown: Summary) -> None:
        """Show the scope of the numbers, what they leave out, and which are unusual or unreliable."""
        scope = shown.scope
        title = scope.what[0].upper() + scope.what[1:]
        self.what.setText(title if self.state.filter is None else f"Filtered to {scope.what}")
        self.over.setText(f"Over: {scope.what.split(':')[0]}")
        self.unusual.show_links(
            "Outside the usual range: " if shown.headline else "Nothing outside the usual range.",
            [(number.key, _text(number)) for number in shown.headline],
            colour=f"#{self.theme.error & 0xFFFFFF:06x}",
        )
        self.notes.setText("   ".join(shown.notes))
        self.notes.setToolTip(tip("\n".join(shown.notes)))
        self.notes.setVisible(bool(shown.notes))
        # The summary was taken with the diagnostics, so that they are there already.
        unsure = [*shown.doubts, *(cautions(self.state.study.diagnostics) if self.state.study else ())]
        self.doubts.setText("   ".join(f.title for f in unsure))
        self.doubts.setToolTip(tip("\n".join(f.text for f in unsure)))
        self.doubts.setVisible(bool(unsure))

    def _colour(self, name: str | int) -> int | None:
        """Return the colour of a kernel's class, or of a name by its id."""
        if self._palette is None:
            return None
        if isinstance(name, str):
            return self._palette.class_colour(name, self.theme)
        return self._palette.colour(name, self.theme)

    def _page_of(self, bands: Sequence[Sequence[SpecTable]]) -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(4, 0, 8, 8)
        column.setSpacing(12)
        for band in bands:
            across = QHBoxLayout()
            across.setSpacing(24)
            for spec in band:
                table = SpecTableView(spec, self.theme)
                table.looked.connect(self.look)
                table.save_requested.connect(self.save_requested)
                across.addWidget(table, 1, Qt.AlignmentFlag.AlignTop)
            column.addLayout(across)
        column.addStretch(1)
        return body

    def show_metric(self, key: str) -> None:
        """Show the section of a metric and the metric's location in the timeline."""
        if self.summary is None:
            return
        number = self.summary[key]
        shown = [number in section_numbers(self.summary, section) for section in SECTIONS]
        self.sections.setCurrentRow(shown.index(True))
        if (location := number.where()) is not None:
            self.look(location)

    def look(self, location: Location) -> None:
        """Select the location of a number, and show it."""
        state = self.state
        state.select((location.start_ns, location.end_ns))
        show_range(state, location.start_ns, location.end_ns)
        if location.gpu is not None and state.study is not None:
            process = state.study.trace.gpus[location.gpu].process
            rows = (r for r in state.rows.roots if r.kind is RowKind.PROCESS and r.process == process)
            if (row := next(rows, None)) is not None:
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


def _text(number: MetricValue) -> str:
    value = (
        format_share(number.share) if number.share is not None else format_value(number.value, number.unit)
    )
    return f"{number.title.split(' (')[0]} {value}"


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
    page.setAccessibleName("Numbers of the section")
    page.setWidgetResizable(True)
    page.setFrameShape(QFrame.Shape.NoFrame)
    return page


def _scrolled(widget: QWidget) -> QScrollArea:
    page = _page()
    page.setWidget(widget)
    return page
