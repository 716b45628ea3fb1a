"""Whose work an overhead is, and why a thread was off its CPU."""

import pytest

from tests.readers import exports
from viewer.analysis.study import Study
from viewer.readers import read
from viewer.trace import Kind

CUPTI = "CUPTI_ACTIVITY_KIND_OVERHEAD"
TYPES = {
    2: "Driver JIT compiler (CUDA)", 3: "Buffer flush (Profiler)", 4: "Instrumentation (Profiler)",
    5: "Resource creation/destruction (Profiler)", 6: "Runtime module loading (CUDA)",
    7: "Lazy function loading (CUDA)", 8: "Command buffer full (CUDA)",
}  # fmt: skip


@pytest.fixture
def opened(tmp_path):
    """A function that reads an export of some tables, with a kernel and a call of its thread."""

    def make(tables):
        base = {exports.KERNELS: [exports.kernel(start=1_000, end=2_000)], exports.CALLS: [exports.call()]}
        return read(exports.write(tmp_path / "trace.sqlite", base | tables), cache=False)

    return make


def overhead(*types, start=1_000, end=1_500, **changes):
    return [
        {"start": start, "end": end, "globalTid": exports.MAIN, "nameId": 2, "overheadType": kind} | changes
        for kind in types
    ]


@pytest.mark.parametrize("has_enum", [True, False])
def test_of_cuptis_own_overheads_only_three_are_the_profilers(opened, has_enum):
    tables = {CUPTI: overhead(*range(10))}
    if has_enum:
        rows = [{"id": kind, "name": f"OVERHEAD_{kind}", "label": label} for kind, label in TYPES.items()]
        tables["ENUM_CUPTI_OVERHEAD_TYPE"] = rows
    table = opened(tables).events[Kind.OVERHEAD]
    by_row = dict(
        zip((-table.columns["file_row"] - 1).tolist(), table.columns["is_cuda"].tolist(), strict=True)
    )
    assert [kind for kind in range(10) if not by_row[kind + 1]] == [3, 4, 5]


def test_a_file_may_number_them_otherwise(opened):
    rows = [{"id": 8, "name": "X", "label": "Buffer flush (Profiler)"}]
    rows.append({"id": 3, "name": "Y", "label": "Command buffer full (CUDA)"})
    trace = opened({CUPTI: overhead(3, 8), "ENUM_CUPTI_OVERHEAD_TYPE": rows})
    assert sorted(trace.events[Kind.OVERHEAD].columns["is_cuda"].tolist()) == [0, 1]
    table = trace.events[Kind.OVERHEAD]
    assert table.columns["is_cuda"][table.columns["file_row"] == -2].tolist() == [1]


def test_the_profilers_table_is_the_profilers_but_for_what_says_that_it_is_cudas(opened):
    old = [{k: v for k, v in row.items() if k != "overheadType"} for row in overhead(0)]
    assert opened({"PROFILER_OVERHEAD": old}).events[Kind.OVERHEAD].columns["is_cuda"].tolist() == [0]


def test_newer_profiler_tables_have_types(opened):
    trace = opened({"PROFILER_OVERHEAD": overhead(1, 3, 6, 8)})
    assert trace.events[Kind.OVERHEAD].columns["is_cuda"].tolist() == [0, 0, 1, 1]


def test_a_full_command_buffer_is_not_blamed_on_the_profiler(opened):
    found = Study(opened({CUPTI: overhead(8)})).diagnostics
    assert not [f for f in found if f.kind == "profiler-overhead"]
    (said,) = [f for f in found if f.kind == "cuda-overhead"]
    assert said.severity == "info"
    assert "50.0 % of the window" in said.title


def test_a_flush_is(opened):
    found = Study(opened({CUPTI: overhead(3)})).diagnostics
    (said,) = [f for f in found if f.kind == "profiler-overhead"]
    assert "The profiler itself took" in said.title
    assert not [f for f in found if f.kind == "cuda-overhead"]


def switches(*rows):
    return [
        {"start": start, "cpu": 1, "isSchedIn": is_in, "globalTid": exports.MAIN, "threadState": state}
        for start, is_in, state in rows
    ]


def test_a_thread_taken_off_its_cpu_while_it_could_run_was_preempted(opened):
    rows = switches((0, 1, 0), (100, 0, 1), (200, 1, 0), (300, 0, 2), (400, 1, 0), (500, 0, 0), (600, 1, 0))
    table = opened({exports.SWITCHES: rows}).events[Kind.ON_CPU]
    assert table.start_ns.tolist() == [0, 200, 400, 600]
    assert table.columns["preempted"].tolist() == [1, 0, 0, 0]


def test_older_files_do_not_say_why(opened):
    rows = [{k: v for k, v in r.items() if k != "threadState"} for r in switches((0, 1, 0), (100, 0, 0))]
    assert opened({exports.SWITCHES: rows}).events[Kind.ON_CPU].columns["preempted"].tolist() == [0]


def test_states_are_read_in_the_words_of_the_file(opened):
    states = [{"id": 7, "name": "Running", "label": "Running"}, {"id": 1, "name": "Sleep", "label": "Sleep"}]
    rows = switches((0, 1, 0), (100, 0, 7), (200, 1, 0), (300, 0, 1), (400, 1, 0))
    trace = opened({exports.SWITCHES: rows, "ENUM_SAMPLING_THREAD_STATE": states})
    assert trace.events[Kind.ON_CPU].columns["preempted"].tolist() == [1, 0, 0]
