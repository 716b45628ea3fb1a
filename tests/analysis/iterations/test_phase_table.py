"""The table of phases, counted by hand: what each takes, of what it is made, and where it lies."""

import pytest

from tests.analysis.make import TraceMaker
from tests.analysis.small_job import US, small_job
from viewer.analysis.core.classify import CLASSES, Rules
from viewer.analysis.iterations.phases import BY_RANGE, OWN_IN_BACKWARD
from viewer.analysis.study import Study
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.time.scope import iteration_scope


def table_of(study, chosen=None):
    iterations = study.iterations()
    scope = iteration_scope(iterations, chosen)
    rows = MetricInputs(study, scope, iterations).phase_table.to_dict("records")
    return {row["phase"]: row for row in rows}


@pytest.fixture(scope="module")
def study():
    return Study(small_job().trace(), Rules.builtin())


@pytest.fixture(scope="module")
def table(study):
    return table_of(study)


def test_a_row_for_each_phase(table):
    assert list(table) == ["forward", "backward", "optimizer"]
    assert {row["how"] for row in table.values()} == {BY_RANGE}


def test_times(table):
    assert [table[name]["compute_ns"] for name in table] == [100 * US, 205 * US, 40 * US]
    # From the first start to the last end of its operations: backward with its collective, forward alone.
    assert [table[name]["length_ns"] for name in table] == [100 * US, 300 * US, 40 * US]
    assert [table[name]["idle_ns"] for name in table] == [0, 0, 0]


def test_what_they_are_made_of(table):
    backward = table["backward"]
    assert (backward["kernels"], backward["small_kernels"], backward["seas"]) == (12, 0, 0)
    assert sum(backward[f"{name}_ns"] for name in CLASSES) == 3 * 700 * US
    assert backward["matrix multiply_ns"] == 3 * 410 * US
    assert backward["communication_ns"] == 3 * 290 * US
    shares = [top["share"] for top in backward["top_kernels"]]
    assert shares == pytest.approx([410 / 700, 290 / 700])
    assert [top["kernels"] for top in backward["top_kernels"]] == [6, 6]
    assert backward["top"] == "gemm_backward 58.6 %, AllReduce_Sum_bf16_RING_LL 41.4 %"


def test_where_they_lie(table):
    places = {name: (row["gpu"], row["start_ns"], row["end_ns"]) for name, row in table.items()}
    assert places == {
        "forward": (0, 150 * US, 250 * US),
        "backward": (0, 250 * US, 550 * US),
        "optimizer": (0, 600 * US, 640 * US),
    }


def test_of_other_iterations(study):
    table = table_of(study, [2])
    assert table["backward"]["kernels"] == 4
    assert table["backward"]["start_ns"] == 2250 * US
    assert table["backward"]["compute_ns"] == 205 * US


def step(maker, at, work, correlation, tid=1):
    """Launch work inside a range: (call, start, end, name, stream or graph) in µs."""
    for number, (call, start, end, name) in enumerate(work):
        identity = correlation + number
        maker.call((at + call) * US, (at + call + 1) * US, tid=tid, correlation=identity)
        if name == "graph":
            maker.graph((at + start) * US, (at + end) * US, correlation=identity)
        else:
            maker.kernel((at + start) * US, (at + end) * US, name, correlation=identity)


def job(work, steps=4, every=1000, ranges=(("forward", 0, 100), ("backward", 100, 200))):
    maker = TraceMaker()
    for number in range(steps):
        at = every * number
        maker.range(at * US, (at + 900) * US, f"step {number}")
        for name, low, high in ranges:
            maker.range((at + low) * US, (at + high) * US, name)
        step(maker, at, work(number) if callable(work) else work, 1 + 100 * number)
    return Study(maker.trace(), Rules.builtin())


def test_a_phase_is_torn_where_another_one_runs_and_holds_the_idle_time_between_its_own():
    work = [(10, 300, 310, "a"), (110, 320, 330, "b"), (20, 340, 350, "c"), (30, 370, 380, "d")]
    study = job(work)
    assert study.iterations().starts[0, 0] == 300 * US
    table = table_of(study)
    forward = study.phases().phase("forward").extent[0]
    assert forward.start_ns.tolist()[:2] == [300 * US, 340 * US]
    assert forward.end_ns.tolist()[:2] == [310 * US, 380 * US]
    assert table["forward"]["length_ns"] == (10 + 40) * US
    assert table["forward"]["compute_ns"] == 30 * US
    assert table["forward"]["idle_ns"] == 3 * 20 * US
    assert table["backward"]["idle_ns"] == 0


def test_a_graph_counts_as_compute():
    study = job([(10, 300, 310, "a"), (20, 315, 345, "graph"), (110, 350, 370, "b")])
    table = table_of(study)
    assert (table["forward"]["compute_ns"], table["forward"]["kernels"]) == (40 * US, 3)
    assert table["forward"]["length_ns"] == 45 * US


def test_iterations_without_a_phase_do_not_lower_its_median():
    # Every other iteration has forward alone, as in evaluation.
    both = [(10, 300, 310, "a"), (110, 320, 360, "b")]
    alone = [(10, 300, 340, "a"), (20, 345, 360, "c")]
    study = job(lambda number: alone if number % 2 else both, steps=6)
    phases = study.phases().over(tuple(range(6)))
    assert phases.has_both.tolist() == [[True, False] * 3]
    # Forward counts where there is a backward, too.
    assert (phases.forward_ns, phases.backward_ns) == (10 * US, 40 * US)
    assert phases.ratio == 4.0
    assert phases.ratios == (4.0,)
    assert phases.over((1, 3)).forward_ns is None
    assert phases.over((1, 3)).ratio is None
    assert phases.over((0, 1)).forward_ns == 10 * US
    assert phases.over(()).medians_ns("forward") == ()
    assert phases.over(()).forward_ns is None
    assert phases.medians_ns("optimizer") == ()
    assert phases.phase("optimizer") is None
    assert table_of(study, [1, 3])["backward"]["length_ns"] == 0


def test_forward_alone_has_its_median_without_any_backward():
    study = job([(10, 300, 310, "a"), (20, 320, 350, "c")], ranges=(("forward", 0, 100),))
    phases = study.phases()
    assert phases.forward_ns == 40 * US
    assert (phases.backward_ns, phases.ratio, phases.ratios) == (None, None, ())
    assert not phases.has_both.any()


def test_of_nested_phases_the_optimizer_wins_then_backward():
    ranges = (("forward", 0, 100), ("backward", 20, 80), ("optimizer", 40, 60))
    work = [
        (10, 300, 301, "f"),
        (30, 310, 312, "b"),
        (50, 320, 324, "o"),
        (70, 330, 338, "b"),
        (90, 350, 366, "f"),
    ]
    phases = job(work, ranges=ranges).phases()
    assert (phases.median_ns("forward"), phases.median_ns("backward")) == (17 * US, 10 * US)
    assert phases.median_ns("optimizer") == 4 * US


def threads(adopted, own, name="", forward=True):
    """Return the phases of steps with a backward range in which two threads launch so many kernels."""
    maker = TraceMaker()
    for number in range(4):
        at = 1000 * number
        maker.range(at * US, (at + 900) * US, f"step {number}")
        if forward:
            maker.range(at * US, (at + 100) * US, "forward")
        maker.range((at + 100) * US, (at + 200) * US, "backward")
        step(maker, at, [(10, 300, 310, "f")], 1 + 100 * number)
        step(maker, at, [(110 + i, 320 + i, 321 + i, "o") for i in range(own)], 10 + 100 * number)
        step(maker, at, [(110 + i, 400 + i, 401 + i, "b") for i in range(adopted)], 50 + 100 * number, tid=2)
    return Study(maker.trace(), Rules.builtin()).phases()


@pytest.mark.parametrize(("adopted", "own", "apart"), [(8, 4, 4), (3, 8, 8), (2, 8, 0), (1, 8, 0), (8, 0, 0)])
def test_own_launches_are_apart_where_another_thread_launches_the_gradients(adopted, own, apart):
    phases = threads(adopted, own)
    assert phases.median_ns("backward") == (adopted + own - apart) * US
    assert phases.median_ns(OWN_IN_BACKWARD) == (apart * US or None)
    if apart:
        assert phases.phase(OWN_IN_BACKWARD).how == phases.phase("backward").how == BY_RANGE
