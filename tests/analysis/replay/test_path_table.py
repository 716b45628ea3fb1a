"""Each row of the table of a critical path, against what the trace says of it."""

import pytest

from viewer.analysis.replay.path_table import path_table
from viewer.trace import GPU_KINDS, Kind

PARTS = {
    "compute": "compute",
    "transfer": "communication",
    "communication": "communication",
    "copy": "copy",
    "launch call": "host",
    "other call": "host",
    "blocking call": "host",
    "host code": "host",
    "lag": "gap",
    "unexplained": "gap",
}


def operations(trace):
    """Return kind, index and stream of every operation, in the order of their numbers."""
    return [
        (kind, index, stream)
        for kind in GPU_KINDS
        for index, stream in enumerate(trace.events[kind].owners().tolist())
    ]


def innermost(trace, thread, call):
    """Return the text of the shortest range over at least half of the time before a call, "" for none."""
    until = int(trace.api.start_ns[call])
    own = trace.api.of(thread)
    since = max(trace.api.end_ns[own.start : call].tolist(), default=until - 1)
    found = [(float("inf"), "")]
    for track in trace.tracks:
        rows = trace.nvtx.of(track.index)
        for row in range(rows.start, rows.stop) if track.thread == thread else ():
            begin, end = int(trace.nvtx.start_ns[row]), int(trace.nvtx.end_ns[row])
            if 2 * (min(end, until) - max(begin, since)) >= until - since:
                found.append((end - begin, trace.names[int(trace.nvtx.name_id[row])]))
    return min(found)[1]


@pytest.mark.parametrize("fault", ["none", "malloc"])
def test_each_piece_is_where_the_trace_has_it(demo_of, fault):
    study = demo_of(iterations=4) if fault == "none" else demo_of(iterations=4, fault=fault)
    trace, path = study.trace, study.critical_paths()[2]
    table = path_table(study.replay, path, study.phases())
    numbered, owner = operations(trace), trace.api.owners()
    phase_of = {
        int(kernel): phase.name
        for phase in study.phases().phases
        if phase.name in ("forward", "backward", "optimizer")
        for kernels in phase.kernels
        for kernel in kernels
    }
    code = 0
    for row in table.to_dict("records"):
        assert row["part"] == PARTS[row["kind"]]
        if row["operation"] >= 0:
            kind, index, stream = numbered[row["operation"]]
            gpu = trace.streams[stream].gpu
            name = trace.names[int(trace.events[kind].name_id[index])]
            expected = trace.gpus[gpu].process, gpu, f"Stream {trace.streams[stream].label}", name
            is_kernel = kind is Kind.KERNEL
            assert (row["class"] != "") == is_kernel
            assert row["phase"] == (phase_of.get(index, "") if is_kernel else "")
            assert row["call"] == -1
        else:
            thread = trace.threads[int(owner[row["call"]])]
            name = trace.names[int(trace.api.name_id[row["call"]])]
            if row["kind"] == "host code":
                name, code = innermost(trace, thread.index, row["call"]), code + 1
            expected = thread.process, -1, thread.name, name
            assert row["class"] == row["phase"] == ""
        assert (row["process"], row["gpu"], row["where"], row["name"]) == expected
        assert row["rank"] == f"Rank {trace.processes[expected[0]].rank}"
    assert code


def test_without_phases_none_is_told(demo_of):
    study = demo_of(iterations=4)
    assert set(path_table(study.replay, study.critical_paths()[1])["phase"]) == {""}
