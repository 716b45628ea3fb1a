"""Why a GPU computes nothing, against a count of every single nanosecond."""

from dataclasses import fields

import numpy as np
import pytest

from tests.analysis.dependencies.random_jobs import is_compute, random_study
from viewer.analysis.core.intervals import union, window
from viewer.analysis.dependencies import producers
from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.analysis.dependencies.stall_reasons import ReasonSums, StallReasons
from viewer.trace import Kind

_GRADES = {Grade.PROVEN: "proven_ns", Grade.HANDLE: "by_handle_ns", Grade.TIMING: "by_timing_ns"}
_TRIED = {Grade.UNKNOWN: "tried_unknown_ns"} | {grade: f"tried_{name}" for grade, name in _GRADES.items()}


def reasons_of(study, graph, waits):
    return StallReasons(study.launches, study.classes, study.parts, waits, graph)


def counted(study, graph, waits, gpu, instants):
    """Return the sums over some nanoseconds of a GPU, each looked at by itself."""
    trace, ops = study.trace, graph.operations
    gpu_of = [trace.streams[stream].gpu for stream in ops.stream]
    what = []
    for number in range(len(ops)):
        kind, index = ops.event_of(number)
        what.append(
            "compute"
            if is_compute(study, kind, index)
            else "communication"
            if kind is Kind.KERNEL
            else "copy"
        )
    own = [n for n in range(len(ops)) if gpu_of[n] == gpu]
    computing = [n for n in own if what[n] == "compute" and ops.end_ns[n] > ops.start_ns[n]]
    sums = dict.fromkeys((field.name for field in fields(ReasonSums)), 0)
    for time in instants:
        running = [n for n in own if ops.start_ns[n] <= time < ops.end_ns[n]]
        if any(what[n] == "compute" for n in running):
            continue
        sums["compute_absent_ns"] += 1
        reason = reason_at(study, graph, waits, time, computing, what, sums)
        sums[f"{reason}_ns"] += 1
        if any(what[n] == "communication" for n in running):
            sums["exposed_blocking_ns" if reason == "blocked" else "exposed_free_ns"] += 1
    return ReasonSums(**sums)


def reason_at(study, graph, waits, time, computing, what, sums):
    """Return the reason at an instant; add what blocks to the sums."""
    ops, api, edges = graph.operations, study.trace.api, graph.op_edges
    later = [n for n in computing if ops.start_ns[n] > time]
    if not later:
        return "after_last"
    first = min(ops.start_ns[n] for n in later)
    never = 10**9
    following = min(
        (n for n in later if ops.start_ns[n] == first),
        key=lambda n: (api.start_ns[ops.call[n]] if ops.call[n] >= 0 else never, n),
    )
    call = int(ops.call[following])
    if call < 0:
        sums["tried_unknown_ns"] += 1
        return "unresolved"
    if time < api.end_ns[call]:
        return "launch_starved"
    before = int(ops.previous[following])
    sources = [(int(ops.end_ns[before]), Grade.PROVEN, before)] if before >= 0 else []
    for target, source, kind, grade in zip(edges.target, edges.source, edges.kind, edges.grade, strict=True):
        if target == following:
            until = ops.start_ns if kind == EdgeKind.QUEUE else ops.end_ns
            sources.append((int(until[source]), Grade(int(grade)), int(source)))
    sources = [source for source in sources if source[0] <= first + producers.CLOSE_NS]
    # Of those that held it up equally long the one that is known best; of those the last in the list.
    latest = max(((*source[:2], place, source[2]) for place, source in enumerate(sources)), default=None)
    if latest is None or time >= latest[0]:
        sums[_TRIED[min((grade for _, grade, _ in sources), default=Grade.PROVEN)]] += 1
        return "unresolved"
    sums[_GRADES[latest[1]]] += 1
    binder = latest[3]
    sums[f"by_{what[binder]}_ns"] += 1
    if what[binder] == "communication":
        begin, wait = int(ops.start_ns[binder]), int(waits.wait_ns[binder - ops.first[0]])
        sums["communication_wait_ns"] += begin <= time < begin + wait
    return "blocked"


@pytest.mark.parametrize("seed", range(25))
def test_the_sums_are_what_a_count_of_every_nanosecond_gives(seed, monkeypatch):
    monkeypatch.setattr(producers, "CLOSE_NS", seed % 3)
    study, graph, waits, rng = random_study(seed)
    reasons = reasons_of(study, graph, waits)
    low, high = study.trace.span_ns
    for gpu in range(len(study.trace.gpus)):
        cuts = np.unique(rng.integers(low, high + 1, 4))
        scopes = [window(low, high), union(cuts[:-1:2], cuts[1::2])]
        for within in scopes:
            instants = [t for a, b in zip(within.start_ns, within.end_ns, strict=True) for t in range(a, b)]
            wanted = counted(study, graph, waits, gpu, instants)
            found = reasons.sums(gpu, within)
            assert found == wanted, gpu


@pytest.mark.parametrize("seed", range(10))
def test_the_four_sum_to_the_time_without_compute(seed):
    study, graph, waits, _ = random_study(100 + seed)
    reasons = reasons_of(study, graph, waits)
    low, high = study.trace.span_ns
    for gpu, parts in enumerate(study.parts):
        sums = reasons.sums(gpu, window(low, high))
        absent = int(parts.totals(low, high)[2:].sum())
        four = sums.launch_starved_ns + sums.blocked_ns + sums.unresolved_ns + sums.after_last_ns
        assert sums.compute_absent_ns == four == absent
        assert sums.by_communication_ns + sums.by_copy_ns + sums.by_compute_ns == sums.blocked_ns
        assert sums.proven_ns + sums.by_handle_ns + sums.by_timing_ns == sums.blocked_ns
        assert sums.exposed_blocking_ns + sums.exposed_free_ns == int(parts.totals(low, high)[2])
        assert int(reasons.shares(gpu, window(low, high)).sum()) == sums.launch_starved_ns


@pytest.mark.parametrize("seed", range(5))
def test_neighbouring_ranges_add_up(seed):
    study, graph, waits, rng = random_study(200 + seed)
    reasons = reasons_of(study, graph, waits)
    low, high = study.trace.span_ns
    for gpu in range(len(study.trace.gpus)):
        cut = int(rng.integers(low + 1, high))
        halves = reasons.sums(gpu, window(low, cut)) + reasons.sums(gpu, window(cut, high))
        assert halves == reasons.sums(gpu, window(low, high))
        shares = reasons.shares(gpu, window(low, cut)) + reasons.shares(gpu, window(cut, high))
        assert int(shares.sum()) == halves.launch_starved_ns


def test_no_time_is_no_time():
    study, graph, waits, _ = random_study(7)
    reasons = reasons_of(study, graph, waits)
    assert reasons.sums(0, window(0, 0)) == ReasonSums()
    assert not reasons.shares(0, window(0, 0)).any()


def test_random_jobs_meet_every_case():
    sums = ReasonSums()
    edges = set()
    for seed in range(25):
        study, graph, waits, _ = random_study(seed)
        reasons = reasons_of(study, graph, waits)
        for gpu in range(len(study.trace.gpus)):
            sums += reasons.sums(gpu, window(*study.trace.span_ns))
            edges |= set(reasons.pieces(gpu).edge[reasons.pieces(gpu).binder >= 0].tolist())
    assert not [
        f.name for f in fields(sums) if f.name != "communication_wait_ns" and not getattr(sums, f.name)
    ]
    assert {EdgeKind.STREAM, EdgeKind.EVENT, EdgeKind.QUEUE} <= edges
