"""The Findings dock: most worth first, a place for each, keys, names for screen readers, empty states."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from tests.analysis.make import TraceMaker
from tests.panels.make import looking_at
from viewer.analysis.core.classify import Rules
from viewer.analysis.findings.finding import Findings
from viewer.analysis.loading import Loading
from viewer.analysis.study import Study
from viewer.drawing.theme import DARK
from viewer.panels.findings_panel import NO_TRACE, SEARCHING, FindingsPanel
from viewer.state import ViewState


@pytest.fixture
def show(qtbot):
    """A function from a state to a panel that is visible."""

    def shown(state):
        panel = FindingsPanel(state)
        qtbot.addWidget(panel)
        panel.resize(1400, 300)
        panel.show()
        qtbot.waitExposed(panel)
        return panel

    return shown


@pytest.fixture
def panel(qtbot, show, demo_study):
    panel = show(looking_at(demo_study))
    qtbot.waitUntil(lambda: bool(panel.rows), timeout=60_000)
    return panel


def test_it_lists_what_the_study_found(panel, demo_study):
    found = demo_study.findings()
    assert [row.finding for row in panel.rows] == list(found)
    assert panel.head.text() == "Fix these first"
    assert panel.summary.text() == found.heading
    assert panel.rows[0].bar._share == 1.0
    assert panel.frame()["title"].tolist() == [finding.title for finding in found]


def test_its_badge_counts_them(qtbot, demo_study):
    state = looking_at(demo_study)
    panel = FindingsPanel(state)
    qtbot.addWidget(panel)
    badges = []
    panel.badge_changed.connect(badges.append)
    # Hidden as it is: the badge is there before the dock is looked at.
    qtbot.waitUntil(lambda: badges[-1:] == [str(len(demo_study.findings()))], timeout=60_000)


def test_a_click_shows_the_place_and_marks_the_row(qtbot, panel):
    row, place = panel.rows[0], panel.rows[0].finding.location
    panel.state.axis.go(0, 1_000)
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    low, high = panel.state.axis.window
    assert low <= place.start_ns < place.end_ns <= high
    assert panel.state.selection == (place.start_ns, place.end_ns)
    stalls = panel.state.study.stalls()
    assert panel.state.stall_number == stalls.exactly(place.start_ns, place.end_ns)
    assert "background" in row.styleSheet()
    assert "background" not in panel.rows[1].styleSheet()


def test_the_button_shows_it_and_predicts_the_timeline_with_it_mended(qtbot, panel):
    finding = panel.rows[1].finding
    assert panel.rows[1].button.text() == "What if"
    qtbot.mouseClick(panel.rows[1].button, Qt.MouseButton.LeftButton)
    assert panel.state.selection == (finding.location.start_ns, finding.location.end_ns)
    assert panel.state.what_if.changes == finding.changes
    qtbot.waitUntil(lambda: not panel.state.what_if.is_busy, timeout=60_000)


def test_a_finding_that_cannot_be_replayed_is_shown(qtbot, panel):
    item = replace(panel.rows[0].finding, changes=(), grade="ceiling")
    panel._take(Findings((item,), 10, 5))
    assert panel.rows[0].button.text() == "Show"
    qtbot.mouseClick(panel.rows[0].button, Qt.MouseButton.LeftButton)
    assert panel.state.selection == (item.location.start_ns, item.location.end_ns)
    assert not panel.state.what_if.is_open


def test_keys_go_through_the_rows_and_open_one(qtbot, panel):
    panel.activateWindow()
    panel.rows[0].setFocus()
    qtbot.waitUntil(panel.rows[0].hasFocus)
    qtbot.keyClick(panel.rows[0], Qt.Key.Key_Down)
    assert panel.rows[1].hasFocus()
    qtbot.keyClick(panel.rows[1], Qt.Key.Key_Return)
    place = panel.rows[1].finding.location
    assert panel.state.selection == (place.start_ns, place.end_ns)
    qtbot.keyClick(panel.rows[1], Qt.Key.Key_Up)
    qtbot.keyClick(panel.rows[0], Qt.Key.Key_Up)
    assert panel.rows[0].hasFocus()


def test_a_screen_reader_hears_the_finding_and_what_helps(panel):
    row = panel.rows[0]
    assert row.accessibleName().startswith(f"Finding 1: {row.finding.title}. −")
    assert row.accessibleName().endswith("replayed")
    assert row.accessibleDescription().endswith(f"Next: {row.finding.next_step}")
    assert row.button.accessibleName() == f"What if: {row.finding.title}"


def test_another_theme_shows_the_same_rows(panel):
    titles = [row.finding.title for row in panel.rows]
    panel.set_theme(DARK)
    assert [row.finding.title for row in panel.rows] == titles
    assert f"#{DARK.good & 0xFFFFFF:06x}" in panel.rows[0].grade.styleSheet()


def test_they_can_be_copied(panel):
    panel.copy()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].startswith("number\ttitle\twin_ns")
    assert len(lines) == 1 + len(panel.rows)


def test_names_of_others_are_shown_as_they_are(show, demo_study):
    panel = show(looking_at(demo_study))
    item = replace(demo_study.findings().items[0], title="<b>x</b> & y")
    panel._take(Findings((item,), 10, 5))
    assert panel.rows[0].findChildren(type(panel.head))[1].text() == "<b>x</b> & y"


def test_without_a_trace_it_says_what_it_would_show(show):
    assert show(ViewState())._empty.text() == NO_TRACE


def test_it_says_that_it_is_searching(show, demo_study):
    panel = show(looking_at(demo_study))
    panel._drop()
    assert panel._empty.text() == SEARCHING


@pytest.mark.parametrize(
    ("missing", "head"), [((), "Nothing to fix"), (("No iterations.",), "Not enough was recorded")]
)
def test_it_says_why_there_is_none(show, demo_study, missing, head):
    panel = show(looking_at(demo_study))
    panel._take(Findings((), None, None, missing=missing))
    assert panel.head.text() == head
    assert panel.rows == []
    assert not panel.save_button.isEnabled()


def test_a_trace_that_is_still_being_read_is_not_searched(qtbot, show):
    study = Study(TraceMaker().kernel(0, 1_000).trace(), Rules.builtin(), loading=Loading.GPUS)
    panel = show(looking_at(study))
    assert panel.findings is None
    assert not panel._worker.is_busy
    panel.state.set_loading(Loading.COMPLETE)
    qtbot.waitUntil(lambda: panel.findings is not None, timeout=60_000)
