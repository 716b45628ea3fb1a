"""What the simulation put into a trace, the product's own numbers find again, and nothing else."""

import numpy as np
import pytest

from tests.demo.load import operations, sweep
from viewer.analysis.collectives.rank_comparison import compare_ranks
from viewer.analysis.study import Study
from viewer.analysis.summary.summary import summary
from viewer.demo import DemoOptions, ground_truth, job
from viewer.demo.rank_faults import RankFaults
from viewer.demo.simulation import group_members
from viewer.readers import read


@pytest.fixture(scope="module")
def study(make):
    """A function from options to the numbers of that demo."""
    made = {}

    def once(**options):
        path = make(**options)
        if path not in made:
            made[path] = Study(read(path, cache=False))
        return made[path]

    return once


def test_iterations_are_the_simulated_ones(study):
    truth = ground_truth(job(DemoOptions()))
    iterations = study().iterations()
    assert iterations.starts[:, :-1].tolist() == truth.iteration_start_ns.tolist()
    assert iterations.starts[:, -1].tolist() == truth.end_ns.tolist()
    flags = {iteration: flag for iteration, flag in enumerate(iterations.flags) if flag}
    assert flags == dict.fromkeys(truth.warm_up, "warm-up") | dict.fromkeys(truth.checkpoints, "checkpoint")
    assert list(iterations.steady.indices) == [iteration for iteration in range(8) if iteration not in flags]


def test_a_clean_job_has_nothing_to_flag(study):
    clean = study(clean=True)
    iterations = clean.iterations()
    assert not any(iterations.flags)
    assert len(iterations.steady.indices) == 8
    (ranks,) = compare_ranks(clean.trace, clean.parts, iterations, clean.collectives)
    assert ranks.spread < 0.01
    assert [metric.key for metric in summary(clean, iterations).unusual] == []
    assert not [f for f in clean.diagnostics if f.severity == "error"]


def test_five_iterations_a_sample_are_found(study):
    distca = study(like="distca", iterations=15)
    iterations = distca.iterations()
    truth = ground_truth(job(DemoOptions(like="distca", iterations=15)))
    assert iterations.count == 15
    assert iterations.starts[:, :-1].tolist() == truth.iteration_start_ns.tolist()


def test_the_slow_rank_is_found_and_confirmed(study):
    job = study()
    (ranks,) = compare_ranks(job.trace, job.parts, job.iterations(), job.collectives)
    assert ranks.longer == (5,)
    assert ranks.spread == pytest.approx(0.06, abs=0.005)
    assert ranks.wait_ns.argmin() == 5


def test_the_groups_are_found(study):
    found = {group.gpus for group in study().collectives.groups}
    pairs = {(0, 1), (2, 3), (4, 5), (6, 7)}
    assert found == pairs | {(0, 2, 4, 6), (1, 3, 5, 7), tuple(range(8))}


@pytest.mark.parametrize("tensor", [2, 4, 8])
def test_tensor_parallel_waits_are_those_of_the_simulation(study, tensor):
    options = {"tensor": tensor, "iterations": 2}
    found = study(**options)
    held, trace = found.collectives, found.trace
    groups = {group.gpus for group in held.groups if len(group.gpus) > 1}
    assert {tuple(range(r, r + tensor)) for r in range(0, 8, tensor)} <= groups
    planted = {}
    for iteration in job(DemoOptions(**options)).run():
        for i, step in enumerate(iteration.program.steps):
            for members in group_members(step.group, 8, tensor) if step.group else ():
                starts = iteration.gpu_start_ns[i, members]
                for rank, start in zip(members, starts.tolist(), strict=True):
                    planted[rank, start] = int(starts.max()) - start if len(members) > 1 else None
    kernels = trace.kernels
    for stream in trace.streams:
        rows = kernels.of(stream.index)
        rows = rows.start + np.flatnonzero(found.classes.is_comm(kernels.name_id[rows]))
        rank = trace.processes[trace.gpus[stream.gpu].process].rank
        for row in rows:
            wait = planted.pop((rank, int(kernels.start_ns[row])))
            if wait is not None:
                assert held.wait_ns[row] == wait
                length = kernels.end_ns[row] - kernels.start_ns[row]
                assert 0 <= held.wait_ns[row] <= length
    assert not planted


def test_shifted_clocks_and_lost_rows_are_found(study):
    shifted = [
        f.title for f in study(iterations=2, shift={3: -12_000_000}).diagnostics if f.severity == "error"
    ]
    assert len(shifted) == 1
    assert shifted[0].startswith("Rank 3 ")
    lost = [f.title for f in study(iterations=2, lose={1: 1.0, 6: 0.99}).diagnostics if f.severity == "error"]
    assert sorted(title.split(":")[0] for title in lost) == ["Rank 1", "Rank 6"]


@pytest.mark.parametrize("seed", range(4))
def test_five_parts_equal_an_event_sweep(study, path, seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(8))
    start, end = sorted(rng.integers(*study().trace.window_ns, 2).tolist())
    own = operations(path)
    own = own[(own["rank"] == rank) & (own.end > start) & (own.start < end)]
    kernels = own[own.kind == "KERNEL"]
    kernels = kernels.assign(nccl=kernels.name.str.startswith("nccl"))
    expected = sweep(kernels, own[own.kind != "KERNEL"], start, end)
    assert study().parts[rank].totals(start, end).tolist() == list(expected.values())


def planted_waits(options):
    """Return the waits by (rank, start) that the simulation made; with a root those for it."""
    planted = {}
    for iteration in job(DemoOptions(**options)).run():
        for i, step in enumerate(iteration.program.steps):
            for members in group_members(step.group, 8, 2) if step.group else ():
                starts = iteration.gpu_start_ns[i, members]
                last = starts[0] if step.has_root else starts.max()
                for rank, start in zip(members, starts.tolist(), strict=True):
                    planted[rank, start] = max(0, int(last) - start)
    return planted


@pytest.mark.parametrize("options", [{"one_stream": True}, {"fault": "broadcast"}])
def test_groups_that_share_a_stream_and_roots_are_matched_as_simulated(study, options):
    options = {"iterations": 4, **options}
    found = study(**options)
    held, kernels, planted = found.collectives, found.trace.kernels, planted_waits(options)
    right = unknown = 0
    for stream in found.trace.streams:
        rows = kernels.of(stream.index)
        rows = rows.start + np.flatnonzero(found.classes.is_comm(kernels.name_id[rows]))
        rank = found.trace.processes[found.trace.gpus[stream.gpu].process].rank
        for row in rows:
            wait = planted.pop((rank, int(kernels.start_ns[row])))
            unknown += held.wait_ns[row] < 0
            # A root may be told from the others with some µs of jitter, never wrong without a mark.
            assert held.wait_ns[row] in (-1, pytest.approx(wait, abs=10_000))
            right += held.wait_ns[row] == pytest.approx(wait, abs=10_000)
    assert not planted
    assert unknown < 0.02 * right


@pytest.mark.parametrize(
    ("faults", "verdict"),
    [
        ({"slow": {2: 1.06, 5: 1.05}}, ("ranks", (2, 5))),
        ({"slow": {3: 1.025}}, ("ranks", (3,))),
        ({"slow": dict.fromkeys((4, 5, 6, 7), 1.05)}, ("ranks", (4, 5, 6, 7))),
        ({"longer_attention": {4: 1.3}}, ("ranks", (4,))),
        ({"late_host_ms": {3: 12.0}}, ("host", (3,))),
        ({"missing": {5: 60}, "slow": {5: 1.05}}, ("ranks", (5,))),
        ({"begin_ms": {2: 400.0}}, None),
    ],
)
def test_faults_of_ranks_are_named_and_nobody_else(study, faults, verdict):
    found = study(clean=True, rank_faults=RankFaults(**faults))
    late = summary(found, found.iterations()).late_ranks
    assert [(v.kind, v.gpus) for v in late.verdicts] == ([verdict] if verdict else [])
