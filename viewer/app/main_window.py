"""The main window: composes the parts of the program and connects them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
)
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.app import settings as remembered
from viewer.app.action_target import ActionTarget
from viewer.app.actions import make_actions, refresh_actions
from viewer.app.comparison import ComparisonController
from viewer.app.crash import CrashGuard
from viewer.app.dock_tabs import DockTabs
from viewer.app.docks import FOLDED_BELOW, add_docks
from viewer.app.drag_drop import DropHint, local_files, one_at_a_time
from viewer.app.keys import KeyRouter
from viewer.app.menus import build_menus
from viewer.app.notices import NoticeBar, ProgressStrip
from viewer.app.sessions import SessionKeeper
from viewer.app.settings import Settings
from viewer.app.status import StatusBar
from viewer.app.theme_manager import ThemeManager
from viewer.app.tool_bar import ToolBar
from viewer.app.trace_controller import TraceController
from viewer.app.trace_loader import TraceLoader
from viewer.app.welcome import Welcome
from viewer.app.window_geometry import fit_to_screen, limit_docks
from viewer.drawing.format import Units, set_units
from viewer.drawing.theme import Theme
from viewer.panels.diagnostics_panel import DiagnosticsPanel
from viewer.panels.events_panel import EventsPanel
from viewer.panels.find_bar import FindBar
from viewer.panels.panel import Panel
from viewer.state import ViewState, jobs
from viewer.timeline.plain_text import for_title
from viewer.timeline.strips.gl_canvas import Renderer
from viewer.timeline.timeline import Timeline

ON_CANVAS = ("keep", "zoom-selection", "filter", "fit", "fit-iteration", "deselect", "definition")
FIRST_SIZE = (1440, 860)


class MainWindow(QMainWindow):
    """One window on one trace.

    Parameters
    ----------
    settings : Settings
    theme_manager : ThemeManager
    crashes : CrashGuard
        Its exceptions are shown here.
    renderer : {"auto", "gl", "raster"}
    """

    settings: Settings
    theme_manager: ThemeManager
    state: ViewState
    timeline: Timeline
    opening: TraceLoader
    trace_controller: TraceController
    find_bar: FindBar

    def __init__(
        self,
        settings: Settings,
        theme_manager: ThemeManager,
        crashes: CrashGuard,
        renderer: Renderer = "auto",
    ) -> None:
        super().__init__()
        self.settings, self.theme_manager = settings, theme_manager
        self._docks_shown = True
        self._layout = QByteArray()
        self.state = ViewState(self)
        self.timeline = Timeline(self.state, renderer)
        self.loader = TraceLoader(self)
        self.sessions = SessionKeeper(self.state, self)
        self.welcome = Welcome()
        self.notice, self.progress = NoticeBar(), ProgressStrip()
        self.trace_controller = TraceController(
            self.timeline, self.loader, self.sessions, settings, self.notice, self.progress, self
        )
        self.find_bar = FindBar(self.state)
        self.status = StatusBar(self.state, self)
        self.setStatusBar(self.status)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.welcome)
        self.pages.addWidget(self.timeline)
        self.setCentralWidget(self._central())
        self.target = ActionTarget(
            self.timeline, self.trace_controller, self.loader, self.find_bar, self.status,
            self.notice, theme_manager, settings, self.compare, self,
        )  # fmt: skip
        self.actions_by_id = make_actions(self.target)
        self.tools = ToolBar(self.state, self.actions_by_id, self)
        self.addToolBar(self.tools)
        # What is selected needs the height; the docks below have the width of the timeline.
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.docks = add_docks(self, self.state, self.target.save_table)
        self.dock_tabs = self.target.dock_tabs = DockTabs(self)
        self.target.docks, self.target.filter_box = tuple(self.docks), self.tools.filter_box
        build_menus(self.menuBar(), self.actions_by_id, self.state, settings, self.open)
        self.timeline.notes.actions = [self.actions_by_id[name] for name in ON_CANVAS]
        self._keys = KeyRouter(self, self.timeline.gestures)
        self.setAcceptDrops(True)
        self.drop_hint = DropHint(self)
        self._connect(crashes)
        self._restore()
        self._take_theme(theme_manager.theme)
        self.show_page()

    def _central(self) -> QWidget:
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self.notice, self.progress, self.find_bar):
            column.addWidget(part)
        column.addWidget(self.pages, 1)
        return centre

    def _connect(self, crashes: CrashGuard) -> None:
        state = self.state
        crashes.happened.connect(self._on_crash)
        self.theme_manager.changed.connect(self._take_theme)
        state.leaving.connect(_close_menus)
        self.sessions.failed.connect(self.notice.tell)
        self.target.done.connect(self.refresh)
        self.target.refreshed.connect(self.show_anew)
        self.trace_controller.shown.connect(self.show_page)
        self.loader.started.connect(self.welcome.show_opening)
        self.loader.ended.connect(self.welcome.show_opening)
        self.welcome.open_requested.connect(self.trace_controller.choose_file)
        self.welcome.demo_requested.connect(lambda: self.open(None))
        self.welcome.recent_requested.connect(lambda text: self.open(Path(text)))
        self.tools.filter_box.left.connect(self.timeline.canvas.setFocus)
        for changed in (
            state.study_changed, state.loading_changed, state.selection_changed,
            state.overlays_changed, state.iterations_changed, state.filter_changed, state.what_if.changed,
            state.axis.changed, state.rows.changed, state.measurements.changed,
            state.notes.changed, state.notes.chosen_changed, state.bookmarks.changed,
        ):  # fmt: skip
            changed.connect(self.refresh)
        self.timeline.headers.selectionModel().currentChanged.connect(self.refresh)
        state.listed.connect(lambda: self.target.show_panel(EventsPanel))
        state.event_changed.connect(self.refresh)
        state.search_result_changed.connect(self.refresh)
        self.find_bar.left.connect(self.timeline.canvas.setFocus)
        diagnostics = self.findChild(DiagnosticsPanel)
        diagnostics.align_requested.connect(self.target.align)
        diagnostics.checked.connect(self.target.tell_diagnostics)
        for dock in self.docks:
            dock.visibilityChanged.connect(self._refresh_soon)
            dock.visibilityChanged.connect(self.dock_tabs.watch)
        self.dock_tabs.changed.connect(self.refresh)
        self.dock_tabs.chosen.connect(
            lambda folded: self.settings.set(remembered.DOCKS, "folded" if folded else "open")
        )
        self.status.clicked.connect(lambda: self.target.show_panel(DiagnosticsPanel))
        state.study_changed.connect(lambda: self.status.show_diagnostics(()))

    def refresh(self) -> None:
        """Enable the commands of menus and tool bar that are possible now."""
        refresh_actions(self.target, self.actions_by_id)
        self.tools.refresh()

    def _refresh_soon(self) -> None:
        """Refresh after the docks' signals, when it is settled which tab is visible."""
        QTimer.singleShot(0, self, self.refresh)

    # What is open

    def open(self, path: Path | None) -> None:
        """Open a trace (None: the demo) or a session; the present one stays until that has worked."""
        self.trace_controller.open(path)

    def compare(self, path: Path | None) -> ComparisonController:
        """Show another trace (None: the demo) under the open one; it replaces a previous one."""
        for running in self.findChildren(ComparisonController):
            running.end()
        comparison = ComparisonController(
            self, self.pages, self.timeline, self.docks[0], self.theme_manager, self.loader,
            self.notice, self.progress, self.target.save_table,
        )  # fmt: skip
        comparison.shown.connect(self.refresh)
        comparison.shown.connect(lambda: self.dock_tabs.fold(False))
        comparison.start(path)
        return comparison

    def show_page(self) -> None:
        """Show the open trace's timeline, or the welcome page, and set the title."""
        trace = self.state.study.trace if self.state.study else None
        recent = self.settings.recent()
        self.welcome.set_recent([(path, self.settings.shape_of(path)) for path in recent])
        if trace:
            # Before the page appears: otherwise the stack would focus the first widget on it.
            self.timeline.canvas.setFocus()
        self.pages.setCurrentWidget(self.timeline if trace else self.welcome)
        self.status.setVisible(trace is not None)
        self._show_docks(trace is not None)
        name = "demo" if trace and self.trace_controller.is_demo else trace.path.name if trace else ""
        self.setWindowTitle(for_title(f"{name} — Lightbox") if name else "Lightbox")
        self.refresh()

    def _show_docks(self, shown: bool) -> None:
        """Hide the docks while no trace is open; remember which ones were visible."""
        if shown == self._docks_shown:
            return
        self._docks_shown = shown
        if shown:
            self.restoreState(self._layout, remembered.VERSION)
            limit_docks(self, self.docks)
            choice = self.settings.get(remembered.DOCKS)
            is_low = self.height() < FOLDED_BELOW
            self.dock_tabs.fold(is_low if choice == "by height" else choice == "folded")
            self.dock_tabs.watch()
        else:
            self.dock_tabs.fold(False)
            self._layout = self.saveState(remembered.VERSION)
            for dock in self.docks:
                dock.hide()

    # The window

    def show_anew(self) -> None:
        """Write all texts again: times and sizes are written otherwise now."""
        self._take_theme(self.theme_manager.theme)

    def _take_theme(self, theme: Theme) -> None:
        self.setAnimated(not self.theme_manager.is_still)
        self.timeline.set_theme(theme)
        self.tools.set_theme(theme)
        self.dock_tabs.set_theme(theme)
        self.status.set_theme(theme)
        for panel in self.findChildren(Panel):
            panel.set_theme(theme)
        self.refresh()

    def tell_last_crash(self, report: str) -> None:
        """Offer the report of the last session's crash."""
        text = "Lightbox ended unexpectedly the last time."
        self.notice.tell(text, "Copy report", lambda: QGuiApplication.clipboard().setText(report))

    def _on_crash(self, line: str, report: str) -> None:
        text = f"Something went wrong, and Lightbox goes on: {line}"
        self.notice.tell(text, "Copy report", lambda: QGuiApplication.clipboard().setText(report))

    def _restore(self) -> None:
        settings = self.settings
        self.resize(*FIRST_SIZE)
        self.restoreGeometry(settings.get(remembered.GEOMETRY))
        fit_to_screen(self)
        self.restoreState(settings.get(remembered.LAYOUT), remembered.VERSION)
        if width := settings.get(remembered.HEADER_WIDTH):
            self.timeline.place.set_header_width(width)
        for name in settings.get(remembered.OVERLAYS):
            self.state.set_overlay(name, True)
        self.state.set_card(settings.get(remembered.CARD))
        self.theme_manager.set_text_px(settings.get(remembered.TEXT_PX))
        self.theme_manager.set_still(settings.get(remembered.STILL))
        exact, decimal = settings.get(remembered.EXACT_TIMES), settings.get(remembered.DECIMAL_SIZES)
        set_units(Units(exact, decimal))

    def closeEvent(self, event: QCloseEvent) -> None:
        self.trace_controller.save()
        layout = self.saveState(remembered.VERSION) if self._docks_shown else self._layout
        settings = self.settings
        settings.set(remembered.GEOMETRY, bytes(self.saveGeometry().data()))
        settings.set(remembered.LAYOUT, bytes(layout.data()))
        settings.set(remembered.HEADER_WIDTH, self.timeline.place.header_width)
        settings.set(remembered.OVERLAYS, tuple(sorted(self.state.overlays)))
        settings.set(remembered.CARD, self.state.card)
        self.trace_controller.leave()
        self.loader.shut_down()
        jobs.join_all()
        super().closeEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus by Tab; it passes over what nobody sees, such as docks behind others."""
        moved = super().focusNextPrevChild(forward)
        first = widget = QApplication.focusWidget()
        while moved and widget is not None and not _is_seen(widget):
            moved = super().focusNextPrevChild(forward)
            widget = QApplication.focusWidget()
            if widget is first:
                break
        return moved

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if files := local_files(event.mimeData()):
            _take_copy(event)
            self.drop_hint.offer(files[0], len(files) - 1)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drop_hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.drop_hint.hide()
        _take_copy(event)
        files = local_files(event.mimeData())
        self.open(files[0])
        if len(files) > 1:
            self.notice.tell(f"Opening {files[0].name}. {one_at_a_time(len(files) - 1)}.")


def _take_copy(event: QDropEvent) -> None:
    """Accept a drag as a copy: a source that proposes to move would remove the file afterwards."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()


def _is_seen(widget: QWidget) -> bool:
    """Return whether any of a widget is seen; the viewport of a scroll area covers all of it."""
    inner = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
    return not inner.visibleRegion().isEmpty()


def _close_menus() -> None:
    """Close the open menus: their commands act on the trace that closes."""
    while (menu := QApplication.activePopupWidget()) is not None and menu.close():
        pass
