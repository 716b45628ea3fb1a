"""The simulated pipeline: who does what, what waits for what, and a stage that is heavier."""

import numpy as np
import pytest

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, dependencies, ground_truth, job
from viewer.demo.injected_faults import HEAVY, HEAVY_STAGE
from viewer.demo.pipeline import MICROBATCHES, STAGES, stage_ranks
from viewer.demo.program import COMPUTE, STREAM_SLOTS, Do
from viewer.demo.rank_faults import RankFaults
from viewer.demo.simulation import STREAM_GAP_NS
from viewer.readers import read
from viewer.trace import Kind

PIPELINE = {"like": "pipeline", "clean": True, "iterations": 4}
HEAVIER = PIPELINE | {"fault": "heavy-stage"}


@pytest.fixture(scope="module")
def studies(make):
    """The healthy pipeline and the one with a heavy stage."""
    return [Study(read(make(**options), cache=False)) for options in (PIPELINE, HEAVIER)]


def runs(**options):
    return list(job(DemoOptions(**options)).run())


def iteration_ns(**options):
    """The mean length of an iteration, from first operation to first operation, on rank 0."""
    return np.diff(ground_truth(job(DemoOptions(**options))).iteration_start_ns[0]).mean()


@pytest.mark.parametrize("rank", range(8))
def test_streams_and_hosts_do_one_thing_after_another(rank):
    for run in runs(**HEAVIER):
        steps, done = run.program.steps, run.is_done[:, rank]
        calls = np.flatnonzero(done)
        # Nothing but its own steps takes a host's time.
        between = run.call_start_ns[calls[1:], rank] - run.call_end_ns[calls[:-1], rank]
        assert (between == run.draws.before_ns[calls[1:], rank]).all()
        assert (run.gpu_start_ns[~done, rank] == -1).all()
        assert (run.gpu_end_ns[~done, rank] == -1).all()
        for stream in range(STREAM_SLOTS):
            on = [i for i in calls if run.gpu_start_ns[i, rank] >= 0 and steps[i].stream == stream]
            gaps = run.gpu_start_ns[on[1:], rank] - run.gpu_end_ns[on[:-1], rank]
            assert (gaps >= STREAM_GAP_NS).all()


def test_a_stage_sends_what_it_computed_and_the_next_computes_what_it_received():
    """Each send follows kernels of its own stage and ends after both have come; then the receiver goes on."""
    (run,) = runs(**PIPELINE | {"iterations": 1})
    steps, seen = run.program.steps, 0
    for i, step in enumerate(steps):
        if step.kernel != "send_recv":
            continue
        seen += 1
        assert step.ranks is not None
        before = max(k for k in range(i) if steps[k].do == Do.KERNEL)
        senders = steps[before].ranks
        receivers = tuple(sorted(set(step.ranks) - set(senders)))
        for sender, receiver in zip(senders, receivers, strict=True):
            assert abs(sender - receiver) == 2
            began = run.gpu_start_ns[i, [sender, receiver]]
            assert began[0] >= run.gpu_end_ns[before, sender]
            assert (run.gpu_end_ns[i, [sender, receiver]] > began.max()).all()
            after = min(
                k
                for k in range(i, len(steps))
                if steps[k].do == Do.KERNEL and steps[k].stream == COMPUTE and run.is_done[k, receiver]
            )
            assert run.gpu_start_ns[after, receiver] >= run.gpu_end_ns[i, receiver]
    assert seen == 2 * MICROBATCHES * (STAGES - 1)


def test_the_heavy_stage_computes_longer_and_no_other_number_changes():
    heavy = list(stage_ranks(HEAVY_STAGE))
    for ours, theirs in zip(runs(**HEAVIER), runs(**PIPELINE), strict=True):
        assert ours.program.steps == theirs.program.steps
        for name in ("host_ns", "before_ns", "latency_ns", "finish_ns"):
            assert (getattr(ours.draws, name) == getattr(theirs.draws, name)).all()
        work, usual = ours.draws.work_ns.copy(), theirs.draws.work_ns
        kernels = np.flatnonzero([s.do == Do.KERNEL for s in ours.program.steps])
        at = np.ix_(kernels, heavy)
        assert np.abs(work[at] - HEAVY * usual[at]).max() < 2
        work[at] = usual[at]
        assert (work == usual).all()


def test_the_file_holds_what_each_rank_does_and_no_more(studies):
    for study, options in zip(studies, (PIPELINE, HEAVIER), strict=True):
        kernels = study.trace.kernels
        for rank in range(8):
            of_rank = [
                (run.gpu_start_ns[i, rank], run.gpu_end_ns[i, rank])
                for run in runs(**options)
                for i, s in enumerate(run.program.steps)
                if s.do in (Do.KERNEL, Do.COLLECTIVE) and run.is_done[i, rank]
            ]
            rows = rows_of_gpu(study.trace, Kind.KERNEL, rank)
            found = zip(kernels.start_ns[rows].tolist(), kernels.end_ns[rows].tolist(), strict=True)
            assert sorted(found) == sorted(of_rank)


def test_the_stages_are_found_and_the_heavy_one_comes_first(studies):
    healthy, heavier = studies
    for study in studies:
        assert study.collectives.stages == tuple(stage_ranks(s) for s in range(STAGES))
    assert "heavy-stage" not in [f.id for f in healthy.findings()]
    first = next(iter(heavier.findings()))
    assert first.id.startswith("heavy-stage")
    assert first.gpus == stage_ranks(HEAVY_STAGE)
    # Work that leaves the stage goes to the others: simulated, all compute as long as their mean.
    mean = 1 + (HEAVY - 1) / STAGES
    even = PIPELINE | {"rank_faults": RankFaults(slow=dict.fromkeys(range(8), mean))}
    won = iteration_ns(**HEAVIER) - iteration_ns(**even)
    assert 0.7 * first.win_ns < won <= first.win_ns


def test_the_truth_has_the_times_of_each_rank():
    truth = ground_truth(job(DemoOptions(**PIPELINE, overlap_tax=0.1)))
    assert (np.diff(truth.iteration_start_ns, axis=1) > 50_000_000).all()
    assert (truth.iteration_start_ns[:, 0] > 0).all()
    assert (truth.tax_ns >= 0).all()
    assert truth.tax_ns.any()


def test_what_a_pipeline_cannot_be_is_refused():
    with pytest.raises(ValueError, match="a pipeline has 8 ranks, not 4"):
        DemoOptions(like="pipeline", ranks=4)
    with pytest.raises(ValueError, match="only in one like pipeline"):
        DemoOptions(fault="heavy-stage")
    with pytest.raises(ValueError, match="only in one like megatron"):
        DemoOptions(like="pipeline", fault="item")
    with pytest.raises(ValueError, match="dependencies of a pipeline are not told"):
        next(dependencies(job(DemoOptions(**PIPELINE))))
