"""Results that are kept: each is computed once, by one thread, whoever asks meanwhile."""

import threading

import pytest

from viewer.trace.lazy import OncePerKey, cached_property

WAIT_S = 10
GRACE_S = 0.2
"""How long a computation waits for a second one that should not begin."""


def ask_at_once(ask, count=2):
    """Let several threads ask at the same moment; return what each of them got."""
    barrier, answers = threading.Barrier(count), []

    def run():
        barrier.wait(WAIT_S)
        answers.append(ask())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    return answers


class Slow:
    """Computes only after a second thread had every chance to begin too."""

    def __init__(self):
        self.runs = []
        self.second = threading.Event()

    def compute(self):
        self.runs.append(threading.get_ident())
        if len(self.runs) > 1:
            self.second.set()
        # A second run, if there is one, ends this wait; without one it lasts its full time.
        self.second.wait(GRACE_S)
        return object()


def test_two_threads_that_ask_for_one_result_get_the_same_one():
    slow, kept = Slow(), OncePerKey()
    first, second = ask_at_once(lambda: kept.get("key", slow.compute))
    assert first is second
    assert len(slow.runs) == 1


def test_two_threads_that_read_a_property_compute_it_once():
    class Thing(Slow):
        value = cached_property(lambda self: self.compute())

    thing = Thing()
    first, second = ask_at_once(lambda: thing.value)
    assert first is second is thing.value
    assert len(thing.runs) == 1


def test_a_known_result_is_there_while_another_is_computed():
    kept, go_on, begun = OncePerKey({"known": 1}), threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert go_on.wait(WAIT_S)
        return 2

    thread = threading.Thread(target=kept.get, args=("slow", slow))
    thread.start()
    assert begun.wait(WAIT_S)
    assert kept.get("known", lambda: pytest.fail("it is known")) == 1
    go_on.set()
    thread.join(WAIT_S)
    assert kept.get("slow", lambda: 3) == 2


def test_what_has_failed_is_computed_again():
    kept = OncePerKey()
    with pytest.raises(ZeroDivisionError):
        kept.get("key", lambda: 1 // 0)
    assert kept.get("key", lambda: 5) == 5


def test_a_result_may_need_another_of_the_same_kind():
    kept = OncePerKey()
    assert kept.get(2, lambda: kept.get(1, lambda: 10) + 1) == 11
