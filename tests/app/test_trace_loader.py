"""Opening beside the window's own work: progress, failure, cancelling, results that come too late."""

import importlib
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent

from tests.timeline.make import study_of, training
from viewer import readers
from viewer.analysis.loading import Loading
from viewer.analysis.study import Study
from viewer.app import trace_loader
from viewer.app.trace_loader import LoadedTrace
from viewer.readers import Cancelled, ReadError
from viewer.rows import RowKind, build_rows
from viewer.state import Note

WAIT_S = 10


class Reader:
    """Stands for `read`: each file waits until the test lets it go on."""

    def __init__(self):
        self.begun = {name: threading.Event() for name in ("slow", "quick", "bad")}
        self.go_on = {name: threading.Event() for name in ("slow", "quick", "bad")}
        self.ended = []

    def __call__(self, path, progress=None, cancelled=None, cache=True, early=None):
        name = path.stem
        progress("Reading kernels", 0.5)
        self.begun[name].set()
        assert self.go_on[name].wait(WAIT_S)
        self.ended.append(name)
        if cancelled():
            raise Cancelled
        if name == "bad":
            raise ReadError("bad.sqlite is cut short; export it again")
        return training(ranks=1 if name == "quick" else 2)


@pytest.fixture
def reader(monkeypatch):
    made = Reader()
    monkeypatch.setattr(trace_loader, "read", made)
    yield made
    for event in made.go_on.values():
        event.set()


def test_progress_is_shown_while_the_window_lives(open_window, reader, qtbot):
    window = open_window()
    window.open(Path("slow.sqlite"))
    qtbot.waitUntil(lambda: "Reading kernels" in window.progress.label.text())
    assert window.progress.isVisible()
    assert 0 < window.progress.bar.value() < window.progress.bar.maximum()
    assert window.state.study is None
    with qtbot.waitSignal(window.loader.finished):
        reader.go_on["slow"].set()
    assert not window.progress.isVisible()
    assert len(window.state.rows.roots) == 2
    assert window.pages.currentWidget() is window.timeline
    assert {r.key for r in window.state.rows.roots} <= window.state.rows.expanded


def test_a_failure_leaves_the_present_trace_as_it_was(window, reader, qtbot):
    study, axis = window.state.study, window.state.axis
    axis.go(5_000_000, 9_000_000)
    window.open(Path("bad.sqlite"))
    with qtbot.waitSignal(window.loader.failed):
        reader.go_on["bad"].set()
    assert window.state.study is study
    assert axis.window == (5_000_000, 9_000_000)
    assert window.notice.isVisible()
    assert window.notice.label.text() == "bad.sqlite is cut short; export it again"
    assert not window.progress.isVisible()


def test_cancelling_leaves_the_present_trace_and_says_nothing(window, reader, qtbot):
    study = window.state.study
    window.open(Path("slow.sqlite"))
    qtbot.waitUntil(reader.begun["slow"].is_set)
    window.progress.button.click()
    assert not window.loader.is_busy
    assert not window.progress.isVisible()
    reader.go_on["slow"].set()
    window.loader.shut_down()
    assert reader.ended == ["slow"]
    assert window.state.study is study
    assert not window.notice.isVisible()


def test_what_was_overtaken_is_dropped(open_window, reader, qtbot):
    window = open_window()
    window.open(Path("slow.sqlite"))
    qtbot.waitUntil(reader.begun["slow"].is_set)
    with qtbot.waitSignal(window.loader.finished):
        window.open(Path("quick.sqlite"))
        reader.go_on["quick"].set()
    reader.go_on["slow"].set()
    window.loader.shut_down()
    qtbot.waitUntil(lambda: not window.loader._running)
    assert len(window.state.rows.roots) == 1


def test_an_error_of_ours_is_shown_and_can_be_copied(window, crashes, monkeypatch, qtbot):
    def broken(*_, **__):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(trace_loader, "read", broken)
    with qtbot.waitSignal(window.loader.failed) as told, qtbot.waitSignal(crashes.happened) as happened:
        window.open(Path("any.sqlite"))
    assert "any.sqlite cannot be opened" in told.args[0]
    assert "ZeroDivisionError" in happened.args[1]


def test_closing_the_window_waits_for_the_thread(window, reader):
    window.open(Path("slow.sqlite"))
    reader.go_on["slow"].set()
    window.close()
    assert not window.loader.is_busy


def test_a_file_is_opened_by_dropping_it(open_window, reader, qtbot):
    window = open_window()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/somewhere/quick.sqlite")])
    reader.go_on["quick"].set()
    with qtbot.waitSignal(window.loader.finished):
        window.dropEvent(
            QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                       Qt.KeyboardModifier.NoModifier)
        )  # fmt: skip
    assert len(window.state.rows.roots) == 1


def test_the_demo_is_one_click_away(open_window, qtbot, monkeypatch, demo_path):
    monkeypatch.setattr(trace_loader, "default_demo", lambda: demo_path)
    window = open_window()
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.welcome.demo_requested.emit()
    assert len(window.state.rows.roots) == 8
    assert window.windowTitle() == "demo — Lightbox"
    assert window.settings.recent() == ()


@pytest.mark.parametrize("name", ["slow", "bad"])
def test_nothing_is_offered_while_a_trace_is_opened(open_window, reader, qtbot, name):
    window = open_window()
    welcome = window.welcome
    assert welcome.card.isVisible()
    window.open(Path(f"/somewhere/{name}.sqlite"))
    assert not welcome.card.isVisible()
    assert welcome.opening.isVisible()
    assert welcome.opening.text() == f"{name}.sqlite"
    if name == "slow":
        window.progress.button.click()
    else:
        with qtbot.waitSignal(window.loader.failed):
            reader.go_on["bad"].set()
    assert welcome.card.isVisible()


def test_a_real_file_is_remembered(open_window, qtbot, demo_path):
    window = open_window()
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.open(demo_path)
    assert window.settings.recent() == (demo_path,)
    assert window.windowTitle().startswith(demo_path.name)
    window.trace_controller.close()
    assert window.pages.currentWidget() is window.welcome
    assert not any(dock.isVisible() for dock in window.docks)


@pytest.fixture
def in_two_parts(monkeypatch, demo_path):
    """A trace that counts as large: its GPUs come first, the rest when the test lets it."""
    go_on = threading.Event()

    def read_slowly(path, progress=None, cancelled=None, cache=True, early=None):
        def and_wait(trace):
            early(trace)
            assert go_on.wait(WAIT_S)
            if cancelled():
                raise Cancelled

        return readers.read(path, progress, cancelled, cache=False, early=and_wait)

    monkeypatch.setattr(trace_loader, "EARLY_FROM_EVENTS", 0)
    monkeypatch.setattr(trace_loader, "read", read_slowly)
    yield demo_path, go_on
    go_on.set()


def test_the_gpus_are_shown_while_the_rest_is_read(open_window, in_two_parts, qtbot):
    path, go_on = in_two_parts
    window = open_window()
    state = window.state
    with qtbot.waitSignal(window.loader.gpus_ready, timeout=60_000):
        window.open(path)
    assert state.study.loading is Loading.GPUS
    assert state.iterations is None
    assert window.progress.isVisible()
    assert "all else follows" in window.progress.label.text()
    low, high = state.axis.limits
    seen = (low + (high - low) // 4, low + (high - low) // 2)
    state.axis.go(*seen)
    first = state.rows.roots[0].key
    state.rows.set_expanded([first], True)
    state.select(seen)
    card = window.timeline.cards.selection.numbers
    assert card.gpus == ()
    parts = card.parts_ns
    go_on.set()
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        pass
    assert state.study.loading is Loading.COMPLETE
    assert not window.progress.isVisible()
    assert state.iterations is not None
    assert state.axis.window == seen
    assert state.selection == seen
    assert first in state.rows.expanded
    assert window.timeline.cards.selection.numbers.parts_ns.tolist() == parts.tolist()


def test_a_load_that_is_cancelled_half_way_says_what_is_missing(open_window, in_two_parts, qtbot):
    path, go_on = in_two_parts
    window = open_window()
    with qtbot.waitSignal(window.loader.gpus_ready, timeout=60_000):
        window.open(path)
    window.progress.button.click()
    assert "Only what the GPUs did was read" in window.notice.label.text()
    go_on.set()
    window.loader.shut_down()
    assert window.state.study.loading is Loading.CANCELLED_AT_GPUS
    with qtbot.waitSignal(window.loader.gpus_ready, timeout=60_000):
        window.notice.button.click()
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        pass
    assert window.state.study.loading is Loading.COMPLETE
    assert window.state.iterations is not None


def test_what_is_asked_anew_of_half_a_trace_reads_the_rest(open_window, in_two_parts, qtbot):
    path, go_on = in_two_parts
    window = open_window()
    with qtbot.waitSignal(window.loader.gpus_ready, timeout=60_000):
        window.open(path)
    window.target.apply_rules()
    assert "try again" in window.status.currentMessage()
    assert window.loader.is_busy
    window.progress.button.click()
    go_on.set()
    window.loader.shut_down()
    window.state.measurements.keep(*window.state.axis.window)
    window.target.apply_rules()
    qtbot.waitUntil(lambda: window.state.study.loading.is_complete, timeout=60_000)
    assert len(window.state.measurements.items) == 1
    assert not window.progress.isVisible()


def test_all_rows_are_shown_before_the_numbers_are_known(open_window, in_two_parts, monkeypatch, qtbot):
    path, go_on = in_two_parts
    go_on.set()
    window, count = open_window(), threading.Event()
    state, prepare = window.state, Study.prepare

    def wait_and_prepare(study):
        assert count.wait(WAIT_S)
        prepare(study)

    monkeypatch.setattr(Study, "prepare", wait_and_prepare)
    with qtbot.waitSignal(window.loader.rows_ready, timeout=60_000):
        window.open(path)
    assert state.study.loading is Loading.ROWS
    assert state.iterations is None
    assert any(row.kind is RowKind.API for root in state.rows.roots for row in root.walk())
    assert "numbers follow" in window.progress.label.text()
    assert window.actions_by_id["fit-iteration"].iconText() == "Iterations follow"
    assert not window.actions_by_id["report"].isEnabled()
    assert window.actions_by_id["find"].isEnabled()
    first, low = state.rows.roots[0].key, state.axis.limits[0]
    state.rows.set_expanded([first], True)
    state.axis.go(low, low + 1_000_000)
    state.select((low, low + 500_000))
    assert window.timeline.cards.selection.numbers.gpus == ()
    window.progress.button.click()
    assert "Iterations and sums were not computed" in window.notice.label.text()
    count.set()
    window.loader.shut_down()
    assert state.study.loading is Loading.CANCELLED_AT_ROWS
    with qtbot.waitSignal(window.loader.ended, timeout=60_000):
        window.notice.button.click()
    qtbot.waitUntil(lambda: state.iterations is not None)
    assert state.study.loading is Loading.COMPLETE
    assert first in state.rows.expanded
    assert state.axis.window == (low, low + 1_000_000)
    assert state.selection == (low, low + 500_000)
    assert len(window.timeline.cards.selection.numbers.gpus) == len(state.study.trace.gpus)
    assert window.actions_by_id["report"].isEnabled()


def test_the_window_counts_nothing_itself_while_a_trace_is_opened(
    open_window, in_two_parts, monkeypatch, qtbot
):
    counting = []
    for where in (
        "iterations.markers.candidates",
        "iterations.detect.find_iterations",
        "launches.launches._keys",
        "gpu_study.find_stream_gaps",
    ):
        module, name = where.rsplit(".", 1)
        count = getattr(importlib.import_module(f"viewer.analysis.{module}"), name)

        def told(*given, name=name, count=count):
            counting.append((name, threading.current_thread() is threading.main_thread()))
            return count(*given)

        monkeypatch.setattr(f"viewer.analysis.{where}", told)
    path, go_on = in_two_parts
    go_on.set()
    window = open_window()
    with qtbot.waitSignal(window.loader.ended, timeout=60_000):
        window.open(path)
    qtbot.waitUntil(lambda: window.state.iterations is not None)
    assert {name for name, _ in counting} == {"candidates", "find_iterations", "_keys", "find_stream_gaps"}
    assert not any(by_window for _, by_window in counting)


def test_what_was_done_to_half_a_trace_is_not_done_to_another(open_window, in_two_parts, opened, qtbot):
    path, go_on = in_two_parts
    window = open_window()
    with qtbot.waitSignal(window.loader.gpus_ready, timeout=60_000):
        window.open(path)
    window.state.measurements.keep(*window.state.axis.window)
    window.state.axis.pan(window.state.axis.limits[1])
    window.loader.cancel()
    window.trace_controller.show(opened)
    low, high = opened.study.trace.window_ns
    assert window.state.axis.window == (low, high)
    assert window.state.measurements.items == ()
    go_on.set()


def test_reading_goes_on_when_the_window_has_what_there_is_to_show(open_window, in_two_parts, qtbot):
    path, go_on = in_two_parts
    window = open_window()
    go_on.set()
    seen = []
    for ready in (window.loader.gpus_ready, window.loader.rows_ready, window.loader.finished):
        ready.connect(lambda result: seen.append(result.study.loading))
    with qtbot.waitSignal(window.loader.ended, timeout=60_000):
        window.open(path)
    qtbot.waitUntil(lambda: seen == [Loading.GPUS, Loading.ROWS, Loading.COMPLETE])


def test_rows_are_prepared_once_the_trace_is_shown_and_no_more_when_another_opens(
    open_window, reader, monkeypatch, qtbot
):
    begun, asked_of = threading.Event(), []

    def endless(opened, cancelled):
        begun.set()
        while not cancelled():
            pass
        asked_of.append(len(opened.roots))

    monkeypatch.setattr(trace_loader, "warm_up", endless)
    window = open_window()
    reader.go_on["slow"].set()
    with qtbot.waitSignal(window.loader.finished):
        window.open(Path("slow.sqlite"))
    assert not begun.is_set()
    assert window.loader.is_warming
    qtbot.waitUntil(begun.is_set)
    window.open(Path("quick.sqlite"))
    qtbot.waitUntil(lambda: asked_of == [2])


def test_who_closes_while_the_gpus_are_about_to_be_shown_waits_for_nobody(
    open_window, in_two_parts, monkeypatch
):
    path, go_on = in_two_parts
    window = open_window()
    made, make = threading.Event(), trace_loader._scene

    def scene(*given):
        made.set()
        return make(*given)

    monkeypatch.setattr(trace_loader, "_scene", scene)
    go_on.set()
    window.open(path)
    assert made.wait(WAIT_S)
    window.loader.shut_down()
    assert window.state.study is None


def test_who_cancels_just_before_all_rows_are_shown_waits_for_nobody(open_window, reader, monkeypatch, qtbot):
    window = open_window()
    made, go_on, make = threading.Event(), threading.Event(), trace_loader._scene

    def scene(*given):
        made.set()
        assert go_on.wait(WAIT_S)
        return make(*given)

    monkeypatch.setattr(trace_loader, "EARLY_FROM_EVENTS", 0)
    monkeypatch.setattr(trace_loader, "_scene", scene)
    reader.go_on["slow"].set()
    window.open(Path("slow.sqlite"))
    assert made.wait(WAIT_S)
    jobs = tuple(window.loader._running)
    window.loader.cancel()
    go_on.set()
    assert all(job.wait(WAIT_S * 1000) for job in jobs)
    assert window.state.study is None


def test_nothing_that_is_held_outlives_its_trace(window, opened, qtbot):
    from tests.timeline.test_gestures import move

    timeline, state = window.timeline, window.state
    left, canvas = Qt.MouseButton.LeftButton, timeline.canvas
    begin = canvas.rect().center()
    menu = timeline.notes.menu(canvas, QPointF(begin))
    menu.popup(begin)
    window.trace_controller.show(opened)
    assert not menu.isVisible()
    for change in (
        lambda: window.trace_controller.show(replace(opened, fingerprint="other")),
        window.trace_controller.close,
    ):
        qtbot.mousePress(canvas, left, pos=begin)
        move(canvas, begin + QPoint(40, 0), left)
        assert state.selection is not None
        change()
        assert state.selection is None
        move(canvas, begin + QPoint(90, 0), left)
        qtbot.mouseRelease(canvas, left, pos=begin + QPoint(90, 0))
        assert state.selection is None


def test_the_pointer_may_rest_on_a_row_while_another_trace_opens(window, crashes, qtbot):
    from tests.timeline.test_gestures import move

    window.state.rows.apply_preset("everything")
    for placed in window.timeline.canvas.placed:
        window.state.rows.apply_preset("everything")
        move(window.timeline.canvas, QPoint(300, placed.y + placed.height // 2))
        study = study_of(training(ranks=1))
        with qtbot.assertNotEmitted(crashes.happened):
            window.trace_controller.show(LoadedTrace(study, build_rows(study)))
        assert window.target.current_row() in (
            None,
            *(r for root in window.state.rows.roots for r in root.walk()),
        )
        study = study_of(training())
        window.trace_controller.show(LoadedTrace(study, build_rows(study)))


def test_what_is_typed_into_a_note_stays_with_its_trace(window, opened):
    state, notes = window.state, window.timeline.notes
    notes.write(Note(1_000_000, 1_000_000))
    notes.editor.setPlainText("why so late?")
    window.trace_controller.show(opened)
    assert [note.text for note in state.notes.items] == ["why so late?"]


def test_a_comparison_that_is_still_read_shows_its_progress_when_another_file_has_failed(
    window, reader, qtbot
):
    window.compare(Path("slow.sqlite"))
    qtbot.waitUntil(reader.begun["slow"].is_set)
    window.open(Path("bad.sqlite"))
    with qtbot.waitSignal(window.loader.failed):
        reader.go_on["bad"].set()
    assert window.progress.isVisible()
    assert "slow.sqlite" in window.progress.label.text()
    reader.go_on["slow"].set()
    qtbot.waitUntil(lambda: not window.progress.isVisible())
