"""Work beside the window."""

import threading

import pytest

from viewer.state import jobs
from viewer.state.jobs import Worker, is_anything_running, join_all

WAIT_S = 10


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


def test_only_the_last_one_counts_and_the_overtaken_one_hears_of_it(worker, qtbot):
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


class Steps:
    """Work that waits until the test lets it go on, and notes when it begins and ends."""

    def __init__(self):
        self.messages = []
        self.workers = {}
        self.go_on = {name: threading.Event() for name in "abcd"}

    def named(self, name):
        def steps(asked):
            self.messages.append(f"{name} begins")
            assert self.go_on[name].wait(WAIT_S)
            self.messages.append(f"{name} is given up" if asked() else f"{name} ends")
            return name

        return steps


@pytest.fixture
def steps(qapp, monkeypatch):
    made = Steps()
    monkeypatch.setattr(jobs, "give_back", lambda: made.messages.append("memory is given back"))
    yield made
    for event in made.go_on.values():
        event.set()
    join_all()


def begin_background(steps, names, then=lambda _: None):
    """Start work that nobody has asked for; return its workers."""
    steps.workers = {name: Worker() for name in names}
    for name, held in steps.workers.items():
        held.start(steps.named(name), then, background=True)
    return steps.workers


def test_what_nobody_asked_for_is_done_one_after_the_other_in_order(steps, qtbot):
    seen = []
    workers = begin_background(steps, "abc", seen.append)
    assert steps.messages == []
    assert is_anything_running()
    qtbot.waitUntil(lambda: steps.messages == ["a begins"])
    for event in steps.go_on.values():
        event.set()
    qtbot.waitUntil(lambda: not is_anything_running())
    assert seen == ["a", "b", "c"]
    assert steps.messages == [
        "a begins", "a ends", "b begins", "b ends", "c begins", "c ends", "memory is given back",
    ]  # fmt: skip
    assert not any(held.is_busy for held in workers.values())


def test_what_is_asked_for_does_not_wait_and_what_is_not_waits_for_it(steps, worker, qtbot):
    held = begin_background(steps, "ab")
    qtbot.waitUntil(lambda: steps.messages == ["a begins"])
    worker.start(steps.named("c"), lambda _: None)
    qtbot.waitUntil(lambda: steps.messages[-1] == "c begins")
    steps.go_on["a"].set()
    qtbot.waitUntil(lambda: not held["a"].is_busy)
    qtbot.wait(2 * jobs.REST_MS)
    assert steps.messages == ["a begins", "c begins", "a ends"]
    steps.go_on["c"].set()
    qtbot.waitUntil(lambda: steps.messages[-1] == "b begins")


def test_what_is_overtaken_or_cancelled_while_it_waits_never_begins(steps, qtbot):
    seen = []
    workers = begin_background(steps, "abc", seen.append)
    qtbot.waitUntil(lambda: steps.messages == ["a begins"])
    workers["b"].start(steps.named("d"), seen.append, background=True)
    workers["c"].cancel()
    for event in steps.go_on.values():
        event.set()
    qtbot.waitUntil(lambda: not is_anything_running())
    assert seen == ["a", "d"]
    assert not {"b begins", "c begins"} & set(steps.messages)
    assert not workers["c"].is_busy


def test_what_is_asked_for_takes_the_place_of_what_waits(steps, qtbot):
    seen = []
    workers = begin_background(steps, "ab", seen.append)
    workers["b"].start(steps.named("c"), seen.append)
    qtbot.waitUntil(lambda: steps.messages == ["c begins"])
    steps.go_on["c"].set()
    qtbot.waitUntil(lambda: steps.messages[-1] == "a begins")
    assert seen == ["c"]


def test_what_follows_from_a_result_that_nobody_asked_for_waits_in_turn(steps, worker, qtbot):
    def follow(name):
        if name == "a":
            worker.start(steps.named("c"), lambda _: None, background=True)

    begin_background(steps, "ab", follow)
    for event in steps.go_on.values():
        event.set()
    qtbot.waitUntil(lambda: not is_anything_running())
    assert [text for text in steps.messages if "begins" in text] == ["a begins", "b begins", "c begins"]


def test_after_a_failure_the_next_has_its_turn(steps, qtbot, caplog):
    broken, seen = Worker(), []
    broken.start(lambda asked: 1 // 0, seen.append, background=True)
    begin_background(steps, "a", seen.append)
    steps.go_on["a"].set()
    qtbot.waitUntil(lambda: seen == ["a"])
    assert "ZeroDivisionError" in caplog.text


def test_nothing_begins_any_more_after_all_was_given_up(steps, qtbot):
    seen = []
    begin_background(steps, "ab", seen.append)
    qtbot.waitUntil(lambda: steps.messages == ["a begins"])
    steps.go_on["a"].set()
    join_all()
    assert not is_anything_running()
    qtbot.wait(2 * jobs.REST_MS)
    assert steps.messages in (["a begins", "a is given up"], ["a begins", "a ends"])
    assert seen == []
