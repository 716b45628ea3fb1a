from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.kernels.copy_overlap import copy_story
from viewer.analysis.study import Study
from viewer.trace import Kind


def story(maker, kind=Kind.MEMCPY):
    return copy_story(Study(maker.trace(), Rules.builtin()), kind, 0)


def test_a_copy_beside_kernels_is_hidden():
    found = story(TraceMaker().kernel(0, 100).copy(20, 40, stream=8, bytes=200, copy_kind=1, src_kind=1))
    assert (found.hidden_ns, found.copy_only_ns) == (20, 0)
    assert found.text == "hidden behind kernels"


def test_a_copy_on_the_compute_stream_cannot_hide():
    found = story(TraceMaker().kernel(0, 100).copy(100, 140, bytes=1, copy_kind=1, src_kind=0))
    assert (found.hidden_ns, found.copy_only_ns) == (0, 40)
    assert found.queues_with_kernels
    assert found.pageable
    assert found.text == "not hidden: its stream runs kernels too, so that it queues with them"


def test_a_copy_that_sticks_out_of_its_kernel():
    maker = TraceMaker().kernel(0, 100).copy(90, 130, stream=8, copy_kind=2, dst_kind=1, src_kind=2)
    found = story(maker)
    assert (found.hidden_ns, found.copy_only_ns) == (10, 30)
    assert found.text == "25% hidden behind kernels, though on a stream of its own"


def test_a_set_and_communication_hide_it_too():
    maker = TraceMaker().kernel(0, 100, "ncclDevKernel_AllReduce").memset(0, 50, stream=8)
    assert story(maker, Kind.MEMSET).text == "hidden behind kernels"
