"""Both ends of a launch: the call and the operations that it put on a GPU.

See docs/definitions.md, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.launches.launches import UNKNOWN
from viewer.trace import GPU_KINDS, Kind

if TYPE_CHECKING:
    from viewer.analysis.study import Study


def other_ends(study: Study, kind: Kind, index: int) -> list[tuple[Kind, int]]:
    """Return the call that launched an operation, or the operations that a call launched, by their start.

    Empty without a launch record, for a call that launched nothing, for other kinds of events, and as long as
    the study is partial.
    """
    if study.partial:
        return []
    if kind in GPU_KINDS:
        call = int(study.launches.api_of(kind)[index])
        return [(Kind.API, call)] if call >= 0 else []
    if kind is Kind.API:
        events = study.trace.events
        return sorted(study.launches.ops_of(index), key=lambda op: int(events[op[0]].start_ns[op[1]]))
    return []


def latency_ns(study: Study, kind: Kind, index: int) -> int | None:
    """Return the latency of an operation, or of the first one that a call launched; None where it has none.

    Below zero, which no GPU can, its clock is early.
    """
    if study.partial:
        return None
    if kind not in GPU_KINDS:
        ends = other_ends(study, kind, index)
        return latency_ns(study, *ends[0]) if ends else None
    ns = int(study.launches.latency_ns(kind, np.array([index], np.int32))[0])
    return None if ns == UNKNOWN else ns
