"""Windows and docks that were left on a larger screen."""

import pytest
from PySide6.QtCore import QRect, Qt

from viewer.app.window_geometry import MOST_OF_HEIGHT, fit_to_screen, fitted, limit_docks

FREE = QRect(0, 30, 800, 420)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (QRect(10, 50, 300, 200), QRect(10, 50, 300, 200)),
        (QRect(0, 0, 1440, 860), FREE),
        (QRect(700, 400, 300, 200), QRect(500, 250, 300, 200)),
        (QRect(-50, -50, 300, 200), QRect(0, 30, 300, 200)),
    ],
)
def test_a_window_is_moved_and_shrunk_into_what_is_free(wanted, given):
    assert fitted(wanted, FREE) == given


def test_a_window_larger_than_its_screen_is_made_to_fit(window):
    free = window.screen().availableGeometry()
    window.resize(free.width() + 500, free.height() + 500)
    fit_to_screen(window)
    assert free.contains(window.geometry())


def test_docks_leave_the_timeline_the_larger_part(window, qtbot):
    dock = window.docks[0]
    window.resizeDocks([dock], [window.height() * 2 // 3], Qt.Orientation.Vertical)
    qtbot.waitUntil(lambda: max(d.height() for d in window.docks) > window.height() // 2)
    limit_docks(window, window.docks)
    qtbot.waitUntil(lambda: max(d.height() for d in window.docks) <= window.height() * MOST_OF_HEIGHT)
