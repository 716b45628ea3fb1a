"""The docks below fold down to their tabs: by a key, by a click on the tab in front, in a low window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTabBar

from tests.timeline.make import pixels
from viewer.app import settings as remembered
from viewer.app.dock_tabs import ALARM, APART, tab_text
from viewer.app.settings import Settings
from viewer.drawing.theme import LIGHT
from viewer.timeline.paint.fonts import metrics

LEFT = Qt.MouseButton.LeftButton


def bar_of(window):
    """The tabs of the docks below."""
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return next(bar for bar in bars if bar.isVisible() and bar.count() >= 8)


@pytest.fixture
def shown(window, qtbot):
    """A window with a trace and docks that are open."""
    window.resize(1280, 900)
    window.dock_tabs.fold(False)
    qtbot.waitUntil(lambda: bar_of(window) in window.dock_tabs._bars)
    return window


def below(window):
    """How high the docks below are together."""
    return max(dock.height() for dock in window.dock_tabs.below())


def test_a_key_folds_the_docks_and_gives_them_their_height_back(shown, qtbot):
    before, lanes = below(shown), shown.timeline.canvas.height()
    shown.actions_by_id["docks"].trigger()
    qtbot.waitUntil(lambda: below(shown) == 0)
    assert shown.timeline.canvas.height() >= lanes + before
    assert bar_of(shown).isVisible()
    assert not shown.actions_by_id["docks"].isChecked()
    shown.actions_by_id["docks"].trigger()
    qtbot.waitUntil(lambda: below(shown) > 0)
    assert abs(below(shown) - before) <= 2
    assert shown.actions_by_id["docks"].isChecked()


def test_a_click_on_the_tab_in_front_folds_and_on_any_tab_unfolds(shown, qtbot):
    bar = bar_of(shown)
    front, other = bar.currentIndex(), (bar.currentIndex() + 1) % bar.count()
    QTest.mouseClick(bar, LEFT, pos=bar.tabRect(other).center())
    assert not shown.dock_tabs.is_folded
    QTest.mouseClick(bar, LEFT, pos=bar.tabRect(other).center())
    assert shown.dock_tabs.is_folded
    assert Settings().get(remembered.DOCKS) == "folded"
    QTest.mouseClick(bar, LEFT, pos=bar.tabRect(front).center())
    assert not shown.dock_tabs.is_folded
    assert bar.currentIndex() == front
    assert Settings().get(remembered.DOCKS) == "open"


def test_a_panel_that_is_asked_for_unfolds_the_docks(shown):
    shown.dock_tabs.fold(True)
    shown.target.bring_panel("Details")
    assert shown.dock_tabs.is_folded
    shown.target.bring_panel("Stalls")
    assert not shown.dock_tabs.is_folded


@pytest.mark.parametrize(
    ("height", "choice", "folded"),
    [(720, None, True), (900, None, False), (900, "folded", True), (720, "open", False)],
)
def test_docks_are_folded_at_first_in_a_low_window_unless_the_user_has_chosen(
    open_window, opened, height, choice, folded
):
    window = open_window()
    if choice is not None:
        window.settings.set(remembered.DOCKS, choice)
    window.resize(1280, height)
    window.trace_controller.show(opened)
    assert window.dock_tabs.is_folded == folded


def test_tabs_are_evenly_spaced_and_carry_their_counts(shown, qtbot):
    bar = bar_of(shown)
    qtbot.waitUntil(lambda: any(APART in bar.tabText(i) for i in range(bar.count())), timeout=30_000)
    rects = [bar.tabRect(i) for i in range(bar.count())]
    for i, rect in enumerate(rects):
        text = bar.tabText(i)
        assert text == text.strip()
        # What is left beside the text is the same for all tabs.
        assert abs(rect.width() - metrics(bar.font().pixelSize()).horizontalAdvance(text) - 26) <= 1.5
    shown.dock_tabs.set_theme(LIGHT)
    picture = pixels(bar.grab().toImage())
    assert (picture == LIGHT.panel).mean() > 0.8
    assert (picture == LIGHT.accent).any()
    assert tab_text("Summary", f"5{ALARM}") == f"Summary{APART}5{ALARM}"
