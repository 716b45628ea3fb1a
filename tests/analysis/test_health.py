import subprocess
import sys

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.clocks import Clock, clocks
from viewer.analysis.health import findings
from viewer.analysis.study import Study

HEALTHY = (
    "torchrun-2xh100-nccl",
    "inference-2xh100",
    "pytorch-a100-nvtx",
    "jacobi-1process-2gpus",
    "power-iteration-t4",
    "single-gpu-2024.6",
    "gpuid-is-not-cudaid",
    "all-tables-empty",
)


@pytest.fixture
def damaged(shared, shared_trace, tmp_path):
    """A function that damages a copy of a trace and returns its numbers."""
    from viewer.readers import read

    def make(source, *arguments):
        path = shared_trace(source) if isinstance(source, str) else source
        target = tmp_path / "damaged.sqlite"
        tool = str(shared / "tools" / "damage.py")
        subprocess.run(
            [sys.executable, tool, str(path), str(target), *arguments], check=True, capture_output=True
        )
        return Study(read(target, cache=False))

    return make


def errors(study):
    return [f for f in findings(study) if f.severity == "error"]


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_invented_on_healthy_traces(real_study, name):
    study = real_study(name)
    assert errors(study) == []
    assert not any(c.is_shifted for c in clocks(study))
    for clock in clocks(study):
        if clock.lower_ns is not None and clock.upper_ns is not None:
            assert clock.upper_ns - clock.lower_ns < 434_000


@pytest.mark.parametrize("shift", [-3_670_000_000, -50_570_000, 19_250_000, 1_860_000_000])
@pytest.mark.parametrize(("name", "pid"), [("torchrun-2xh100-nccl", 145), ("inference-2xh100", 112)])
def test_a_shifted_clock_is_found_with_what_aligns_it(damaged, name, pid, shift):
    study = damaged(name, "--shift", f"{pid}:{shift}")
    healthy, shifted = clocks(study)
    assert not healthy.is_shifted
    assert shifted.is_early == (shift < 0)
    assert shifted.is_late == (shift > 0)
    assert shifted.offset_ns == pytest.approx(-shift, abs=100_000)
    (error,) = errors(study)
    assert error.where == study.trace.gpu_label(1)
    assert ("early" if shift < 0 else "late") in error.title


@pytest.mark.parametrize(
    ("lower_ns", "upper_ns", "early", "late", "contradicts"),
    [
        (60_408_880_000, 400_000, False, False, True),
        (-4_000, -(10**18), False, False, True),
        (300_000_000, -200_000_000, False, False, True),
        (12_300_000, 12_100_000, True, False, False),
        (-3_700_000_000, -3_699_000_000, False, True, False),
        (50_000, -40_000, False, False, False),
        (5_000_000, None, True, False, False),
        (-5_000, 300_000, False, False, False),
    ],
)
def test_bounds_that_contradict_each_other_are_no_shifted_clock(lower_ns, upper_ns, early, late, contradicts):
    clock = Clock(0, lower_ns, upper_ns)
    assert (clock.is_early, clock.is_late, clock.contradicts) == (early, late, contradicts)
    assert (clock.offset_ns != 0) == (early or late)


@pytest.mark.parametrize("fraction", ["1", "0.993", "0.5"])
def test_lost_rows_are_found(damaged, fraction):
    study = damaged("torchrun-2xh100-nccl", "--lose", f"145:{fraction}")
    (error,) = errors(study)
    assert "kernel launches, but kernels for" in error.title
    assert "not because it was idle" in error.meaning


def test_a_trace_that_lost_every_row(damaged):
    study = damaged("pytorch-a100-nvtx", "--lose", "764729:1")
    (error,) = errors(study)
    assert "no GPU activity at all" in error.title


def test_the_demo_and_its_damage(demo_of):
    assert errors(demo_of()) == errors(demo_of(like="distca")) == []
    shifted = clocks(demo_of(shift={2: -50_000_000, 6: 19_000_000}))
    assert [c.gpu for c in shifted if c.is_shifted] == [2, 6]
    lost = errors(demo_of(lose={2: 1.0, 4: 0.99}))
    assert {f.where for f in lost} == {"Rank 2", "Rank 4"}


def test_findings_come_worst_first_and_say_what_was_not_recorded(real_study):
    found = findings(real_study("power-iteration-t4"))
    order = {"error": 0, "warning": 1, "info": 2}
    assert [order[f.severity] for f in found] == sorted(order[f.severity] for f in found)
    assert "not recorded: call chains" in {f.title for f in found}
    assert any(f.title == "Not all CUDA events might have been collected" for f in found)


def test_graphs_captures_and_unknown_launches():
    maker = TraceMaker(session_ns=10_000)
    for number in range(20):
        maker.call(10 * number, 10 * number + 5, correlation=number + 1)
    maker.graph(500, 900, correlation=99).kernel(0, 400)
    titles = [f.title for f in findings(Study(maker.trace()))]
    assert any("kernel launches, but kernels for 0" in t for t in titles)
    assert any("1 CUDA graph is recorded as one piece" in t for t in titles)
    assert any("no launch record" in t for t in titles)
    maker.call(0, 1, "cudaStreamBeginCapture")
    assert not any("but kernels for" in f.title for f in findings(Study(maker.trace())))
