"""Shift+F1 and the menus lead from a number of the window to its definition."""

import pytest
from PySide6.QtCore import QPoint, Qt

from viewer import definitions
from viewer.panels.details_panel import DetailsPanel
from viewer.panels.iterations_panel import IterationsPanel
from viewer.timeline.definitions_dialog import MEANING, DefinitionsDialog
from viewer.timeline.headers.row_menu import row_menu


def shown(window):
    """Return the beginning of the entry that is tinted, "" at the document's beginning."""
    found = window.findChild(DefinitionsDialog).page.extraSelections()
    return found[0].cursor.selectedText() if found else ""


def test_nothing_chosen_shows_the_beginning(window):
    window.actions_by_id["definition"].trigger()
    assert shown(window) == ""


def test_a_selection_leads_to_the_categories(window):
    window.state.select((1_000_000, 9_000_000))
    window.actions_by_id["definition"].trigger()
    assert shown(window).startswith("compute only")


def test_the_key_asks_about_the_cell_that_has_the_focus(window, qtbot):
    window.target.show_panel(IterationsPanel)
    panel = window.findChild(IterationsPanel)
    table = panel.table
    qtbot.waitUntil(lambda: len(table.frame_model.frame) > 0)
    column = [c.key for c in table.frame_model.columns].index("skew_ns")
    table.setCurrentIndex(table.model().index(0, column))
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    qtbot.keyClick(table, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
    assert "skew over the GPUs" in shown(window)


@pytest.mark.parametrize(("has_share", "entry"), [(False, "busy"), (True, "share of siblings")])
def test_the_menu_of_a_row_tells_the_two_percentages_apart(window, has_share, entry):
    rows = [row for root in window.state.rows.roots for row in root.walk()]
    if has_share:
        row = next(row for row in rows if row.share is not None)
    else:
        row = window.state.rows.roots[0]
    menu = row_menu(window.state, row, window)
    next(action for action in menu.actions() if action.text() == MEANING).trigger()
    assert shown(window).startswith(entry)


def test_a_line_of_details_leads_to_what_its_label_says(window, qtbot):
    panel = DetailsPanel(window.state)
    qtbot.addWidget(panel)
    panel.page.setHtml("<table><tr><td>Launch&nbsp;latency</td><td>12 µs</td></tr></table>")
    panel.resize(400, 200)
    panel.show()
    at = panel.page.cursorRect(panel.page.textCursor()).center()
    assert panel._definition_at(at) == "latency_ns"
    panel.page.setHtml("<p>nothing</p>")
    assert definitions.find(panel._definition_at(QPoint(5, 5))) is not None
