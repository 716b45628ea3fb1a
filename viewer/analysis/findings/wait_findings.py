"""Findings about compute that waits for collectives which it does not need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.core.location import Location
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.needless_waits import REDUCTIONS, NeedlessWaits, needless_waits, reduction_kinds
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.replay.changes import Change, NoWait
from viewer.analysis.replay.host_changes import named_ranges
from viewer.trace.names import normalise_numbers, short_name


def wait_proposals(inputs: FindingInputs) -> Iterator[Proposal]:
    """Yield the kinds of collectives that compute waits for without need."""
    for found in needless_waits(inputs):
        spans = _spans(inputs, found)
        per_unit = inputs.per_unit(spans)
        name, place = _range(inputs, found)
        gpus = tuple(sorted(spans))
        each = round(len(found.kernels) / max(per_unit.size, 1))
        kernels = inputs.trace.kernels
        family = short_name(inputs.trace.names[int(np.bincount(kernels.name_id[found.kernels]).argmax())])
        known = "proven by event" if found.is_proven else "by the handle of the event"
        longest = int((kernels.start_ns[found.kernels] - found.ready_ns).argmax())
        kernel = int(found.kernels[longest])
        gpu = inputs.trace.streams[kernels.owner_of(kernel)].gpu
        yield Proposal(
            f"needless-wait:{found.kind}",
            f"Compute waits for {found.kind}s that it does not need",
            f"{each} waits of a GPU each iteration hold compute kernels up",
            gpus,
            Location(int(found.ready_ns[longest]), int(kernels.start_ns[kernel]), gpu),
            f"{each} waits an iteration{f' in {place}' if place else ''}, {known}; {family} runs "
            f"{found.elsewhere:,} times before any {found.kind}: taken as not needing it",
            f"Record the event before the {found.kind}, or drop the wait: bucket hooks, stream order",
            np.asarray(per_unit.max(axis=0)),
            name,
            spans,
        )


def _spans(inputs: FindingInputs, found: NeedlessWaits) -> dict[int, Intervals]:
    """Return from when to when the kernels wait, by GPU."""
    kernels = inputs.trace.kernels
    stream = np.searchsorted(kernels.offsets, found.kernels, side="right") - 1
    gpu = np.array([s.gpu for s in inputs.trace.streams], np.int64)[stream]
    start, end = found.ready_ns, kernels.start_ns[found.kernels]
    return {int(g): union(start[gpu == g], end[gpu == g]) for g in np.unique(gpu)}


def _range(inputs: FindingInputs, found: NeedlessWaits) -> tuple[tuple[Change, ...], str]:
    """Return the change that drops these waits and no others, and the range that they are called in.

    () where no range holds all of them and none of the other waits for such a collective; "" without one.
    """
    graph, api = inputs.study.dependencies, inputs.trace.api
    waits = graph.waits
    is_needless = np.zeros(len(waits), bool)
    is_needless[found.waits] = True
    kinds = reduction_kinds(inputs)
    # Kernels are the first operations: the number of one is its index into their table.
    is_kernel = waits.producers < len(kinds)
    is_kind = is_kernel & (kinds[np.where(is_kernel, waits.producers, 0)] == REDUCTIONS.index(found.kind))
    others = np.zeros(len(waits), bool)
    others[np.repeat(np.arange(len(waits)), np.diff(waits.offsets))[is_kind]] = True
    # Only what lies in the used iterations was judged.
    others &= ~is_needless
    low, high = int(inputs.windows[0].min()), int(inputs.windows[1].max())
    called = api.start_ns[waits.call]
    others &= (called >= low) & (called < high)
    for text in _around(inputs, int(waits.call[found.waits[0]])):
        inside = _called_in(inputs, waits.call, text)
        if inside[is_needless].mean() >= 0.9 and not (inside & others).any():
            return (NoWait(found.kind, text),), text
    return ((NoWait(found.kind),), "") if not others.any() else ((), "")


def _around(inputs: FindingInputs, call: int) -> list[str]:
    """Return the texts of the ranges around a call on its own thread, the innermost first."""
    trace = inputs.trace
    at, thread = int(trace.api.start_ns[call]), trace.api.owner_of(call)
    nvtx, found = trace.nvtx, []
    for track in trace.tracks_of(thread):
        rows = nvtx.of(track.index)
        holds = np.flatnonzero((nvtx.start_ns[rows] <= at) & (nvtx.end_ns[rows] > at)) + rows.start
        found += [(int(nvtx.end_ns[i] - nvtx.start_ns[i]), int(nvtx.name_id[i])) for i in holds.tolist()]
    marker = inputs.iterations.marker if inputs.iterations is not None else ""
    texts = [normalise_numbers(trace.names[name]) for _, name in sorted(found)]
    return [text for text in dict.fromkeys(texts) if text and text != marker]


def _called_in(inputs: FindingInputs, calls: np.ndarray, text: str) -> np.ndarray:
    api = inputs.trace.api
    called = api.start_ns[calls]
    thread = np.searchsorted(api.offsets, calls, side="right") - 1
    inside = np.zeros(len(calls), bool)
    for of_range, ranges in named_ranges(inputs.study.replay, text).items():
        own = thread == of_range
        inside[own] = ranges.covered(called[own], called[own] + 1) > 0
    return inside
