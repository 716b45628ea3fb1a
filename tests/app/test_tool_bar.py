"""The tool bar in narrow windows: the row filter stays, and what is left out can be found."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QToolButton

from viewer.app.icons import SWATCH
from viewer.app.tool_bar import ToolBar
from viewer.drawing.theme import DARK, LIGHT
from viewer.state import ViewState

NAMES = (
    "open fit back forward previous-iteration fit-iteration next-iteration overlay-idle overlay-exposed "
    "overlay-waiting overlay-path filter-none"
)


@pytest.fixture
def bar(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    actions = {name: QAction(name[:8], window) for name in NAMES.split()}
    shown = ToolBar(ViewState(), actions, window)
    shown.refresh()
    window.addToolBar(Qt.ToolBarArea.TopToolBarArea, shown)
    window.show()
    yield shown
    window.close()


def test_the_row_filter_gives_way_before_anything_is_left_out(bar, qtbot):
    window, box = bar.window(), bar.filter_box
    window.resize(1400, 300)
    qtbot.waitUntil(lambda: box.width() == 220)
    assert box.placeholderText() == "Filter rows   Ctrl+Shift+F"
    others = box.x() - sum(w.width() for w in [bar.widgetForAction(bar.actions()[-2])])
    window.resize(others + 140, 300)
    qtbot.waitUntil(lambda: box.width() < 160)
    assert box.isVisible()
    assert box.geometry().right() <= bar.width()
    assert box.placeholderText() == "Filter rows"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_button_for_what_has_no_room_is_in_the_colour_of_text(bar, theme):
    bar.set_theme(theme)
    image = bar.findChild(QToolButton, "qt_toolbar_ext_button").icon().pixmap(SWATCH).toImage()
    drawn = {
        image.pixelColor(x, y).rgb()
        for x in range(16)
        for y in range(12)
        if image.pixelColor(x, y).alpha() > 240
    }
    assert (theme.text | 0xFF000000) in drawn
