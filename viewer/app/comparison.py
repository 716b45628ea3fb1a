"""Comparison: a second trace under the first, on one time axis, with both summaries in a dock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QSpinBox,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.loading import Loading
from viewer.app.notices import NoticeBar, ProgressStrip
from viewer.app.theme_manager import ThemeManager
from viewer.app.trace_loader import LoadedTrace, TraceLoader
from viewer.drawing.format import format_change, format_ns
from viewer.drawing.theme import Theme
from viewer.panels.comparison_panel import ComparisonPanel
from viewer.printable import visible
from viewer.state import ViewState
from viewer.state.link import AxisLink
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import PlainLabel
from viewer.timeline.strips.gl_canvas import Renderer
from viewer.timeline.timeline import Timeline

FILES = "Traces (*.nsys-rep *.qdrep *.sqlite *.db);;All files (*)"


class PairBar(QFrame):
    """Names the lower trace and the two iterations that are aligned.

    Signals
    -------
    closed()
        The comparison is to end.
    """

    closed = Signal()

    def __init__(self, link: AxisLink, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._link = link
        self.first_box, self.second_box = QSpinBox(), QSpinBox()
        self.difference = PlainLabel()
        study = link.second.study
        key, name = PlainLabel("B"), PlainLabel(visible(study.trace.path.name) if study else "")
        key.setFont(font(QGuiApplication.font().pixelSize(), STRONG))
        close = QToolButton()
        close.setText("✕")
        close.setAccessibleName("End the comparison")
        close.clicked.connect(self.closed)
        self.pairing = QWidget()
        pairing = QHBoxLayout(self.pairing)
        pairing.setContentsMargins(0, 0, 0, 0)
        for text, box, state in (
            ("its iteration", self.second_box, link.second),
            ("under iteration", self.first_box, link.first),
        ):
            box.setRange(0, max((state.iterations.count if state.iterations else 1) - 1, 0))
            box.setAccessibleName(text)
            pairing.addWidget(PlainLabel(text))
            pairing.addWidget(box)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 3, 8, 3)
        row.addWidget(key)
        row.addWidget(name)
        row.addSpacing(18)
        row.addWidget(self.pairing)
        row.addWidget(self.difference)
        row.addStretch(1)
        row.addWidget(close)
        for box in (self.first_box, self.second_box):
            box.valueChanged.connect(self._align)
        link.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the aligned iterations and their lengths."""
        pair, first, second = self._link.pair, self._link.first.iterations, self._link.second.iterations
        self.pairing.setVisible(pair is not None)
        if pair is None or first is None or second is None:
            self.difference.setText("both from their first GPU operation: one of them has no iterations")
            return
        for box, iteration in ((self.first_box, pair[0]), (self.second_box, pair[1])):
            box.blockSignals(True)
            box.setValue(iteration)
            box.blockSignals(False)
        lengths = [
            int(iterations.duration_ns[iteration])
            for iterations, iteration in zip((first, second), pair, strict=True)
        ]
        change = format_change(lengths[1] / lengths[0] - 1) if lengths[0] else ""
        differ = "" if first.by == second.by else "·  marked differently, see Comparison  "
        texts = [
            f"{format_ns(ns)}{iterations.in_doubt}"
            for ns, iterations in zip(lengths, (first, second), strict=True)
        ]
        self.difference.setText(f"{differ}·  {texts[0]} → {texts[1]}  ({change})")

    def _align(self) -> None:
        self._link.align(self.first_box.value(), self.second_box.value())


class ComparisonController(QObject):
    """One comparison of the window's trace with another one, until the bar or the trace is closed.

    Attributes
    ----------
    other : ViewState
        Of the second trace.

    Signals
    -------
    shown()
        The second trace is shown now.
    """

    shown = Signal()

    def __init__(
        self,
        main: QMainWindow,
        pages: QStackedWidget,
        timeline: Timeline,
        beside: QDockWidget,
        theme_manager: ThemeManager,
        first_loader: TraceLoader,
        notice: NoticeBar,
        progress: ProgressStrip,
        save: Callable[[pd.DataFrame], None],
    ) -> None:
        super().__init__(main)
        self._main, self._pages, self._first, self._beside = main, pages, timeline, beside
        self._theme_manager, self._first_loader = theme_manager, first_loader
        self._notice, self._progress, self._save = notice, progress, save
        self.other = ViewState(self)
        self.loader = TraceLoader(self)
        self.link: AxisLink | None = None
        self.timeline: Timeline | None = None
        self.dock: QDockWidget | None = None
        self.has_ended = False
        self._splitter: QSplitter | None = None
        loader = self.loader
        loader.started.connect(self._progress.start)
        loader.progress.connect(self._progress.set_progress)
        loader.ended.connect(self._follow_progress)
        self._first_loader.ended.connect(self._follow_progress)
        loader.failed.connect(self._on_failed)
        loader.finished.connect(self._show)
        self._progress.cancelled.connect(self._on_cancelled)
        self._first.state.study_changed.connect(self.end)
        self._theme_manager.changed.connect(self._take_theme)
        self._main.installEventFilter(self)

    def start(self, path: Path | None) -> None:
        """Open the other trace (None: the built-in demo)."""
        self.loader.open(path)

    def end(self) -> None:
        """Leave the window's own trace alone."""
        if self.has_ended:
            return
        self.has_ended = True
        self.loader.shut_down()
        self._main.removeEventFilter(self)
        self._first.state.study_changed.disconnect(self.end)
        self._theme_manager.changed.disconnect(self._take_theme)
        self._progress.cancelled.disconnect(self._on_cancelled)
        self._first_loader.ended.disconnect(self._follow_progress)
        if self.link is not None:
            self.link.release()
        if self.dock is not None:
            self._main.removeDockWidget(self.dock)
            self.dock.deleteLater()
        if self._splitter is not None:
            self._pages.insertWidget(self._pages.indexOf(self._splitter), self._first)
            if self._first.state.study is not None:
                self._pages.setCurrentWidget(self._first)
            self._pages.removeWidget(self._splitter)
            self._splitter.deleteLater()
        self.other.set_study(None)
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Wait for the reading thread; the window closes."""
        if event.type() == QEvent.Type.Close:
            self.loader.shut_down()
        return False

    def _follow_progress(self) -> None:
        """Show the progress of opening, of this trace or of the window's, in the one strip for it."""
        busy = next((o for o in (self._first_loader, self.loader) if o.is_busy), None)
        if busy is None:
            self._progress.hide()
        else:
            self._progress.start(busy.name)

    def _on_failed(self, reason: str) -> None:
        self._notice.tell(reason)
        self.end()

    def _on_cancelled(self) -> None:
        if self.loader.is_busy:
            self.end()

    def _show(self, result: LoadedTrace) -> None:
        result.study.loading = Loading.COMPLETE
        other, first = self.other, self._first
        renderer: Renderer = "raster" if first.renderer == "raster" else "auto"
        self.timeline = Timeline(other, renderer, place=first.place)
        self.timeline.prepared = result.scene
        self.timeline.set_legend_shown(False)
        with other.restoring():
            other.set_study(result.study, result.roots)
            other.rows.apply_preset("lanes")
            self.link = AxisLink(first.state, other, self)
            self._split()
            self._add_dock()
        self._take_theme(self._theme_manager.theme)
        self.shown.emit()

    def _split(self) -> None:
        timeline, link, first, pages = self.timeline, self.link, self._first, self._pages
        assert timeline is not None
        assert link is not None
        bar = PairBar(link)
        bar.closed.connect(self.end)
        below = QWidget()
        column = QVBoxLayout(below)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(bar)
        column.addWidget(timeline, 1)
        splitter = self._splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        place = pages.indexOf(first)
        splitter.addWidget(first)
        splitter.addWidget(below)
        pages.insertWidget(place, splitter)
        pages.setCurrentWidget(splitter)
        first.show()
        half = max(pages.height() // 2, 1)
        splitter.setSizes([half, half])

    def _add_dock(self) -> None:
        panel = ComparisonPanel(self._first.state, self.other)
        panel.save_requested.connect(self._save)
        dock = self.dock = QDockWidget(panel.title, self._main)
        dock.setObjectName("dock-Comparison")
        dock.setTitleBarWidget(QWidget())
        dock.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        dock.setWidget(panel)
        self._main.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
        self._main.tabifyDockWidget(self._beside, dock)
        dock.show()
        dock.raise_()

    def _take_theme(self, theme: Theme) -> None:
        if self.timeline is not None:
            self.timeline.set_theme(theme)
        if self.dock is not None and isinstance(panel := self.dock.widget(), ComparisonPanel):
            panel.set_theme(theme)
