import runpy
import sys

import numpy as np
import pytest

from viewer.analysis.recording.alignment import align, offsets
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read
from viewer.trace import GPU_KINDS, Kind

MS = 1_000_000


@pytest.fixture(scope="module", params=[-50_570_000, 19_250_000, -1_810_000_000])
def shifted(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("shifted") / "demo.sqlite"
    make_demo(path, DemoOptions(iterations=3, shift={2: request.param}))
    return Study(read(path, cache=False)), request.param


def offsets_of(study):
    return offsets(study.clocks, study.launches, study.classes)


def gpu_of(study, rank):
    return next(g.index for g in study.trace.gpus if study.trace.processes[g.process].rank == rank)


def test_a_shifted_clock_is_said_with_what_aligns_it(shifted):
    study, shift = shifted
    gpu = gpu_of(study, 2)
    told = [f for f in study.diagnostics if f.align_ns is not None]
    assert [f.gpu for f in told] == [gpu]
    assert told[0].severity == "error"
    assert ("early" if shift < 0 else "late") in told[0].title
    assert abs(told[0].align_ns + shift) < 3_000, "collectives' ends refine it to microseconds"


def test_after_the_alignment_collectives_overlap_and_it_is_marked(shifted):
    study, _ = shifted
    gpu = gpu_of(study, 2)
    by_ns = offsets_of(study)
    aligned = Study(align(study.trace, by_ns))
    assert sorted(len(g.gpus) for g in aligned.collectives.groups) == [2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8]
    assert aligned.collectives.notes == ()
    assert not any(clock.is_shifted for clock in aligned.clocks)
    assert aligned.trace.gpus[gpu].aligned_ns == by_ns[gpu]
    assert aligned.trace.gpu_label(gpu).endswith("(aligned)")
    assert any("are moved by" in note for note in aligned.trace.notes)
    said = [f for f in aligned.diagnostics if f.gpu == gpu]
    assert [f.severity for f in said] == ["warning"]
    assert offsets_of(aligned) == {}


def test_only_that_gpu_s_operations_move(shifted):
    study, _ = shifted
    gpu = gpu_of(study, 2)
    moved = align(study.trace, {gpu: 5})
    for kind in Kind:
        before, after = study.trace.events[kind], moved.events[kind]
        expected = np.zeros(len(before), np.int64)
        if kind in GPU_KINDS:
            for stream in study.trace.streams_of(gpu):
                expected[before.of(stream.index)] = 5
        assert (after.start_ns - before.start_ns == expected).all()
        assert (after.end_ns - before.end_ns == expected).all()


def test_two_alignments_add_up(demo_trace):
    twice = align(align(demo_trace, {0: 5}), {0: -2})
    assert twice.gpus[0].aligned_ns == 3
    assert twice.window_ns == align(demo_trace, {0: 3}).window_ns


def test_healthy_traces_are_left_alone(demo_study, real_study):
    assert offsets_of(demo_study) == {}
    for name in ("torchrun-2xh100-nccl", "pytorch-a100-nvtx", "inference-2xh100", "jacobi-1process-2gpus"):
        assert offsets_of(real_study(name)) == {}


@pytest.fixture
def damaged(shared, shared_trace, tmp_path, monkeypatch):
    """A function that damages a real trace by the shared tool and reads it."""

    def damage(name, *arguments):
        target = tmp_path / "damaged.sqlite"
        tool = shared / "tools" / "damage.py"
        monkeypatch.setattr(sys, "argv", [str(tool), str(shared_trace(name)), str(target), *arguments])
        runpy.run_path(str(tool), run_name="__main__")
        return Study(read(target, cache=False))

    return damage


@pytest.mark.parametrize("shift", [-50 * MS, 19 * MS, -1_800 * MS])
def test_a_real_trace_with_a_shifted_clock(damaged, shift):
    study = damaged("torchrun-2xh100-nccl", "--shift", f"145:{shift}")
    told = [f for f in study.diagnostics if f.align_ns is not None]
    assert [study.trace.processes[study.trace.gpus[f.gpu].process].pid for f in told] == [145]
    assert abs(told[0].align_ns + shift) < 500_000
    aligned = Study(align(study.trace, offsets_of(study)))
    assert [g.gpus for g in aligned.collectives.groups] == [(0, 1)]


@pytest.mark.parametrize("share", ["1.0", "0.99"])
def test_a_real_trace_with_a_lost_rank(damaged, share):
    study = damaged("torchrun-2xh100-nccl", "--lose", f"145:{share}")
    told = [f for f in study.diagnostics if f.severity == "error"]
    assert len(told) == 1
    lost = next(p.index for p in study.trace.processes if p.pid == 145)
    assert told[0].where == study.trace.process_label(lost)
    assert "not because it was idle" in told[0].meaning
    assert len(study.stalls()) > 0
