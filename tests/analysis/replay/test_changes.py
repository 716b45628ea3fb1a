"""What single changes touch, and what they leave alone."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from tests.analysis.replay.test_by_hand import launches
from tests.analysis.training_job import TrainingJob
from viewer.analysis.replay.changes import (
    ChangeError,
    CloseHole,
    CloseIdle,
    CloseRange,
    FreeCall,
    FreeLaunches,
    Hide,
    NoWait,
    RemoveCall,
    RemoveCopies,
    Scale,
)
from viewer.analysis.replay.what_if import effects_of
from viewer.analysis.study import Study

US = 1_000


def effects(maker, *changes):
    return effects_of(Study(maker.trace()).replay, changes, None)


def cuts_of(found):
    """Return what is cut of each thread, in µs."""
    return {
        thread: list(zip((cut.start_ns // US).tolist(), (cut.end_ns // US).tolist(), strict=True))
        for thread, cut in found.cuts.items()
        if len(cut)
    }


@pytest.mark.parametrize(("gap", "closed"), [(20, [(16, 20), (24, 26)]), (19, [])])
def test_idle_of_ten_microseconds_is_closed_outside_calls(gap, closed):
    assert cuts_of(effects(launches(count=2, gap=gap), CloseIdle())) == ({0: closed} if closed else {})


def test_holes_are_closed_together():
    maker = launches(count=3, gap=20)
    both = effects(maker, CloseHole(0, 16 * US, 26 * US), CloseHole(0, 36 * US, 40 * US))
    assert cuts_of(both) == {0: [(16, 20), (24, 26), (36, 40)]}
    assert cuts_of(effects(maker, CloseHole(0, 17 * US, 19 * US))) == {0: [(17, 19)]}


def test_a_closed_range_keeps_its_calls():
    maker = launches(count=2, gap=20).range(2 * US, 22 * US, "load 3")
    assert cuts_of(effects(maker, CloseRange("load 3"))) == {0: [(4, 20)]}
    assert cuts_of(effects(maker, CloseRange("load #"))) == {0: [(4, 20)]}


def test_free_launches_leave_calls_that_wait():
    maker = launches(count=2, gap=20)
    maker.call(40 * US, 90 * US, "cudaMemcpy", correlation=9).copy(50 * US, 80 * US, correlation=9)
    assert cuts_of(effects(maker, FreeLaunches())) == {0: [(0, 4), (20, 24)]}


def test_a_class_is_scaled_by_its_name_and_label_and_others_by_what_their_names_hold():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.kernel(0, 10 * US, "ampere_sgemm_128x64").kernel(10 * US, 30 * US, "flash_fwd_kernel")
    for pattern, lasts in (
        ("gemm", [5, 20]),
        ("GEMM", [5, 20]),
        ("matrix multiply", [5, 20]),
        ("FLASH", [10, 10]),
    ):
        assert (effects(maker, Scale(pattern, 0.5)).work_ns // US).tolist() == lasts
    with pytest.raises(ChangeError, match="of the classes GEMM, attention"):
        effects(maker, Scale("nothing", 0.5))


def test_collectives_that_are_not_matched_are_not_scaled(demo_of):
    replay = demo_of(iterations=3, ranks=1).replay
    with pytest.raises(ChangeError, match="not matched over the ranks"):
        effects_of(replay, [Hide("AllReduce")], None)


def test_waits_elsewhere_stay():
    study = TrainingJob(needless=True, iterations=2).run().study()
    here, anywhere = (
        int(effects_of(study.replay, [NoWait("ReduceScatter", name)], None).dropped.sum())
        for name in ("needless-wait", None)
    )
    assert 0 < here < anywhere


def test_copies_that_run_beside_kernels_stay(demo_of):
    study = demo_of(iterations=3, clean=True)
    with pytest.raises(ChangeError, match="no HtoD copy lies before the first kernel"):
        study.what_if([RemoveCopies("HtoD")])


def test_no_change_is_lost_with_another_of_its_thread():
    maker = launches(count=3, gap=20).range(4 * US, 8 * US, "a").range(30 * US, 35 * US, "b")
    found = effects(maker, CloseRange("a"), CloseRange("b"), FreeLaunches())
    assert cuts_of(found) == {0: [(0, 8), (20, 24), (30, 35), (40, 44)]}
    assert not np.any(found.freed)


def test_a_call_that_is_removed_waits_for_nothing():
    maker = launches(count=1, gap=1).call(10 * US, 30 * US, "cudaDeviceSynchronize_v3020", correlation=5)
    for change in (RemoveCall("cudaDeviceSynchronize"), FreeCall(1)):
        found = effects(maker, change)
        assert found.freed.tolist() == [False, True]
        assert cuts_of(found) == {0: [(10, 30)]}
