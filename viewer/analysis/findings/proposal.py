"""A proposal: a phenomenon that may become a finding, before its win is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from viewer.analysis.core.intervals import EMPTY, Intervals
from viewer.analysis.core.location import Location
from viewer.analysis.replay.changes import Change
from viewer.trace.events import Int64


@dataclass(frozen=True, eq=False)
class Proposal:
    """A phenomenon, with the time that it takes.

    Attributes
    ----------
    id, title, what, gpus, location, evidence, next_step
        As in `Finding`.
    ceiling_ns : ndarray of int64, shape (units,)
        What mending it wins at most, in each iteration, or in the whole recording where there are none.
    changes : tuple of Change
        What mending it changes, to be replayed; () where no replay can tell.
    spans : mapping of int to Intervals
        By GPU when it happens: the milliseconds that no other finding may win again.
    is_waited_for : bool
        Whether other ranks were seen to wait for it: then a replay that wins nothing does not know why.
    times_least : int
        How many times the least win it has to win: what every job has a little of is a fault from more on.
    """

    id: str
    title: str
    what: str
    gpus: tuple[int, ...]
    location: Location | None
    evidence: str
    next_step: str
    ceiling_ns: Int64
    changes: tuple[Change, ...] = ()
    spans: dict[int, Intervals] = field(default_factory=dict)
    is_waited_for: bool = False
    times_least: int = 1

    @property
    def time_ns(self) -> int:
        """The median of the ceiling over the units, ns."""
        return int(np.median(self.ceiling_ns))

    def outside(self, taken: dict[int, Intervals]) -> float:
        """Return the share of its time that is not in some intervals by GPU, which others have won."""
        whole = sum(spans.total() for spans in self.spans.values())
        if not whole:
            return 1.0
        rest = sum((spans - taken.get(gpu, EMPTY)).total() for gpu, spans in self.spans.items())
        return rest / whole
