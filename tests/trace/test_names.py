"""Names: interned texts, and what of a long one is shown."""

import numpy as np
import pyarrow as pa
import pytest

from viewer.trace.names import Names, base_name, normalise_numbers, short_name, strip_arguments

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, "
    "std::array<char *, (unsigned long)3>>(int, T2, T3)"
)
LAMBDA = (
    "void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl<"
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]>(T1)>(int, T3)"
)


@pytest.mark.parametrize(
    ("name", "base", "short"),
    [
        (ELEMENTWISE, "at::native::vectorized_elementwise_kernel", "vectorized_elementwise"),
        (LAMBDA, "at::native::elementwise_kernel", "elementwise"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)",) * 1
        + ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "AllReduce_Sum_bf16_RING_LL"),
        (
            "void (anonymous namespace)::softmax_warp_forward<float>(float *)",
            "softmax_warp_forward",
            "softmax_warp_forward",
        ),
        (
            "void at::native::<unnamed>::fused_dropout_kernel_vec<c10::Half>(T1 *)",
            "at::native::fused_dropout_kernel_vec",
            "fused_dropout_kernel_vec",
        ),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_TNT",) * 3,
        ("gemm_e4m3", "gemm_e4m3", "gemm_e4m3"),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_tn_align8>(T1::Params)",
            "cutlass::Kernel2",
            "cutlass_80_tensorop_bf16_s16816gemm_tn_align8",
        ),
        ("vectorAdd(const float *, const float *, float *, int)", "vectorAdd", "vectorAdd"),
        ("std::enable_if<true, void>::type foo::bar<int>(int)", "foo::bar", "bar"),
        ("kernel", "kernel", "kernel"),
        ("", "", ""),
    ],
)
def test_base_and_short_name(name: str, base: str, short: str) -> None:
    assert base_name(name) == base
    assert short_name(name) == short


def test_pytorch_arguments_are_stripped() -> None:
    assert strip_arguments("aten::mm, op_id = 999730") == "aten::mm"
    assert strip_arguments("aten::add, seq = 12, sizes = [[2, 3]]") == "aten::add"
    assert strip_arguments("forward, layer 3") == "forward, layer 3"


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("Iteration 12", "Iteration #"),
        ("step_12", "step_#"),
        ("ProfilerStep#12", "ProfilerStep#"),
        ("Iteration #12", "Iteration #"),
        *[(f"iteration{n}", "iteration#") for n in (0, 9, 10, 23, 1200)],
        *[(f"{word}12", f"{word}#") for word in ("step", "iter", "it", "STEP", "trainStep", "train_iter")],
        ("step=12", "step=#"),
        ("it_000012", "it_#"),
        ("train_step(12)", "train_step(#)"),
        ("epoch0_step12", "epoch#_step#"),
        ("epoch0step12", "epoch#step#"),
        ("step 12_fwd", "step #_fwd"),
        *[(f"iter {n}", "iter #") for n in ("12", "12/100", "12 / 100", "1,234", "12 of 1,000", "0.5")],
        ("第12步", "第#步"),
        ("sample_0(repeat=5)", "sample_#(repeat=#)"),
        ("conv2d", "conv2d"),
        *[(t,) * 2 for t in ("layer4", "layer12", "layer1.conv2", "gemm_128x64", "sm80_xmma", "fp16")],
        *[(t,) * 2 for t in ("h100", "unit12", "bit8", "conv 123d")],
        ("pad[1,2]", "pad[#,#]"),
        ("pad[1,234]", "pad[#,#]"),
    ],
)
def test_numbers_are_normalised(text: str, normalised: str) -> None:
    assert normalise_numbers(text) == normalised


def test_names_give_texts_by_id() -> None:
    names = Names(pa.array(["", "a", "b"], pa.large_string()))
    assert (len(names), names[2], names.take(np.array([1, 0, 1], np.uint32))) == (3, "b", ["a", "", "a"])
