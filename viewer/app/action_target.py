"""ActionTarget: the object that the table of actions acts on, with the longer actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDockWidget, QFileDialog, QLineEdit, QMenu, QMessageBox, QWidget

from viewer import __version__
from viewer.analysis.recording.alignment import align
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.app import settings as remembered
from viewer.app.command_palette import CommandPalette
from viewer.app.comparison import FILES
from viewer.app.dock_tabs import DockTabs
from viewer.app.exports import export_report, save_table
from viewer.app.folders import folder_to_open_from
from viewer.app.key_sheet import KeySheet
from viewer.app.notices import NoticeBar
from viewer.app.picture_dialog import PictureDialog
from viewer.app.preferences.dialog import PreferencesDialog
from viewer.app.settings import Settings
from viewer.app.status import StatusBar
from viewer.app.theme_manager import ThemeManager
from viewer.app.trace_controller import TraceController
from viewer.app.trace_index import Found, TraceIndex, index_trace
from viewer.app.trace_loader import TraceLoader
from viewer.panels.diagnostics_panel import DiagnosticsPanel
from viewer.panels.events_panel import EventsPanel
from viewer.panels.find_bar import FindBar
from viewer.panels.measurements_panel import MeasurementsPanel
from viewer.panels.panel import Panel
from viewer.rows import EventRef, Row
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.timeline.event_menu import stream_of_event, switch_stream_pins
from viewer.timeline.timeline import Timeline
from viewer.timeline.what_if_menu import fill_general
from viewer.trace import Trace

if TYPE_CHECKING:
    from viewer.app.actions import Action

NO_ROW = "Point at a row first, or choose one with the arrow keys"


class ActionTarget(QObject):
    """The object that the user's actions act on.

    Parameters
    ----------
    compare : callable
        Shows the trace of a path under the open one.
    parent : QWidget
        The window: dialogs stand in front of it.

    Attributes
    ----------
    docks : sequence of QDockWidget
        The docks of the panels.
    dock_tabs : DockTabs
        Folds the docks below down to their tabs.
    filter_box : QLineEdit
        Where the user writes which rows to show.

    Signals
    -------
    done()
        An action ended.
    refreshed()
        All texts are to be written again.
    """

    done = Signal()
    refreshed = Signal()
    _indexed = Signal(object)
    dock_tabs: DockTabs
    filter_box: QLineEdit

    def __init__(
        self,
        timeline: Timeline,
        traces: TraceController,
        loader: TraceLoader,
        find_bar: FindBar,
        status: StatusBar,
        notice: NoticeBar,
        theme_manager: ThemeManager,
        settings: Settings,
        compare: Callable[[Path], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.state: ViewState = timeline.state
        self.timeline: Timeline = timeline
        self.traces: TraceController = traces
        self.loader: TraceLoader = loader
        self.find_bar: FindBar = find_bar
        self.status: StatusBar = status
        self.notice: NoticeBar = notice
        self.theme_manager: ThemeManager = theme_manager
        self.parent_widget: QWidget = parent
        self.docks: tuple[QDockWidget, ...] = ()
        self._settings, self._compare = settings, compare
        self._index: TraceIndex | None = None
        self._indexer = Worker(self)
        self.state.study_changed.connect(self._forget_index)

    def _forget_index(self) -> None:
        self._indexer.cancel()
        self._index = None

    def do(self, action: Action) -> None:
        """Run an action of the table; what an earlier one has said goes."""
        self.status.clearMessage()
        action.run(self)
        self.done.emit()

    def compare(self) -> None:
        """Ask for another trace and show it under the open one."""
        folder = folder_to_open_from()
        name, _ = QFileDialog.getOpenFileName(self.parent_widget, "Compare with", folder, FILES)
        if name:
            self._compare(Path(name))

    def export_picture(self) -> None:
        """Show the dialog that makes pictures."""
        PictureDialog(self.state, self.timeline, self.theme_manager, self.parent_widget).open()

    def export_report(self) -> None:
        """Ask for a file and write the report."""
        export_report(self.state, self.notice, self.parent_widget)

    def current_row(self) -> Row | None:
        """Return the row under the pointer, on its header or its lanes, else the keyboard's."""
        return self.timeline.pointed_row() or self.timeline.headers.current_row()

    def choose_theme(self, choice: str) -> None:
        """Follow the system's theme, or stay light or dark; also at the next start."""
        self._settings.set(remembered.THEME, choice)
        self.theme_manager.choose(choice)

    def switch_pin(self) -> None:
        """Pin the current row, or unpin it."""
        rows = self.state.rows
        self._with_row(lambda row: rows.set_pinned(row.key, row.key not in rows.pinned))

    def switch_stream_pins(self) -> None:
        """Pin the stream of the current row, else of the selected event, on all GPUs, or unpin it."""
        state, row = self.state, self.current_row()
        stream = row.stream if row is not None else None
        if stream is None and state.chosen is not None:
            stream = stream_of_event(state, state.chosen)
        if stream is None or state.study is None:
            self.status.say("Point at the row of a stream first, or select what ran on it")
        else:
            switch_stream_pins(state, state.study.trace.streams[stream].stream_id)

    def with_event(self, act: Callable[[ViewState, EventRef], object]) -> None:
        """Do something with the selected event."""
        if self.state.chosen is not None:
            act(self.state, self.state.chosen)

    def hide_row(self) -> None:
        """Hide the current row."""
        self._with_row(lambda row: self.state.rows.set_hidden([row.key], True))

    def list_row(self) -> None:
        """List the events of the current row."""
        self._with_row(lambda row: self.state.list_events(row.key))

    def choose_durations(self) -> None:
        """Go to the durations that Events lists, which a drag in its histogram chooses too."""
        if self.state.listing is None:
            self.list_row()
        self.show_panel(EventsPanel)
        for dock in self.docks:
            if isinstance(panel := dock.widget(), EventsPanel):
                panel.choose_durations()

    def _with_row(self, act: Callable[[Row], object]) -> None:
        if (row := self.current_row()) is None:
            self.status.say(NO_ROW)
        else:
            act(row)

    def show_panel(self, kind: type[Panel]) -> None:
        """Bring the panel of this kind to the front."""
        self.bring_panel(kind.title)

    def is_panel_shown(self, title: str) -> bool:
        """Whether a panel is seen, in front of the others."""
        docks = (dock for dock in self.docks if dock.objectName() == f"dock-{title}")
        return any(dock.isVisible() and not dock.widget().visibleRegion().isEmpty() for dock in docks)

    def bring_panel(self, title: str) -> None:
        """Bring the panel of this title to the front."""
        for dock in self.docks:
            if dock.objectName() == f"dock-{title}":
                dock.show()
                dock.raise_()
                if dock in self.dock_tabs.below():
                    self.fold_docks(False)

    def fold_docks(self, folded: bool) -> None:
        """Fold the docks below down to their tabs, or unfold them."""
        if folded != self.dock_tabs.is_folded:
            self.dock_tabs.choose(folded)

    def find_rows(self) -> None:
        """Go to the row filter."""
        self.filter_box.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter_box.selectAll()

    def keep(self) -> None:
        """Keep the selected ranges as measurements, each once."""
        kept = self.state.measurements
        known = {(m.start_ns, m.end_ns): m.name for m in kept.items}
        ranges = sorted(self.state.selections.items)
        if not ranges:
            return
        new = [window for window in ranges if window not in known]
        if not new:
            what = "This range is" if len(ranges) == 1 else "These ranges are"
            self.status.say(f"{what} kept already, as {', '.join(known[window] for window in ranges)}")
            return
        kept.keep_all(new)
        self.status.say(f"Kept as {', '.join(m.name for m in kept.items[-len(new) :])}")
        if not self.dock_tabs.is_folded:
            self.show_panel(MeasurementsPanel)

    def deselect(self) -> None:
        """Cancel the drag, else close the prediction, else deselect the note, the range or the event."""
        if self.timeline.gestures.cancel():
            return
        if self.state.what_if.is_open:
            self.state.what_if.close()
            return
        if self.state.notes.chosen is not None:
            self.state.notes.choose(None)
            return
        if self.state.selections.items:
            self.state.select(None)
        else:
            self.state.select_event(None)

    def ask_what_if(self) -> None:
        """Offer what can be tried on the selection, the current row and the whole job."""
        menu = QMenu(self.parent_widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_general(menu, self.state, self.current_row())
        canvas = self.timeline.canvas
        menu.popup(canvas.mapToGlobal(canvas.rect().center()))

    def save_table(self, frame: pd.DataFrame) -> None:
        """Ask for a file and write a panel's table to it."""
        save_table(frame, self.notice, self.parent_widget)

    def show_preferences(self) -> PreferencesDialog:
        """Show the preferences; where they are shown already, bring them to the front."""
        dialog = self.parent_widget.findChild(PreferencesDialog)
        if dialog is None:
            dialog = PreferencesDialog(
                self.state, self.theme_manager, self._settings, self.refreshed.emit, self.apply_rules,
                self.parent_widget,
            )  # fmt: skip
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        return dialog

    def apply_rules(self) -> None:
        """Compute the numbers again with the kernel classes as they stand in the file now."""
        self.notice.hide()
        self._study_again(lambda trace: trace)

    def _study_again(self, made: Callable[[Trace], Trace]) -> None:
        """Compute the numbers of the open trace, or of a changed copy of it, again."""
        study = self.state.study
        if study is None:
            return
        if self.loader.is_busy:
            self.status.say("A trace is being opened: try again when it is there")
        elif not study.loading.is_complete:
            self.traces.read_rest()
        else:
            self.loader.study(made(study.trace))

    def tell_diagnostics(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Show at once which diagnostics make numbers wrong: lanes look idle where rows were lost."""
        self.status.show_diagnostics(diagnostics)
        errors = [f for f in diagnostics if f.severity == "error"]
        if errors:
            more = f"  (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            text = f"{errors[0].text}{more}"
            self.notice.tell(text, "Diagnostics", lambda: self.show_panel(DiagnosticsPanel))

    def align(self, by_ns: dict[int, int]) -> None:
        """Move the times of some GPUs, and compute the numbers again."""
        self._study_again(lambda trace: align(trace, by_ns))

    def open_palette(self) -> None:
        """Offer every action by its name, and the iterations, rows and kernels of the open trace."""
        palette = CommandPalette(
            self.do, lambda action: action.enabled is None or action.enabled(self), self.parent_widget
        )
        palette.found.connect(self._show_found)
        self._indexed.connect(palette.set_index)
        palette.show()
        palette.text.setFocus()
        study, roots, iterations = self.state.study, self.state.rows.roots, self.state.iterations
        known = self._index
        if known is not None and known.roots is roots and known.iterations is iterations:
            palette.set_index(known)
        elif study is not None:
            self._indexer.start(lambda _: index_trace(study, roots, iterations), self._take_index)

    def _take_index(self, index: TraceIndex) -> None:
        if index.study is self.state.study:
            self._index = index
            self._indexed.emit(index)

    def _show_found(self, thing: Found) -> None:
        thing.act(self.state)
        self.done.emit()

    def show_keys(self) -> None:
        """Show the key sheet."""
        KeySheet(self.parent_widget).open()

    def show_about(self) -> None:
        """Show the name and version of the program."""
        QMessageBox.about(
            self.parent_widget, "About Lightbox",
            f"Lightbox {__version__}\n\nReads the trace of a multi-GPU training run, "
            "and measures what the eye sees.",
        )  # fmt: skip
