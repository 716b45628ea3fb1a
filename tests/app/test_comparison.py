"""Compare with another trace, in the real window."""

import pytest
from PySide6.QtWidgets import QFileDialog, QToolButton

from viewer.app.comparison import ComparisonController, PairBar
from viewer.panels.comparison_panel import ComparisonPanel


@pytest.fixture
def comparison(window, demo_path, qtbot):
    made = window.compare(demo_path)
    qtbot.waitUntil(lambda: made.dock is not None, timeout=20_000)
    return made


def same_time(comparison):
    link = comparison.link
    return tuple(t - link.offset_ns for t in comparison.other.axis.window) == link.first.axis.window


def test_the_other_trace_lies_below_on_the_same_axis(window, comparison, qtbot):
    assert comparison.timeline.isVisible()
    assert window.timeline.isVisible()
    assert (
        window.timeline.mapTo(window, window.timeline.rect().topLeft()).y()
        < comparison.timeline.mapTo(window, comparison.timeline.rect().topLeft()).y()
    )
    assert same_time(comparison)
    window.state.axis.zoom(0.5, 10_000_000)
    assert same_time(comparison)
    comparison.other.axis.pan(1_000_000)
    assert same_time(comparison)
    bar = comparison.timeline.parent().findChild(PairBar)
    bar.second_box.setValue(2)
    assert comparison.link.pair == (bar.first_box.value(), 2)
    assert same_time(comparison)


def test_summary_stand_side_by_side(comparison, qtbot):
    panel = comparison.dock.widget()
    assert isinstance(panel, ComparisonPanel)
    qtbot.waitUntil(lambda: len(panel.table.frame_model.frame) > 0, timeout=20_000)
    frame = panel.table.frame_model.frame.set_index("name")
    idle = frame.loc["idle"]
    assert idle["difference"] == idle["second"] - idle["first"]
    assert idle["difference_text"][0] in "+−0"


def test_it_ends_without_a_trace(window, comparison, qtbot):
    comparison.timeline.parent().findChild(PairBar).findChild(QToolButton).click()
    assert window.pages.currentWidget() is window.timeline
    assert window.timeline.isVisible()
    assert comparison.has_ended
    window.state.axis.zoom(0.5, 10_000_000)
    window.trace_controller.close()
    assert window.pages.currentWidget() is window.welcome


def test_closing_the_trace_ends_it(window, comparison):
    window.trace_controller.close()
    assert comparison.has_ended
    assert window.pages.currentWidget() is window.welcome


def test_one_comparison_at_a_time(window, comparison, demo_path, qtbot, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(demo_path), ""))
    window.actions_by_id["compare"].trigger()
    assert comparison.has_ended
    running = [c for c in window.findChildren(ComparisonController) if not c.has_ended]
    assert len(running) == 1
    qtbot.waitUntil(lambda: running[0].dock is not None, timeout=20_000)


def test_what_cannot_be_read_is_said(window, tmp_path, qtbot):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes")
    made = window.compare(path)
    qtbot.waitUntil(lambda: made.has_ended, timeout=20_000)
    assert "notes.txt" in window.notice.label.text()
    assert window.pages.currentWidget() is window.timeline
