"""Calls that return when the GPU is done, in every spelling."""

import pytest

from viewer.analysis.launches.blocking_calls import is_query, is_synchronising, plain_call


@pytest.mark.parametrize(
    "name",
    [
        "cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize_ptsz",
        "cudaEventSynchronize",
        "cuCtxSynchronize_v2", "cuStreamSynchronize_ptsz", "cuEventSynchronize", "cudaMemcpy_ptds",
        "cudaMemcpy2D_ptds", "cudaMemcpy3D", "cudaMemcpy3D_ptds", "cudaMemcpyPeer", "cudaMemcpy3DPeer",
        "cudaMemcpyToSymbol_ptds", "cudaMemcpyFromSymbol", "cudaMemcpy2DToArray", "cudaMemcpy2DFromArray",
        "cudaMemcpyToArray", "cuMemcpy", "cuMemcpy_ptds", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2_ptds",
        "cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy3D_v2_ptds", "cuMemcpyPeer", "cuMemcpy3DPeer",
        "cuMemcpyAtoH_v2",
    ],
)  # fmt: skip
def test_every_spelling_of_a_blocking_call_is_one(name):
    assert is_synchronising(name)


@pytest.mark.parametrize(
    "name",
    [
        "cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", "cuMemcpyDtoHAsync_v2", "cudaMemcpy2DAsync", "cudaMemset",
        "cudaLaunchHostFunc", "cudaStreamWaitEvent", "cudaEventRecord", "cudaMalloc", "cuMemcpyDtoD_v2",
        "cudaMemcpyToSymbolAsync", "cudaMemcpyPeerAsync", "cudaStreamQuery", "myCudaMemcpy",
    ],
)  # fmt: skip
def test_what_returns_at_once_is_none(name):
    assert not is_synchronising(name)


def test_names_without_their_suffixes():
    assert plain_call("cuMemcpyDtoH_v2_ptds") == "cuMemcpyDtoH"
    assert plain_call("cudaLaunchKernel") == "cudaLaunchKernel"
    assert is_query("cudaEventQuery")
    assert is_query("cuStreamQuery_ptsz")
    assert not is_query("cudaEventSynchronize")
