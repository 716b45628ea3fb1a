"""What findings are looked for in: the used iterations, the stalls in them, who is late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from viewer.analysis.collectives.rank_comparison import compare_ranks
from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.core.location import Location
from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.findings.finding import LEAST_SHARE
from viewer.analysis.late_ranks.late_ranks import LateRanks, late_ranks
from viewer.analysis.late_ranks.late_verdicts import Verdict, names
from viewer.analysis.stalls.causes import LAUNCH_BOUND
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property
from viewer.trace.names import normalise_numbers

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(eq=False)
class FindingInputs:
    """A study and the candidate that marks its iterations; what several kinds need is computed once.

    A *unit* is an iteration that numbers are taken from, or the whole recording where there are none.
    """

    study: Study
    candidate: int = 0

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.study.trace

    @cached_property
    def iterations(self) -> Iterations | None:
        """The iterations, None where none were found."""
        return self.study.iterations(self.candidate)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The iterations that medians are taken over, () without any."""
        return self.iterations.basis if self.iterations is not None else ()

    @cached_property
    def windows(self) -> tuple[Int64, Int64]:
        """Start and end of each unit on each GPU, shape (gpus, units) each, ns."""
        gpus = len(self.trace.gpus)
        if self.iterations is None or not self.used:
            start, end = self.trace.window_ns
            return np.full((gpus, 1), start, np.int64), np.full((gpus, 1), end, np.int64)
        used = list(self.used)
        return self.iterations.starts[:, :-1][:, used], self.iterations.starts[:, 1:][:, used]

    @cached_property
    def length_ns(self) -> int:
        """The median length of a unit, ns; at least 1."""
        if self.iterations is None or not self.used:
            return max(self.trace.window_ns[1] - self.trace.window_ns[0], 1)
        return max(self.iterations.median_of(self.used), 1)

    @property
    def least_ns(self) -> float:
        """What is less than this of a unit is not worth a finding, ns."""
        return LEAST_SHARE * self.length_ns

    @cached_property
    def late_ranks(self) -> LateRanks:
        """Who makes the others wait, and who computes longer, over the used iterations."""
        study, iterations = self.study, self.iterations
        scope = study.default_scope(iterations)
        ranks = (
            compare_ranks(study.trace, study.parts, iterations, study.collectives, self.used)
            if iterations is not None
            else ()
        )
        return late_ranks(study, scope, iterations, self.used, ranks)

    @cached_property
    def late_hosts(self) -> tuple[int, ...]:
        """The GPUs whose hosts are late again and again, by enough to be worth a finding."""
        if not self.used or len(self.trace.gpus) < 2:
            return ()
        late = [v for v in self.late_ranks.verdicts if v.kind == "host"]
        return tuple(gpu for v in late for gpu in v.gpus if self.lateness_ns(v) >= self.least_ns)

    def lateness_ns(self, verdict: Verdict) -> int:
        """Return how much later an iteration is for late hosts, ns.

        The cost of a verdict is what all the others wait together, of which each waits its part.
        """
        return (verdict.cost_ns or 0) // max(len(self.trace.gpus) - len(verdict.gpus), 1)

    @cached_property
    def spoiled(self) -> frozenset[int]:
        """The GPUs whose numbers are wrong: their stalls are not to be believed."""
        errors = [d for d in self.study.diagnostics if d.severity == "error"]
        processes = {d.process for d in errors if d.gpu is None and d.process is not None}
        of_process = {gpu.index for gpu in self.trace.gpus if gpu.process in processes}
        return frozenset(of_process | {d.gpu for d in errors if d.gpu is not None})

    @cached_property
    def idle_stalls(self) -> pd.DataFrame:
        """The idle stalls whose middle lies in a unit, and what they are grouped by.

        The columns of `Stalls.table`, and `range` (the text of the NVTX range around, "" for none) and
        `in_optimizer` (whether the operation after is a kernel of the optimizer).
        """
        table = self.study.stalls(self.candidate).table
        return self._in_units(table[table["kind"] == "idle"])

    @cached_property
    def copy_stalls(self) -> pd.DataFrame:
        """The stalls in which a GPU only copies, as `idle_stalls`."""
        table = self.study.stalls(self.candidate).table
        return self._in_units(table[table["kind"] == "copy_only"])

    def _in_units(self, table: pd.DataFrame) -> pd.DataFrame:
        gpu, start, end = (table[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
        middle = start + (end - start) // 2
        inside = np.zeros(len(table), bool)
        for number in range(len(self.trace.gpus)):
            mine = gpu == number
            low, high = self.windows[0][number], self.windows[1][number]
            # The used iterations are in order and disjoint: only the last one that has begun can hold it.
            unit = np.searchsorted(low, middle[mine], side="right") - 1
            inside[mine] = (unit >= 0) & (middle[mine] < high[np.maximum(unit, 0)])
        table = table[inside & ~np.isin(gpu, list(self.spoiled))]
        return table.assign(range=self._range_texts(table), in_optimizer=self._in_optimizer(table))

    def _range_texts(self, table: pd.DataFrame) -> list[str]:
        index = table["inside"].to_numpy()
        ids = np.zeros(len(index), np.uint32)
        ids[index >= 0] = self.trace.nvtx.name_id[index[index >= 0]]
        used, code = coded(ids)
        texts = [normalise_numbers(text) for text in self.trace.names.take(used)]
        # The range of the whole iteration says no more than that it is in the iteration.
        marker = self.iterations.marker if self.iterations is not None else ""
        texts = ["" if text == marker else text for text in texts]
        return [texts[c] for c in code.tolist()]

    def _in_optimizer(self, table: pd.DataFrame) -> np.ndarray:
        is_kernel = table["after_kind"].to_numpy() == GPU_KINDS.index(Kind.KERNEL)
        if self.iterations is None or not (table["cause"] == LAUNCH_BOUND).any():
            return np.zeros(len(table), bool)
        optimizer = self.study.phases_of(self.iterations).phase("optimizer")
        kernels = np.concatenate([np.empty(0, np.int64), *optimizer.kernels]) if optimizer else np.empty(0)
        return np.asarray(is_kernel & np.isin(table["after_index"].to_numpy(), kernels))

    def per_unit(self, spans: dict[int, Intervals]) -> Int64:
        """Return how long some intervals last on each GPU in each unit, shape (gpus of spans, units), ns."""
        starts, ends = self.windows
        return np.array(
            [of_gpu.covered(starts[gpu], ends[gpu]) for gpu, of_gpu in sorted(spans.items())], np.int64
        ).reshape(len(spans), starts.shape[1])

    def who(self, gpus: tuple[int, ...]) -> str:
        """Return "all GPUs", "rank 3", "ranks 2 and 5"."""
        if len(gpus) == len(self.trace.gpus):
            return "all GPUs" if len(gpus) > 1 else "the GPU"
        if len(gpus) > 3:
            return f"{len(gpus)} of {len(self.trace.gpus)} GPUs"
        return names(self.study, gpus)

    def longest(self, table: pd.DataFrame) -> Location:
        """Return where the longest of some stalls is."""
        row = int(table["duration_ns"].to_numpy().argmax())
        start, end, gpu = (int(table[name].to_numpy()[row]) for name in ("start_ns", "end_ns", "gpu"))
        return Location(start, end, gpu)


def spans_of(stalls: pd.DataFrame) -> dict[int, Intervals]:
    """Return when some stalls last, by GPU."""
    gpu, start, end = (stalls[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    return {int(g): union(start[gpu == g], end[gpu == g]) for g in np.unique(gpu)}
