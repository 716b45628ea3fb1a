"""Blocking calls: CUDA calls that return when the GPU is done (docs/definitions.md, section 7)."""

from __future__ import annotations

import re

import numpy as np

from viewer.analysis.launches.attribution import Mask
from viewer.analysis.launches.launches import Launches
from viewer.trace import Events, Kind

_SPELLING = re.compile(r"(?:_v\d+|_ptds|_ptsz)+$")
_BLOCKS = re.compile(
    r"cuda(?:Device|Thread|Stream|Event)Synchronize|cu(?:Ctx|Stream|Event)Synchronize"
    r"|cudaMemcpy(?:[23]D)?(?:Peer|ToSymbol|FromSymbol|ToArray|FromArray|ArrayToArray)?"
    r"|cuMemcpy(?:HtoD|DtoH|HtoA|AtoH|Peer|2D|2DUnaligned|3D|3DPeer)?"
)
_ASKS = re.compile(r"cuda(?:Event|Stream)Query|cu(?:Event|Stream)Query")


def plain_call(name: str) -> str:
    """Return a call's name without its spelling's suffixes: "cudaMemcpy" of "cudaMemcpy_ptds".

    ``_ptsz`` and ``_ptds`` stand for the default stream of each thread, ``_v2`` for a version.
    """
    return _SPELLING.sub("", name)


def is_synchronising(name: str) -> bool:
    """Return whether a call returns when the GPU is done, by its name in any spelling."""
    return _BLOCKS.fullmatch(plain_call(name)) is not None


def is_query(name: str) -> bool:
    """Return whether a call asks, without waiting, whether a stream or an event is done."""
    return _ASKS.fullmatch(plain_call(name)) is not None


_PAGEABLE = 0
# By kind of copy (1 host to device, 2 device to host) the column with the kind of memory on the host.
_HOST_SIDES = ((1, "src_kind"), (2, "dst_kind"))


def blocking_calls(launches: Launches) -> Mask:
    """Return which API calls wait for the GPU, a mask of shape (calls,).

    These are the calls that synchronise by their names, and those that copy from or to pageable memory.
    """
    trace = launches.trace
    # Each distinct name is looked up once, however many calls have it.
    used = np.unique(trace.api.name_id)
    by_name = np.zeros(len(trace.names), bool)
    by_name[used] = [is_synchronising(name) for name in trace.names.take(used)]
    is_blocking = np.asarray(by_name[trace.api.name_id])
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
