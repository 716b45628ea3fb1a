"""The tool bar says that iterations are derived or guessed, and offers what else may mark them."""

import pytest

from viewer.analysis.study import Study
from viewer.app.trace_loader import LoadedTrace
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read
from viewer.rows import build_rows


@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    path = make_demo(
        tmp_path_factory.mktemp("phases") / "demo.sqlite",
        DemoOptions(ranks=2, iterations=4, marking="phases"),
    )
    return Study(read(path, cache=False))


def show(window, study):
    window.trace_controller.show(LoadedTrace(study, build_rows(study)))


def test_named_iterations_are_not_doubted(window):
    assert window.state.iterations.doubt == ""
    assert not window.tools.iteration.doubt.isVisible()


def test_derived_ones_say_so_and_another_marker_is_one_click_away(window, phases, qtbot):
    show(window, phases)
    button = window.tools.iteration.doubt
    assert (button.isVisible(), button.text()) == (True, "derived")
    assert "cut after the ranges of the optimizer" in button.toolTip()
    button.menu().aboutToShow.emit()
    actions = button.menu().actions()
    assert [a.isChecked() for a in actions] == [c == 0 for c in range(len(actions))]
    assert len(actions) == len(phases.candidates)
    place = next(i for i, c in enumerate(phases.candidates) if c.name == "backward")
    assert "a part of an iteration" in actions[place].text()
    actions[place].trigger()
    qtbot.waitUntil(lambda: window.state.marker == place, timeout=10_000)
    assert button.text() == "guess"
    assert window.tools.iteration._actions["fit-iteration"].iconText() == "8 × backward"
