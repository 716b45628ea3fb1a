"""Both ends of a launch: the call and the operations that it put on a GPU (definitions, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewer.analysis.launches import UNKNOWN
from viewer.analysis.said import said_ns
from viewer.trace import GPU_KINDS, Kind

if TYPE_CHECKING:
    from viewer.analysis.study import Study

NO_RECORD = "no launch record: what launched it is not known"
LAUNCHES_NOTHING = "launches nothing"


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

    @property
    def is_negative(self) -> bool:
        """Whether an operation starts before its launch does, which no GPU can: its clock is early."""
        return any(ns is not None and ns < 0 for ns in self.latency_ns)

    @property
    def is_known(self) -> bool:
        """Whether there are two ends."""
        return self.call is not None and bool(self.operations)


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


def link_text(study: Study, kind: Kind, index: int) -> str:
    """Say what is known of a launch in a line, "" for events that have none."""
    link = link_of(study, kind, index)
    if link is None:
        return ""
    if link.call is None:
        return NO_RECORD
    if not link.operations:
        return LAUNCHES_NOTHING
    call = study.trace.names[int(study.trace.api.name_id[link.call])]
    if kind is Kind.API:
        count = len(link.operations)
        known = [ns for ns in link.latency_ns if ns is not None]
        what = f"{count:,} operation{'s' if count > 1 else ''}"
        said = f"launches {what}, the first {said_ns(min(known))} later"
    else:
        at = link.operations.index((kind, index))
        latency, queued = link.latency_ns[at], link.queued_ns[at]
        assert latency is not None
        assert queued is not None
        said = f"launched by {call}, latency {said_ns(latency)}, queued {said_ns(queued)}"
    if link.is_negative:
        said += "; negative: the GPU's clock is early against the CPU's"
    return said


def _link(study: Study, call: int) -> Link:
    operations = tuple(study.launches.ops_of(call))
    latency = tuple(_known(int(study.launches.latency_ns(k)[i])) for k, i in operations)
    queued = tuple(_known(int(study.launches.queued_ns(k)[i])) for k, i in operations)
    return Link(call, operations, latency, queued)


def _known(ns: int) -> int | None:
    return None if ns == UNKNOWN else ns
