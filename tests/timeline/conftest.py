"""Widgets on the screen, held until their test is over."""

import pytest
from PySide6.QtCore import QCoreApplication, QEvent


@pytest.fixture
def on_screen(qtbot):
    """A function that shows a widget and returns it.

    The widget is held until the test's events are done: Python would else collect it while it paints.
    """
    held = []

    def show(widget, width, height):
        held.append(widget)
        widget.resize(width, height)
        with qtbot.waitExposed(widget):
            widget.show()
        return widget

    yield show
    for widget in held:
        widget.close()
        widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
