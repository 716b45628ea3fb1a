"""Which times are bounds, because the recording lacks a part (docs/definitions.md, sections 1 and 10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.recording.diagnostics import lost_gpus
from viewer.analysis.time.time_breakdown import TimeBreakdown
from viewer.trace import Trace

AT_LEAST, AT_MOST = "(at least)", "(at most)"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The GPUs of which a category is a bound.

    Attributes
    ----------
    exposed : frozenset of int
        Exposed communication is a lower bound: CUDA graphs are recorded as one piece and may hold some.
    idle : frozenset of int
        Idle time is an upper bound: rows were lost.
    """

    exposed: frozenset[int]
    idle: frozenset[int]

    def of(self, category: str, gpu: int | None = None) -> str:
        """Return "(at least)", "(at most)" or "" for a category of a GPU, None standing for all together."""
        gpus, mark = {
            "exposed_comm": (self.exposed, AT_LEAST),
            "idle": (self.idle, AT_MOST),
            "no_kernel": (self.idle, AT_MOST),
        }.get(category, (frozenset(), ""))
        return mark if (gpus if gpu is None else gpu in gpus) else ""

    def titled(self, title: str, category: str) -> str:
        """Return the title of a category's number, with its mark where it is a bound on some GPU."""
        return f"{title} {mark}" if (mark := self.of(category)) else title

    @property
    def texts(self) -> tuple[str, ...]:
        """A line for each bound that there is."""
        lines = []
        if self.exposed:
            lines.append("Exposed communication is a lower bound: whole CUDA graphs may hold more of it.")
        if self.idle:
            lines.append("Idle is an upper bound where rows were lost.")
        return tuple(lines)


def bounds(trace: Trace, parts: Sequence[TimeBreakdown], diagnostics: Iterable[Diagnostic]) -> Bounds:
    """Return which times of which GPUs are bounds."""
    exposed = frozenset(gpu for gpu, of_gpu in enumerate(parts) if of_gpu.has_graphs)
    return Bounds(exposed, lost_gpus(trace, diagnostics))
