"""The docks below the timeline. A panel is one line in `PANELS`."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget, QWidget

from viewer.panels.events import EventsPanel
from viewer.panels.iterations import IterationsPanel
from viewer.panels.measurements import MeasurementsPanel
from viewer.panels.panel import Panel
from viewer.panels.vitals import VitalsPanel
from viewer.state import ViewState

PANELS: tuple[type[Panel], ...] = (EventsPanel, MeasurementsPanel, VitalsPanel, IterationsPanel)
FRONT: type[Panel] = VitalsPanel
FIRST_HEIGHT = 264
SMALLEST = (240, 80)


def add_docks(
    window: QMainWindow, state: ViewState, save: Callable[[pd.DataFrame], None]
) -> list[QDockWidget]:
    """Put every panel into a dock, as tabs of one area; `FRONT` is in front.

    Parameters
    ----------
    save : callable
        Asks for a file and writes a panel's table to it.
    """
    bottom = Qt.DockWidgetArea.BottomDockWidgetArea
    window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
    docks: list[QDockWidget] = []
    for kind in PANELS:
        panel = kind(state)
        panel.setMinimumSize(*SMALLEST)
        dock = QDockWidget(panel.title, window)
        dock.setObjectName(f"dock-{panel.title}")
        dock.setTitleBarWidget(QWidget())
        dock.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        dock.setWidget(panel)
        panel.badge_changed.connect(
            lambda text, d=dock, p=panel: d.setWindowTitle(f"{p.title}  {text}".rstrip())
        )
        panel.save_requested.connect(save)
        window.addDockWidget(bottom, dock)
        if docks:
            window.tabifyDockWidget(docks[0], dock)
        docks.append(dock)
    if docks:
        next(d for d in docks if isinstance(d.widget(), FRONT)).raise_()
        window.resizeDocks(docks[:1], [FIRST_HEIGHT], Qt.Orientation.Vertical)
    return docks
