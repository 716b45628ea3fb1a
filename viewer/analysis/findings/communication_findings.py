"""Findings about communication: hidden, it costs the compute beside it; exposed, it blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewer.analysis.collectives.collective_kinds import collective_kind
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals, union, window
from viewer.analysis.core.location import Location
from viewer.analysis.core.units import duration_text, share_text
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.findings.proposal import Proposal
from viewer.trace import Kind

UNUSUAL = 0.3
"""Exposed transfers of a kind are a finding from this share of the time on; less is the job's own layout."""


def tax_proposals(inputs: FindingInputs) -> Iterator[Proposal]:
    """Yield what the compute beside hidden communication pays for it."""
    if not inputs.used or not inputs.study.collectives.groups:
        return
    tax, (starts, ends) = inputs.study.overlap_tax, inputs.windows
    gpus = range(len(inputs.trace.gpus))
    each = np.array(
        [
            [
                max(tax.sum_of((g,), (window(int(a), int(b)),)).tax_ns, 0)
                for a, b in zip(starts[g], ends[g], strict=True)
            ]
            for g in gpus
        ],
        np.int64,
    )
    median = np.median(each, axis=1)
    dearest = int(median.argmax())
    if median[dearest] < inputs.least_ns:
        return
    kernel = tax.dearest(dearest, union(starts[dearest], ends[dearest]))
    place = None
    if kernel is not None:
        kernels = inputs.trace.kernels
        place = Location(int(kernels.start_ns[kernel]), int(kernels.end_ns[kernel]), dearest)
    low, high = duration_text(float(median.min())), duration_text(float(median.max()))
    yield Proposal(
        "overlap-tax",
        "Hidden communication slows the compute beside it",
        f"compute kernels beside communication last {high} longer than alone",
        tuple(gpus),
        place,
        f"{low if low == high else f'{low} to {high}'} on a GPU each iteration, kernels of one size beside "
        "communication against those alone",
        "Give NCCL fewer channels (NCCL_MAX_CTAS), or start communication beside kernels that it slows less",
        np.asarray(each.max(axis=0)),
    )


def exposed_proposals(inputs: FindingInputs) -> Iterator[Proposal]:
    """Yield the kinds of collectives whose exposed transfers are an unusual share of the time."""
    for kind, spans in exposed_transfers(inputs).items():
        per_unit = inputs.per_unit(spans)
        median = np.median(per_unit, axis=1)
        if median.max() < UNUSUAL * inputs.length_ns:
            continue
        gpu = sorted(spans)[int(median.argmax())]
        longest = int(spans[gpu].lengths.argmax())
        share = share_text(float(median.max()) / inputs.length_ns)
        yield Proposal(
            f"exposed:{kind}",
            f"{kind} blocks for {share} of the time",
            f"exposed transfers of {kind}, {duration_text(float(median.max()))}",
            tuple(sorted(spans)),
            Location(int(spans[gpu].start_ns[longest]), int(spans[gpu].end_ns[longest]), gpu),
            f"{duration_text(float(median.min()))} to {duration_text(float(median.max()))} of exposed "
            "transfers, waiting for ranks not counted",
            "Overlap it with compute, make its messages smaller, or look at the links between the GPUs",
            np.asarray(per_unit.max(axis=0)),
            (),
            spans,
        )


def blocking_text(inputs: FindingInputs) -> tuple[str, ...]:
    """Return what exposed communication takes of a unit by kind, as one sentence; () where that is little."""
    shares = {
        kind: float(np.median(inputs.per_unit(spans), axis=1).max()) / inputs.length_ns
        for kind, spans in exposed_transfers(inputs).items()
    }
    said = [
        f"{kind} {share_text(share)}"
        for kind, share in sorted(shares.items(), key=lambda item: -item[1])
        if share * inputs.length_ns >= inputs.least_ns
    ]
    if not said:
        return ()
    return (
        "Communication that transfers exposed, without waiting for ranks, at most to be won by hiding it: "
        f"{', '.join(said)} of the time.",
    )


def exposed_transfers(inputs: FindingInputs) -> dict[str, dict[int, Intervals]]:
    """Return when collectives of each kind transfer exposed, by GPU; unmatched ones count whole."""
    study, kernels = inputs.study, inputs.trace.kernels
    kinds = {
        name: collective_kind(inputs.trace.names[name])
        for name in np.unique(kernels.name_id).tolist()
        if study.classes.is_comm(np.array([name], np.uint32))[0]
    }
    found: dict[str, dict[int, Intervals]] = {}
    for gpu in inputs.trace.gpus:
        if gpu.index in inputs.spoiled:
            continue
        rows = rows_of_gpu(inputs.trace, Kind.KERNEL, gpu.index)
        within = union(inputs.windows[0][gpu.index], inputs.windows[1][gpu.index])
        exposed = study.parts[gpu.index].intervals("exposed_comm") & within
        exposed = exposed - study.collectives.waits(gpu.index)
        for kind in sorted(set(kinds.values())):
            names = [name for name, of_name in kinds.items() if of_name == kind]
            own = rows[np.isin(kernels.name_id[rows], names)]
            here = union(kernels.start_ns[own], kernels.end_ns[own]) & exposed
            if len(here):
                found.setdefault(kind, {})[gpu.index] = here
    return found
