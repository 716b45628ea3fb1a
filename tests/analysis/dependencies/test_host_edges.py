"""Calls that wait for a call of another thread."""

import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.dependencies.graph import Grade
from viewer.analysis.study import Study
from viewer.trace import Kind

US = 1_000


def edges_of(maker):
    study = Study(maker.kernel(0, 1).trace())
    edges, api = study.dependencies.host_edges, study.trace.api
    assert (edges.grade == Grade.TIMING).all()
    return {
        (int(api.start_ns[t]), int(api.start_ns[s])) for t, s in zip(edges.target, edges.source, strict=True)
    }


def taking_turns(wait="pthread_cond_wait", query=False):
    """Two threads: the first one calls, wakes the second one, and waits until that one has called."""
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(10 * US, 20 * US, tid=1).call(100 * US, 110 * US, tid=1)
    maker.call(40 * US, 60 * US, name="cudaEventQuery" if query else "cudaLaunchKernel", tid=2)
    maker.add(Kind.OSRT, maker.thread(0, 2), 0, 35 * US, wait)
    maker.add(Kind.OSRT, maker.thread(0, 1), 22 * US, 95 * US, wait)
    return maker


def test_threads_that_take_turns_are_one_chain():
    assert edges_of(taking_turns()) == {(40 * US, 10 * US), (100 * US, 40 * US)}


def test_who_is_not_seen_to_wait_waits_for_nobody():
    assert edges_of(taking_turns("memcpy")) == set()


def test_a_call_that_only_asks_wakes_nobody():
    assert edges_of(taking_turns(query=True)) == {(40 * US, 10 * US)}


def test_what_returned_before_the_threads_own_last_call_woke_nobody():
    maker = taking_turns().call(200 * US, 210 * US, tid=1)
    maker.add(Kind.OSRT, maker.thread(0, 1), 120 * US, 190 * US, "poll")
    assert (200 * US, 40 * US) not in edges_of(maker)


def test_forward_and_backward_of_the_demo_take_turns(demo_of):
    study = demo_of(iterations=3)
    edges, api = study.dependencies.host_edges, study.trace.api
    threads = np.searchsorted(api.offsets, np.stack((edges.target, edges.source)), side="right") - 1
    names = [[study.trace.threads[t].name for t in of_end] for of_end in threads]
    assert set(zip(*names, strict=True)) == {
        ("pt_main_thread", "pt_autograd_0"),
        ("pt_autograd_0", "pt_main_thread"),
    }
    # Two microbatches an iteration, there and back, on eight ranks.
    assert len(edges) == 3 * 2 * 2 * 8
