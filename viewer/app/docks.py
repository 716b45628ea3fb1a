"""The docks below and right of the timeline; each panel is a line in `PANELS` or `AT_RIGHT`."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QMainWindow, QTabWidget, QToolButton, QWidget

from viewer.app.dock_tabs import FIRST_HEIGHT, tab_text
from viewer.panels.collectives_panel import CollectivesPanel
from viewer.panels.details_panel import DetailsPanel
from viewer.panels.diagnostics_panel import DiagnosticsPanel
from viewer.panels.events_panel import EventsPanel
from viewer.panels.findings_panel import FindingsPanel
from viewer.panels.iterations_panel import IterationsPanel
from viewer.panels.measurements_panel import MeasurementsPanel
from viewer.panels.notes_panel import NotesPanel
from viewer.panels.panel import Panel
from viewer.panels.stalls_panel import StallsPanel
from viewer.panels.summary_panel import SummaryPanel
from viewer.state import ViewState
from viewer.timeline.plain_text import PlainLabel

PANELS: tuple[type[Panel], ...] = (
    FindingsPanel,
    EventsPanel,
    MeasurementsPanel,
    SummaryPanel,
    StallsPanel,
    IterationsPanel,
    CollectivesPanel,
    NotesPanel,
    DiagnosticsPanel,
)
AT_RIGHT: tuple[type[Panel], ...] = (DetailsPanel,)
FRONT: type[Panel] = FindingsPanel
FIRST_WIDTH = 380
SMALLEST = (240, 80)
FOLDED_BELOW = 800
"""In a window lower than this the docks are at first folded down to their tabs, logical pixels."""


def add_docks(
    window: QMainWindow, state: ViewState, save: Callable[[pd.DataFrame], None]
) -> list[QDockWidget]:
    """Put every panel into a dock, as tabs of its area: below with `FRONT` in front, at the right closed.

    Parameters
    ----------
    save : callable
        Asks for a file and writes a panel's table to it.
    """
    window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
    docks: list[QDockWidget] = []
    for kind in (*PANELS, *AT_RIGHT):
        panel = kind(state)
        panel.setMinimumSize(*SMALLEST)
        dock = QDockWidget(panel.title, window)
        dock.setObjectName(f"dock-{panel.title}")
        dock.setTitleBarWidget(_title_bar(dock) if kind in AT_RIGHT else QWidget())
        dock.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        dock.setWidget(panel)
        panel.badge_changed.connect(lambda count, d=dock, p=panel: d.setWindowTitle(tab_text(p.title, count)))
        panel.save_requested.connect(save)
        panel.set_behind(True)
        dock.visibilityChanged.connect(lambda seen, p=panel: p.set_behind(not seen))
        docks.append(dock)
    below, right = docks[: len(PANELS)], docks[len(PANELS) :]
    for area, docks_there in (
        (Qt.DockWidgetArea.BottomDockWidgetArea, below),
        (Qt.DockWidgetArea.RightDockWidgetArea, right),
    ):
        window.addDockWidget(area, docks_there[0])
        for dock in docks_there[1:]:
            window.tabifyDockWidget(docks_there[0], dock)
    next(d for d in below if isinstance(d.widget(), FRONT)).raise_()
    window.resizeDocks(below[:1], [FIRST_HEIGHT], Qt.Orientation.Vertical)
    window.resizeDocks(right[:1], [FIRST_WIDTH], Qt.Orientation.Horizontal)
    for dock in right:
        dock.hide()
    return docks


def _title_bar(dock: QDockWidget) -> QWidget:
    """Return the title of a dock that no tab names, with a way to close it."""
    bar, title, close = QWidget(), PlainLabel(dock.windowTitle()), QToolButton()
    bar.setObjectName("dockTitle")
    close.setText("✕")
    close.setAccessibleName(f"Close {dock.windowTitle()}")
    close.setToolTip("Close")
    close.clicked.connect(dock.close)
    dock.windowTitleChanged.connect(title.setText)
    row = QHBoxLayout(bar)
    row.setContentsMargins(12, 4, 6, 2)
    row.addWidget(title, 1)
    row.addWidget(close)
    return bar
