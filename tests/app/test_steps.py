"""A large trace is shown in three steps: what is done at one is there at the next, and the next time."""

import threading

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QDialog

from tests.readers.exports import CALLS, KERNELS, NVTX, call, kernel, nvtx, process, write
from viewer import readers
from viewer.analysis.loading import Loading
from viewer.analysis.study import Study
from viewer.app import trace_loader
from viewer.app.dialogs import go_to
from viewer.drawing.times import TimeError
from viewer.panels.iterations_panel import IterationsPanel
from viewer.panels.measurements_panel import MeasurementsPanel
from viewer.panels.notes_panel import NotesPanel
from viewer.panels.panel import CANCELLED
from viewer.readers import Cancelled
from viewer.rows import EventRef, RowKind
from viewer.state import Listing, Note
from viewer.state.bookmarks import set_bookmark
from viewer.state.measurement_table import measurement_frame
from viewer.trace import Kind

WAIT_S, WAIT_MS = 20, 60_000
GPUS, ALL_ROWS, NUMBERS = 1, 2, 3
EARLY = (GPUS, ALL_ROWS)


class Steps:
    """Takes a window on a trace, opened through a file, from step to step."""

    def __init__(self, window, path, qtbot, gates):
        self.window, self.path, self.file = window, path, path
        self._qtbot, self._gates = qtbot, gates

    def to(self, step):
        if self.now == 0:
            self.window.open(self.file)
        for gate in self._gates[: step - 1]:
            gate.set()
        self._qtbot.waitUntil(lambda: self.now == step, timeout=WAIT_MS)

    def let(self, step):
        """Let a step come, and wait for what the reading says."""
        loader = self.window.loader
        with self._qtbot.waitSignal(loader.rows_ready if step == ALL_ROWS else loader.ended, timeout=WAIT_MS):
            for gate in self._gates[: step - 1]:
                gate.set()

    def close(self):
        self.window.trace_controller.close()
        self.let_end()
        for gate in self._gates:
            gate.clear()

    def release(self):
        """Let all steps come."""
        for gate in self._gates:
            gate.set()

    def let_end(self):
        self.release()
        self.window.loader.shut_down()

    @property
    def now(self):
        study = self.window.state.study
        if study is None or study.trace.path != self.path:
            return 0
        loading = study.loading
        return NUMBERS if loading.is_complete else ALL_ROWS if loading.has_all_rows else GPUS


@pytest.fixture
def steps_of(open_window, monkeypatch, qtbot):
    """A function from a path to the steps of its opening; each waits until the test lets it come."""
    gates = (threading.Event(), threading.Event())

    def read(path, progress=None, cancelled=None, cache=True, early=None):
        def and_wait(trace):
            early(trace)
            assert gates[0].wait(WAIT_S)
            if cancelled():
                raise Cancelled

        return readers.read(path, progress, cancelled, cache=False, early=and_wait)

    prepare = Study.prepare

    def wait_and_prepare(study):
        assert gates[1].wait(WAIT_S)
        prepare(study)

    monkeypatch.setattr(trace_loader, "EARLY_FROM_EVENTS", 0)
    monkeypatch.setattr(trace_loader, "read", read)
    monkeypatch.setattr(Study, "prepare", wait_and_prepare)
    yield lambda path: Steps(open_window(), path, qtbot, gates)
    for gate in gates:
        gate.set()


@pytest.fixture
def steps(steps_of, demo_path):
    return steps_of(demo_path)


def stream_of(state):
    return next(row for row in state.rows.roots[0].walk() if row.kind is RowKind.STREAM)


def test_what_is_done_as_the_session_left_it_is_not_undone_by_it(steps):
    state = steps.window.state
    state.set_overlays(frozenset())

    def arrange():
        first, *_, last = state.rows.roots
        state.rows.set_expanded([first.key], True)
        state.rows.set_hidden([last.key], True)
        state.rows.set_pinned(first.key, True)
        state.set_overlay("idle", True)

    steps.to(NUMBERS)
    arrange()
    steps.close()
    state.set_overlays(frozenset())
    steps.to(GPUS)
    first, *_, last = state.rows.roots
    assert first.key not in state.rows.expanded
    arrange()
    steps.to(NUMBERS)
    assert first.key in state.rows.expanded
    assert last.key in state.rows.hidden
    assert state.rows.pinned == [first.key]
    assert state.overlays == {"idle"}


@pytest.mark.parametrize("step", EARLY)
def test_what_is_in_hand_stays_there(steps, step):
    window, state = steps.window, steps.window.state
    steps.to(step)
    row = stream_of(state)
    low, high = state.axis.window
    state.select((low, (low + high) // 2))
    window.actions_by_id["filter"].trigger()
    hull = state.filter.hull
    state.axis.zoom(0.5, low, "")
    event = row.events.ref(5, row.key)
    state.select_event(event)
    state.list_events(row.key)
    seen, limits, steps_back = state.axis.window, state.axis.limits, state.axis.steps
    steps.to(NUMBERS)
    assert state.chosen == event
    assert state.filter.hull == hull
    assert (state.axis.window, state.axis.limits, state.axis.steps) == (seen, limits, steps_back)
    assert state.listing == Listing(row.key)


def test_rows_that_are_chosen_before_all_are_read_are_chosen_among_all(steps):
    state = steps.window.state
    steps.to(GPUS)
    set_bookmark(state, 1)
    state.rows.apply_preset("everything")
    steps.to(NUMBERS)
    threads = [row for root in state.rows.roots for row in root.walk() if row.kind is RowKind.THREADS]
    assert threads
    assert {row.key for row in threads} <= state.rows.expanded
    assert state.rows.preset == "everything"
    assert set(state.rows.launches) <= state.bookmarks.items[1].hidden


@pytest.mark.parametrize("step", EARLY)
def test_what_is_typed_goes_where_it_was_begun(steps, step, qtbot):
    window = steps.window
    steps.to(step)
    window.target.find_rows()
    box = QApplication.focusWidget()
    qtbot.keyClicks(box, "nc")
    steps.to(step + 1)
    assert QApplication.focusWidget() is box
    qtbot.keyClicks(box, "cl")
    assert box.text() == "nccl"
    window.tools.filter_box.apply()
    steps.to(NUMBERS)
    assert window.state.rows.filter_text == box.text() == "nccl"


@pytest.mark.parametrize("step", EARLY)
def test_a_note_is_written_to_its_end_before_the_next_step(steps, step, qtbot):
    window = steps.window
    steps.to(step)
    overlays = window.state.overlays
    middle = sum(window.state.axis.window) // 2
    window.timeline.notes.write(Note(middle, middle))
    editor = QApplication.focusWidget()
    qtbot.keyClicks(editor, "why")
    steps.let(step + 1)
    assert steps.now == step
    qtbot.keyClicks(editor, " idle")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    steps.to(NUMBERS)
    assert [note.text for note in window.state.notes.items] == ["why idle"]
    assert window.state.overlays == overlays


@pytest.mark.parametrize("what", ["menu", "question"])
def test_the_next_step_waits_until_menus_and_questions_are_answered(steps, what):
    window = steps.window
    steps.to(ALL_ROWS)
    if what == "menu":
        held = window.timeline.notes.menu(window.timeline.canvas, window.timeline.canvas.rect().center())
        held.popup(QPoint(50, 50))
    else:
        held = QDialog(window)
        held.open()
    steps.let(NUMBERS)
    assert held.isVisible()
    assert steps.now == ALL_ROWS
    held.close()
    steps.to(NUMBERS)


def test_what_waits_for_the_hand_comes_no_more_when_the_trace_is_closed(steps, qtbot):
    window = steps.window
    steps.to(GPUS)
    window.timeline.notes.write(Note(5, 5))
    steps.let(NUMBERS)
    window.trace_controller.close()
    assert window.trace_controller._pending is None
    assert window.state.study is None


@pytest.mark.parametrize("step", EARLY)
@pytest.mark.parametrize("how", ["closed", "cancelled", "replaced", "quit"])
def test_what_was_written_before_all_was_there_is_kept_for_the_next_time(steps, step, how, opened):
    window, state = steps.window, steps.window.state
    steps.to(step)
    state.measurements.keep(10, 20)
    state.notes.add(Note(5, 5, "here"))
    set_bookmark(state, 1)
    if how == "cancelled":
        window.progress.button.click()
    if how == "replaced":
        window.trace_controller.show(opened)
        assert state.notes.items == ()
    if how == "quit":
        steps.release()
        window.close()
    steps.close()
    window.show()
    steps.to(NUMBERS)
    assert [note.text for note in state.notes.items] == ["here"]
    assert [(kept.start_ns, kept.end_ns) for kept in state.measurements.items] == [(10, 20)]
    assert set(state.bookmarks.items) == {1}
    assert state.iterations is not None


def test_what_is_kept_of_a_trace_stays_when_it_is_left_early(steps):
    state = steps.window.state
    steps.to(NUMBERS)
    api = next(row for row in state.rows.roots[0].walk() if row.kind is RowKind.API)
    state.reveal(api.key)
    state.notes.add(Note(5, 5, "first"))
    state.set_iteration(1)
    steps.close()
    steps.to(GPUS)
    state.notes.add(Note(7, 7, "second"))
    steps.close()
    steps.to(NUMBERS)
    assert [note.text for note in state.notes.items] == ["first", "second"]
    assert api.path()[-2].key in state.rows.expanded
    assert state.iteration == 1


@pytest.mark.parametrize("step", EARLY)
def test_what_needs_the_numbers_can_be_asked_for_when_they_are_there(steps, step):
    actions = steps.window.actions_by_id
    needing = [actions[name] for name in ("save-session", "compare", "report")]
    steps.to(step)
    assert not any(action.isEnabled() for action in needing)
    steps.to(NUMBERS)
    assert all(action.isEnabled() for action in needing)


@pytest.mark.parametrize("step", EARLY)
def test_no_message_says_that_an_iteration_is_missing_before_they_are_counted(steps, step):
    state = steps.window.state
    steps.to(step)
    with pytest.raises(TimeError, match="known when all is read and counted"):
        go_to(state, "iteration 1")
    steps.to(NUMBERS)
    go_to(state, "iteration 1")
    assert state.iteration == 1


def test_what_is_cancelled_when_it_has_just_ended_was_not_done(steps):
    window = steps.window
    steps.to(ALL_ROWS)
    [job] = window.loader._running
    job.take()
    steps.release()
    assert job.wait(WAIT_MS)
    window.progress.button.click()
    assert "Iterations and sums were not computed" in window.notice.label.text()
    assert window.state.study.loading is Loading.CANCELLED_AT_ROWS
    assert window.state.iterations is None
    window.notice.button.click()
    steps.to(NUMBERS)
    assert window.state.iterations is not None


@pytest.mark.parametrize("step", EARLY)
def test_what_is_kept_before_all_is_there_is_listed_at_once(steps, step, qtbot):
    window, state = steps.window, steps.window.state
    steps.to(step)
    start, end = state.axis.window
    state.measurements.keep(start, (start + end) // 2)
    kernel = EventRef(Kind.KERNEL, 0, stream_of(state).key)
    state.notes.add(Note(start, start, "hm", row_key=stream_of(state).key, event=kernel))
    for kind in (MeasurementsPanel, NotesPanel):
        window.target.show_panel(kind)
        panel = window.findChild(kind)
        qtbot.waitUntil(lambda: panel._stack.currentWidget() is panel.body)  # noqa: B023
        assert panel.table.frame_model.rowCount() == 1
    kept = measurement_frame(state.study, state.measurements.items, state.iterations)
    before = kept.iloc[0][["compute_only_ns", "idle_ns", "no_kernel_ns"]].tolist()
    steps.to(NUMBERS)
    kept = measurement_frame(state.study, state.measurements.items, state.iterations)
    assert kept.iloc[0][["compute_only_ns", "idle_ns", "no_kernel_ns"]].tolist() == before


@pytest.mark.parametrize("step", EARLY)
def test_what_comes_no_more_is_awaited_nowhere(steps, step, qtbot):
    window, state = steps.window, steps.window.state
    steps.to(step)
    state.select(state.axis.window)
    panel = window.findChild(IterationsPanel)
    window.target.show_panel(IterationsPanel)
    box = window.actions_by_id["fit-iteration"]
    table = window.timeline.cards.selection.table
    assert (box.iconText(), table.unknown) == ("Iterations follow", "…")
    window.progress.button.click()
    steps.let_end()
    table = window.timeline.cards.selection.table
    told = "Iterations not read" if step == GPUS else "Iterations not counted"
    assert (box.iconText(), table.unknown) == (told, "–")
    qtbot.waitUntil(lambda: panel._empty.text() == CANCELLED)
    with pytest.raises(TimeError, match="not read"):
        go_to(state, "iteration 1")
    window.notice.button.click()
    assert box.iconText() == "Iterations follow"
    steps.to(NUMBERS)
    assert box.iconText() == f"{state.iterations.count} iterations"


def test_who_reads_the_rest_later_reads_it_through_the_same_session(steps, tmp_path, qtbot):
    window = steps.window
    steps.to(NUMBERS)
    window.state.notes.add(Note(5, 5, "from a colleague"))
    file = tmp_path / "shared.lightbox.json"
    window.sessions.save_to(file)
    window.state.notes.load()
    steps.close()
    steps.file = file
    steps.to(ALL_ROWS)
    window.progress.button.click()
    steps.let_end()
    window.notice.button.click()
    steps.to(NUMBERS)
    assert [note.text for note in window.state.notes.items] == ["from a colleague"]


def test_an_event_is_the_same_one_when_its_table_turns_out_to_lie_otherwise(steps_of, tmp_path):
    """The ranks are said by NVTX, which is read after the GPUs: their kernels change places."""
    pids = (10, 20)
    path = write(tmp_path / "ranks.sqlite", {
        KERNELS: [kernel(globalPid=process(pid), start=1000 + pid, end=1100 + pid) for pid in pids],
        CALLS: [call(globalTid=process(pid) | pid) for pid in pids],
        NVTX: [
            nvtx(eventType=39, globalTid=process(pid) | pid, text=f"MPI Rank {rank}")
            for pid, rank in zip(pids, (1, 0), strict=True)
        ],
    })  # fmt: skip
    steps = steps_of(path)
    state = steps.window.state
    steps.to(GPUS)
    row = stream_of(state)
    event = row.events.ref(0, row.key)
    state.select_event(event)
    state.notes.add(Note(1010, 1110, "this one", row_key=row.key, event=event))
    steps.to(NUMBERS)
    kernels, index = state.study.trace.kernels, state.chosen.index
    assert index != event.index
    assert kernels.start_ns[index] == 1010
    assert state.chosen.row_key == row.key
    assert state.notes.items[0].event == state.chosen
