"""The kernels of the simulated job: their names and launch parameters."""

from __future__ import annotations

from dataclasses import dataclass

RUNTIME_LAUNCH = "cudaLaunchKernel_v7000"
RUNTIME_LAUNCH_EX = "cudaLaunchKernelExC_v11060"
DRIVER_LAUNCH = "cuLaunchKernel"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function with the launch parameters that the job always gives it."""

    name: str
    short: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    static_shared_bytes: int = 0
    dynamic_shared_bytes: int = 0
    launched_by: str = RUNTIME_LAUNCH


def _flash_traits(direction: str, block_m: int, block_n: int, warps: int) -> str:
    shape = f"(int)128, (int){block_m}, (int){block_n}, (int){warps}"
    inner = f"Flash_kernel_traits<{shape}, cutlass::bfloat16_t>"
    return f"Flash_{direction}_kernel_traits<{shape}, {inner}>"


def _flash(kernel: str, traits: str, flags: int, params: str) -> str:
    return f"void flash::{kernel}<{traits}{', (bool)0' * flags}>(flash::{params})"


def _vectorized(width: int, functor: str, arity: int) -> str:
    return (
        f"void at::native::vectorized_elementwise_kernel<(int){width}, {functor}, "
        f"std::array<char *, (unsigned long){arity}>>(int, T2, T3)"
    )


def _nvjet(tile: str, layout: str, grid: tuple[int, int, int]) -> Kernel:
    name = f"nvjet_tst_{tile}_{layout}"
    return Kernel(name, name, grid, (384, 1, 1), 168, 0, 213_504, RUNTIME_LAUNCH_EX)


def _nccl(operation: str, channels: int) -> Kernel:
    short = f"ncclDevKernel_{operation}"
    return Kernel(
        f"{short}(ncclDevKernelArgsStorage<(unsigned long)4096>)",
        short,
        (channels, 1, 1),
        (544, 1, 1),
        96,
        50_304,
        0,
        RUNTIME_LAUNCH_EX,
    )


def _triton(name: str, grid: int, registers: int) -> Kernel:
    return Kernel(name, name, (grid, 1, 1), (256, 1, 1), registers, 0, 1_024, DRIVER_LAUNCH)


def _norm(kernel: str, params: str, block: int, shared: int) -> Kernel:
    types = ", ".join(["__nv_bfloat16"] * 3 + ["float", "unsigned int"])
    traits = (
        f"transformer_engine::normalization::Kernel_traits<{types}, (unsigned int)4096, "
        "(unsigned int)1, (unsigned int)4, (unsigned int)1, (unsigned int)16>"
    )
    space = "transformer_engine::normalization"
    name = f"void {space}::{kernel}<{traits}>({space}::{params})"
    return Kernel(name, kernel, (1_056, 1, 1), (block, 1, 1), 64, 0, shared)


def _multi_tensor(depth: int, functor: str, extra: str, registers: int) -> Kernel:
    name = (
        f"void multi_tensor_apply_kernel<TensorListMetadata<(int){depth}>, {functor}, {extra}>"
        f"(long, volatile int *, T1, T2, {', '.join(f'T{i}' for i in range(3, 3 + depth))})"
    )
    return Kernel(name, "multi_tensor_apply_kernel", (64, 1, 1), (512, 1, 1), registers)


_BF16_COPY = "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)]"
_REDUCE = (
    "void at::native::reduce_kernel<(int)512, (int)1, "
    "at::native::ReduceOp<float, {op}, unsigned int, float, (int)4, (int)4>>(T3)"
)
_CUTLASS = (
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_{tile}_{layout}_align8>(T1::Params)"
)

KERNELS: dict[str, Kernel] = {
    # forward
    "embedding": Kernel(
        "void at::native::vectorized_gather_kernel<(int)16, long>"
        "(char *, char *, T2 *, int, long, long, long, long, bool)",
        "vectorized_gather_kernel",
        (8_192, 1, 1),
        (256, 1, 1),
        24,
    ),
    "norm": _norm("rmsnorm_fwd_tuned_kernel", "ForwardKernelParams", 128, 64),
    "qkv": _nvjet("192x192_64x4", "2x1_v_bz_coopB_TNN", (132, 1, 1)),
    "rope": Kernel(
        "void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>"
        "(const T1 *, const int *, const float *, T1 *, int, int, int, int, int, int, int)",
        "fused_rope_forward_kernel",
        (8_192, 1, 1),
        (32, 8, 1),
        40,
    ),
    "flash_fwd": Kernel(
        _flash("flash_fwd_kernel", _flash_traits("fwd", 128, 64, 4), 8, "Flash_fwd_params"),
        "flash_fwd_kernel",
        (64, 1, 16),
        (128, 1, 1),
        255,
        0,
        81_920,
    ),
    "proj": _nvjet("128x256_64x4", "1x2_h_bz_coopA_TNT", (128, 1, 1)),
    "dropout_add": _triton("triton_poi_fused_add_native_dropout_0", 16_384, 32),
    "fc1": _nvjet("256x128_64x4", "2x1_v_bz_coopA_TNN", (132, 1, 1)),
    "swiglu": _triton("triton_poi_fused_mul_silu_split_1", 22_016, 28),
    "fc2": _nvjet("192x208_64x4", "1x1_h_bz_coopB_TNT", (132, 1, 1)),
    "bias_add": Kernel(
        _vectorized(8, "at::native::CUDAFunctor_add<c10::BFloat16>", 3),
        "vectorized_elementwise_kernel",
        (16_384, 1, 1),
        (128, 1, 1),
        32,
    ),
    # the loss
    "logits": Kernel(
        _CUTLASS.format(tile="256x128_32x3", layout="tn"),
        "Kernel2",
        (125, 8, 4),
        (256, 1, 1),
        230,
        0,
        98_304,
    ),
    "max": Kernel(
        _REDUCE.format(op="at::native::MaxOps<float>"), "reduce_kernel", (8_192, 1, 1), (32, 16, 1), 32, 16
    ),
    "sum": Kernel(
        _REDUCE.format(op="at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>>"),
        "reduce_kernel",
        (8_192, 1, 1),
        (32, 16, 1),
        32,
        16,
    ),
    "softmax": Kernel(
        "void at::native::<unnamed>::cunn_SoftMaxForward<(int)8, c10::BFloat16, float, float, "
        "at::native::<unnamed>::SoftMaxForwardEpilogue>(T4 *, const T2 *, int)",
        "cunn_SoftMaxForward",
        (8_192, 1, 1),
        (1_024, 1, 1),
        40,
        256,
    ),
    # backward
    "loss_bwd": Kernel(
        "void at::native::<unnamed>::cunn_SoftMaxBackward<(int)8, float, float, float, "
        "at::native::<unnamed>::SoftMaxBackwardEpilogue>(T2 *, const T4 *, const T4 *, int)",
        "cunn_SoftMaxBackward",
        (8_192, 1, 1),
        (1_024, 1, 1),
        40,
        256,
    ),
    "logits_bwd": Kernel(
        _CUTLASS.format(tile="128x256_32x3", layout="nt"),
        "Kernel2",
        (64, 16, 2),
        (256, 1, 1),
        234,
        0,
        98_304,
    ),
    "fc2_dgrad": _nvjet("256x128_64x4", "2x1_v_bz_coopA_NNT", (132, 1, 1)),
    "fc2_wgrad": _nvjet("192x192_64x3", "1x2_h_bz_coopB_NTN", (132, 1, 1)),
    "swiglu_bwd": _triton("triton_poi_fused_cat_mul_silu_silu_backward_2", 44_032, 40),
    "fc1_dgrad": _nvjet("192x208_64x4", "2x1_v_bz_coopA_NNT", (132, 1, 1)),
    "fc1_wgrad": _nvjet("256x192_64x3", "1x1_h_bz_coopB_NTN", (132, 1, 1)),
    "norm_bwd": _norm("rmsnorm_bwd_tuned_kernel", "BackwardKernelParams", 128, 128),
    "norm_finalize": _norm("rmsnorm_bwd_finalize_tuned_kernel", "BackwardKernelParams", 1_024, 4_096),
    "grad_add": Kernel(
        _vectorized(4, "at::native::CUDAFunctor_add<float>", 3),
        "vectorized_elementwise_kernel",
        (16_384, 1, 1),
        (128, 1, 1),
        26,
    ),
    "proj_dgrad": _nvjet("128x192_64x5", "2x1_v_bz_coopA_NNT", (128, 1, 1)),
    "proj_wgrad": _nvjet("128x256_64x3", "1x2_h_bz_coopB_NTN", (128, 1, 1)),
    "flash_dot": Kernel(
        _flash(
            "flash_bwd_dot_do_o_kernel", "(bool)1, " + _flash_traits("bwd", 64, 128, 8), 0, "Flash_bwd_params"
        ),
        "flash_bwd_dot_do_o_kernel",
        (128, 1, 16),
        (256, 1, 1),
        64,
    ),
    "flash_bwd": Kernel(
        _flash(
            "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
            _flash_traits("bwd", 64, 128, 8),
            7,
            "Flash_bwd_params",
        ),
        "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
        (64, 1, 16),
        (256, 1, 1),
        255,
        0,
        147_456,
    ),
    "flash_convert": Kernel(
        _flash("flash_bwd_convert_dq_kernel", _flash_traits("bwd", 64, 128, 8), 0, "Flash_bwd_params, int"),
        "flash_bwd_convert_dq_kernel",
        (128, 1, 16),
        (256, 1, 1),
        64,
        0,
        16_384,
    ),
    "rope_bwd": Kernel(
        "void transformer_engine::fused_rope_backward_kernel<__nv_bfloat16>"
        "(const T1 *, const int *, const float *, T1 *, int, int, int, int, int, int, int)",
        "fused_rope_backward_kernel",
        (8_192, 1, 1),
        (32, 8, 1),
        40,
    ),
    "qkv_dgrad": _nvjet("192x192_64x4", "2x1_v_bz_coopB_NNT", (132, 1, 1)),
    "qkv_wgrad": _nvjet("192x128_64x4", "1x2_h_bz_coopB_NTN", (132, 1, 1)),
    "embedding_bwd": Kernel(
        "void at::native::<unnamed>::indexing_backward_kernel_stride_1<c10::BFloat16>"
        "(const long *, const long *, const T1 *, T1 *, long, long, long, long, bool)",
        "indexing_backward_kernel_stride_1",
        (2_048, 1, 1),
        (32, 4, 1),
        48,
    ),
    # the optimizer
    "l2norm": _multi_tensor(1, "L2NormFunctor<float>", "float *, float *, bool, int", 32),
    "l2norm_end": Kernel(
        "cleanup(float *, float *, float *, float *, bool, int)", "cleanup", (1, 1, 1), (512, 1, 1), 24, 4_096
    ),
    "scale": _multi_tensor(2, "ScaleFunctor<float, float>", "float", 28),
    "adam": _multi_tensor(
        4, "AdamFunctor<float, float, int>", "float, float, float, float, float, float, adamMode_t, float", 40
    ),
    "to_bf16": Kernel(
        _vectorized(8, _BF16_COPY, 2), "vectorized_elementwise_kernel", (256, 1, 1), (128, 1, 1), 22
    ),
    "zero": Kernel(
        _vectorized(4, "at::native::FillFunctor<float>", 1),
        "vectorized_elementwise_kernel",
        (128, 1, 1),
        (128, 1, 1),
        16,
    ),
    "clip": Kernel(
        _vectorized(
            4,
            "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>",
            3,
        ),
        "vectorized_elementwise_kernel",
        (1, 1, 1),
        (128, 1, 1),
        20,
    ),
    # collectives
    "all_reduce": _nccl("AllReduce_Sum_bf16_RING_LL", 24),
    "all_reduce_f32": _nccl("AllReduce_Sum_f32_RING_LL", 2),
    "reduce_scatter": _nccl("ReduceScatter_Sum_f32_RING_LL", 16),
    "broadcast": _nccl("Broadcast_RING_LL", 16),
    "all_gather": _nccl("AllGather_RING_LL", 16),
    "send_recv": _nccl("SendRecv", 4),
}
"""The kernels by their keys in `viewer.demo.loops`."""
