"""A panel shows nothing of the trace before, and computes nothing that nobody sees."""

import pytest

from tests.panels.make import looking_at
from viewer.panels.collectives_panel import CollectivesPanel
from viewer.panels.panel import MEASURING
from viewer.panels.stalls_panel import StallsPanel
from viewer.panels.summary_panel import SummaryPanel
from viewer.rows import build_rows
from viewer.state.jobs import join_all


@pytest.fixture(autouse=True)
def joined():
    yield
    join_all()


@pytest.mark.parametrize("kind", [SummaryPanel, StallsPanel, CollectivesPanel])
def test_another_trace_clears_badge_and_numbers_at_once(kind, demo_study, qtbot):
    panel = kind(looking_at(demo_study))
    qtbot.addWidget(panel)
    badges = []
    panel.badge_changed.connect(badges.append)
    panel.show()
    qtbot.waitUntil(lambda: bool(badges) and badges[-1] != "", timeout=20_000)
    assert panel._stack.currentWidget() is panel.body
    panel.state.set_study(demo_study, build_rows(demo_study))
    assert badges[-1] == ""
    assert panel._stack.currentWidget() is panel._empty
    assert panel._empty.text() == MEASURING
    qtbot.waitUntil(lambda: badges[-1] != "", timeout=20_000)
    assert panel._stack.currentWidget() is panel.body


@pytest.mark.parametrize("kind", [StallsPanel, CollectivesPanel])
def test_a_dock_behind_others_computes_when_it_comes_to_the_front(kind, demo_study, qtbot):
    panel = kind(looking_at(demo_study))
    qtbot.addWidget(panel)
    panel.set_behind(True)
    panel.show()
    panel.state.iterations_changed.emit()
    assert not panel._worker.is_busy
    panel.set_behind(False)
    assert panel._worker.is_busy
