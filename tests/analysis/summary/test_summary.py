import json

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.analysis.summary.reconcile import reconcile
from viewer.analysis.summary.registry import METRICS
from viewer.analysis.summary.report import report
from viewer.analysis.summary.sections import SECTIONS
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.scope import iteration_scope


def summary_of(study):
    return summary(study, study.iterations())


def test_what_is_wrong_with_the_demo_is_named_and_nothing_else(demo_of):
    found = summary_of(demo_of())
    assert {v.key for v in found.unusual} == {
        "exposed_comm", "idle", "copies_in_front", "late_ranks", "slowest_rank", "rank_spread",
    }  # fmt: skip
    assert found["slowest_rank"].value == "Rank 5 GPU 5"
    assert found["late_ranks"].value.startswith("rank 5: computes longer, 3.")


def test_nothing_is_invented_on_a_clean_demo(demo_of):
    study = demo_of(clean=True)
    found = {v.key for v in summary_of(study).unusual}
    late = {"late_ranks", "slowest_rank", "rank_spread"}
    assert not found & {"idle", "copies_in_front", "seas_outside_optimizer", *late}
    assert summary_of(study)["late_ranks"].value == "none"
    assert set(study.iterations().flags) == {None}


def test_warm_up_and_checkpoints_of_the_demo_are_flagged_with_why(demo_of):
    iterations = demo_of().iterations()
    assert iterations.flags[0] == "warm-up"
    checkpoints = [iteration for iteration, flag in enumerate(iterations.flags) if flag == "checkpoint"]
    assert checkpoints
    assert all("save_checkpoint" in iterations.why[iteration] for iteration in checkpoints)
    assert iterations.steady is not None
    assert not set(iterations.steady.indices) & {0, *checkpoints}


def test_a_sample_around_five_iterations_is_five_iterations(demo_of):
    iterations = demo_of(like="distca").iterations()
    assert iterations.count == 20
    assert iterations.names[:6] == (
        *(f"sample_0(repeat=5) {k}/5" for k in range(1, 6)),
        "sample_1(repeat=5) 1/5",
    )
    longer = [iteration for iteration, flag in enumerate(iterations.flags) if flag == "outlier"]
    assert longer == [4, 9, 14], "the sleep between samples belongs to the iteration before it"


@pytest.mark.parametrize("options", [{}, {"like": "distca"}])
def test_numbers_add_up_and_can_be_shown(demo_of, options):
    study = demo_of(**options)
    found = summary_of(study)
    parts = [found[k].value for k in ("compute_only", "hidden_comm", "exposed_comm", "copy_only", "idle")]
    assert sum(parts) == found.scope.total_ns
    assert found["no_kernel"].value == parts[3] + parts[4]
    assert found["idle_between"].value + found["idle_inside"].value == found["idle"].value
    assert found["sync_idle"].value <= found["sync_time"].value
    assert sum(len(found.table(section)) for section in SECTIONS) == len(found.numbers)
    assert {number.metric for number in found.numbers} <= set(METRICS)
    for metric in found.numbers:
        assert metric.definition
        assert metric.per_gpu == () or len(metric.per_gpu) == 8
    classes = found.tables["classes"]
    assert classes["share"].sum() == pytest.approx(1.0)
    json.dumps(report(study))


def test_without_an_optimizer_range_no_burst_is_called_strange(demo_of):
    bursts = summary_of(demo_of(like="distca"))["seas_outside_optimizer"]
    assert bursts.value > 0
    assert bursts.is_usual is None
    assert "No range is called optimizer" in bursts.definition


def test_evidence_lies_where_the_number_says(demo_of):
    study = demo_of()
    found = summary_of(study)
    idle = found["idle"].where()
    parts = study.parts[idle.gpu].totals(idle.start_ns, idle.end_ns)
    assert parts[4] == idle.end_ns - idle.start_ns


def test_every_number_says_where_to_look(demo_of):
    study = demo_of()
    found = summary_of(study)
    low, high = found.scope.hull
    for metric in found.numbers:
        if metric.value in (0, None) or metric.key == "own_launches_in_backward":
            continue
        for gpu in (None, *(g for g, value in enumerate(metric.per_gpu) if value)):
            spot = metric.where(gpu)
            assert spot is not None, (metric.key, gpu)
            assert low <= spot.start_ns < spot.end_ns <= high, metric.key
            assert gpu is None or spot.gpu == gpu
    three = found["idle"].where(3)
    assert study.parts[3].totals(three.start_ns, three.end_ns)[4] == three.end_ns - three.start_ns


def test_a_range_counts_the_iterations_that_lie_inside(demo_of):
    study = demo_of()
    iterations = study.iterations()
    scope = study.range_scope(iterations.start_ns(2), iterations.end_ns(3) + 1)
    found = summary(study, iterations, scope=scope)
    assert found["iterations"].value == f"2 of {iterations.count}"
    assert found["iterations"].is_usual is None
    assert found["forward"].value == study.phases().over((2, 3)).median_ns("forward")
    inside = study.range_scope(iterations.start_ns(2) + 1000, iterations.start_ns(2) + 50_000_000)
    part = summary(study, iterations, scope=inside)
    assert part["iteration"].value is part["forward"].value is None
    assert "slowest_rank" not in {v.key for v in part.numbers}


def test_a_range_and_chosen_iterations_are_scopes_too(demo_of):
    study = demo_of()
    start, end = study.trace.window_ns
    scope = study.range_scope(start, end)
    whole = summary(study, study.iterations(), scope=scope)
    assert whole.scope is scope
    assert whole["idle"].value == sum(int(p.totals(start, end)[4]) for p in study.parts)
    one = summary(study, study.iterations(), scope=iteration_scope(study.iterations(), [4]))
    assert one.scope.iterations == (4,)
    assert one["iteration"].value == study.iterations().duration_ns[4]


@pytest.mark.parametrize("name", ["pytorch-a100-nvtx", "jacobi-1process-2gpus", "nothing-recorded-2026"])
def test_real_traces_have_a_summary(real_study, name):
    study = real_study(name)
    found = summary_of(study)
    assert found["idle"].unit == "ns"
    assert found["idle"].value <= found.scope.total_ns
    json.dumps(report(study))


def test_lost_rows_and_shifted_clocks_stand_beside_the_numbers(demo_of):
    assert summary_of(demo_of()).doubts == ()
    lost = summary_of(demo_of(lose={2: 1.0})).doubts
    assert [f.where for f in lost] == ["Rank 2"]
    assert [f.gpu for f in summary_of(demo_of(shift={2: -50_000_000})).doubts] == [2]


def test_exposed_communication_beside_graphs_is_a_lower_bound():
    maker = TraceMaker().kernel(0, 100, "ncclDevKernel_AllReduce").graph(50, 300)
    found = summary_of(Study(maker.trace(), Rules.builtin()))["exposed_comm"]
    assert found.value == 50
    assert found.title == "exposed communication (at least)"
    assert "lower bound" in found.definition


def test_no_steady_state_is_said(real_study):
    found = summary_of(real_study("pytorch-a100-nvtx"))
    assert found["iterations"].is_usual is False
    assert not found.scope.is_steady
    assert found.scope.what == "not steady: 58 of 59 iterations"


def test_a_figure_from_elsewhere_is_matched_to_its_definition(demo_of):
    study = demo_of()
    iterations = study.iterations()
    scope = study.default_scope(iterations)
    own = reconcile(study, scope, "idle", summary_of(study)["idle"].share, iterations)
    assert own.agrees
    assert own.explained_by is None
    looser = {r.name: r.share for r in own.interpretations}
    assert looser["idle"] < looser["no kernel"] < looser["no compute kernel"]
    assert looser["gaps of the busiest stream"] < looser["sum of the gaps of all streams"]
    assert reconcile(study, scope, "idle", looser["no kernel"], iterations).explained_by.name == "no kernel"
    assert reconcile(study, scope, "idle", 0.7, iterations).explained_by is None
    exposed, hidden = summary_of(study)["exposed_comm"].share, summary_of(study)["hidden_comm"].share
    communication = reconcile(study, scope, "communication", exposed + hidden)
    assert communication.explained_by.name == "all communication"


def test_a_figure_of_one_iteration(demo_of):
    study = demo_of()
    iterations = study.iterations()
    scope = iteration_scope(iterations, [4])
    for what in ("idle", "communication", "compute", "copies"):
        found = reconcile(study, scope, what, 0.5, iterations)
        assert 0 <= found.ours.share <= 1
        assert sum(r.is_ours for r in found.interpretations) == 1
