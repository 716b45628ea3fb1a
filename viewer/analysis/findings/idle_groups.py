"""Idle stalls that one thing would mend: of one cause, in one range, behind one call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import pandas as pd

from viewer.analysis.core.intervals import EMPTY, Intervals
from viewer.analysis.core.nvtx_texts import PHASES, in_phase
from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.findings.finding_inputs import FindingInputs, spans_of
from viewer.analysis.findings.replayed_wins import ReplayedWins
from viewer.analysis.launches.blocking_calls import is_query, plain_call
from viewer.analysis.stalls.causes import LAUNCH_BOUND, NOT_KNOWN, SLOW_CALL, SYNCHRONISE
from viewer.trace import Kind
from viewer.trace.events import Int64

_CALL_OF = {SLOW_CALL: "other_call", SYNCHRONISE: "blocking_call"}
TIMES_LEAST = {LAUNCH_BOUND: 2, NOT_KNOWN: 4}
"""Every job launches, and has gaps that nothing explains: so many times the least that is worth a finding."""
SEVERAL = "several ranges"
"""Stands for the range of a group that lies in several."""
POLLING = "polling"
"""A cause of its own here: a thread that asks again and again is mended otherwise than one that waits."""


@dataclass(frozen=True, eq=False)
class IdleGroup:
    """Idle stalls of one cause, in one range, behind one call.

    Attributes
    ----------
    cause : str
        As of a stall, or `POLLING`.
    range : str
        The text of the NVTX range, "" for none, or `SEVERAL`.
    call : str
        The CUDA call, "" for none.
    has_own_range : bool
        Whether the range says where to mend: it is one, and no phase of the iteration.
    stalls : DataFrame
        Rows of `FindingInputs.idle_stalls`.
    spans : dict of int to Intervals
        The stalls of each GPU.
    per_unit_ns : ndarray of int64, shape (gpus, units)
        How long they last on each of those GPUs.
    """

    cause: str
    range: str
    call: str
    has_own_range: bool
    stalls: pd.DataFrame
    spans: dict[int, Intervals]
    per_unit_ns: Int64

    @property
    def gpus(self) -> tuple[int, ...]:
        """The GPUs that stand still for a good part of what the longest one does."""
        median = np.median(self.per_unit_ns, axis=1)
        return tuple(g for g, ns in zip(sorted(self.spans), median, strict=True) if 2 * ns >= median.max())

    @property
    def ceiling_ns(self) -> Int64:
        """What closing them wins at most: the time of the GPU that stands still longest, of each unit."""
        return np.asarray(self.per_unit_ns.max(axis=0))

    @property
    def count(self) -> int:
        """How many stalls it has on a GPU in a unit, on average."""
        return round(len(self.stalls) / max(self.per_unit_ns.size, 1))


def idle_groups(inputs: FindingInputs) -> Iterator[IdleGroup]:
    """Yield the groups that last long enough to be worth a finding.

    What of one cause is scattered over ranges and calls that last too short each is one group together. Late
    hosts are left out: that they are late is a finding of its own. So are the launches of the optimizer:
    its kernels are small everywhere (docs/definitions.md, section 4). In a pipeline that cannot be replayed
    only the time counts in which no GPU computes: stages stand still in turn, whatever their hosts do.
    """
    table = inputs.idle_stalls
    table = table[~(table["in_optimizer"] & (table["cause"] == LAUNCH_BOUND))]
    table = table[~table["gpu"].isin(inputs.late_hosts)]
    cause, call = table["cause"].astype(str), _calls(inputs, table)
    cause = cause.mask((cause == SYNCHRONISE) & call.map(is_query).astype(bool), POLLING)
    computes = EMPTY
    if inputs.study.collectives.is_pipeline and ReplayedWins(inputs).why_not:
        computes = reduce(or_, (part.intervals("compute_only", "hidden_comm") for part in inputs.study.parts))
    for of_cause, rows in table.groupby(cause, observed=True):
        total = int(rows["duration_ns"].sum())
        least = inputs.least_ns * TIMES_LEAST.get(str(of_cause), 1)
        small = []
        for (text, name), alike in rows.groupby([rows["range"], call[rows.index]], observed=True):
            group = _group(inputs, str(of_cause), str(text), str(name), alike, computes)
            # Launches become free all at once: ranges that share the slow ones are one finding.
            is_part = of_cause == LAUNCH_BOUND and 2 * int(alike["duration_ns"].sum()) < total
            if np.median(group.ceiling_ns) >= least and not is_part:
                yield group
            else:
                small.append(alike)
        if len(small) > 1:
            group = _group(inputs, str(of_cause), SEVERAL, "", pd.concat(small), computes)
            if np.median(group.ceiling_ns) >= least:
                yield group


def _calls(inputs: FindingInputs, table: pd.DataFrame) -> pd.Series:
    """Return the call that each stall's cause names, without its spelling's suffixes; "" for none."""
    ids = np.zeros(len(table), np.uint32)
    api = inputs.trace.events[Kind.API]
    for cause, column in _CALL_OF.items():
        index = table[column].to_numpy()
        known = (table["cause"] == cause).to_numpy() & (index >= 0)
        ids[known] = api.name_id[index[known]]
    used, code = coded(ids)
    texts = [plain_call(text) for text in inputs.trace.names.take(used)]
    return pd.Series([texts[c] for c in code.tolist()], table.index, dtype=object)


def _group(
    inputs: FindingInputs, cause: str, text: str, call: str, stalls: pd.DataFrame, computes: Intervals
) -> IdleGroup:
    spans = {gpu: spans - computes for gpu, spans in spans_of(stalls).items()}
    is_own = text not in ("", SEVERAL) and not _in_phase(inputs, stalls)
    return IdleGroup(cause, text, call, is_own, stalls, spans, inputs.per_unit(spans))


def _in_phase(inputs: FindingInputs, stalls: pd.DataFrame) -> bool:
    ids = np.unique(inputs.trace.nvtx.name_id[stalls["inside"].to_numpy()])
    return any(in_phase(inputs.trace.names, ids, phase).any() for phase in PHASES)
