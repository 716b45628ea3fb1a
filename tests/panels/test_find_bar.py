"""The find bar: counts, steps, regular expressions, rows."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.panels.make import looking_at
from viewer.panels.find_bar import FindBar
from viewer.rows import RowKind
from viewer.state.jobs import join_all
from viewer.trace import Kind


@pytest.fixture
def bar(demo_study, qapp, qtbot):
    made = FindBar(looking_at(demo_study))
    qtbot.addWidget(made)
    made.resize(1200, 40)
    made.open()
    yield made
    join_all()


def search(bar, qtbot, text, regex=False):
    bar.text.setText(text)
    bar.regex.setChecked(regex)
    bar.search()
    qtbot.waitUntil(lambda: not bar._worker.is_busy)


def test_everything_of_a_name_is_counted_and_marked(bar, qtbot, demo_study):
    search(bar, qtbot, "flash")
    names = np.array(demo_study.trace.names.take(demo_study.trace.kernels.name_id), object)
    expected = sum("flash" in n.lower() for n in names)
    assert bar.state.search_result.counts["kernels"] == expected
    assert f"{expected:,} kernels" in bar.counts.text()
    assert "rows" in bar.counts.text()


def test_enter_goes_from_hit_to_hit_and_round_the_end(bar, qtbot):
    search(bar, qtbot, "dataloader")
    count = bar.state.search_result.count
    seen = []
    for _ in range(count + 1):
        qtbot.keyClick(bar, Qt.Key.Key_Return)
        seen.append(bar.state.chosen)
    assert {ref.kind for ref in seen} == {Kind.NVTX}
    assert seen[0].index == seen[-1].index or count > len({ref.index for ref in seen})
    assert bar.state.rows.row(seen[0].row_key).kind is RowKind.NVTX
    first = bar.state.chosen
    bar.step(1)
    bar.step(-1)
    assert bar.state.chosen == first


def test_a_regular_expression_and_a_wrong_one(bar, qtbot):
    search(bar, qtbot, "^nccl.*AllReduce", regex=True)
    assert bar.state.search_result.count > 0
    search(bar, qtbot, "(", regex=True)
    assert bar.state.search_result is None
    assert "regular expression" in bar.counts.text()
    assert not bar.next.isEnabled()


def test_rows_are_gone_to_where_no_event_has_the_name(bar, qtbot):
    search(bar, qtbot, "Rank 3")
    assert bar.state.search_result.count == 0
    with qtbot.waitSignal(bar.state.revealed) as revealed:
        bar.step(1)
    assert bar.state.rows.row(revealed.args[0]).label == "Rank 3"


def test_leaving_takes_the_marks_away(bar, qtbot):
    search(bar, qtbot, "flash")
    with qtbot.waitSignal(bar.left):
        qtbot.keyClick(bar, Qt.Key.Key_Escape)
    assert bar.state.search_result is None
    assert bar.isHidden()
