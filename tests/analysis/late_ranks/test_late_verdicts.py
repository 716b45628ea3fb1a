"""Who is late, and why, on jobs of eight ranks with planted faults; nobody on clean ones."""

import numpy as np
import pytest

from tests.analysis.collectives.parallel_job import MS, P2P, US, ParallelJob
from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.caused_waits import REASONS, caused_waits
from viewer.analysis.collectives.stages import find_stages
from viewer.analysis.core.classify import Rules
from viewer.analysis.late_ranks.late_verdicts import stands_out
from viewer.analysis.late_ranks.pipeline_costs import most_in_a_pipeline
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.scope import iteration_scope

LAYOUTS = {
    "data": {"tensor": 2, "data": 4},
    "tensor": {"tensor": 8},
    "pipeline": {"data": 2, "stages": 4},
    "pipeline of single ranks": {"stages": 8},
    "pipeline, rendezvous": {"data": 2, "stages": 4, "rendezvous": True},
    "all three": {"tensor": 2, "data": 2, "stages": 2},
    "all three, rendezvous": {"tensor": 2, "data": 2, "stages": 2, "rendezvous": True},
}


def late_ranks(**options):
    study = ParallelJob(**options).study()
    found = summary(study, study.iterations())
    return found.late_ranks, found


def named(late):
    return [(verdict.kind, verdict.gpus) for verdict in late.verdicts]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_clean_job_names_nobody(layout, seed):
    late, found = late_ranks(**LAYOUTS[layout], seed=seed)
    assert (late.verdict, named(late)) == ("none", [])
    assert found["late_ranks"].value == "none"
    assert not {"late_ranks", "slowest_rank", "rank_spread"} & {number.key for number in found.unusual}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"slow": {5: 1.025}}, [("ranks", (5,))]),
        ({"slow": {2: 1.06, 5: 1.05}}, [("ranks", (2, 5))]),
        ({"attention": {6: 1.3}}, [("ranks", (6,))]),
        ({"late_ms": {3: 6.0}}, [("host", (3,))]),
        ({"slow": {5: 1.05}, "lost": {1: 20}}, [("ranks", (5,))]),
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_who_was_planted_is_named_and_nobody_else(layout, fault, expected):
    late, _ = late_ranks(**LAYOUTS[layout], **fault)
    if LAYOUTS[layout].get("stages") == 8 and expected[0][0] == "ranks":
        # Nobody else does the work of a stage's only rank: it is the stage that is heavier.
        expected = [("stage", expected[0][1])]
    assert named(late) == expected
    assert late.verdicts[0].cost_ns > 0


@pytest.mark.parametrize("layout", [name for name, options in LAYOUTS.items() if "stages" in options])
def test_a_heavy_stage_is_named_as_a_stage(layout):
    late, _ = late_ranks(**LAYOUTS[layout], heavy={1: 1.1})
    size = 8 // LAYOUTS[layout]["stages"]
    assert named(late) == [("stage", tuple(range(size, 2 * size)))]


def test_a_node_is_found_as_a_set():
    late, found = late_ranks(tensor=2, data=4, slow=dict.fromkeys((4, 5, 6, 7), 1.05))
    assert named(late) == [("ranks", (4, 5, 6, 7))]
    assert found["slowest_rank"].value == ", ".join(f"Rank {r} GPU 0" for r in (4, 5, 6, 7))


def test_two_faults_are_two_verdicts_the_dearer_first():
    late, _ = late_ranks(tensor=2, data=4, late_ms={1: 4}, slow={6: 1.05})
    assert named(late) == [("host", (1,)), ("ranks", (6,))]
    assert late.verdicts[0].cost_ns > late.verdicts[1].cost_ns
    assert "its host is late in next(dataloader)" in late.verdicts[0].why


def test_a_host_that_is_late_every_other_time_is_late():
    assert named(late_ranks(tensor=2, data=4, late_ms={3: 6}, late_every=2)[0]) == [("host", (3,))]


def lost_ns(job, clean):
    """What all GPUs of a job lose per iteration, against the same job without its fault."""
    return job.ranks * (max(job.now) - max(clean.now)) / job.iterations


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hosts_that_are_late_in_turn_are_said_and_none_is_named(layout):
    clean, job = (ParallelJob(**LAYOUTS[layout], late_in_turn=ms, iterations=16) for ms in (0.0, 20.0))
    studies = [clean.study(), job.study()]
    late = summary(studies[1], studies[1].iterations()).late_ranks
    assert named(late) == [("unsure", ())]
    (verdict,) = late.verdicts
    assert "different ranks come late in turn" in verdict.why
    assert "its host is late in next(dataloader)" in verdict.why
    assert late.why_unsure == verdict.why
    found = verdict.share * job.ranks * max(job.now) / job.iterations
    assert 0.5 * lost_ns(job, clean) < found < 1.5 * lost_ns(job, clean)


@pytest.mark.parametrize(("late_ms", "expected"), [(0.08, []), (0.5, [("host", (1,))])])
def test_a_host_of_few_sets_is_named_from_one_per_cent_on(late_ms, expected):
    late, _ = late_ranks(data=2, iterations=9, late_ms={1: late_ms})
    assert late.arrivals[0].sets < 30
    assert late.arrivals[0].gpu == 1
    assert named(late) == expected


def test_hosts_late_in_turn_by_little_are_nothing():
    assert named(late_ranks(tensor=2, data=4, late_in_turn=0.1)[0]) == []


@pytest.mark.parametrize("slow", [{5: 1.05}, {2: 1.04, 5: 1.04}, {0: 1.06, 3: 1.06, 6: 1.06}])
@pytest.mark.parametrize("layout", ["pipeline", "pipeline, rendezvous", "all three", "all three, rendezvous"])
def test_what_slow_ranks_of_a_pipeline_cost_is_without_its_order(layout, slow):
    clean, job = (ParallelJob(**LAYOUTS[layout], slow=s) for s in ({}, slow))
    studies = [clean.study(), job.study()]
    before, after = (summary(study, study.iterations()).late_ranks for study in studies)
    compute = [sum(int(c.compute_ns.sum()) for c in late.comparisons) for late in (before, after)]
    # What all GPUs lose, less what the slow ones compute meanwhile.
    true = lost_ns(job, clean) - (compute[1] - compute[0])
    (verdict,) = after.verdicts
    assert (verdict.kind, verdict.gpus) == ("ranks", tuple(slow))
    assert "The cost is an estimate" in verdict.why
    assert 0.5 * true < verdict.cost_ns < 2.5 * true
    assert max(true, verdict.cost_ns) <= most_in_a_pipeline(after.comparisons, 8)


def test_which_kernels_are_longer_tells_a_clock_from_work():
    clock = late_ranks(tensor=2, data=4, slow={5: 1.05})[0].differences
    assert clock.all_alike
    work = late_ranks(tensor=2, data=4, attention={5: 1.3})[0].differences
    assert not work.all_alike
    (kernel,) = work.kernels
    assert (kernel.name, kernel.count, kernel.usual_count) == ("flash_attn_fwd", 8, 8)
    # 0.3 of 300 µs, forward and twice that backward, in two layers and two micro-batches.
    assert kernel.more_ns == pytest.approx(0.3 * 300 * US * 3 * 2 * 2, rel=0.1)
    assert kernel.share > 0.9


def test_a_longer_spin_is_no_more_work():
    trace = ParallelJob(tensor=2, data=4, attention={5: 1.3}).study().trace
    for table, says in (("", "more work"), ("[waiting]\nflash_attn\n", "mostly waiting")):
        study = Study(trace, Rules.parse(table + Rules.builtin_text(), "own"))
        (verdict,) = summary(study, study.iterations()).late_ranks.verdicts
        assert f"some kernels are longer, which is {says}: flash_attn_fwd" in verdict.why


@pytest.mark.parametrize("layout", LAYOUTS)
def test_waits_are_those_of_the_simulation(layout):
    job = ParallelJob(**LAYOUTS[layout], slow={3: 1.04})
    study = job.study()
    found, kernels, checked = study.collectives, study.trace.kernels, 0
    for stream in study.trace.streams:
        rank = study.trace.gpus[stream.gpu].process
        for row in range(*kernels.of(stream.index).indices(len(kernels))):
            true = job.waits.get((rank, stream.stream_id, int(kernels.start_ns[row])))
            if true is not None:
                # Of an eager receive up to 60 µs of a wait are within what a transfer takes.
                assert found.wait_ns[row] == pytest.approx(true, abs=70 * US)
                checked += 1
    assert checked > 500
    assert found.notes == ()
    if "stages" in LAYOUTS[layout]:
        size = 8 // LAYOUTS[layout]["stages"]
        assert found.stages == tuple(tuple(range(s, s + size)) for s in range(0, 8, size))


@pytest.mark.parametrize("layout", [name for name, options in LAYOUTS.items() if "stages" in options])
@pytest.mark.parametrize("shift", [40 * US, 110 * US])
def test_a_clock_that_is_off_makes_nobody_late(layout, shift):
    late, _ = late_ranks(**LAYOUTS[layout], shift={3: shift})
    assert {verdict.kind for verdict in late.verdicts} <= {"unsure"}
    assert not any(verdict.gpus for verdict in late.verdicts)


@pytest.mark.parametrize("layout", ["all three", "data"])
def test_a_slow_rank_whose_clock_is_off_costs_what_others_wait_at_most(layout):
    late, _ = late_ranks(**LAYOUTS[layout], slow={3: 1.06}, shift={3: 110 * US})
    (verdict,) = late.verdicts
    assert (verdict.kind, verdict.gpus) == ("ranks", (3,))
    assert "Its clock is off: the cost is what the others would wait at most" in verdict.why
    (excess,) = (int(c.excess_ns[c.gpus.index(3)]) for c in late.comparisons if 3 in c.gpus)
    assert verdict.cost_ns == 7 * excess


def test_a_rank_without_known_peers_is_of_the_stage_that_runs_its_kernels():
    def job(shift):
        maker, random = TraceMaker(), np.random.default_rng(1)
        for k in range(60):
            work = 200 * US + int(random.integers(0, 300 * US))
            for process in range(6):
                at, stage = k * MS + 50 * US * (process % 3) + shift.get(process, 0), process // 3
                # The last stage has a kernel more; it waits until the first one sends.
                maker.kernel(at, at + (work if stage == 0 else 20 * US), "gemm", 7, process)
                if stage:
                    maker.kernel(at + 21 * US, at + 30 * US, "loss", 7, process)
                sent = at + work + 5 * US
                maker.kernel(sent if stage == 0 else at + 40 * US, sent + 60 * US, P2P, 28, process)
        return Study(maker.trace(), Rules.builtin()).collectives

    assert job({}).stages == ((0, 1, 2), (3, 4, 5))
    off = job({1: 20 * MS})
    assert any("peers are not known" in note for note in off.notes)
    assert off.stages == ((0, 1, 2), (3, 4, 5))


def test_stages_are_unknown_where_it_is_not_known_of_which_one_a_rank_is():
    maker = TraceMaker()
    for process in range(4):
        maker.kernel(0, 10 * US, "gemm", 7, process)
    trace = maker.trace()
    assert find_stages(trace, [(0, 2), (1, 3)], {0, 1, 2, 3}) == ((0, 1), (2, 3))
    assert find_stages(trace, [(0, 2)], {0, 1, 2, 3}) == ()
    # Both stages run the same: 1 and 3 may be of either.
    assert find_stages(trace, [(0, 2)], {0, 1, 2}) == ()


def test_data_parallel_twins_are_nobodys_peers():
    study = ParallelJob(data=2, stages=4).study()
    pairs = {g.gpus for g in study.collectives.groups if study.trace.names[g.name_id] == P2P}
    assert pairs == {(a, a + 2) for a in range(6)}


def test_sends_without_known_peers_are_unknown_and_it_is_said():
    maker, random = TraceMaker(), np.random.default_rng(1)
    for k in range(60):
        for process in range(4):
            start = k * MS + int(random.integers(0, 100 * US))
            maker.kernel(start, start + int(random.integers(60, 800)) * US, P2P, 28, process)
    found = Study(maker.trace(), Rules.builtin()).collectives
    assert (found.wait_ns == -1).all()
    assert all("peers are not known" in note for note in found.notes)
    assert found.table["exposed_wait_ns"].tolist() == [0] * 4


def test_an_all_to_all_of_sends_waits_for_the_last():
    maker, random = TraceMaker(), np.random.default_rng(1)
    waits = {}
    for k in range(60):
        starts = k * MS + random.integers(0, 300 * US, 4)
        for process, start in enumerate(starts.tolist()):
            maker.kernel(start, int(starts.max()) + 100 * US, P2P, 28, process)
            waits[process, start] = int(starts.max()) - start
    study = Study(maker.trace(), Rules.builtin())
    (group,) = study.collectives.groups
    assert (group.kind, group.gpus) == ("AllToAll", (0, 1, 2, 3))
    start = study.trace.kernels.start_ns
    assert [waits[m, int(s)] for m, row in enumerate(group.kernels) for s in start[row]] == (
        study.collectives.wait_ns[group.kernels].ravel().tolist()
    )


def test_all_waiting_has_a_root_and_none_is_counted_twice():
    study = ParallelJob(tensor=2, data=4, slow={3: 1.04}, late_ms={6: 2}).study()
    iterations, collectives = study.iterations(), study.collectives
    caused = caused_waits(collectives, iterations.starts[:, :-1], iterations.starts[:, 1:])
    waited = 0
    for group in collectives.groups:
        rows = group.kernels[:, group.matched]
        waited += int(collectives.wait_ns[rows].sum())
    # All waits are exposed here: nothing runs beside a collective.
    assert int(caused.root_ns.sum()) == pytest.approx(waited, rel=0.01)
    by_reason = caused.root_ns.sum(axis=1)
    assert by_reason[3].argmax() == REASONS.index("compute")
    assert by_reason[6].argmax() == REASONS.index("host")
    assert caused.by_rank[[3, 6]].sum() > 0.9 * waited


def test_a_rank_that_waited_itself_hands_the_blame_on():
    """0 and 1 meet, then 1 and 2: 2 waits for 1 only because 1 has waited for 0."""
    maker = TraceMaker()
    for k in range(30):
        at = k * 2 * MS
        for process in range(3):
            maker.kernel(at, at + 100 * US + (400 * US if process == 0 else 0), "gemm", 7, process)
        first, second = at + 510 * US, at + 600 * US
        maker.kernel(first, first + 50 * US, "ncclDevKernel_AllReduce_Sum_bf16", 20, 0)
        maker.kernel(at + 110 * US, first + 50 * US, "ncclDevKernel_AllReduce_Sum_bf16", 20, 1)
        maker.kernel(second, second + 50 * US, "ncclDevKernel_AllGather_RING_LL", 24, 1)
        maker.kernel(at + 110 * US, second + 50 * US, "ncclDevKernel_AllGather_RING_LL", 24, 2)
    study = Study(maker.trace(), Rules.builtin())
    edges = np.tile(np.array([[2 * MS], [58 * MS]]), (1, 3))
    caused = caused_waits(study.collectives, edges[0][:, None], edges[1][:, None])
    total = caused.root_ns.sum()
    # Of the 490 µs that 2 waits, 1 has waited 400 for 0; the rest it transferred, and was idle.
    assert caused.by_rank[0] == pytest.approx(total * (400 + 400) / (400 + 490), rel=0.02)
    assert caused.by_rank[2] == 0


@pytest.mark.parametrize("iterations", [1, 2])
def test_too_few_iterations_name_no_host(iterations):
    late, _ = late_ranks(tensor=2, data=4, iterations=6, late_ms={3: 6})
    assert late.verdict == "host"
    study = ParallelJob(tensor=2, data=4, iterations=6, late_ms={3: 6}).study()
    scope = iteration_scope(study.iterations(), list(range(1, 1 + iterations)))
    late = summary(study, study.iterations(), scope).late_ranks
    assert named(late) == [("unsure", ())]
    assert "rank 3" in late.why
    assert late.why_unsure


def test_the_report_has_it(demo_of):
    demo_study = demo_of()
    facts = report(demo_study)
    late = facts["late_ranks"]
    assert (late["verdict"], late["ranks"], late["all_alike"]) == ("ranks", [5], True)
    assert late["cost_ns"] > 0
    assert late["kernels"][0]["name"].startswith("flash_bwd")
    assert late["ranges"][0]["name"] == "layer #"
    first = late["arrives_last"][0]
    assert (first["rank"], first["cause"]) == (5, "it computes longer before it arrives")
    assert first["sets"] <= first["of"]
    iteration = report(demo_study, iteration=2)
    assert (
        0
        < sum(g["sets"] for g in iteration["collectives"]["groups"])
        < sum(g["sets"] for g in facts["collectives"]["groups"])
    )
    assert iteration["late_ranks"]["arrives_last"][0]["of"] < first["of"]


def test_collectives_of_a_range_are_clipped_to_it(demo_study):
    low, high = demo_study.trace.window_ns
    middle = (low + high) // 2 + 12_345
    whole, first, second = (
        report(demo_study, window)["collectives"] for window in (None, (low, middle), (middle, high))
    )
    for rank in range(8):
        for key in ("wait_ns", "transfer_ns"):
            assert first["ranks"][rank][key] + second["ranks"][rank][key] == whole["ranks"][rank][key]


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        # Everybody causes as much: nobody stands out, however much it is.
        ([0.02] * 10, 0.02, False),
        ([0.02] * 10, 0.0, True),
        ([0.0049] * 10, 0.0, False),
        ([0.0051] * 10, 0.0, True),
        # Most of it in two iterations, and again and again in four of ten.
        ([0.05, 0.05] + [0.0] * 8, 0.0, False),
        ([0.05, 0.05, 0.05, 0.05] + [0.0] * 6, 0.0, True),
        # Of three iterations all have to show it, and by more.
        ([0.02, 0.02, 0.02], 0.0, True),
        ([0.02, 0.02, 0.002], 0.0, False),
        ([0.009, 0.009, 0.009], 0.0, False),
    ],
)
def test_who_causes_more_than_others_by_enough_again_and_again_stands_out(own, others, expected):
    shares = np.full((8, len(own)), others)
    shares[3] = own
    assert stands_out(shares, 3, list(range(8)), 0.0) == expected
    # What its clock may explain is taken off first.
    assert not stands_out(shares, 3, list(range(8)), 0.05)
