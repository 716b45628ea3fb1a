import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.recording.clocks import Clock
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
    return [f for f in study.diagnostics if f.severity == "error"]


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_invented_on_healthy_traces(real_study, name):
    study = real_study(name)
    assert errors(study) == []
    assert not any(c.is_shifted for c in study.clocks)
    for clock in study.clocks:
        if clock.lower_ns is not None and clock.upper_ns is not None:
            assert clock.upper_ns - clock.lower_ns < 434_000


@pytest.mark.parametrize("shift", [-3_670_000_000, -50_570_000, 19_250_000, 1_860_000_000])
@pytest.mark.parametrize(("name", "pid"), [("torchrun-2xh100-nccl", 145), ("inference-2xh100", 112)])
def test_a_shifted_clock_is_found_with_what_aligns_it(damaged, name, pid, shift):
    study = damaged(name, "--shift", f"{pid}:{shift}")
    healthy, shifted = study.clocks
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
    shifted = demo_of(shift={2: -50_000_000, 6: 19_000_000}).clocks
    assert [c.gpu for c in shifted if c.is_shifted] == [2, 6]
    lost = errors(demo_of(lose={2: 1.0, 4: 0.99}))
    assert {f.where for f in lost} == {"Rank 2", "Rank 4"}


def test_diagnostics_come_worst_first_and_say_what_was_not_recorded(real_study):
    found = real_study("power-iteration-t4").diagnostics
    order = {"error": 0, "warning": 1, "info": 2}
    assert [order[f.severity] for f in found] == sorted(order[f.severity] for f in found)
    assert "Not recorded: call chains" in {f.title for f in found}
    assert any(f.title == "Not all CUDA events might have been collected" for f in found)


def test_graphs_captures_and_unknown_launches():
    maker = TraceMaker(session_ns=10_000)
    for number in range(20):
        maker.call(10 * number, 10 * number + 5, correlation=number + 1)
    maker.graph(500, 900, correlation=99).kernel(0, 400)
    titles = [f.title for f in Study(maker.trace()).diagnostics]
    assert any("kernel launches, but kernels for 0" in t for t in titles)
    assert any("1 CUDA graph is recorded as one piece" in t for t in titles)
    assert any("no launch record" in t for t in titles)
    maker.call(0, 1, "cudaStreamBeginCapture")
    assert not any("but kernels for" in f.title for f in Study(maker.trace()).diagnostics)


def said(*texts, severity="error", **changes):
    """Return the diagnostics of a trace of one kernel in which nsys said these texts."""
    trace = TraceMaker().call(0, 5, correlation=1).kernel(10, 20, correlation=1).trace()
    rows = [(at, severity, "Analysis", text, 0) for at, text in enumerate(texts)]
    frame = pd.DataFrame(rows, columns=["time_ns", "severity", "source", "text", "pid"])
    return Study(replace(trace, diagnostics=frame, **changes)).diagnostics


NOISE = (
    "No OpenGL events collected. Does the process use OpenGL?",
    "Not all OpenGL events might have been collected.",
    "No NVTX events collected. Does the process use NVTX?",
    "No CUDA events collected. Does the process use CUDA?",
    "Unable to collect CPU kernel IP/backtrace samples. perf event paranoid level is 2. \nTry\nsudo",
    "Collection of CPU IP/backtrace samples or context switch data disabled. perf event paranoid level is 4.",
    "CUDA device 0: Unified Memory cannot be traced on devices that don't support peer-to-peer transfers."
    "Please verify that SLI/NVLink is functioning properly.",
)
REAL = (
    "Not all CUDA events might have been collected.",
    "CUDA profiling might have not been started correctly.",
    "Not all NVTX events might have been collected.",
)


@pytest.mark.parametrize("severity", ["warning", "error"])
def test_what_concerns_no_number_is_one_line_of_information(severity):
    found = said(*NOISE, *NOISE[:1], severity=severity)
    assert {f.severity for f in found} == {"info"}
    (folded,) = [f for f in found if "messages of nsys" in f.title]
    assert folded.title.startswith("8 messages")
    for text in NOISE:
        assert text.split("\n")[0].strip() in folded.meaning
    assert ".." not in folded.text
    assert "sudo" not in folded.text


def test_what_concerns_numbers_stays_what_it_is():
    found = [f for f in said(*REAL, REAL[0], *NOISE) if f.severity == "error"]
    assert [f.title for f in found] == [f"{REAL[0][:-1]} (2 times)", REAL[1][:-1], REAL[2][:-1]]
    assert found[0].text == "Not all CUDA events might have been collected (2 times). Reported by nsys."


def test_no_cuda_events_is_a_diagnostic_where_there_are_none():
    trace = TraceMaker().range(0, 5, "step").trace()
    frame = pd.DataFrame(
        [(0, "error", "", NOISE[3], 0)], columns=["time_ns", "severity", "source", "text", "pid"]
    )
    found = Study(replace(trace, diagnostics=frame)).diagnostics
    assert found[0].text == f"{NOISE[3]} Reported by nsys."


@pytest.mark.parametrize(
    ("name", "launches"),
    [
        ("cudaLaunchKernel", True), ("cuLaunchKernelEx", True), ("cudaGraphLaunch", True),
        ("cudaMemcpyAsync", True), ("cuMemsetD8Async", True), ("cudaLaunchCooperativeKernel_ptsz", True),
        ("cudaMemPrefetchAsync", True),
        ("cuInit", False), ("cuDeviceGetCount", False), ("cudaLaunchHostFunc", False), ("cudaMalloc", False),
        ("cudaMemGetInfo", False), ("cuModuleLoadData", False), ("cudaGraphAddMemcpyNode", False),
    ],
)  # fmt: skip
def test_only_calls_that_launch_something_miss_their_gpu_rows(name, launches):
    found = Study(TraceMaker().call(0, 5, name, correlation=1).trace()).diagnostics
    assert ("error" in {f.severity for f in found}) == launches
    assert any("GPU's side was not recorded" in f.meaning for f in found) == launches
    assert any(f.title == "No GPU activity in this recording" for f in found) == (not launches)


def test_calls_that_failed_launched_nothing(tmp_path):
    from tests.readers import exports
    from viewer.readers import read

    for returned, expected in ((0, "error"), (1, "info")):
        calls = [exports.call(correlationId=i, returnValue=returned) for i in range(20)]
        trace = read(exports.write(tmp_path / f"{returned}.sqlite", {exports.CALLS: calls}), cache=False)
        assert Study(trace).diagnostics[0].severity == expected


@pytest.mark.parametrize("name", [*HEALTHY, "cupti-events-missing", "nothing-recorded-2026"])
def test_every_diagnostic_is_whole_sentences(real_study, name):
    for diagnostic in real_study(name).diagnostics:
        assert ".." not in diagnostic.text
        assert (
            not diagnostic.where
            or diagnostic.text.count(diagnostic.where) == diagnostic.meaning.count(diagnostic.where) + 1
        )
        assert diagnostic.text.rstrip()[-1] in ".?!"


def test_one_physical_gpu_is_said_of_the_processes_of_one_host():
    made = TraceMaker(physical={(0, 0): 3, (1, 0): 3, (2, 0): 3, (3, 0): 4}, hosts={0: 1, 1: 2, 2: 1, 3: 1})
    for process in range(4):
        made.kernel(0, 10, process=process)
    shared = [f.title for f in Study(made.trace()).diagnostics if f.kind == "shared-gpu"]
    assert shared == ["Rank 0 GPU 0, Rank 2 GPU 0 are one physical GPU (3)"]
