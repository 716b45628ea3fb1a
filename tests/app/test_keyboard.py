"""Everything by keyboard, with a visible focus and no trap; names and values for screen readers."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QTabBar, QTableView, QTreeView, QWidget

from tests.timeline.make import MS
from viewer.rows import RowKind
from viewer.state import Note
from viewer.timeline.strips.canvas import Canvas

NONE, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
TITLES = ("Events", "Measurements", "Summary", "Stalls", "Iterations", "Collectives", "Notes", "Diagnostics")


def said(widget, what=QAccessible.Text.Name):
    """What a screen reader says of a widget."""
    return QAccessible.queryAccessibleInterface(widget).text(what)


def walked(window, key=Qt.Key.Key_Tab, held=NONE, most=80):
    """Press Tab until the focus is where it began; return the widgets in between."""
    first = QApplication.focusWidget()
    seen = []
    for _ in range(most):
        seen.append(QApplication.focusWidget())
        QTest.keyClick(seen[-1], key, held)
        assert QApplication.focusWidget() is not seen[-1], f"a trap: {seen[-1]}"
        if QApplication.focusWidget() is first:
            return seen
    raise AssertionError(f"Tab does not come back to {first}: {seen}")


@pytest.fixture
def at_canvas(window, qtbot):
    window.timeline.canvas.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is window.timeline.canvas)
    return window


def with_content(window, title, qtbot):
    """Bring a panel to the front that has something to show."""
    state = window.state
    row = next(r for r in state.rows.roots[0].walk() if r.kind is RowKind.STREAM)
    state.measurements.keep(0, 5 * MS)
    state.notes.add(Note(5 * MS, 6 * MS, "here"))
    state.list_events(row.key)
    window.target.bring_panel(title)
    panel = next(d.widget() for d in window.docks if d.objectName() == f"dock-{title}")
    qtbot.waitUntil(lambda: not panel.visibleRegion().isEmpty())
    if title not in ("Collectives", "Diagnostics"):  # nothing of them is in this trace
        qtbot.waitUntil(lambda: panel._stack.currentWidget() is panel.body)
    QApplication.processEvents()
    window.timeline.canvas.setFocus()
    return panel


@pytest.mark.parametrize("title", TITLES)
def test_tab_goes_everywhere_and_comes_back(at_canvas, title, qtbot):
    window = at_canvas
    panel = with_content(window, title, qtbot)
    seen = walked(window)
    kinds = [type(widget) for widget in seen]
    assert any(issubclass(kind, Canvas) for kind in kinds)
    assert any(issubclass(kind, QTreeView) for kind in kinds)
    assert any(issubclass(kind, QTabBar) for kind in kinds)
    if panel._stack.currentWidget() is panel.body:
        assert any(panel.isAncestorOf(widget) for widget in seen)
    assert len(set(seen)) == len(seen)
    for widget in seen:
        inner = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
        assert not inner.visibleRegion().isEmpty(), f"{widget} has the focus and is not seen"
        name = said(widget)
        assert sum(char.isalpha() for char in name) >= 3, f"{widget} has no name: {name!r}"
    backwards = walked(window, Qt.Key.Key_Backtab, SHIFT)
    assert set(backwards) == set(seen)


@pytest.mark.parametrize("title", ["Events", "Summary", "Stalls", "Measurements", "Iterations"])
def test_the_focus_is_seen_wherever_it_is(at_canvas, title, qtbot):
    window = at_canvas
    with_content(window, title, qtbot)
    for widget in walked(window):
        pictures = []
        for has_focus in (True, False):
            target = widget if has_focus else window.centralWidget()
            window.centralWidget().setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            target.setFocus(Qt.FocusReason.TabFocusReason)
            QApplication.processEvents()
            pictures.append(widget.grab().toImage())
        assert pictures[0] != pictures[1], f"{widget} {said(widget)} looks the same with the focus"


def test_tables_are_no_traps(window):
    for table in window.findChildren(QTableView):
        assert not table.tabKeyNavigation(), table.accessibleName()


def test_the_canvas_shows_that_the_keyboard_is_there(at_canvas):
    window = at_canvas
    canvas = window.timeline.canvas

    def framed():
        image = canvas.grab().toImage()
        accent = window.theme_manager.theme.accent & 0xFFFFFF
        middle = image.height() // 2 + 3, image.width() // 2 + 3
        at = [(1, middle[0]), (image.width() - 2, middle[0]), (middle[1], 1), (middle[1], image.height() - 2)]
        return [image.pixel(x, y) & 0xFFFFFF == accent for x, y in at]

    assert framed() == [False] * 4, "a click or a command needs no frame"
    QTest.keyClick(canvas, Qt.Key.Key_Tab)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Backtab, SHIFT)
    assert QApplication.focusWidget() is canvas
    assert framed() == [True] * 4
    QTest.keyClick(canvas, Qt.Key.Key_Tab)
    assert framed() == [False] * 4


def test_letters_act_in_what_is_only_read(window, qtbot):
    window.target.bring_panel("Details")
    page = next(w for w in window.findChildren(QWidget) if w.accessibleName() == "Details of the selection")
    row = next(r for r in window.state.rows.roots[0].walk() if r.kind is RowKind.STREAM)
    window.state.select_event(row.events.ref(0, row.key))
    page.setFocus()
    before = window.state.overlays
    QTest.keyClick(page, Qt.Key.Key_I)
    assert window.state.overlays == before ^ {"idle"}


def test_the_canvas_says_what_is_selected_and_in_view(window):
    state, canvas = window.state, window.timeline.canvas
    row = next(r for r in state.rows.roots[0].walk() if r.kind is RowKind.STREAM)
    state.select_event(row.events.ref(2, row.key))
    text = said(canvas, QAccessible.Text.Description)
    events = row.events
    assert text.startswith("gemm_"), text
    assert row.text_path in text
    assert "begins at" in text
    assert int(events.start_ns[2]) == 5 * MS
    state.select((15 * MS, 22 * MS))
    window.timeline.spoken._describe()
    text = said(canvas, QAccessible.Text.Description)
    assert "Selected: 7.000 ms from 15" in text
    assert "idle 100.0 %" in text
    assert "in view" in text


def test_what_the_keyboard_chooses_is_announced(window, monkeypatch):
    heard = []
    monkeypatch.setattr(QAccessible, "isActive", staticmethod(lambda: True))
    monkeypatch.setattr(
        QAccessible, "updateAccessibility", staticmethod(lambda event: heard.append(event.message()))
    )
    QTest.keyClick(window.timeline.canvas, Qt.Key.Key_G)
    assert any(text.startswith("Selected: 7.000 ms") for text in heard)
    assert any(text.startswith("Idle stall 1 of 2") for text in heard)
    heard.clear()
    QTest.keyClick(window.timeline.canvas, Qt.Key.Key_BracketRight)
    assert any("teration" in text for text in heard)


def test_rows_have_names_and_values(window):
    model = window.timeline.headers.model()
    for root in window.state.rows.roots:
        index = window.timeline.headers._rows.index_of(root.key)
        text = model.data(index, Qt.ItemDataRole.AccessibleTextRole)
        assert text.startswith(root.text_path)
        assert "%" in text, "how busy its GPU is"
        about = model.data(index, Qt.ItemDataRole.AccessibleDescriptionRole)
        assert "busy" in about


def test_pinned_rows_are_walked_moved_and_unpinned_by_keys(at_canvas):
    window = at_canvas
    rows, pinned = window.state.rows, window.timeline.pinned_headers
    assert pinned not in walked(window), "nothing is pinned"
    streams = [r for root in rows.roots for r in root.walk() if r.kind is RowKind.STREAM][:3]
    for row in streams:
        rows.set_pinned(row.key, True)
    assert pinned in walked(window)
    pinned.setFocus(Qt.FocusReason.TabFocusReason)
    assert pinned.pointed_row is streams[0]
    QTest.keyClick(pinned, Qt.Key.Key_Down)
    assert pinned.pointed_row is streams[1]
    QTest.keyClick(pinned, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert rows.pinned == [streams[1].key, streams[0].key, streams[2].key]
    assert pinned.pointed_row is streams[1]
    QTest.keyClick(pinned, Qt.Key.Key_T)
    assert window.state.listing.key == streams[1].key, "commands are about the row of the keyboard"
    pinned.setFocus()
    QTest.keyClick(pinned, Qt.Key.Key_Delete)
    assert rows.pinned == [streams[0].key, streams[2].key]


def test_a_range_is_selected_and_changed_by_keys_alone(at_canvas):
    window = at_canvas
    state, canvas = window.state, window.timeline.canvas
    row = next(r for r in state.rows.roots[0].walk() if r.kind is RowKind.STREAM)
    state.select_event(row.events.ref(2, row.key))
    QTest.keyClick(canvas, Qt.Key.Key_R)
    assert state.selection == (5 * MS, 6 * MS - 1000)
    QTest.keyClick(canvas, Qt.Key.Key_O)
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert state.selection == (5 * MS - canvas.span_ns(1), 6 * MS - 1000)
    state.set_iteration(1)
    QTest.keyClick(canvas, Qt.Key.Key_R, SHIFT)
    assert state.selection == (state.iterations.start_ns(1), state.iterations.end_ns(1))
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert len(state.measurements.items) == 1


def test_the_menu_key_is_about_the_selected_event(at_canvas):
    window = at_canvas
    state, canvas = window.state, window.timeline.canvas
    row = next(r for r in state.rows.roots[0].walk() if r.kind is RowKind.STREAM)
    state.reveal(row.key)
    state.select_event(row.events.ref(2, row.key))
    place = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(3, 3), QPoint(3, 3))
    seen = []
    window.timeline.notes.gestures.menu_requested.disconnect()
    window.timeline.notes.gestures.menu_requested.connect(lambda strip, pos, at: seen.append(strip.hit(pos)))
    QApplication.sendEvent(canvas, place)
    assert seen[0].event == state.chosen
