"""Aligns shifted GPU clocks: the offset of each, and the trace with them applied.

See docs/definitions.md, section 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from viewer.analysis.collectives.groups import sequences
from viewer.analysis.collectives.pairs import KernelSequence
from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.launches.launches import Launches
from viewer.analysis.recording.clocks import TOLERANCE_NS, Clock
from viewer.trace import GPU_KINDS, Trace

ALIGNED = "aligned: "
"""The beginning of the note about an alignment."""
_STEADY_NS = 10_000


def offsets(clocks: Sequence[Clock], launches: Launches, classes: KernelClasses) -> dict[int, int]:
    """Return what to add to the times of each GPU whose clock is shifted, ns.

    It is the middle of the bounds that launches and synchronisations set, refined by collectives: their k-th
    kernels end together on all ranks.
    """
    shifted = [clock for clock in clocks if clock.is_shifted]
    if not shifted:
        return {}
    # Only a clock that is right can say how far another one is off; two that are shifted would pull each
    # other.
    healthy = {clock.gpu for clock in clocks if not (clock.is_shifted or clock.contradicts)}
    comm = sequences(launches, classes)
    return {clock.gpu: _refined(launches.trace, comm, clock, healthy) for clock in shifted}


def align(trace: Trace, by_ns: Mapping[int, int]) -> Trace:
    """Return the trace with the operations of some GPUs moved in time, and notes that say so.

    Parameters
    ----------
    by_ns : mapping of int to int
        What to add to the times of a GPU, by its index. ``Gpu.aligned_ns`` has the sum since the file was
        read, and the label of the GPU is marked.
    """
    events = dict(trace.events)
    for kind in GPU_KINDS:
        table = events[kind]
        # Copies: the arrays may be mapped from the store, and the trace without alignment stays in use.
        start, end = table.start_ns.copy(), table.end_ns.copy()
        for stream in trace.streams:
            rows = table.of(stream.index)
            start[rows] += by_ns.get(stream.gpu, 0)
            end[rows] += by_ns.get(stream.gpu, 0)
        events[kind] = replace(table, start_ns=start, end_ns=end)
    notes = tuple(
        f"{ALIGNED}the times of {trace.gpu_label(gpu)} are moved by {ns / 1e6:+,.3f} ms"
        for gpu, ns in sorted(by_ns.items())
        if ns
    )
    # Added to what was there: an aligned trace may be aligned again, and the sum is what takes it back.
    gpus = tuple(replace(g, aligned_ns=g.aligned_ns + by_ns.get(g.index, 0)) for g in trace.gpus)
    return replace(trace, events=events, gpus=gpus, notes=(*trace.notes, *notes))


def _refined(trace: Trace, comm: Sequence[KernelSequence], clock: Clock, healthy: set[int]) -> int:
    """Return the offset by the collective that fits most steadily inside the bounds, else their middle."""
    # Ends, not starts: ranks come to a collective when they will, but leave it together.
    ends = trace.kernels.end_ns
    best: tuple[float, int] | None = None
    for own in (s for s in comm if s.gpu == clock.gpu):
        for other in comm:
            same = other.gpu in healthy and other.name_id == own.name_id
            if not same or len(other.rows) != len(own.rows):
                continue
            # If the k-th kernels are one collective, their ends differ by the offset alone.
            apart = ends[other.rows] - ends[own.rows]
            # Median and not mean, for offset and spread: kernels that were lost on one side shift the pairs
            # after them, and such a pair is off by an iteration.
            offset = int(np.median(apart))
            unsteady = float(np.median(np.abs(apart - offset)))
            if unsteady <= _STEADY_NS and _allowed(clock, offset) and (best is None or unsteady < best[0]):
                best = unsteady, offset
    return best[1] if best else clock.offset_ns


def _allowed(clock: Clock, offset: int) -> bool:
    # Within the tolerance by which a clock counts as shifted: launches and collectives are not measured to
    # the nanosecond.
    above = clock.lower_ns is None or offset >= clock.lower_ns - TOLERANCE_NS
    return above and (clock.upper_ns is None or offset <= clock.upper_ns + TOLERANCE_NS)
