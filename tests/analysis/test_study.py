"""Study hands out each result once, also where several threads ask for it."""

import threading

import pytest

from tests.timeline.make import study_of, training
from viewer.analysis.loading import Loading
from viewer.analysis.stalls import stalls

WAIT_S = 10
GRACE_S = 0.2
"""How long a computation waits for a second one that should not begin."""


def test_two_threads_that_ask_for_the_stalls_find_them_once(monkeypatch):
    study, find = study_of(training()), stalls.find_stalls
    asking, runs, answers = threading.Barrier(2), [], []
    second = threading.Event()

    def find_slowly(*given):
        runs.append(threading.get_ident())
        if len(runs) > 1:
            second.set()
        # Whoever else computes has begun by then; without a second run this lasts its full time.
        second.wait(GRACE_S)
        return find(*given)

    def ask():
        asking.wait(WAIT_S)
        answers.append(study.stalls())

    monkeypatch.setattr(stalls, "find_stalls", find_slowly)
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(runs) == 1
    assert answers[0] is answers[1]


@pytest.mark.parametrize(("before", "after"), [
    (Loading.GPUS, Loading.CANCELLED_AT_GPUS),
    (Loading.ROWS, Loading.CANCELLED_AT_ROWS),
    (Loading.COMPLETE, Loading.COMPLETE),
])  # fmt: skip
def test_what_is_cancelled_keeps_its_rows_and_can_be_resumed(before, after):
    assert before.cancelled() is after
    assert after.resumed() is before
    assert after.has_all_rows == before.has_all_rows
    assert after.is_cancelled == (after is not before)


def test_only_a_complete_trace_is_complete():
    assert [loading for loading in Loading if loading.is_complete] == [Loading.COMPLETE]
