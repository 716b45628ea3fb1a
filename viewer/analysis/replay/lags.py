"""How long after what it waited for an operation starts: as recorded where that bound it, else as usual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.dependencies.graph import Operations
from viewer.analysis.replay.host_calls import HostCalls
from viewer.trace import Trace
from viewer.trace.events import Int64

Mask = npt.NDArray[np.bool_]

EXPLAINED_NS = 10_000
"""A start is explained when it follows what bound it within this time (docs/definitions.md, section 11)."""


def usual(lags: Int64, otherwise: int = 0) -> int:
    """Return the median of the lags that are explained, `otherwise` without one, ns."""
    explained = lags[np.abs(lags) <= EXPLAINED_NS]
    return int(np.median(explained)) if len(explained) else otherwise


def kept_or_usual(recorded: Int64, binds: Mask, exists: Mask) -> Int64:
    """Return the lags of the edges of one kind, ns.

    The recorded one where an edge binds; elsewhere no more than the usual one, as what was recorded there is
    time spent on waiting for something else. 0 where there is no edge.
    """
    typical = usual(recorded[binds & exists])
    return np.where(exists, np.where(binds, recorded, np.minimum(recorded, typical)), 0)


@dataclass(frozen=True, eq=False)
class LaunchLags:
    """When each operation could have started by its launch alone, counted from the start of its call.

    All arrays have shape (operations,).

    Attributes
    ----------
    exists : ndarray of bool
    start_ns : ndarray of int64
        When the operation started.
    called_ns : ndarray of int64
        When the outermost call around its launch began.
    reach_ns : ndarray of int64
        From there to where the launch is over: its return, or its start where the operation began inside it.
    group : ndarray of int64
        The kind of launch: by the call's name, and by whether the operation began inside the call.
    is_inside : ndarray of bool
    """

    exists: Mask
    start_ns: Int64
    called_ns: Int64
    reach_ns: Int64
    group: Int64
    is_inside: Mask

    def binds_over(self, latest_ns: Int64) -> Mask:
        """Return whether the launch was over later than anything else that a start came after.

        Parameters
        ----------
        latest_ns : ndarray of int64, shape (operations,)
            When the last of the others ended.
        """
        returned = self.called_ns + self.reach_ns
        # Inside its call an operation may begin because the call got that far, or because the one before it
        # ended meanwhile; an end just before the start says that it is the latter.
        just_ended = (latest_ns > returned) & (self.start_ns - latest_ns <= EXPLAINED_NS)
        return self.exists & np.where(self.is_inside, ~just_ended, returned > latest_ns)

    def lag_ns(self, binds: Mask) -> Int64:
        """Return the lag of every operation from the start of the call, ns; 0 without a launch."""
        lag = np.zeros(len(self.exists), np.int64)
        recorded = self.start_ns - self.called_ns - self.reach_ns
        fallback = usual(recorded[binds])
        typical = np.full(int(self.group.max(initial=0)) + 1, fallback, np.int64)
        for group in np.unique(self.group[binds]).tolist():
            typical[group] = usual(recorded[binds & (self.group == group)], fallback)
        lag = np.where(binds, recorded, np.minimum(recorded, typical[self.group]))
        return np.where(self.exists, lag + self.reach_ns, 0)


def launch_lags(trace: Trace, ops: Operations, hosts: HostCalls, exists: Mask) -> LaunchLags:
    """Return what is known of the launches of all operations."""
    api, call = trace.api, np.maximum(ops.call, 0)
    if not len(api):
        none = np.zeros(len(ops), np.int64)
        return LaunchLags(exists, ops.start_ns, none, none, none, np.zeros(len(ops), bool))
    called, returned = api.start_ns[call], api.end_ns[call]
    is_inside = ops.start_ns < returned
    outer = hosts.start_ns[hosts.outer_of[call]]
    reach = np.where(is_inside, called, returned) - outer
    names, by_name = np.unique(api.name_id[call], return_inverse=True)
    return LaunchLags(exists, ops.start_ns, outer, reach, by_name + len(names) * is_inside, is_inside)
