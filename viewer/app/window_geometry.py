"""The geometry of a window: inside its screen, and with enough room for the timeline."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from viewer.app.dock_tabs import MOST_OF_HEIGHT

TITLE_BAR_PX = 32


def fitted(wanted: QRect, free: QRect) -> QRect:
    """Return a rectangle no larger than the free one, and moved into it."""
    size = wanted.size().boundedTo(free.size())
    x = min(max(wanted.x(), free.left()), free.left() + free.width() - size.width())
    y = min(max(wanted.y(), free.top()), free.top() + free.height() - size.height())
    return QRect(x, y, size.width(), size.height())


def fit_to_screen(window: QWidget) -> None:
    """Shrink a window that is not yet shown to its screen, whose scale may differ from the last session's."""
    free = window.screen().availableGeometry().adjusted(0, TITLE_BAR_PX, 0, 0)
    wanted = window.geometry()
    if not window.isMaximized() and fitted(wanted, free) != wanted:
        window.setGeometry(fitted(wanted, free))


def limit_docks(window: QMainWindow, docks: Iterable[QDockWidget]) -> None:
    """Shrink docks stored from a larger window, so that the timeline keeps its part."""
    most = round(window.height() * MOST_OF_HEIGHT)
    below = [
        dock
        for dock in docks
        if window.dockWidgetArea(dock) is Qt.DockWidgetArea.BottomDockWidgetArea and dock.height() > most
    ]
    if below:
        window.resizeDocks(below[:1], [most], Qt.Orientation.Vertical)
