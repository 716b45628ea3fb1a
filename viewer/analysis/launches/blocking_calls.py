"""Blocking calls: CUDA calls that return when the GPU is done (docs/definitions.md, section 7)."""

from __future__ import annotations

import numpy as np

from viewer.analysis.launches.attribution import Mask
from viewer.analysis.launches.launches import Launches
from viewer.trace import Events, Kind

SYNCHRONISING = frozenset(
    {
        "cudaDeviceSynchronize",
        "cudaThreadSynchronize",
        "cudaStreamSynchronize",
        "cudaStreamSynchronize_ptsz",
        "cudaEventSynchronize",
        "cudaMemcpy",
        "cudaMemcpy_ptds",
        "cudaMemcpy2D",
        "cudaMemcpyToSymbol",
        "cudaMemcpyFromSymbol",
        "cuCtxSynchronize",
        "cuStreamSynchronize",
        "cuEventSynchronize",
        "cuMemcpyHtoD",
        "cuMemcpyDtoH",
    }
)
"""Calls that return when the GPU is done, by their names."""
_PAGEABLE = 0
# By kind of copy (1 host to device, 2 device to host) the column with the kind of memory on the host.
_HOST_SIDES = ((1, "src_kind"), (2, "dst_kind"))


def blocking_calls(launches: Launches) -> Mask:
    """Return which API calls wait for the GPU, a mask of shape (calls,).

    These are the calls of `SYNCHRONISING`, and those that copy from or to pageable memory.
    """
    trace = launches.trace
    # Each distinct name is looked up once, however many calls have it.
    used = np.unique(trace.api.name_id)
    is_synchronising = np.zeros(len(trace.names), bool)
    is_synchronising[used] = [name in SYNCHRONISING for name in trace.names.take(used)]
    is_blocking = np.asarray(is_synchronising[trace.api.name_id])
    copies = trace.events[Kind.MEMCPY]
    if len(copies):
        # cudaMemcpyAsync waits too where the host side is pageable: the name alone would not tell.
        calls = launches.api_of(Kind.MEMCPY)[is_pageable(copies)]
        is_blocking[calls[calls >= 0]] = True
    return is_blocking


def is_pageable(copies: Events) -> Mask:
    """Return which copies have their host side in pageable memory, a mask of shape (copies,)."""
    pageable = np.zeros(len(copies), bool)
    for kind, side in _HOST_SIDES:
        pageable |= (copies.columns["copy_kind"] == kind) & (copies.columns[side] == _PAGEABLE)
    return pageable
