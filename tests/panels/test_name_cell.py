"""Names in the events table: cut in the middle, never where the name of a collective stands."""

import pytest

from viewer.panels.name_cell import without_middle
from viewer.trace.names import collective_in

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (NCCL, "AllReduce"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "ReduceScatter"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "SendRecv"),
        ("nccl:all_gather", "all_gather"),
        ("ncclAlltoAll", "AlltoAll"),
        ("void vllm::cross_device_reduce_1stage<__half, 2>", "reduce"),
        (GEMM, None),
    ],
)
def test_the_word_for_a_collective_is_found(name, word):
    span = collective_in(name)
    assert (name[slice(*span)] if span else None) == word


@pytest.mark.parametrize("room", range(12, 80))
def test_a_collective_keeps_its_name_at_every_width(room):
    for name in (NCCL, f"void some::very::long::wrapper::of::things::{NCCL}", f"{GEMM}_AllGather"):
        cut = without_middle(name, lambda text: len(text) <= room)
        assert len(cut) <= room
        word = name[slice(*collective_in(name))]
        assert word in cut, cut


def test_other_names_keep_both_ends():
    cut = without_middle(GEMM, lambda text: len(text) <= 31)
    assert cut == f"{GEMM[:15]}…{GEMM[-15:]}"
    assert without_middle(GEMM, lambda text: True) == GEMM


def test_where_nothing_fits_something_still_stands():
    assert without_middle(NCCL, lambda text: len(text) <= 1) == "……"
