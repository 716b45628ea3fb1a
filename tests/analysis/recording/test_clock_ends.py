"""Clocks that are off by too little, or by a growing time, for launches and synchronisations to show."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.recording.alignment import align
from viewer.analysis.recording.clock_ends import end_offsets
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report


def apart(study):
    return {end.gpu: end for end in end_offsets(study.trace, study.classes)}


def found(study, *kinds):
    return [diagnostic for diagnostic in study.diagnostics if diagnostic.kind in kinds]


@pytest.mark.parametrize("shift", [{3: 30_000}, {3: -12_000}, {5: 70_000}, {2: 40_000, 5: -90_000}])
def test_a_shift_of_some_microseconds_is_told_by_the_ends_of_collectives(demo_of, shift):
    study = demo_of(iterations=4, shift=shift)
    ends = apart(study)
    assert {gpu: end.offset_ns for gpu, end in ends.items()} == pytest.approx(shift, abs=1_000)
    assert not any(end.is_drift for end in ends.values())
    said = found(study, "clock-apart")
    assert [(f.gpu, f.severity) for f in said] == [(gpu, "warning") for gpu in sorted(shift)]
    assert all(abs(f.align_ns + shift[f.gpu]) < 1_000 for f in said)
    assert not found(study, "shifted-clock", "contradicting-clock")


def test_waits_are_doubtful_until_it_is_aligned_and_nothing_else(demo_of):
    facts = report(demo_of(iterations=4, shift={3: 30_000}))
    doubtful = {number["key"] for number in facts["summary"] if not number["reliable"]}
    assert {"rank_wait", "exposed_wait"} <= doubtful
    assert not doubtful & {"idle", "compute_only", "rank_compute", "iteration"}
    (clock,) = [line for line in facts["unreliable"] if line["what"] == "clocks"]
    assert (clock["device"], "collectives" in clock["keys"]) == (3, True)
    sound = report(demo_of(iterations=4))
    assert not {n["key"] for n in sound["summary"] if not n["reliable"]} & {"rank_wait", "exposed_wait"}


def test_aligned_it_is_as_the_others_and_waits_are_its_own(demo_of):
    study = demo_of(iterations=4, shift={3: 30_000})
    (said,) = found(study, "clock-apart")
    aligned = Study(align(study.trace, {said.gpu: said.align_ns}), study.rules)
    assert not found(aligned, "clock-apart")
    sound = demo_of(iterations=4)
    waits = [s.collectives.table["wait_ns"].to_numpy() for s in (sound, aligned)]
    sets = sound.collectives.table["sets"].to_numpy()
    assert (np.abs(waits[1] - waits[0]) <= 1_000 * sets).all()


@pytest.mark.parametrize(
    "options",
    [{}, {"clean": True}, {"like": "distca"}, {"ranks": 2}, {"tensor": 4}, {"shift": {3: 8_000}}],
)
def test_sound_clocks_and_less_than_ten_microseconds_are_not_said(demo_of, options):
    study = demo_of(iterations=4, **options)
    assert apart(study) == {}
    assert not found(study, "clock-apart", "shifted-clock", "contradicting-clock")


@pytest.mark.parametrize(("drift", "shift"), [(40_000, 0), (150_000, 0), (-150_000, 60_000), (400_000, 0)])
def test_a_clock_that_drifts_is_told_from_one_that_is_shifted(demo_of, drift, shift):
    study = demo_of(iterations=4, drift={4: drift}, shift={4: shift})
    (end,) = apart(study).values()
    low, high = study.trace.window_ns
    assert end.gpu == 4
    assert end.drift_ns == pytest.approx(drift * (high - low) / 1e9, abs=3_000)
    assert end.offset_ns == pytest.approx(shift + drift * (high + low) / 2e9, abs=2_000)
    (said,) = found(study, "clock-apart", "shifted-clock", "contradicting-clock")
    assert "its clock drifts" in said.title


def test_a_drift_of_milliseconds_is_told_by_the_bounds(demo_of):
    study = demo_of(iterations=4, drift={1: -3_000_000}, shift={1: 20_000_000})
    low, high = study.trace.window_ns
    clock = study.clocks[1]
    assert clock.drift.growth_ns == pytest.approx(3_000_000 * (high - low) / 1e9, rel=0.05)
    assert clock.offset_ns == pytest.approx(-20_000_000 + 3_000_000 * (high + low) / 2e9, abs=100_000)
    (said,) = found(study, "clock-apart", "shifted-clock", "contradicting-clock")
    assert said.severity == "error"
    assert "its clock drifts, by" in said.title
    plain = demo_of(iterations=4, shift={1: 20_000_000})
    assert plain.clocks[1].drift is None
    assert "late by at least" in found(plain, "shifted-clock")[0].title


def ranks(lags, names=("ncclDevKernel_AllReduce_Sum_f32_RING_LL",), lengths=(100_000,), partners=None):
    """Collectives that end on each rank `lags` after the first one's, in the groups of `partners`."""
    maker = TraceMaker(session_ns=10**9)
    groups = partners or [range(len(lags))]
    for number in range(24):
        for which, name in enumerate(names):
            length = lengths[(number + which) % len(lengths)]
            for place, group in enumerate(groups):
                end = number * 1_000_000 + which * 400_000 + length + place * 137 * (number % 5)
                for rank in group:
                    maker.kernel(
                        end - length + lags[rank], end + lags[rank], name, stream=20 + which, process=rank
                    )
    return Study(maker.trace(), Rules.builtin())


ALL_GATHER = "ncclDevKernel_AllGather_RING_LL"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def test_a_lag_of_one_kind_alone_is_the_algorithm_s():
    assert apart(ranks([0, 12_000, 24_000, 36_000])) == {}, "a ring ends one after another"
    two = ranks([0, 20_000])
    assert apart(two) == {}, "one kind between two GPUs tells nothing"


def test_of_two_gpus_two_kinds_tell_that_they_differ_and_not_whose_clock_it_is():
    (end,) = apart(ranks([0, 20_000], (ALL_REDUCE, ALL_GATHER))).values()
    assert (end.gpu, end.offset_ns, end.partner, end.kinds) == (1, 20_000, 0, 2)
    (end,) = apart(ranks([0, -20_000], lengths=(100_000, 300_000))).values()
    assert (end.offset_ns, end.kinds) == (-20_000, 2)
    study = ranks([0, 20_000], (ALL_REDUCE, ALL_GATHER))
    assert "either of the two clocks may be off" in found(study, "clock-apart")[0].meaning


def test_one_that_ends_together_with_a_partner_of_its_own_is_sound():
    # Two pairs in step, the second one 15 µs later each time: no clock is off.
    maker_lags = [0, 0, 15_000, 15_000]
    assert apart(ranks(maker_lags, (ALL_REDUCE, ALL_GATHER), partners=[(0, 1), (2, 3)])) == {}


def test_a_group_in_step_that_seems_to_drift_hides_no_shift():
    maker = TraceMaker(session_ns=10**9)
    # Of six sets alone, the second pair's come later and later by chance, with 2 µs around a straight line.
    later = [2_000, 4_000, 14_000, 16_000, 26_000, 28_000]
    for number, more in enumerate(later):
        for rank in range(4):
            clock = 30_000 if rank == 3 else 0
            end = number * 1_000_000 + 100_000 + clock + 100 * ((number + rank) % 3)
            own = end + more * (rank > 1)
            maker.kernel(own - 100_000, own, ALL_GATHER, stream=20, process=rank)
            maker.kernel(end + 300_000, end + 400_000, ALL_REDUCE, stream=21, process=rank)
    (end,) = apart(Study(maker.trace(), Rules.builtin())).values()
    assert (end.gpu, end.is_drift) == (3, False)
    assert end.offset_ns == pytest.approx(30_000, abs=500)


@pytest.mark.parametrize("sets", [3, 4])
def test_few_sets_tell_a_shift_where_all_of_them_say_the_same(sets):
    def job(odd):
        maker = TraceMaker(session_ns=10**9)
        for number in range(sets):
            for which, name in enumerate((ALL_GATHER, ALL_REDUCE)):
                for rank in range(3):
                    clock = 30_000 if rank == 2 else 0
                    end = (
                        number * 1_000_000
                        + which * 400_000
                        + 100_000
                        + clock
                        + odd * (number == 2 and rank == 2)
                    )
                    maker.kernel(end - 100_000, end, name, stream=20 + which, process=rank)
        return apart(Study(maker.trace(), Rules.builtin()))

    (end,) = job(0).values()
    assert (end.gpu, end.offset_ns, end.kinds) == (2, 30_000, 2)
    # All but one alike may be chance.
    assert job(20_000) == {}


def test_sends_and_receives_are_no_evidence():
    names = ("ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv_2")
    assert apart(ranks([0, 0, 0, 30_000], names)) == {}


def test_offsets_that_vary_are_none():
    maker = TraceMaker(session_ns=10**9)
    for number in range(24):
        for rank in range(4):
            late = 30_000 * (number % 3) if rank == 3 else 0
            end = number * 1_000_000 + 100_000 + late
            maker.kernel(end - 100_000, end, ALL_REDUCE, stream=20, process=rank)
    assert apart(Study(maker.trace(), Rules.builtin())) == {}


def test_the_shared_case_is_right(shared_case):
    study = shared_case("x_shift_30000")
    (said,) = found(study, "clock-apart", "shifted-clock")
    assert study.trace.processes[study.trace.gpus[said.gpu].process].rank == 3
    assert said.align_ns == pytest.approx(-30_000, abs=500)
    aligned = Study(align(study.trace, {said.gpu: said.align_ns}), study.rules)
    waits = aligned.collectives.wait_ns[aligned.collectives.wait_ns >= 0]
    assert waits.max() <= 7_500


def test_two_contexts_do_not_contradict_each_other(shared_case):
    assert not found(shared_case("x_ctx2"), "contradicting-clock", "shifted-clock", "clock-apart")
