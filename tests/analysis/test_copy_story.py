"""Whether a copy could hide, and did."""

from tests.analysis.make import TraceMaker
from viewer.analysis.copy_story import copy_story
from viewer.analysis.study import Study


def test_a_copy_behind_kernels_of_its_own_stream_cannot_hide():
    maker = TraceMaker().kernel(0, 100_000).copy(100_000, 150_000, stream=7, bytes=1, copy_kind=1, src_kind=0)
    told = dict(copy_story(Study(maker.trace()), 0))
    assert "cannot hide" in told["Stream"]
    assert told["Not hidden"] == told["Beside kernels"].partition(" of ")[2]
    assert "pageable" in told["Host memory"]


def test_a_copy_on_its_own_stream_hides_as_far_as_kernels_run():
    maker = TraceMaker().kernel(0, 100_000).copy(60_000, 140_000, stream=14, bytes=1, copy_kind=1, src_kind=1)
    told = dict(copy_story(Study(maker.trace()), 0))
    assert "cannot" not in told["Stream"]
    assert told["Not hidden"] == told["Beside kernels"].partition(" of ")[0]
    assert "Host memory" not in told
