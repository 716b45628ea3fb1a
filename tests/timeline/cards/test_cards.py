"""What the cards say."""

import pytest
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QWidget

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, state_of, study_of, training
from viewer.analysis.loading import Loading
from viewer.drawing.layout import place
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.rows import EventRef, RowKind, build_rows
from viewer.timeline.cards.card import beside
from viewer.timeline.cards.card_text import event_facts, running_at
from viewer.timeline.cards.hover_card import HoverCard
from viewer.timeline.cards.range_table import RangeTable
from viewer.timeline.cards.selection_card import SelectionCard
from viewer.timeline.paint.fonts import metrics, wrapped
from viewer.trace import Kind


@pytest.fixture
def panel(on_screen):
    """A window for a card to float on."""
    return on_screen(QWidget(), 1400, 700)


def lines(study, kind, index):
    return dict(event_facts(study, EventRef(kind, index)).lines)


def test_kernel_says_class_rule_launch_and_queue():
    maker = TraceMaker(session_ns=10_000).kernel(5_000, 6_500, "flash_fwd_kernel", correlation=3)
    maker.call(1_000, 1_200, tid=9, correlation=3)
    said = lines(study_of(maker.trace()), Kind.KERNEL, 0)
    assert said["Class"] == "attention  (rule “flash_?(attn|fwd|bwd|attention|mla)”)"
    assert said["Ends"].endswith("(+1.500 µs)")
    assert said["Launched by"].startswith("cudaLaunchKernel on thread 9")
    assert said["Latency"] == "4.000 µs  (in the queue 3.800 µs)"
    assert said["Correlation"] == "3"


def test_kernel_without_a_launch_record_says_so():
    study = study_of(TraceMaker(session_ns=100).kernel(5, 6).trace())
    assert lines(study, Kind.KERNEL, 0)["Launched by"] == "no launch record"


def test_what_needs_the_launches_is_not_shown_before_they_are_known():
    maker = TraceMaker(session_ns=10_000).range(0, 100, "forward")
    study = study_of(maker.call(10, 20, correlation=1).kernel(500, 700, correlation=1).trace())
    study.loading = Loading.ROWS
    assert "known when" in lines(study, Kind.KERNEL, 0)["Launched by"]
    assert "known when" in lines(study, Kind.NVTX, 0)["GPU projection"]
    assert "Launched" not in lines(study, Kind.API, 0)
    assert study.other_ends(Kind.KERNEL, 0) == []
    assert study.latency_of(Kind.KERNEL, 0) is None
    study.loading = Loading.COMPLETE
    assert lines(study, Kind.API, 0)["Launched"] == "gemm"
    assert study.latency_of(Kind.KERNEL, 0) == 490


def test_copy_says_its_throughput_in_gb_per_second():
    study = study_of(TraceMaker(session_ns=10_000).copy(0, 1_000, bytes=50_000).trace())
    said = lines(study, Kind.MEMCPY, 0)
    assert said["Throughput"] == "50.00 GB/s"
    assert said["Size"] == "48.83 KiB  (50,000 bytes)"


def test_range_says_where_it_lies_on_the_gpu():
    maker = TraceMaker(session_ns=10_000).range(0, 100, "forward", domain="mine")
    maker.call(10, 20, correlation=1).kernel(500, 700, correlation=1)
    maker.call(120, 130, correlation=2).kernel(800, 900, correlation=2)
    said = lines(study_of(maker.trace()), Kind.NVTX, 0)
    assert said["Domain"] == "mine"
    assert said["GPU projection"] == "200 ns  (1 operation, own thread)"


def test_range_says_what_other_threads_launched_for_it():
    maker = TraceMaker(session_ns=10_000).range(0, 100, "backward")
    maker.call(10, 20, tid=2, correlation=1).kernel(500, 700, correlation=1)
    maker.call(30, 40, tid=2, correlation=2).kernel(700, 900, correlation=2)
    said = lines(study_of(maker.trace()), Kind.NVTX, 0)
    assert said["GPU projection"] == "launched nothing from this thread"
    assert said["All threads"] == "400 ns  (2 operations)"


def test_cut_sees_what_began_long_before_on_the_same_stream():
    maker = TraceMaker(session_ns=10_000).kernel(0, 5_000, "long", correlation=1)
    for start in range(1_000, 3_000, 100):
        maker.kernel(start, start + 10, "node")
    assert running_at(study_of(maker.trace()), 0, 4_000) == (0, ["long"])


def test_cut_names_what_runs_or_that_nothing_does():
    study = study_of(training(ranks=1))
    part, names = running_at(study, 0, 5 * MS)
    assert (part, names) == (0, ["gemm_1"])
    assert running_at(study, 0, 18 * MS) == (4, [])


def test_column_of_many_says_how_many_mean_and_commonest(panel):
    maker = TraceMaker(session_ns=10 * MS)
    for k in range(1_000):
        maker.kernel(k * 1_000, k * 1_000 + 400, "adam" if k % 4 else "gemm")
    study = study_of(maker.trace())
    stream = next(r for root in build_rows(study) for r in root.walk() if r.kind is RowKind.STREAM)
    hit = Scene(study).hit(place([(stream, False)]), 5.5, 10, Scale(0, 10 * MS, 100))
    card = HoverCard(panel)
    card.take_hit(study, hit)
    said = {i.label: i.value for i in card.items}
    assert card.title == "100 events"
    assert said["Mean"] == "400 ns"
    assert said["Commonest"] == "adam  (75)"
    assert said["Covered"] == "40.0 % of the column"


def test_cut_card_lists_every_gpu(panel):
    study = study_of(training(ranks=3))
    card = HoverCard(panel)
    card.take_cut(study, 18 * MS, 1)
    assert [i.value for i in card.items] == ["Idle: nothing on any stream"] * 3


def test_selection_card_shows_parts_and_share_of_the_iteration(panel):
    state = state_of(training())
    card = SelectionCard(panel)
    window = (12 * MS, 17 * MS)
    card.show_range(state.study, (window,), state.iterations, QRect(10, 10, 50, 2), QRect(0, 0, 900, 600))
    assert card.isVisible()
    assert (card.numbers.parts_ns.sum(axis=1) == 5 * MS).all()
    assert card.numbers.iteration.share == pytest.approx(0.25)
    assert card.table.where == "25.0 % of iteration 0"
    assert QRect(0, 0, 900, 600).contains(card.geometry())
    card.grab()
    card.show_range(
        state.study, ((0, 62 * MS),), state.iterations, QRect(10, 10, 50, 2), QRect(0, 0, 900, 600)
    )
    assert card.table.where == "3.1 × the length of iteration 1 · touches iterations 0 to 2"


def test_card_goes_below_the_rows_where_it_fits(panel):
    state = state_of(training())
    card = SelectionCard(panel)
    bounds, span = QRect(0, 0, 1400, 600), QRect(100, 10, 150, 2)
    for top in (300, 550):
        free = QRect(0, top, 1400, 600 - top)
        card.show_range(state.study, ((12 * MS, 17 * MS),), None, span, bounds, free)
        assert free.contains(card.geometry()) is (top == 300)
        assert bounds.contains(card.geometry())


def test_card_stands_left_of_a_range_at_the_right_edge(panel):
    state = state_of(training())
    card = SelectionCard(panel)
    bounds = QRect(0, 0, 1400, 600)
    card.show_range(state.study, ((12 * MS, 17 * MS),), None, QRect(1200, 10, 150, 2), bounds)
    assert card.geometry().right() < 1200


BOUNDS, CARD = QRect(300, 100, 1000, 400), QSize(400, 250)


@pytest.mark.parametrize(
    ("span", "rows_end", "left", "top"),
    [
        (QRect(400, 100, 100, 1), 400, 509, 110),
        (QRect(1000, 100, 100, 1), 400, 590, 110),
        (QRect(400, 100, 100, 1), 200, 509, 201),
    ],
)
def test_a_card_lies_beside_what_it_speaks_of(span, rows_end, left, top):
    free = QRect(300, rows_end + 1, 1000, 500 - rows_end - 1)
    assert beside(CARD, span, BOUNDS, free) == QRect(QPoint(left, top), CARD)


def test_a_card_without_room_beside_it_covers_least_of_the_span():
    free = QRect(300, 450, 1000, 50)
    found = beside(CARD, QRect(350, 100, 800, 1), BOUNDS, free)
    assert BOUNDS.contains(found)
    assert found.right() == BOUNDS.right()
    assert found.bottom() == BOUNDS.bottom()


def test_parts_that_no_gpu_has_take_no_room(qapp):
    state = state_of(training())
    whole = RangeTable(state.study, [state.axis.limits], state.iterations)
    hole = RangeTable(state.study, [(17 * MS, 20 * MS)], state.iterations)
    assert hole.numbers.all_ns[:4].sum() == 0
    assert hole.size().width() < whole.size().width()


def test_a_table_is_made_to_fit_where_there_is_little_room(qapp):
    state = state_of(training(ranks=9))
    table = RangeTable(state.study, [state.axis.limits], state.iterations)
    assert table.size("hint").height() > 160
    assert table.size().width() > 500
    table.fit(500, 160)
    assert table.size("hint").height() <= 160
    assert table.size("hint").width() <= 500


@pytest.mark.parametrize("width", [120, 200, 318, 900])
def test_a_line_of_a_card_takes_two_before_it_is_cut(qapp, width):
    text = "343.5 ms: compute elsewhere 12.30 ms, communication 68.75 ms, copy 1.500 ms, idle 274.7 ms"
    lines = wrapped(text, width, 11)
    assert len(lines) == (1 if width == 900 else 2)
    assert all(metrics(11).horizontalAdvance(line) <= width for line in lines)
    assert lines[-1].endswith("…") == (width < 318)
    assert " ".join(lines).removesuffix("…").rstrip() in text
    assert all(not line.removesuffix("…").rstrip()[-1].isdigit() for line in lines)


def test_what_is_said_of_a_range_is_not_cut_where_a_second_line_has_room(panel):
    state = state_of(training(ranks=4))
    card = SelectionCard(panel)
    card.show_range(
        state.study, ((2 * MS, 62 * MS),), state.iterations, QRect(10, 10, 50, 2), QRect(0, 0, 900, 600)
    )
    said = dict(card.table._notes)
    lines = " ".join(line for _, line in card.table._note_lines)
    assert " ".join(said.values()).split() == lines.split()
    assert card.content_size().height() > 0
    assert card.table._width >= card.table._head_width + metrics(11).horizontalAdvance(card.table.where)


def test_second_lines_go_before_anything_is_left_out(qapp):
    state = state_of(training(ranks=4))
    about = (("Of which", "16.18 ms in other CUDA calls · " * 5), ("Inside", "layer 0"))
    table = RangeTable(state.study, [(2 * MS, 62 * MS)], state.iterations, about=about)
    high = table.size().height()
    assert [label for label, _ in table._note_lines] == ["Of which", "", "Inside"]
    table.fit(900, high - 1)
    assert [label for label, _ in table._note_lines] == ["Of which", "Inside"]
    assert table.size().height() < high


def test_shares_go_where_only_without_them_the_selection_is_seen(qapp):
    state = state_of(training())

    def width(at_side):
        table = RangeTable(state.study, [state.axis.limits], state.iterations)
        table.fit(2000, 900, at_side)
        return table.size().width()

    whole, narrow = width(2000), width(width(2000) - 1)
    assert narrow < whole
    assert width(whole) == width(narrow - 1) == width(None) == whole
    assert width(narrow) == narrow
