"""A stall in words, for its card."""

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.stalls.stall_details import stall_facts
from viewer.analysis.study import Study
from viewer.trace import Kind

US = 1_000
MS = 1_000_000


def facts_of(maker, kind):
    """Return the facts of the first stall of a kind, with all parts of it in one list."""
    stalls = Study(maker.trace(), Rules.builtin()).stalls()
    found = stall_facts(stalls, int(stalls.select(kinds=[kind])[0]))
    return dict(found), [value for label, value in found if label == "Of which"]


def test_an_idle_stall_says_its_parts_the_longest_first():
    maker = TraceMaker().call(0, 10 * US, correlation=1).kernel(100 * US, MS, correlation=1)
    maker.call(50 * US, 1_100 * US, "cudaDeviceSynchronize")
    maker.call(1_900 * US, 1_910 * US, correlation=2).kernel(1_920 * US, 3 * MS, correlation=2)
    maker.add(Kind.ON_CPU, maker.thread(0, 1), 0, 4 * MS, "CPU 1")
    facts, parts = facts_of(maker, "idle")
    assert facts["Stall"] == "idle, 920.0 µs"
    assert facts["Cause"].startswith("host code")
    assert "87 % of the stall" in facts["Cause"]
    assert [float(part.split(" ")[0]) for part in parts] == [800, 100, 10, 10]
    assert facts["Blocking call"] == "cudaDeviceSynchronize"
    assert facts["Launched by"] == "cudaLaunchKernel on thread 1, 20.00 µs before the start"


def test_a_copy_only_stall_says_its_copies_and_no_parts():
    maker = TraceMaker().kernel(0, 100 * US)
    maker.copy(100 * US, 200 * US, bytes=1_000_000, copy_kind=1, stream=8)
    facts, parts = facts_of(maker.kernel(200 * US, 300 * US), "copy_only")
    assert parts == []
    assert "in all" not in facts["Copies"]
    maker.copy(120 * US, 150 * US, bytes=1_000, copy_kind=1, stream=9)
    assert "(2 in all)" in facts_of(maker, "copy_only")[0]["Copies"]


def test_exposed_communication_is_taken_apart_into_waiting_and_transfer():
    maker = TraceMaker()
    for k in range(20):
        for process in (0, 1):
            start = k * MS + 300 * US * process
            maker.kernel(start, k * MS + 500 * US, "ncclDevKernel_AllReduce", stream=9, process=process)
    facts, parts = facts_of(maker, "exposed_comm")
    assert parts == ["300.0 µs waiting for a later rank", "200.0 µs collective running"]
    assert facts["Waits for"].startswith("Rank 1")
