import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.iterations.phases import BY_THREAD, OWN_IN_BACKWARD
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report


def iteration(maker, at, correlation, backward_range=True):
    """Add an iteration: forward by thread 1, backward by thread 2, the optimizer inside backward's range."""
    maker.range(at, at + 900, f"step {at}")
    maker.range(at + 10, at + 100, "forward")
    if backward_range:
        maker.range(at + 200, at + 800, "backward")
    maker.range(at + 600, at + 700, "optimizer")
    work = [
        (1, 20, 0, 100, "gemm"), (1, 30, 120, 100, "gemm"), (1, 40, 150, 500, "ncclDevKernel_AllReduce"),
        (2, 300, 300, 300, "dgrad"), (2, 400, 600, 100, "wgrad"), (1, 210, 250, 10, "ones"),
        (1, 610, 700, 40, "adam"),
    ]  # fmt: skip
    for offset, (tid, call, start, length, name) in enumerate(work):
        identity = correlation + offset
        stream = 20 if name.startswith("nccl") else 7
        maker.call(at + call, at + call + 5, tid=tid, correlation=identity)
        begin = at + 1000 + start
        maker.kernel(begin, begin + length, name, stream=stream, correlation=identity)
    return maker


def phases_of(backward_range=True):
    maker = TraceMaker()
    for number in range(4):
        iteration(maker, number * 1000, 1 + 10 * number, backward_range)
    study = Study(maker.trace())
    return study.phases()


def test_phases_are_what_they_launched_and_not_their_intervals():
    phases = phases_of()
    medians = {p.name: phases.median_ns(p.name) for p in phases.phases}
    assert medians == {"forward": 200, "backward": 400, "optimizer": 40, OWN_IN_BACKWARD: 10}
    assert phases.ratio == pytest.approx(2.0)
    assert phases.has_both.all()
    assert phases.phase("forward").compute[0].total() == 4 * 200


def test_without_a_backward_range_the_autograd_thread_tells():
    phases = phases_of(backward_range=False)
    assert phases.phase("backward").how == BY_THREAD
    assert phases.backward_ns == 400
    assert phases.phase(OWN_IN_BACKWARD) is None


def test_what_backward_computes_again_is_backward():
    maker = TraceMaker()
    for number in range(4):
        at = 1000 * number
        maker.range(at, at + 900, "step").range(at, at + 90, "forward").range(at + 100, at + 800, "backward")
        maker.range(at + 300, at + 400, "forward", tid=2)
        for offset, (tid, call) in enumerate([(1, 10), (2, 310), (2, 500)]):
            identity = 1 + 10 * number + offset
            maker.call(at + call, at + call + 5, tid=tid, correlation=identity)
            maker.kernel(at + call + 50, at + call + 150, correlation=identity)
    study = Study(maker.trace())
    phases = study.phases()
    assert (phases.forward_ns, phases.backward_ns) == (100, 200)


def test_a_phase_that_one_rank_alone_has_is_a_phase():
    maker = TraceMaker()
    for number in range(4):
        iteration(maker, 1000 * number, 1 + 10 * number)
        maker.range(1000 * number, 1000 * number + 900, f"step {1000 * number}", process=1)
        maker.range(1000 * number + 10, 1000 * number + 100, "forward", process=1)
        maker.call(1000 * number + 20, 1000 * number + 25, process=1, correlation=500 + number)
        begin = 1000 * number + 1000
        maker.kernel(begin, begin + 100, "gemm", process=1, correlation=500 + number)
    phases = Study(maker.trace()).phases()
    assert phases.compute_ns["forward"].tolist() == [[200] * 4, [100] * 4]
    assert phases.medians_ns("optimizer") == (40, None)


def test_a_second_thread_without_any_forward_is_not_autograd():
    maker = TraceMaker()
    for number in range(4):
        at = 1000 * number
        maker.range(at, at + 900, "request")
        for offset, tid in enumerate([1, 1, 2]):
            identity = 1 + 10 * number + offset
            maker.call(at + 10 + offset, at + 11 + offset, tid=tid, correlation=identity)
            maker.kernel(at + 50 * offset, at + 50 * offset + 40, correlation=identity)
    study = Study(maker.trace())
    assert study.phases().phases == ()


def test_a_real_training_run(real_study):
    study = real_study("pytorch-a100-nvtx")
    phases = study.phases()
    assert phases.ratio == pytest.approx(1.826, abs=0.001)
    # There is no steady state: all count but the last one, whose end nothing marks.
    by_hand = phases.compute_ns["forward"][0][:-1]
    assert phases.forward_ns == int(np.median(by_hand[by_hand > 0]))
    facts = report(study)
    assert facts["forward_ns"] == phases.forward_ns
    assert facts["backward_ns"] == phases.backward_ns
    assert [p["name"] for p in facts["phases"]] == ["forward", "backward", "optimizer", OWN_IN_BACKWARD]


def test_the_demo_is_normal(demo_of):
    phases = demo_of().phases()
    assert 1.8 < phases.ratio < 2.4
    assert phases.phase(OWN_IN_BACKWARD) is None
    rows = {p["name"]: p for p in report(demo_of())["phases"]}
    assert rows["optimizer"]["seas"] > 0
    assert rows["forward"]["seas"] == rows["backward"]["seas"] == 0
