import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.nvtx_texts import in_phase, is_library_domain, users_own
from viewer.analysis.iterations.candidate import table
from viewer.analysis.iterations.periodicity import Rhythm, commonest_count, rhythms
from viewer.analysis.iterations.unroll import times_repeated
from viewer.analysis.study import Study
from viewer.trace import Names


def loop(maker, name, steps=4, process=0, kernels=3, domain="", numbered=True, first=0, space=" "):
    """Add ranges of 100 ns that launch kernels of 10 ns each, running 1000 ns later."""
    for step in range(first, first + steps):
        at = step * 100
        maker.range(at, at + 90, f"{name}{space}{step}" if numbered else name, process=process, domain=domain)
        for kernel in range(kernels):
            low = at + 10 + 20 * kernel
            identity = 1 + step * kernels + kernel
            maker.call(low, low + 5, process=process, correlation=identity)
            maker.kernel(low + 1000, low + 1010, f"k{kernel}", process=process, correlation=identity)
    return maker


def test_the_repeating_range_that_launches_the_work_is_the_marker():
    maker = loop(TraceMaker(), "step")
    maker.range(0, 399, "training")
    for step in range(4):
        maker.range(100 * step + 10, 100 * step + 30, "aten::mm, seq = 3", tid=1)
    study = Study(maker.trace())
    best = study.candidates[0]
    assert (best.name, best.count, best.gpu_share, best.even_share) == ("step #", 4, 1.0, 1.0)
    assert best.qualifies
    assert "training" not in set(table(study.candidates)["name"])
    iterations = study.iterations()
    assert iterations.names == ("step 0", "step 1", "step 2", "step 3")
    assert iterations.starts.tolist() == [[1010, 1110, 1210, 1310, 1360]]
    assert not iterations.guess


@pytest.mark.parametrize("name", ["iteration", "step", "iter", "trainStep", "it_00"])
def test_a_number_glued_to_its_word_counts_iterations(name):
    study = Study(loop(TraceMaker(), name, steps=24, space="").trace())
    assert study.candidates[0].count == 24
    assert study.iterations().names == tuple(f"{name}{step}" for step in range(24))


@pytest.mark.parametrize("domain", ["NCCL", "nccl", "cuDNN", "CCCL"])
def test_a_librarys_domain_marks_nothing(domain):
    study = Study(loop(TraceMaker(), "step", domain=domain).trace())
    assert study.candidates == ()
    assert study.iterations() is None
    assert is_library_domain(domain)
    assert not is_library_domain("megatron")


def test_ranges_that_launch_less_than_half_are_offered_but_not_taken():
    maker = loop(TraceMaker(), "log", kernels=1)
    for i in range(20):
        at = 91 + 100 * (i % 3) + i // 3
        maker.call(at, at, correlation=900 + i).kernel(3000 + 10 * i, 3010 + 10 * i, f"x{i}",
                                                       correlation=900 + i)  # fmt: skip
    study = Study(maker.trace())
    assert [c.what for c in study.candidates] == ["none", "range"]
    assert study.iterations() is None
    assert study.iterations(1).count == 4


def test_ranks_that_disagree_are_matched_by_text_and_it_is_said():
    maker = loop(loop(TraceMaker(), "step", steps=5), "step", steps=4, process=1, first=2)
    study = Study(maker.trace())
    iterations = study.iterations()
    assert iterations.names == ("step 2", "step 3", "step 4")
    assert "Rank 0: 5; Rank 1: 4" in study.candidates[0].disagreement
    assert any("do not agree" in note for note in iterations.notes)
    assert iterations.starts[0].tolist() == iterations.starts[1].tolist()


def test_a_gpu_on_which_the_marker_launches_nothing_takes_the_others_boundaries():
    maker = loop(TraceMaker(), "step").kernel(1000, 1400, "silent", process=1)
    iterations = Study(maker.trace()).iterations()
    assert iterations.has_own.tolist() == [True, False]
    assert iterations.starts[1].tolist() == iterations.starts[0].tolist()
    assert any("launches nothing on Rank 1 GPU 0" in note for note in iterations.notes)


def test_ranges_that_overlap_without_nesting_mark_nothing():
    maker = TraceMaker()
    for step in range(4):
        maker.range(100 * step, 100 * step + 150, f"step {step}", event_type=60)
        maker.call(100 * step + 10, 100 * step + 12, correlation=step + 1)
        maker.kernel(100 * step + 20, 100 * step + 30, correlation=step + 1)
    assert not any(c.qualifies and not c.guess for c in Study(maker.trace()).candidates)


def test_the_rhythm_of_operations():
    keys = np.array(([1, 2, *range(100, 112)] * 8), np.int64)
    keys[5::14] = np.arange(1000, 1008)
    found = {r.key: r for r in rhythms(keys)}
    assert found[1] == Rhythm(1, 8, 0, 14, 1.0, 98 / 112)
    assert 1000 not in found
    assert commonest_count(list(found.values())) == 8


def test_the_smallest_count_that_half_as_many_share():
    of = [Rhythm(i, count, 0, 10, 1.0, 1.0) for i, count in enumerate([20, 20, 20, 20, 10, 10, 5])]
    assert commonest_count(of) == 10


@pytest.mark.parametrize(
    ("sequence", "times"), [("abcabcabc", 3), ("abcabcab", 1), ("aaaa", 4), ("a", 1), ("", 1), ("abab", 2)]
)
def test_times_repeated(sequence, times):
    assert times_repeated(np.array([ord(c) for c in sequence], np.int64)) == times


def test_texts_of_operators_are_not_the_users():
    names = Names(["", "aten::mm", "autograd::engine::x", "foo, seq = 3", "ncclSend", "step 3", "c10d::a"])
    own = users_own(names, np.arange(7, dtype=np.uint32))
    assert own.tolist() == [False, False, False, False, False, True, False]


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("forward", "forward"), ("Forward pass", "forward"), ("fwd_step", "forward"),
        ("backward", "backward"), ("Backward pass", "backward"), ("bwd", "backward"),
        ("Optimizer.step#Adam.step", "optimizer"), ("optimizer", "optimizer"),
        ("forward_backward_func", None), ("Optimizer.zero_grad#Adam.zero_grad", None),
        ("FSDP::pre_forward (blocks.1)", None), ("AddmmBackward0", None),
        ("flash_attn::_flash_attn_forward", None), ("straightforward", None),
    ],
)  # fmt: skip
def test_which_texts_name_a_phase(text, phase):
    names = Names(["", text])
    found = [p for p in ("forward", "backward", "optimizer") if in_phase(names, np.array([1], np.uint32), p)]
    assert found == ([phase] if phase else [])


REAL = {
    "pytorch-a100-nvtx": ("Batch #", 59, False),
    "power-iteration-t4": ("Step # to #", 44, False),
    "torchrun-2xh100-nccl": ("vectorized_elementwise", 17, True),
    "inference-2xh100": ("copy HtoD of 201,326,592 bytes", 28, True),
}


@pytest.mark.parametrize("name", REAL)
def test_markers_of_real_traces(real_study, name):
    iterations = real_study(name).iterations()
    assert (iterations.marker, iterations.count, iterations.guess) == REAL[name]


def test_a_guess_that_comes_as_often_as_layers_says_so(real_study):
    why = real_study("torchrun-2xh100-nccl").iterations().by.why
    assert "_forward (blocks.#._checkpoint_wrapped_module) does, which comes as often" in why


def test_a_trace_without_iterations_has_none(real_study):
    assert real_study("jacobi-1process-2gpus").iterations() is None


def test_the_idle_time_before_each_batch_belongs_to_an_iteration(real_study):
    study = real_study("pytorch-a100-nvtx")
    iterations = study.iterations()
    idle = iterations.table(study.parts)["idle_ns"].sum()
    assert idle / (iterations.end_ns(58) - iterations.start_ns(0)) > 0.9
    spacing = np.median(np.diff(iterations.starts[0, :-1]))
    assert spacing == pytest.approx(126.4e6, rel=0.001)
