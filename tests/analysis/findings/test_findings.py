"""What to mend first: the planted faults of the demo and nothing else, and nothing in clean jobs."""

from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np
import pytest

from tests.analysis.collectives.parallel_job import ParallelJob
from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.core.intervals import union, window
from viewer.analysis.findings import communication_findings
from viewer.analysis.findings.finding import MOST, Findings
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.needless_waits import needless_waits
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.findings.ranking import ranked
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, make_demo
from viewer.demo.rank_faults import RankFaults
from viewer.readers import read

MS = 1_000_000


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A function from options to the study of that demo, made once."""
    made = {}

    def once(**options):
        key = DemoOptions(**options).key
        if key not in made:
            path = tmp_path_factory.mktemp("findings") / f"{key}.sqlite"
            made[key] = Study(read(make_demo(path, DemoOptions(**options)), cache=False))
        return made[key]

    return once


def ids(findings):
    return [finding.id.split(":")[0] for finding in findings]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_clean_job_has_nothing_to_mend(study, seed):
    findings = study(clean=True, seed=seed).findings()
    assert findings.verdict == "nothing"
    assert not findings.missing
    assert findings.heading.startswith("Nothing is worth mending first")


@pytest.mark.parametrize(
    ("fault", "kind", "place", "kernels_us"),
    [
        ("busy-cpu", "host-code", "build_mask", 58),
        ("malloc", "slow-call", "cudaMalloc", 58),
        ("tiny-kernels", "launch-bound", "update_ema", 300 * 2.1),
        ("event-wait", "event-wait", "", 5 * 724),
        ("preempted", "preempted", "collate_batch", 58),
        ("buffer-flush", "profiler", "next_microbatch", 58),
        ("needless-wait", "needless-wait", "ReduceScatter", 0),
        ("late-data", "host-waits", "wait_for_data", 58),
        ("polling", "polling", "cudaEventQuery", 58 + 900),
    ],
)
def test_a_planted_fault_is_the_only_finding(study, fault, kind, place, kernels_us):
    clean, faulty = study(clean=True), study(clean=True, fault=fault)
    findings = faulty.findings()
    assert ids(findings) == [kind]
    (finding,) = findings
    assert place in finding.id
    assert finding.gpus == tuple(range(8))
    # The job without the fault is the truth of what mending it wins, but that it lacks the fault's kernels.
    truth = faulty.iterations().median_ns - clean.iterations().median_ns - kernels_us * 1_000
    assert finding.win_ns == pytest.approx(truth, rel=0.1)
    assert finding.win_range_ns[0] <= finding.win_ns <= finding.win_range_ns[1]
    assert finding.grade == ("ceiling" if fault == "event-wait" else "replayed")
    stall = faulty.stalls().exactly(finding.location.start_ns, finding.location.end_ns)
    assert (stall is not None) == (fault != "needless-wait")


def test_the_demo_names_its_slow_rank_its_loader_and_its_copies(study):
    findings = study().findings()
    assert ids(findings) == ["host-waits", "ranks-longer", "copies"]
    assert {finding.grade for finding in findings} == {"replayed"}
    loader, slow, _ = findings
    assert loader.title == "All GPUs stand still while the next batch is loaded"
    assert "asleep in poll" in loader.evidence
    assert slow.gpus == (5,)
    assert slow.title.endswith(" longer than its seven twins")
    wins = [finding.win_ns for finding in findings]
    assert wins == sorted(wins, reverse=True)
    # What all win together is the clean job, apart from what medians leave.
    assert findings.recorded_ns - findings.together_ns == pytest.approx(sum(wins), rel=0.06)
    together = study().what_if([change for finding in findings for change in finding.changes])
    assert findings.recorded_ns - findings.together_ns == together.saving_ns
    assert findings.heading.startswith("All three together: ")


def test_two_faults_are_both_found(study):
    both = study(clean=True, fault="malloc", rank_faults=RankFaults(slow={2: 1.05}))
    findings = both.findings()
    assert set(ids(findings)) == {"slow-call", "ranks-longer"}
    assert len(findings) == 2
    assert findings.heading.startswith("Both together: ")


def test_a_late_host_is_named_once(study):
    late = study(clean=True, rank_faults=RankFaults(late_host_ms={3: 6}))
    findings = late.findings()
    truth = late.iterations().median_ns - study(clean=True).iterations().median_ns
    assert ids(findings) == ["host-late"]
    assert findings.items[0].gpus == (3,)
    assert findings.items[0].win_ns == pytest.approx(truth, rel=0.05)


def test_two_slow_ranks_are_one_finding(study):
    slow, clean = study(clean=True, fault="two-slow-ranks"), study(clean=True)
    (finding,) = slow.findings()
    assert finding.id == "ranks-longer"
    assert finding.gpus == (2, 5)
    truth = slow.iterations().median_ns - clean.iterations().median_ns
    # Flattening takes the ranks' chance away too, a little.
    assert finding.win_ns == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("layout", [{"tensor": 2, "data": 4}, {"data": 2, "stages": 4}])
def test_clean_jobs_of_other_layouts_have_nothing_to_mend(layout):
    assert ParallelJob(**layout).study().findings().verdict == "nothing"


def test_ranks_that_others_wait_for_are_named_where_a_replay_does_not_know_of_it():
    """No event tells that compute waits for collectives there: a replay wins nothing, the others waited."""
    (finding,) = ParallelJob(tensor=2, data=4, slow={3: 1.06}).study().findings()
    assert finding.id == "ranks-longer"
    assert finding.gpus == (3,)
    assert finding.grade == "ceiling"


def test_a_heavy_stage_is_named():
    (finding,) = ParallelJob(data=2, stages=4, heavy={1: 1.1}).study().findings()
    assert finding.id == "heavy-stage"
    assert finding.gpus == (2, 3)
    assert finding.title.startswith("Stage 1 of 4")


def test_a_wait_that_all_need_is_no_fault(study):
    """Tensor parallel compute waits for its all-reduces in every micro-batch, the optimizer for the rest."""
    assert list(needless_waits(FindingInputs(study(clean=True)))) == []
    (found,) = needless_waits(FindingInputs(study(clean=True, fault="needless-wait")))
    assert found.kind == "ReduceScatter"
    assert found.is_proven
    # Four a rank and iteration: the first layer has no bucket before it.
    assert len(found.kernels) == 8 * 8 * 4


def test_exposed_transfers_are_told_by_kind_and_are_a_finding_where_they_are_unusual(study, monkeypatch):
    clean = study(clean=True)
    inputs = FindingInputs(clean)
    found = communication_findings.exposed_transfers(inputs)
    assert set(found) == {"AllReduce", "ReduceScatter", "AllGather"}
    for gpu in range(8):
        within = union(*(edges[gpu] for edges in inputs.windows))
        _, transfer, unmatched = clean.collectives.exposed(gpu, within)
        together = reduce(or_, (spans[gpu] for spans in found.values()))
        assert together.total() == transfer + unmatched
    assert list(communication_findings.exposed_proposals(inputs)) == []
    (text,) = clean.findings().other_limits
    assert "AllReduce 5" in text
    monkeypatch.setattr(communication_findings, "UNUSUAL", 0.04)
    (proposal,) = communication_findings.exposed_proposals(inputs)
    assert proposal.id == "exposed:AllReduce"
    assert proposal.changes == ()


def test_a_planted_overlap_tax_is_named(study):
    (finding,) = study(clean=True, overlap_tax=0.15).findings()
    assert finding.id == "overlap-tax"
    assert finding.grade == "ceiling"


def test_gpus_whose_rows_were_lost_are_left_out(study):
    lost = study(clean=True, lose={2: 0.1})
    findings = lost.findings()
    assert all(2 not in finding.gpus for finding in findings)
    assert any("Rank 2" in text for text in findings.missing)


def test_without_iterations_times_stand_for_wins(shared_trace):
    found = Study(read(shared_trace("jacobi-1process-2gpus"), cache=False)).findings()
    assert found.items
    assert {finding.grade for finding in found} == {"measured"}
    assert all(finding.win_ns is None and finding.time_ns > 0 for finding in found)
    assert found.recorded_ns is None
    assert "No iterations were found" in " ".join(found.missing)
    assert "in all" in found.items[0].win_text


def test_a_recording_without_gpus_cannot_tell():
    study = Study(TraceMaker().trace(), Rules.builtin())
    assert study.findings().verdict == "unknown"
    assert study.findings().heading == "The recording cannot tell what to mend first."


def proposal(name, ns, spans):
    return Proposal(name, name, "", (0,), None, "", "", np.full(1, ns, np.int64), (), spans)


def test_no_millisecond_is_won_twice(study):
    inputs = FindingInputs(study(clean=True))
    first = proposal("first", 10 * MS, {0: window(0, 10 * MS)})
    inside = proposal("inside", 8 * MS, {0: window(0, 8 * MS)})
    half = proposal("half", 6 * MS, {0: window(7 * MS, 13 * MS)})
    elsewhere = proposal("elsewhere", 4 * MS, {1: window(0, 4 * MS)})
    found = ranked(inputs, [inside, half, elsewhere, first])
    assert [(item.id, item.win_ns) for item in found] == [
        ("first", 10 * MS),
        ("elsewhere", 4 * MS),
        ("half", 3 * MS),
    ]
    assert found.together_ns == inputs.length_ns - 17 * MS


def test_all_together_win_no_more_than_there_is(study):
    inputs = FindingInputs(study(clean=True))
    found = ranked(inputs, [proposal("a", 10**12, {}), proposal("b", 10**12, {})])
    assert [item.id for item in found] == ["a"]
    assert found.together_ns == 0


def test_what_is_not_listed_is_counted(study):
    item = study().findings().items[0]
    findings = Findings((replace(item),) * MOST, 100 * MS, 50 * MS, more=2)
    assert findings.heading.startswith("All seven together: 100.0 ms → 50.00 ms, −50.00 ms (50 %")
    assert findings.heading.endswith("2 more are not listed.")
