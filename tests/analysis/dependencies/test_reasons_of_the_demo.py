"""What blocks, in the demo, against what the simulation says held its kernels."""

import numpy as np
import pytest

from viewer.analysis.core.intervals import window
from viewer.analysis.dependencies.graph import Grade
from viewer.analysis.dependencies.stall_reasons import ReasonSums
from viewer.demo import DemoOptions, dependencies, job
from viewer.demo.program import ON_GPU
from viewer.trace import GPU_KINDS

JOB = {"ranks": 8, "iterations": 3}
VARIANTS = [
    {},
    {"one_stream": True},
    {"fault": "needless-wait"},
    {"like": "distca", "iterations": 5},
]


@pytest.fixture(params=VARIANTS, ids=str)
def variant(request, demo_of):
    options = JOB | request.param
    held = {}
    for truth in dependencies(job(DemoOptions(**options))):
        for i in [i for i, step in enumerate(truth.iteration.program.steps) if step.do in ON_GPU]:
            for rank in range(options["ranks"]):
                key = rank, int(truth.iteration.correlation[i, rank])
                held[key] = int(truth.held_by[i, rank]), bool(truth.is_foreign[i, rank])
    return demo_of(**options), held


def test_what_blocked_is_what_the_simulation_waited_for(variant):
    study, held = variant
    trace, reasons = study.trace, study.stall_reasons
    graph = reasons.graph
    rank_of = [trace.processes[trace.gpus[s.gpu].process].rank for s in trace.streams]
    correlation = np.concatenate([trace.events[kind].columns["correlation"] for kind in GPU_KINDS])
    checked = 0
    for gpu in range(len(trace.gpus)):
        pieces = reasons.pieces(gpu)
        for row in range(len(pieces)):
            following, binder = int(pieces.following[row]), int(pieces.binder[row])
            rank = rank_of[graph.operations.stream[following]]
            holder, is_foreign = held[rank, int(correlation[following])]
            if is_foreign:
                continue
            if binder >= 0 and holder >= 0:
                assert int(correlation[binder]) == holder
                assert pieces.grade[row] == Grade.PROVEN
                checked += 1
            elif binder < 0 and holder >= 0:
                # It had ended before the launch returned, or there is nothing before the end to wait in.
                source = int(np.flatnonzero(
                    (correlation == holder) & (np.array(rank_of)[graph.operations.stream] == rank)
                )[0])  # fmt: skip
                assert graph.operations.end_ns[source] <= pieces.launched_ns[row]
    assert checked > 20


def test_the_parts_sum_to_the_time_without_compute(variant):
    study, _ = variant
    within = study.trace.window_ns
    for gpu, parts in enumerate(study.parts):
        sums = study.stall_reasons.sums(gpu, window(*within))
        assert sums.compute_absent_ns == int(parts.totals(*within)[2:].sum())
        four = sums.launch_starved_ns + sums.blocked_ns + sums.unresolved_ns + sums.after_last_ns
        assert four == sums.compute_absent_ns


def sums_of(study):
    window_ns = window(*study.trace.window_ns)
    return sum(
        (study.stall_reasons.sums(gpu, window_ns) for gpu in range(len(study.trace.gpus))), ReasonSums()
    )


def test_without_ids_the_same_is_known_by_handle(demo_of):
    by_id, by_handle = sums_of(demo_of(**JOB)), sums_of(demo_of(**JOB, oddities=("no-sync-ids",)))
    assert by_handle.blocked_ns == by_id.blocked_ns
    assert by_handle.by_communication_ns == by_id.by_communication_ns
    assert by_id.by_handle_ns == 0 < by_handle.by_handle_ns
    assert by_handle.proven_ns + by_handle.by_handle_ns == by_id.proven_ns


def test_what_waits_for_an_event_without_its_record_is_not_known(demo_of):
    whole, lost = sums_of(demo_of(**JOB)), sums_of(demo_of(**JOB, oddities=("no-event-records",)))
    assert lost.compute_absent_ns == whole.compute_absent_ns
    assert lost.blocked_ns < whole.blocked_ns
    assert lost.tried_unknown_ns > whole.tried_unknown_ns == 0
