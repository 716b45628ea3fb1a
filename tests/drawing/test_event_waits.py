"""What an event waited for in words: two ranks with a collective between them."""

import pytest

from tests.analysis.dependencies.test_waited import kernels_of, two_ranks
from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study
from viewer.drawing.event_waits import event_wait
from viewer.rows import EventRef
from viewer.trace import Kind


@pytest.fixture(scope="module")
def study():
    return two_ranks()


def test_parts_sum_to_the_wait_and_name_the_late_rank(study):
    after = kernels_of(study, 0, "gemm")[1]
    wait = event_wait(study, EventRef(Kind.KERNEL, after))
    assert [(part.fill, part.text, part.ns) for part in wait.parts] == [
        ("waiting", "Rank 1 to arrive in AllReduce", 400),
        ("exposed", "transfer, 2 ranks", 1600),
        ("lag", "from its end to the start", 20),
    ]
    assert sum(part.ns for part in wait.parts) == wait.waited.length_ns
    assert (wait.gpu, wait.other_gpu, wait.from_ns, wait.at_ns) == (0, 1, 1000, 1400)
    assert wait.mark == "400 ns for Rank 1"
    assert (wait.grade, wait.by) == ("proven", "order on its stream")


def test_the_chain_leads_over_the_late_rank_and_the_collective_to_the_event(study):
    event = EventRef(Kind.KERNEL, kernels_of(study, 0, "gemm")[1])
    cause, collective, own = event_wait(study, event).steps
    assert (cause.title, cause.about) == ("Rank 1 · compute", "arrives 400 ns after Rank 0")
    assert cause.event == EventRef(Kind.KERNEL, kernels_of(study, 1, "gemm")[0])
    assert collective.title.startswith("AllReduce · ")
    assert collective.title.endswith("ranks 0, 1")
    assert collective.about == "transfers 1.600 µs"
    assert (own.event, own.title, own.about) == (event, "Rank 0 · gemm", "this kernel")


def test_a_call_that_launched_late_is_the_host():
    maker = TraceMaker()
    maker.call(0, 5, correlation=1).kernel(10, 100, correlation=1)
    maker.call(300, 340, correlation=2).kernel(365, 400, correlation=2)
    wait = event_wait(Study(maker.trace()), EventRef(Kind.KERNEL, 1))
    assert [(part.fill, part.ns) for part in wait.parts] == [("host", 200), ("host", 40), ("lag", 25)]
    assert [step.event.kind for step in wait.steps] == [Kind.API, Kind.KERNEL]
    assert wait.other_gpu is None
    assert wait.mark == "240 ns for cudaLaunchKernel"


def test_what_nothing_is_known_of_has_no_wait(study):
    assert event_wait(study, EventRef(Kind.API, 0)) is None
    lone = Study(TraceMaker().kernel(0, 10).range(0, 10, "step").trace())
    assert event_wait(lone, EventRef(Kind.KERNEL, 0)) is None
    assert event_wait(lone, EventRef(Kind.NVTX, 0)) is None
