"""Both ends of a launch: the call and the operations that it put on a GPU (definitions, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewer.analysis.launches import UNKNOWN
from viewer.trace import GPU_KINDS, Kind

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(frozen=True, slots=True)
class Link:
    """A launch.

    Attributes
    ----------
    call : int or None
        The API call (index into ``trace.api``); None without a launch record.
    operations : tuple of (Kind, int)
        What it launched: table and index there. Of an operation without a record, that operation alone.
    latency_ns, queued_ns : tuple of (int or None)
        Of each operation, None without a record: its start less the call's start; its start less the call's
        end, 0 where that is negative.
    """

    call: int | None
    operations: tuple[tuple[Kind, int], ...]
    latency_ns: tuple[int | None, ...]
    queued_ns: tuple[int | None, ...]


def link_of(study: Study, kind: Kind, index: int) -> Link | None:
    """Return the launch that a GPU operation or an API call belongs to, None for other kinds of events."""
    if kind in GPU_KINDS:
        call = int(study.launches.api_of(kind)[index])
        if call < 0:
            return Link(None, ((kind, index),), (None,), (None,))
        return _link(study, call)
    return _link(study, index) if kind is Kind.API else None


def other_end(study: Study, kind: Kind, index: int) -> tuple[Kind, int] | None:
    """Return the call of an operation, or the first operation of a call; None where there is none."""
    link = link_of(study, kind, index)
    if link is None or link.call is None or not link.operations:
        return None
    if kind is Kind.API:
        return min(link.operations, key=lambda op: int(study.trace.events[op[0]].start_ns[op[1]]))
    return Kind.API, link.call


def _link(study: Study, call: int) -> Link:
    operations = tuple(study.launches.ops_of(call))
    latency = tuple(_known(int(study.launches.latency_ns(k)[i])) for k, i in operations)
    queued = tuple(_known(int(study.launches.queued_ns(k)[i])) for k, i in operations)
    return Link(call, operations, latency, queued)


def _known(ns: int) -> int | None:
    return None if ns == UNKNOWN else ns
