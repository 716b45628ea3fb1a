"""Which collective a kernel is, by its name (docs/definitions.md, section 8)."""

from __future__ import annotations

import re
from typing import Literal

from viewer.trace.names import base_name

CollectiveKind = Literal[
    "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AllToAll", "SendRecv", "other"
]
_KINDS: tuple[tuple[str, CollectiveKind], ...] = (
    ("sendrecv|send_?recv|put_signal|wait_signal", "SendRecv"),
    ("reduce_?scatter", "ReduceScatter"),
    ("all_?reduce|cross_device_reduce", "AllReduce"),
    ("all_?gather", "AllGather"),
    ("all_?to_?all|a2a", "AllToAll"),
    ("broadcast", "Broadcast"),
    ("nccl\\w*reduce", "Reduce"),
)
_RULES = tuple((re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in _KINDS)
ROOTED: frozenset[CollectiveKind] = frozenset({"Broadcast", "Reduce"})
"""Kinds in which one member, the root, is unlike the others: not everybody waits for everybody."""


def collective_kind(name: str) -> CollectiveKind:
    """Return which collective a kernel of this name is, "other" where the name does not say."""
    base = base_name(name)
    return next((kind for rule, kind in _RULES if rule.search(base)), "other")
