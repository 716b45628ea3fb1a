"""Work beside the window."""

import threading

import pytest

from viewer.state.work import Worker, join_all


@pytest.fixture
def worker(qapp):
    made = Worker()
    yield made
    join_all()


def test_the_result_comes_to_the_main_thread(worker, qtbot):
    seen = []
    worker.start(
        lambda asked: threading.get_ident(), lambda ident: seen.append((ident, threading.get_ident()))
    )
    qtbot.waitUntil(lambda: bool(seen))
    worked, handed = seen[0]
    assert worked != handed == threading.get_ident()
    assert not worker.is_busy


def test_only_the_last_one_counts_and_the_overtaken_one_is_told(worker, qtbot):
    told, go, seen = threading.Event(), threading.Event(), []

    def slow(asked):
        go.wait(10)
        if asked():
            told.set()
        return "old"

    worker.start(slow, seen.append)
    worker.start(lambda asked: "new", seen.append)
    go.set()
    qtbot.waitUntil(lambda: bool(seen) and told.is_set())
    join_all()
    qtbot.wait(1)
    assert seen == ["new"]


def test_a_failure_is_logged_and_hands_over_nothing(worker, qtbot, caplog):
    seen = []
    worker.start(lambda asked: 1 // 0, seen.append)
    qtbot.waitUntil(lambda: not worker.is_busy)
    assert seen == []
    assert "ZeroDivisionError" in caplog.text


def test_cancelled_work_is_not_awaited(worker, qtbot):
    go, seen = threading.Event(), []
    worker.start(lambda asked: go.wait(10), seen.append)
    with qtbot.waitSignal(worker.busy_changed):
        worker.cancel()
    go.set()
    join_all()
    qtbot.wait(1)
    assert seen == []
