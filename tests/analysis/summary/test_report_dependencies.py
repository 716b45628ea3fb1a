"""The report's lines of waits for events, of a job by hand."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study
from viewer.analysis.summary.report_dependencies import wait_facts

US = 1_000


def two_waits():
    """Stream 8 waits for a kernel of stream 7, then stream 9 for one of stream 8; by calls 3 and 6."""
    maker = TraceMaker()
    for first, (stream, waiting) in enumerate(((7, 8), (8, 9))):
        number = 3 * first + 1
        launch, record, wait = (10 * US * (number + k) for k in range(3))
        maker.call(launch, launch + 5 * US, correlation=number)
        maker.kernel(launch + 500 * US, launch + 505 * US, stream=stream, correlation=number)
        maker.call(record, record + 5 * US, "cudaEventRecord", correlation=number + 1)
        maker.record(number + 1, stream, 1 + first, 4 + first)
        maker.call(wait, wait + 5 * US, "cudaStreamWaitEvent", tid=2, correlation=number + 2)
        maker.sync(
            wait, wait + 5 * US, "cudaStreamWaitEvent", correlation=number + 2, stream=waiting,
            event=1 + first, sync_id=4 + first,
        )  # fmt: skip
    return maker


@pytest.mark.parametrize(
    ("within", "waits"),
    [
        (None, [3, 6]),
        ((30 * US, 60 * US), [3]),
        ((30 * US, 60 * US + 1), [3, 6]),
        ((30 * US + 1, 61 * US), [6]),
        ((0, 30 * US), []),
    ],
)
def test_waits_are_by_the_time_of_their_calls_with_what_they_wait_for(within, waits):
    facts = wait_facts(Study(two_waits().trace()), within)["waits"]
    assert [wait["correlation_id"] for wait in facts] == waits
    for wait in facts:
        assert wait["producers"] == [{"pid": 100, "correlation_id": wait["correlation_id"] - 2}]
        assert (wait["pid"], wait["grade"]) == (100, "proven")


def test_a_trace_without_waits_has_none():
    assert wait_facts(Study(TraceMaker().call(0, 1, correlation=1).kernel(5, 6, correlation=1).trace())) == {
        "waits": []
    }
