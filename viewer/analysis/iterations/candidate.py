"""A candidate: what may mark the iterations, with its figures (docs/definitions.md, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy.typing as npt
import pandas as pd

from viewer.analysis.launches.attribution import Indices
from viewer.analysis.time.iteration_bounds import MarkerKind
from viewer.trace import Trace
from viewer.trace.events import Int64, UInt32

MAX_OFFERED = 40

What = Literal["range", "optimizer", "kernel", "copy", "none"]
_WHAT: dict[What, str] = {
    "range": "NVTX range",
    "optimizer": "derived from the optimizer",
    "kernel": "guess by kernel",
    "copy": "guess by copy",
    "none": "",
}


@dataclass(frozen=True, eq=False)
class Instances:
    """The instances of a marker on one process, on the CPU, in order of time.

    Attributes
    ----------
    thread : int
        Index of the thread whose ranges they are.
    domain : str
    start_ns, end_ns : ndarray of int64, shape (n,)
    name_ids : ndarray of uint32, shape (n,)
    copies_wanted : bool
        Whether an instance may hold several iterations, copies of one sequence: not where it says which one.
    """

    thread: int
    domain: str
    start_ns: Int64
    end_ns: Int64
    name_ids: UInt32
    copies_wanted: bool = True

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self, which: npt.NDArray | slice) -> Instances:  # type: ignore[type-arg]
        """Return some of the instances."""
        return Instances(
            self.thread,
            self.domain,
            self.start_ns[which],
            self.end_ns[which],
            self.name_ids[which],
            self.copies_wanted,
        )


@dataclass(frozen=True, eq=False)
class Candidate:
    """What may mark the iterations.

    Attributes
    ----------
    name : str
        The range's text with its numbers as ``#``; for a guess the kernel's or the copy's name.
    domain : str
        The NVTX domain, "" for the default one.
    what : {"range", "optimizer", "kernel", "copy", "none"}
        "optimizer": cut at the optimizer. "none" comes first where nothing qualifies: there are no iterations
        until one is chosen.
    count : int
        Instances, the fewest over the processes that have it.
    gpu_share : float
        The share of a process's GPU operation time, between the first instance's start and the last one's
        end, that its instances launch; the least over the processes.
    even_share : float
        Of the instances, those whose number of operations is within 10 % of the median.
    cpu_ns : int
        Time on the CPU inside its instances, the sum over the processes.
    qualifies : bool
        Whether it meets the rule for an iteration.
    kind : {"named", "derived", "guess"}
        Whether a text in the trace says that these are the iterations.
    why : str
        Why it is not named, "" where it is.
    unit : str
        What one of them is called: "iteration", or the part of one that its name says it is.
    warning : str
        What speaks against it, "" for nothing.
    tested : bool
        Of a guess: whether what comes less often was found and decided it.
    processes : tuple of int
        Those that have it.
    disagreement : str
        In what the ranks differ, "" where they agree.
    instances : mapping of int to Instances
        Per process, of ranges and of what is derived.
    positions : mapping of int to ndarray
        Of a guess, per GPU: where the iterations begin among its operations by start, and where the last one
        ends; shape (count + 1,).
    """

    name: str
    domain: str
    what: What
    count: int
    gpu_share: float
    even_share: float
    cpu_ns: int
    qualifies: bool
    kind: MarkerKind = "named"
    why: str = ""
    unit: str = "iteration"
    warning: str = ""
    tested: bool = False
    processes: tuple[int, ...] = ()
    disagreement: str = ""
    instances: dict[int, Instances] = field(default_factory=dict, repr=False)
    positions: dict[int, Indices] = field(default_factory=dict, repr=False)

    @property
    def guess(self) -> bool:
        """Whether no text in the trace says that these are the iterations."""
        return self.kind != "named"


NONE = Candidate("no iterations", "", "none", 0, 0.0, 0.0, 0, qualifies=False)


def table(candidates: tuple[Candidate, ...]) -> pd.DataFrame:
    """Return the candidates as a table: their numbers, and whether they meet the rule."""
    return pd.DataFrame(
        {
            "name": [c.name for c in candidates],
            "what": [_WHAT[c.what] for c in candidates],
            "domain": [c.domain for c in candidates],
            "count": [c.count for c in candidates],
            "gpu_share": [c.gpu_share for c in candidates],
            "even_share": [c.even_share for c in candidates],
            "cpu_ns": [c.cpu_ns for c in candidates],
            "qualifies": [c.qualifies for c in candidates],
            "kind": [c.kind for c in candidates],
            "disagreement": [c.disagreement for c in candidates],
        }
    )


def disagreement(trace: Trace, counts: dict[int, int]) -> str:
    """Return which processes lack a marker, and the counts of instances where they differ.

    Parameters
    ----------
    counts : mapping of int to int
        The instances of each process that has it.
    """
    working = {gpu.process for gpu in trace.gpus}
    parts = []
    if missing := sorted(working - counts.keys()):
        parts.append("not on " + ", ".join(trace.process_label(p) for p in missing))
    if len(set(counts.values())) > 1:
        parts.append("; ".join(f"{trace.process_label(p)}: {n}" for p, n in sorted(counts.items())))
    return ". ".join(parts)
