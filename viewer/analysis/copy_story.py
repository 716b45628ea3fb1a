"""One copy: whether it could hide behind computation, and whether it did (definitions, section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.said import said_ns
from viewer.trace import Kind, Trace

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_PAGEABLE = 0


def copy_story(study: Study, index: int) -> list[tuple[str, str]]:
    """Return labels and values of a copy (an index into its table), for people.

    Its stream, and whether kernels queue there too, so that it cannot hide behind them; pageable host memory,
    whose copies block the caller; how much of it ran beside kernels, and how much alone.
    """
    trace, copies = study.trace, study.trace.events[Kind.MEMCPY]
    stream = trace.streams[copies.owner_of(index)]
    start, end = int(copies.start_ns[index]), int(copies.end_ns[index])
    kernels = trace.kernels.of(stream.index)
    computes = not study.classes.is_comm(trace.kernels.name_id[kernels]).all()
    could = (
        "compute kernels queue there too: it cannot hide behind them"
        if computes
        else "no compute kernels there"
    )
    occupied = study.occupancy(stream.gpu)
    beside = int((occupied.compute | occupied.communication).covered([start], [end])[0])
    facts = [
        ("Stream", f"{stream.stream_id}: {could}"),
        ("Beside kernels", f"{said_ns(beside)} of {said_ns(end - start)}"),
        ("Not hidden", said_ns(end - start - beside)),
    ]
    if _is_pageable(trace, index):
        facts.append(("Host memory", "pageable: the call that starts it blocks; pin it to let it run beside"))
    return facts


def _is_pageable(trace: Trace, index: int) -> bool:
    columns = trace.events[Kind.MEMCPY].columns
    kind = int(columns["copy_kind"][index])
    end = {1: "src_kind", 2: "dst_kind"}.get(kind)
    return end is not None and int(np.asarray(columns[end])[index]) == _PAGEABLE
