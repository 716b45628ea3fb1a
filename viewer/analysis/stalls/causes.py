"""Finds why a GPU was idle: by what the launching thread did during the stall.

See docs/definitions.md, section 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.intervals import runs
from viewer.analysis.launches.attribution import outermost, ranges_of
from viewer.analysis.launches.launches import NEAR_ZERO_NS
from viewer.analysis.stalls.host_time import Hosts, Indices
from viewer.trace import Trace
from viewer.trace.events import Int64

SHARES = (
    "blocking_ns",
    "other_call_ns",
    "profiler_ns",
    "off_cpu_ns",
    "preempted_ns",
    "host_ns",
    "unknown_ns",
    "launch_to_start_ns",
    "gpu_side_ns",
)
"""The parts of an idle stall; they sum to its length."""
(
    BLOCKING,
    OTHER_CALL,
    PROFILER,
    OFF_CPU,
    PREEMPTED,
    HOST,
    UNKNOWN,
    LAUNCH_TO_START,
    GPU_SIDE,
) = range(len(SHARES))

WAITING, HOST_CODE, SYNCHRONISE, SLOW_CALL, LAUNCH_BOUND, ON_GPU_SIDE, NOT_KNOWN, TAKEN_OFF, BY_PROFILER = (
    "waiting",
    "host code",
    "synchronise",
    "slow CUDA call",
    "launch-bound",
    "GPU side",
    "unknown",
    "preempted",
    "profiler",
)
IDLE_CAUSES = (
    WAITING,
    HOST_CODE,
    SYNCHRONISE,
    SLOW_CALL,
    LAUNCH_BOUND,
    ON_GPU_SIDE,
    TAKEN_OFF,
    BY_PROFILER,
    NOT_KNOWN,
)
_CAUSE_OF = {
    BLOCKING: SYNCHRONISE,
    OTHER_CALL: SLOW_CALL,
    PROFILER: BY_PROFILER,
    OFF_CPU: WAITING,
    PREEMPTED: TAKEN_OFF,
    HOST: HOST_CODE,
    UNKNOWN: NOT_KNOWN,
    LAUNCH_TO_START: ON_GPU_SIDE,
    GPU_SIDE: ON_GPU_SIDE,
}
# An array, so that a whole GPU's stalls get their causes by one indexing; made from names, so that the order
# of either tuple may change.
_CAUSE_OF_SHARE = np.array([IDLE_CAUSES.index(_CAUSE_OF[share]) for share in range(len(SHARES))], np.int8)

LAUNCHES = 10
SURROUNDING_NS = 1_000_000
BETWEEN_LAUNCHES_NS = SURROUNDING_NS // LAUNCHES
_OWNERS_TRIED = 4
_UNDER_THE_PROFILER = 0.8


@dataclass
class Causes:
    """The causes of some stalls of one GPU, in the order of the stalls.

    Attributes
    ----------
    shares : ndarray of int64, shape (9, stalls)
        In order of `SHARES`; each column sums to the stall's length.
    cause : ndarray of int8, shape (stalls,)
        Position in `IDLE_CAUSES`.
    thread, followed : ndarray of int64, shape (stalls,)
        The launching thread, and the one whose time was taken instead; -1 for none.
    blocking_call, other_call, os_call, drained_by, inside : ndarray of int64, shape (stalls,)
        Indices into the tables of API calls, of operating system calls and of NVTX ranges; -1 for none.
    """

    shares: Int64
    cause: npt.NDArray[np.int8]
    thread: Indices
    followed: Indices
    blocking_call: Indices
    other_call: Indices
    os_call: Indices
    drained_by: Indices
    inside: Indices

    @classmethod
    def empty(cls, count: int, thread: Indices) -> Causes:
        """Return the causes of stalls of which only the thread is known."""
        # Copies below: the columns are written to by mask, and one array under six names would share the
        # writes.
        none = np.full(count, -1, np.int64)
        shares = np.zeros((len(SHARES), count), np.int64)
        return cls(shares, np.zeros(count, np.int8), thread, *(none.copy() for _ in range(6)))


def find_causes(
    hosts: Hosts, process: int, start_ns: Int64, end_ns: Int64, launch: Indices, queued_ns: Int64
) -> Causes:
    """Find why a GPU was idle in some stalls.

    Parameters
    ----------
    process : int
        The one whose GPU it is.
    start_ns, end_ns : ndarray of int64, shape (stalls,)
        Disjoint and sorted.
    launch : ndarray of int64, shape (stalls,)
        The call (index into ``trace.api``) that launched the operation after, -1 without a record.
    queued_ns : ndarray of int64, shape (stalls,)
        How long that operation was queued.
    """
    causes = placed(hosts, start_ns, end_ns, launch)
    split, begin, stop = _share_out(hosts, causes, process, start_ns, end_ns, launch)
    _name_calls(hosts, causes, split, start_ns, begin, stop, launch)
    _decide(hosts, causes, start_ns, end_ns, queued_ns)
    return causes


def host_shares(hosts: Hosts, process: int, start_ns: Int64, end_ns: Int64, launch: Indices) -> Int64:
    """Return the shares of some intervals as those of idle stalls, see `find_causes`, without the rest.

    Returns
    -------
    ndarray of int64, shape (9, intervals)
        In order of `SHARES`, ns; each column sums to the length of the interval.
    """
    causes = Causes.empty(len(launch), threads_of(hosts.trace, launch))
    _share_out(hosts, causes, process, start_ns, end_ns, launch)
    return causes.shares


def _share_out(
    hosts: Hosts, causes: Causes, process: int, start_ns: Int64, end_ns: Int64, launch: Indices
) -> tuple[npt.NDArray[np.bool_], Int64, Int64]:
    """Fill in the shares, and whom to follow.

    Return in which stalls a thread was asked, and the launching call of each, clipped to it.
    """
    api, known = hosts.trace.api, launch >= 0
    calls = np.maximum(launch, 0)
    # [begin, stop) is the launching call, clipped to the stall: before it the thread did something else,
    # after it the GPU had its work. A call that returned before the stall leaves both at its start.
    begin, stop = start_ns.copy(), start_ns.copy()
    if len(api):
        begin[known] = np.clip(api.start_ns[calls], start_ns, end_ns)[known]
        stop[known] = np.clip(api.end_ns[calls], start_ns, end_ns)[known]
    queued = known & (stop == start_ns)
    if len(api):
        queued &= api.end_ns[calls] <= start_ns
    # A call that was still running when the GPU fell idle did not fill the queue in time: its thread is to be
    # asked. One that had returned did, and what held the operation up is on the GPU's side.
    split = known & ~queued
    # Each stall is in one of the three masks, so that its shares sum to its length.
    causes.shares[UNKNOWN, ~known] = (end_ns - start_ns)[~known]
    causes.shares[GPU_SIDE, queued] = (end_ns - start_ns)[queued]
    in_profiler = _in_profiler(hosts, causes.thread, split, begin, stop)
    causes.shares[OTHER_CALL, split] = (stop - begin - in_profiler)[split]
    causes.shares[PROFILER, split] = in_profiler[split]
    causes.shares[LAUNCH_TO_START, split] = (end_ns - stop)[split]
    # In this order: whom to follow is decided by the launching thread's shares, and the profiler takes
    # from the shares that come out of that.
    _split_threads(hosts, causes, split, causes.thread, start_ns, begin)
    _follow(hosts, causes, split, start_ns, end_ns, begin, launch)
    _under_the_profiler(hosts, causes, process, start_ns, end_ns)
    return split, begin, stop


def _in_profiler(
    hosts: Hosts, threads: Indices, rows: npt.NDArray[np.bool_], begin: Int64, stop: Int64
) -> Int64:
    """Return how much of each launching call, [begin, stop), is the profiler's own work on its thread, ns."""
    inside = np.zeros(len(begin), np.int64)
    # Thread by thread, since each has its own set of intervals, which answers all windows in one search.
    for thread, stalls in _by_thread(np.where(rows, threads, -1)):
        inside[stalls] = hosts.time(thread).profiler.covered(begin[stalls], stop[stalls])
    return inside


def placed(hosts: Hosts, start_ns: Int64, end_ns: Int64, launch: Indices) -> Causes:
    """Return the thread that launched after each stall, the range around it, and the blocking call before."""
    causes = Causes.empty(len(launch), threads_of(hosts.trace, launch))
    for thread, stalls in _by_thread(causes.thread):
        causes.inside[stalls] = hosts.inside(thread, start_ns[stalls], end_ns[stalls])
        causes.drained_by[stalls] = hosts.blocked_at(thread, start_ns[stalls])
    return causes


def threads_of(trace: Trace, calls: Indices) -> Indices:
    """Return the threads of some API calls, -1 for a call of -1."""
    # On the right: threads without calls share their offset with the next one, which is the one that owns the
    # call.
    thread = np.searchsorted(trace.api.offsets, calls, side="right") - 1
    return np.where(calls >= 0, thread, -1)


def _split_threads(
    hosts: Hosts, causes: Causes, rows: npt.NDArray[np.bool_], thread: Indices, start: Int64, stop: Int64
) -> None:
    """Add to the shares what each stall's thread did until it called the launch."""
    for owner, stalls in _by_thread(np.where(rows, thread, -1)):
        causes.shares[: UNKNOWN + 1, stalls] += hosts.time(owner).split(start[stalls], stop[stalls])


def _follow(
    hosts: Hosts,
    causes: Causes,
    split: npt.NDArray[np.bool_],
    start: Int64,
    end: Int64,
    begin: Int64,
    launch: Indices,
) -> None:
    """Where the launching thread only waited, take the time of the thread that owns the surrounding range.

    Of the threads of the process whose ranges hold the launching call, that is the one that launches most.
    """
    # Not recorded may be not working, but only where something was recorded of other times: else every thread
    # would be passed over.
    idle = causes.shares[OFF_CPU] + (causes.shares[UNKNOWN] if hosts.is_recorded else 0)
    waited = split & (2 * idle >= end - start)
    for thread, stalls in _by_thread(np.where(waited, causes.thread, -1)):
        # An owner takes the stalls that it can explain, and leaves the rest to the next.
        for owner in _owners(hosts, thread):
            rest = stalls[causes.followed[stalls] < 0]
            if not len(rest):
                break
            # The call has to lie inside the owner's range: two threads that work side by side have ranges
            # around the stall, and only one of them waits for this launch.
            rest = rest[_holds(hosts.trace, owner, launch[rest])]
            inside = hosts.inside(owner, start[rest], end[rest])
            rest, inside = rest[inside >= 0], inside[inside >= 0]
            # Both splits cover [start, begin), so replacing one by the other keeps the sum of the shares.
            was = hosts.time(thread).split(start[rest], begin[rest])
            now = hosts.time(owner).split(start[rest], begin[rest])
            causes.shares[: UNKNOWN + 1, rest] += now - was
            causes.followed[rest], causes.inside[rest] = owner, inside
            blocked = hosts.blocked_at(owner, start[rest])
            causes.drained_by[rest] = np.where(blocked >= 0, blocked, causes.drained_by[rest])


def _owners(hosts: Hosts, thread: int) -> list[int]:
    """Return the other threads of the process that have ranges, those that launch most first."""
    owners = hosts.owners(hosts.trace.threads[thread].process)
    # One more is taken than is tried, as the thread itself may be among the first. Few are tried, since a
    # process may have hundreds of threads with ranges, each of which costs a search in all stalls.
    return [owner for owner in owners[: _OWNERS_TRIED + 1] if owner != thread][:_OWNERS_TRIED]


def _holds(trace: Trace, owner: int, launch: Indices) -> npt.NDArray[np.bool_]:
    """Return which calls lie wholly inside a range of a thread."""
    api, nvtx = trace.api, trace.nvtx
    inside = np.zeros(len(launch), bool)
    for track in trace.tracks_of(owner):
        rows = ranges_of(trace, track.index)
        around = outermost(nvtx.start_ns[rows], nvtx.end_ns[rows], api.start_ns[launch], api.end_ns[launch])
        inside |= around >= 0
    return inside


def _name_calls(
    hosts: Hosts,
    causes: Causes,
    split: npt.NDArray[np.bool_],
    start: Int64,
    begin: Int64,
    stop: Int64,
    launch: Indices,
) -> None:
    """Name the longest calls of each kind that the acting thread was in before it launched."""
    acting = np.where(causes.followed >= 0, causes.followed, causes.thread)
    for thread, stalls in _by_thread(np.where(split, acting, -1)):
        low, high = start[stalls], begin[stalls]
        causes.blocking_call[stalls], _ = hosts.longest_call(thread, low, high, blocking=True)
        other, length = hosts.longest_call(thread, low, high, blocking=False)
        # The launching call itself, [begin, stop), is one of the other calls.
        own = (stop - begin)[stalls]
        causes.other_call[stalls] = np.where(own > length, launch[stalls], other)
        causes.os_call[stalls] = hosts.longest_os_call(thread, low, high)


def _under_the_profiler(hosts: Hosts, causes: Causes, process: int, start: Int64, end: Int64) -> None:
    """Count what the profiler's work on other threads explains as the profiler's.

    That is where it covers nearly all of a stall and nothing else explains it: the thread ran host code, was
    in a call that ought to be short, or was not recorded.
    """
    work = hosts.profiler_of(process)
    # Most traces have no record of the profiler's work, and the search for the largest share is not free.
    if not len(work):
        return
    covered = work.covered(start, end)
    largest = causes.shares.argmax(axis=0)
    under = np.flatnonzero(
        np.isin(largest, (HOST, UNKNOWN, OTHER_CALL)) & (covered >= _UNDER_THE_PROFILER * (end - start))
    )
    # No more than the share has: the shares of a stall sum to its length, and none is negative.
    moved = np.minimum(covered[under], causes.shares[largest[under], under])
    causes.shares[largest[under], under] -= moved
    causes.shares[PROFILER, under] += moved


def _decide(hosts: Hosts, causes: Causes, start: Int64, end: Int64, queued_ns: Int64) -> None:
    """Set the cause of each stall: its largest share, or launch-bound where launches came too slowly."""
    largest = causes.shares.argmax(axis=0)
    causes.cause = _CAUSE_OF_SHARE[largest]
    bound = _is_launching(hosts, causes, start, end) & (queued_ns < NEAR_ZERO_NS)
    calls = causes.other_call
    own = (calls >= 0) & (hosts.is_launch[np.maximum(calls, 0)] if len(hosts.is_launch) else False)
    # In a stall longer than the usual time between two launches a single call was slow, or the host busy;
    # that it launches a lot around it does not explain it.
    brief = end - start <= BETWEEN_LAUNCHES_NS
    bound &= (
        (largest == LAUNCH_TO_START)
        | ((largest == OTHER_CALL) & own & brief)
        | (((largest == HOST) | (largest == UNKNOWN)) & brief)
    )
    # An operation that starts at once when it is launched had been waited for, whatever the pace.
    bound |= (largest == LAUNCH_TO_START) & (queued_ns < NEAR_ZERO_NS)
    # Where a blocking call had emptied the queue, it is the cause, not the pace of the launches.
    blocked = causes.drained_by[bound] >= 0
    causes.cause[bound] = np.where(blocked, IDLE_CAUSES.index(SYNCHRONISE), IDLE_CAUSES.index(LAUNCH_BOUND))


def _is_launching(hosts: Hosts, causes: Causes, start: Int64, end: Int64) -> npt.NDArray[np.bool_]:
    """Return where the launching thread launches at least ten times in the surrounding millisecond."""
    # Not (start + end) // 2: two times near the end of int64 would overflow.
    middle = start + (end - start) // 2
    launching = np.zeros(len(start), bool)
    for thread, stalls in _by_thread(causes.thread):
        launching[stalls] = hosts.launches_near(thread, middle[stalls], SURROUNDING_NS) >= LAUNCHES
    return launching


def _by_thread(threads: Indices) -> Iterator[tuple[int, Indices]]:
    """Yield each thread and the positions at which it stands, in order; -1 stands for no thread."""
    # Stable, so that the stalls of a thread stay by start, which the searches behind rely on.
    order = np.argsort(threads, kind="stable")
    first, last = runs(threads[order])
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        if (thread := int(threads[order[low]])) >= 0:
            yield thread, order[low:high]
