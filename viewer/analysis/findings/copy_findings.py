"""Findings about copies that the GPU waits for: nothing else runs meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from viewer.analysis.core.units import duration_text
from viewer.analysis.findings.finding_inputs import FindingInputs, spans_of
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.replay.changes import RemoveCopies
from viewer.trace import GPU_KINDS, Kind


def copy_proposals(inputs: FindingInputs) -> Iterator[Proposal]:
    """Yield the kinds of copies beside which GPUs do nothing, of pageable and of pinned memory apart."""
    table = inputs.copy_stalls
    table = table[table["copy_kind"] == GPU_KINDS.index(Kind.MEMCPY)]
    name = inputs.trace.events[Kind.MEMCPY].name_id[table["copy_index"].to_numpy()]
    is_pageable = table["pageable"].to_numpy(bool)
    for name_id in np.unique(name).tolist():
        for pageable in (False, True):
            rows = table[(name == name_id) & (is_pageable == pageable)]
            if len(rows):
                kind = inputs.trace.names[name_id].removeprefix("Memcpy ")
                yield _proposal(inputs, rows, kind, pageable=pageable)


def _proposal(inputs: FindingInputs, rows: pd.DataFrame, kind: str, *, pageable: bool) -> Proposal:
    spans = spans_of(rows)
    per_unit = inputs.per_unit(spans)
    median = np.median(per_unit, axis=1)
    low, high = duration_text(float(median.min())), duration_text(float(median.max()))
    gpus = tuple(sorted(spans))
    who = inputs.who(gpus)
    what = "pageable copies" if pageable else "copies"
    size = float(rows["bytes"].sum()) / max(per_unit.size, 1) / 1e6
    rate = float(np.median(rows["throughput_gb_s"]))
    front = " before the first kernel" if rows["in_front"].mean() > 0.5 else ""
    return Proposal(
        f"copies:{kind}{':pageable' if pageable else ''}",
        f"{who[:1].upper()}{who[1:]} only {'copies' if len(gpus) == 1 else 'copy'} {kind}{front}",
        f"{what} {kind} beside which no kernel runs, {high}",
        gpus,
        inputs.longest(rows),
        f"{low if low == high else f'{low} to {high}'} of {what}, {size:,.1f} MB at {rate:,.1f} GB/s",
        "Copy from pinned memory on a stream of its own (pin_memory, non_blocking), one batch ahead"
        if pageable
        else "Copy on a stream of its own, beside kernels, before the data are needed",
        np.asarray(per_unit.max(axis=0)),
        # Only of these does a replay know what else they hold up.
        (RemoveCopies(kind),) if front else (),
        spans,
    )
