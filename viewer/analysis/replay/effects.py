"""What changes do to a network: other durations, host time that is cut, edges that are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.replay.network import Network
from viewer.trace.events import Int64

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of some changes, which add up.

    Attributes
    ----------
    work_ns : ndarray of int64, shape (operations,)
        As `Network.work_ns`.
    cuts : mapping of int to Intervals
        By thread: time in which it does nothing that lasts.
    freed : ndarray of bool, shape (host calls,)
        Calls that no longer wait for the GPU.
    dropped : ndarray of bool, shape (extra edges,)
        Edges of `Network.extra_target` that no longer hold.
    """

    work_ns: Int64
    freed: Mask
    dropped: Mask
    cuts: Mapping[int, Intervals] = field(default_factory=dict)

    @classmethod
    def none(cls, network: Network) -> Effects:
        """Return no effects at all."""
        return cls(
            network.work_ns,
            np.zeros(len(network.hosts), bool),
            np.zeros(len(network.extra_target), bool),
        )

    def cut(self, thread: int, start_ns: Int64, end_ns: Int64) -> Effects:
        """Return the effects with the time of a thread cut in some ranges too."""
        more = union(start_ns, end_ns)
        before = self.cuts.get(thread)
        return replace(self, cuts={**self.cuts, thread: before | more if before is not None else more})

    def cut_before(self, threads: npt.ArrayLike, times: Int64) -> Int64:
        """Return how much of each thread's time is cut before each instant, of the shape of `times`, ns."""
        result = np.zeros(len(times), np.int64)
        for thread, cuts in self.cuts.items():
            of_thread = np.flatnonzero(np.asarray(threads) == thread)
            result[of_thread] = cuts.before(times[of_thread])
        return result
