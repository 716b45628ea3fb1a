"""Kernel families: short names, and what a wrapper of CUTLASS wraps."""

from dataclasses import replace

import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.core.families import family_name, kernel_families
from viewer.trace import Kind

WRAPPED = (
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x4_tn_align8>(T1::Params)",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nt_align8>(T1::Params)",
)


def made():
    maker = TraceMaker()
    for number, name in enumerate(WRAPPED):
        maker.kernel(10 * number, 10 * number + 5, name, short="Kernel2")
    maker.kernel(100, 105, "void flash::flash_fwd_kernel<128>(int)", short="flash_fwd_kernel")
    maker.kernel(110, 115, "void flash::flash_fwd_kernel<64>(int)", short="flash_fwd_kernel")
    return maker.trace()


def test_what_a_wrapper_wraps_are_families_of_their_own():
    trace = made()
    families = kernel_families(trace, np.arange(4)).tolist()
    assert len(set(families)) == 3
    assert families[2] == families[3]
    assert [family_name(trace, f) for f in families[1:]] == [
        "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nt_align8",
        "flash_fwd_kernel",
        "flash_fwd_kernel",
    ]


def test_without_short_names_a_family_is_a_name():
    trace = made()
    kernels = trace.kernels
    columns = {name: column for name, column in kernels.columns.items() if name != "short_id"}
    without = replace(trace, events={**trace.events, Kind.KERNEL: replace(kernels, columns=columns)})
    assert kernel_families(without, np.arange(4)).tolist() == kernels.name_id.tolist()
    assert len(kernel_families(without, np.arange(0))) == 0
