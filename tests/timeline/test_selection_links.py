"""From a stall to its cause, and from an operation to its launch, on the timeline."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, pixels, state_of, study_of, training
from viewer.drawing.theme import LIGHT
from viewer.rows import EventRef, RowKind
from viewer.rows.presets import PRESETS, launch_rows
from viewer.timeline.background_results import BackgroundResults
from viewer.timeline.cards.range_table import RangeTable, between
from viewer.timeline.cards.stall_hits import stall_about, stall_at
from viewer.timeline.selection_links import SelectionLinks
from viewer.timeline.timeline import Timeline
from viewer.trace import Kind

NONE, LEFT = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton


def row_of(state, kind, process=0):
    return next(r for r in state.rows.roots[process].walk() if r.kind is kind)


@pytest.fixture
def shown(on_screen, qtbot):
    """A function that shows a trace, once all is known of it."""

    def show(trace):
        timeline = on_screen(Timeline(state_of(trace), "raster"), 1000, 700)
        qtbot.waitUntil(lambda: timeline.background_results.stalls is not None)
        return timeline

    return show


def unfold(state):
    state.rows.set_expanded([r.key for root in state.rows.roots for r in root.walk()], True)


def middle(timeline, kind, time_ns, process=0):
    """Where an instant is on the row of a kind."""
    placed = next(p for p in timeline.canvas.placed if p.row is row_of(timeline.state, kind, process))
    return QPoint(round(timeline.canvas.x_of(time_ns)), placed.y + placed.height // 2)


def test_click_on_a_stall_selects_it_and_the_card_says_why(shown):
    timeline = shown(training())
    state = timeline.state
    unfold(state)
    state.axis.go(0, 60 * MS)
    # From the end of the collective, 15 ms after the iteration began, to the copy of the next iteration.
    at = middle(timeline, RowKind.PROCESS, 18 * MS, process=1)
    QTest.mouseMove(timeline.canvas, at)
    QTest.mouseClick(timeline.canvas, LEFT, NONE, at)
    assert state.selection == (15 * MS, 22 * MS)
    table = timeline.background_results.stalls.table.iloc[state.stall_number]
    assert (table["kind"], table["gpu"]) == ("idle", 1)
    said = dict(timeline.cards.selection.table.about)
    assert said["Idle"].startswith("Rank 1")
    assert "Cause" in said
    assert said["Before, after"].endswith("Memcpy HtoD")
    thread = row_of(state, RowKind.API, process=1)
    assert timeline.links.marks(thread)[1]
    assert not timeline.links.marks(row_of(state, RowKind.API, process=0))[1]


def test_stall_is_found_on_the_rows_of_its_gpu_and_elsewhere_under_its_overlay(shown):
    timeline = shown(training(ranks=1))
    state, stalls = timeline.state, timeline.background_results.stalls
    unfold(state)
    state.axis.go(0, 60 * MS)
    scene, placed, scale = timeline.scene, timeline.canvas.placed, timeline.canvas.scale()

    def found(kind, overlays):
        hit = timeline.canvas.hit(QPointF(middle(timeline, kind, 18 * MS)))
        return stall_at(scene.study, stalls, hit, overlays, scale.ns_per_px)

    assert placed
    assert found(RowKind.PROCESS, frozenset()) == found(RowKind.STREAM, frozenset()) is not None
    assert found(RowKind.API, frozenset()) is None
    assert found(RowKind.API, frozenset({"idle"})) == found(RowKind.PROCESS, frozenset())
    assert found(RowKind.API, frozenset({"exposed"})) is None


def test_key_steps_and_docks_take_a_stall_in_hand_too(shown):
    timeline = shown(training(ranks=1))
    state, stalls = timeline.state, timeline.background_results.stalls
    number = int(stalls.select(kinds=["exposed_comm"])[0])
    start, end = (int(stalls.table[c].iloc[number]) for c in ("start_ns", "end_ns"))
    state.select((start, end))
    assert state.stall_number == timeline.links.stall_number == number
    assert stall_about(stalls, number)[0][0] == "Exposed communication"
    state.select((start, end + 1))
    assert timeline.links.stall_number is state.stall_number is None
    assert timeline.links.ends is None


def test_the_card_of_exposed_communication_says_who_came_last(shown):
    maker = TraceMaker(session_ns=100 * MS)
    for rank, arrives in enumerate((10, 30, 16)):
        for step in range(3):
            at = step * 30 * MS
            maker.kernel(at, at + arrives * MS // 2, "gemm", process=rank)
            name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
            maker.kernel(at + arrives * MS // 2, at + 20 * MS, name, stream=20, process=rank)
    timeline = shown(maker.trace())
    state, collectives = timeline.state, timeline.background_results.collectives
    assert collectives is not None
    state.axis.go(0, 60 * MS)
    at = middle(timeline, RowKind.PROCESS, 7 * MS)
    last = []
    for gpu, time_ns in ((0, 7 * MS), (1, 18 * MS)):
        stalls = timeline.background_results.stalls
        number = stalls.at(gpu, time_ns)
        row = stalls.table.iloc[number]
        state.select((int(row["start_ns"]), int(row["end_ns"])))
        last.append(dict(stall_about(stalls, number, collectives)).get("Last to arrive"))
    assert last == [state.study.trace.gpu_label(1), f"{state.study.trace.gpu_label(1)}, this GPU itself"]
    QTest.mouseClick(timeline.canvas, LEFT, NONE, at)
    assert dict(timeline.cards.selection.table.about)["Last to arrive"] == state.study.trace.gpu_label(1)
    state.selections.toggle((50 * MS, 55 * MS))
    assert timeline.cards.selection.table.about == ()


def test_both_ends_are_marked_up_to_the_process_and_l_goes_to_and_fro(shown):
    timeline = shown(training(ranks=1))
    state, links = timeline.state, timeline.links
    kernel = EventRef(Kind.KERNEL, 3)
    state.select_event(kernel)
    for kind, marks in (
        (RowKind.PROCESS, (True, True)),
        (RowKind.GPU, (True, False)),
        (RowKind.STREAM, (True, False)),
        (RowKind.THREADS, (False, True)),
        (RowKind.API, (False, True)),
    ):
        assert links.marks(row_of(state, kind)) == marks
    call = links.ends.others[0]
    assert call.kind is Kind.API
    assert links.go_to_other_end()
    assert (state.chosen.kind, state.chosen.index) == (call.kind, call.index)
    low, high = state.axis.window
    assert low <= int(state.study.trace.api.start_ns[call.index]) <= high
    assert links.go_to_other_end()
    assert (state.chosen.kind, state.chosen.index) == (kernel.kind, kernel.index)


def test_sign_says_where_the_other_end_is(shown):
    timeline = shown(training(ranks=1))
    state, links = timeline.state, timeline.links
    stream, api = row_of(state, RowKind.STREAM), row_of(state, RowKind.API)
    unfold(state)
    state.select_event(EventRef(Kind.KERNEL, 3))
    start = int(state.study.trace.kernels.start_ns[3])
    state.axis.go(start - MS, start + MS)
    assert links.sign(stream, lambda _: "") == ""
    assert links.sign(stream, lambda row: "below" if row is api else "") == "below"
    state.rows.set_expanded([row_of(state, RowKind.THREADS).key], False)
    assert links.sign(stream, lambda _: "") == "folded"
    state.axis.go(start, start + MS)
    assert links.sign(stream, lambda _: "") == "left"
    assert links.sign(row_of(state, RowKind.THREADS), lambda _: "") == "left"
    assert links.sign(row_of(state, RowKind.MEMORY), lambda _: "") == ""
    assert "L goes there" in links.tip_of(stream)


def test_sign_and_marks_are_painted_in_the_header(shown):
    timeline = shown(training(ranks=1))
    state = timeline.state
    unfold(state)
    state.rows.set_expanded([row_of(state, RowKind.THREADS).key], False)
    before = pixels(timeline.headers.grab().toImage())
    state.select_event(EventRef(Kind.KERNEL, 3))
    after = pixels(timeline.headers.grab().toImage())
    placed = {p.row: p for p in timeline.headers.visible_rows()}
    stream = placed[row_of(state, RowKind.STREAM)]
    rows = slice(stream.y + 2, stream.y + stream.height - 1)
    assert not (before[rows] == LIGHT.link).any()
    assert (after[rows] == LIGHT.link).sum() > 15
    assert (after[rows, -6:-3] == LIGHT.event).all()
    threads = placed[row_of(state, RowKind.THREADS)]
    assert (after[threads.y + 2 : threads.y + threads.height - 1, -3:] == LIGHT.link).all()


def early():
    """One rank whose GPU clock is 5 ms early, and a healthy one."""
    maker = TraceMaker(session_ns=400 * MS)
    for rank in (0, 1):
        for k in range(30):
            at = 20 * MS + k * 10 * MS
            maker.call(at, at + 10_000, process=rank, correlation=k + 1)
            begin = at + 20_000 - (5 * MS if rank else 0)
            maker.kernel(begin, begin + 6 * MS, process=rank, correlation=k + 1)
    return maker.trace()


def test_shifted_clock_is_warned_of_on_header_and_lane(shown):
    timeline = shown(early())
    state, background_results = timeline.state, timeline.background_results
    assert set(background_results.doubts.gpus) == {1}
    assert "clock" in background_results.warning(state.rows.roots[1])
    assert background_results.warning(state.rows.roots[0]) == ""
    header, canvas = (pixels(w.grab().toImage()) for w in (timeline.headers, timeline.canvas))
    for placed in timeline.canvas.placed:
        rows = slice(placed.y + 1, placed.y + placed.height)
        doubtful = placed.row is state.rows.roots[1]
        assert (header[rows] == LIGHT.warning).any() == doubtful
        assert (canvas[rows, :20] == LIGHT.warning).any() == doubtful


def test_a_rank_without_rows_is_warned_of_on_its_header(shown):
    maker = TraceMaker()
    for rank in range(2):
        for k in range(30):
            at = 20 * MS + k * 10 * MS
            maker.call(at, at + 10_000, process=rank, correlation=k + 1)
            if not rank:
                maker.kernel(at + 20_000, at + 6 * MS, process=rank, correlation=k + 1)
    timeline = shown(maker.trace())
    lost = timeline.state.rows.roots[1]
    assert "not because it was idle" in timeline.background_results.warning(lost)
    assert timeline.background_results.warning(timeline.state.rows.roots[0]) == ""
    header = pixels(timeline.headers.grab().toImage())
    for placed in timeline.canvas.placed:
        seen = (header[placed.y + 1 : placed.y + placed.height] == LIGHT.warning).any()
        assert seen == (placed.row is lost)


def test_latency_below_zero_is_said_on_the_line(shown):
    timeline = shown(early())
    state = timeline.state
    unfold(state)
    at = 120 * MS
    state.axis.go(at - 10 * MS, at + 10 * MS)
    kernels = state.study.trace.kernels
    state.select_event(
        EventRef(Kind.KERNEL, int(np.flatnonzero(kernels.start_ns == at - 5 * MS + 20_000)[0]))
    )
    assert timeline.links.ends.latency_ns == 20_000 - 5 * MS
    picture = pixels(timeline.canvas.grab().toImage())
    assert (picture == LIGHT.warning).sum() > 500
    state.select_event(EventRef(Kind.KERNEL, int(np.flatnonzero(kernels.start_ns == at + 20_000)[0])))
    assert (pixels(timeline.canvas.grab().toImage()) == LIGHT.warning).sum() < 500


def test_no_thread_is_left_and_what_is_overtaken_is_dropped(qapp, qtbot):
    state = state_of(training(ranks=1))
    background_results = BackgroundResults(state)
    links = SelectionLinks(state, background_results)
    other = study_of(training(ranks=2, iterations=2))
    state.set_study(other)
    qtbot.waitUntil(lambda: background_results.stalls is not None)
    assert background_results.stalls.trace is other.trace
    assert links.stall_number is None


def test_launch_latency_is_shown_on_demand_and_marks_where_the_queue_was_empty(shown):
    maker = TraceMaker(session_ns=100 * MS)
    for k in range(10):
        ahead = 2 * MS if k % 5 else 4_000
        at = 10 * MS + k * 3 * MS + (k // 5) * 20 * MS
        maker.call(at - ahead - 5_000, at - ahead, correlation=k + 1)
        maker.kernel(at, at + 3 * MS, correlation=k + 1)
    timeline = shown(maker.trace())
    state = timeline.state
    unfold(state)
    key = launch_rows(state.rows.roots)[0]
    assert key in PRESETS["lanes"](state.rows.roots)[1]
    state.axis.go(0, 80 * MS)
    placed = next(p for p in timeline.canvas.placed if p.row.key == key)
    picture = pixels(timeline.canvas.grab().toImage())[placed.y : placed.y + placed.height]
    argb = timeline.scene.palette.argb(LIGHT)
    full = (picture == argb[timeline.scene.palette.counter]).sum(axis=0)
    x = [round(timeline.canvas.x_of(t)) for t in (11 * MS, 14 * MS, 30 * MS)]
    (band,) = placed.bands
    assert full[x[0]] < band.height / 6
    assert 17 / 36 <= full[x[1]] / band.height <= 21 / 36
    assert full[x[2]] == 0
    dry = np.flatnonzero((picture == LIGHT.error).any(axis=0))
    assert {round(timeline.canvas.x_of(45 * MS))} <= set(dry.tolist())
    assert not set(range(x[1], x[2])) & set(dry.tolist())


def test_selection_between_iterations_says_so():
    study = study_of(training())
    iterations = study.iterations()
    table = RangeTable(study, [(15 * MS, 22 * MS)], iterations)
    assert between(table.numbers, iterations) == (0, 1)
    assert "between iterations 0 and 1" in table.where
    inside = RangeTable(study, [(5 * MS, 10 * MS)], iterations)
    assert between(inside.numbers, iterations) is None


def test_parts_follow_a_drag_at_once_and_the_rest_in_a_pause(shown, qtbot):
    timeline = shown(training())
    state, card = timeline.state, timeline.cards.selection
    state.select((5 * MS, 10 * MS))
    card._cost_s = 1.0
    for end in (11, 12, 13):
        state.select((5 * MS, end * MS))
        assert card.numbers.length_ns == (end - 5) * MS
        assert (card.numbers.parts_ns.sum(axis=1) == (end - 5) * MS).all()
    assert not card.numbers.gpus
    qtbot.waitUntil(lambda: bool(card.numbers.gpus))
    assert card.numbers.length_ns == 8 * MS
