"""Which CUDA calls return when the GPU is done (docs/definitions.md, section 7: blocking calls)."""

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
_HOST_SIDES = ((1, "src_kind"), (2, "dst_kind"))


def blocking_calls(launches: Launches) -> Mask:
    """Return which API calls wait for the GPU: by name, and those that copy from or to pageable memory."""
    trace = launches.trace
    used = np.unique(trace.api.name_id)
    waits = np.zeros(len(trace.names), bool)
    waits[used] = [name in SYNCHRONISING for name in trace.names.take(used)]
    blocking = np.asarray(waits[trace.api.name_id])
    copies = trace.events[Kind.MEMCPY]
    if len(copies):
        calls = launches.api_of(Kind.MEMCPY)[is_pageable(copies)]
        blocking[calls[calls >= 0]] = True
    return blocking


def is_pageable(copies: Events) -> Mask:
    """Return which copies have their host's side in pageable memory, shape (copies,)."""
    found = np.zeros(len(copies), bool)
    for kind, side in _HOST_SIDES:
        found |= (copies.columns["copy_kind"] == kind) & (copies.columns[side] == _PAGEABLE)
    return found
