"""The size of the stored traces is a setting."""

from viewer.app.dialogs import GIB, ask_limit
from viewer.readers import cache, read


def test_the_limit_is_asked_for_and_kept(window, demo_path, qtbot):
    read(demo_path)
    dialog = ask_limit(window)
    assert dialog.doubleValue() == 20
    dialog.setDoubleValue(0)
    dialog.accept()
    assert cache.limit() == 0
    assert cache.entries() == []
    dialog = ask_limit(window)
    dialog.setDoubleValue(3.5)
    dialog.reject()
    assert cache.limit() == 0 * GIB
