"""Why a GPU was idle: the launching thread's time in a stall, and what it says.

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
    "off_cpu_ns",
    "host_ns",
    "unknown_ns",
    "launch_to_start_ns",
    "gpu_side_ns",
)
"""What an idle stall is made of; they sum to its length."""
BLOCKING, OTHER_CALL, OFF_CPU, HOST, UNKNOWN, LAUNCH_TO_START, GPU_SIDE = range(len(SHARES))

WAITING, HOST_CODE, SYNCHRONISE, SLOW_CALL, LAUNCH_BOUND, ON_GPU_SIDE, NOT_KNOWN = (
    "waiting",
    "host code",
    "synchronise",
    "slow CUDA call",
    "launch-bound",
    "GPU side",
    "unknown",
)
IDLE_CAUSES = (WAITING, HOST_CODE, SYNCHRONISE, SLOW_CALL, LAUNCH_BOUND, ON_GPU_SIDE, NOT_KNOWN)
_CAUSE_OF_SHARE = np.array(
    [
        IDLE_CAUSES.index(cause)
        for cause in (SYNCHRONISE, SLOW_CALL, WAITING, HOST_CODE, NOT_KNOWN, ON_GPU_SIDE, ON_GPU_SIDE)
    ],
    np.int8,
)

LAUNCHES = 10
SURROUNDING_NS = 1_000_000
BETWEEN_LAUNCHES_NS = SURROUNDING_NS // LAUNCHES
_OWNERS_TRIED = 4


@dataclass
class Causes:
    """Of some stalls of one GPU, sorted: the figures, the cause and what points at it.

    Attributes
    ----------
    shares : ndarray of int64, shape (7, stalls)
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
        """Return what is known before anything is: nothing."""
        none = np.full(count, -1, np.int64)
        shares = np.zeros((len(SHARES), count), np.int64)
        return cls(shares, np.zeros(count, np.int8), thread, *(none.copy() for _ in range(6)))


def find_causes(hosts: Hosts, start_ns: Int64, end_ns: Int64, launch: Indices, queued_ns: Int64) -> Causes:
    """Find why a GPU was idle in some stalls.

    Parameters
    ----------
    start_ns, end_ns : ndarray of int64, shape (stalls,)
        Disjoint and sorted.
    launch : ndarray of int64, shape (stalls,)
        The call (index into ``trace.api``) that launched the operation after, -1 without a record.
    queued_ns : ndarray of int64, shape (stalls,)
        How long that operation was queued.
    """
    found = placed(hosts, start_ns, end_ns, launch)
    api, known = hosts.trace.api, launch >= 0
    calls = np.maximum(launch, 0)
    begin, stop = start_ns.copy(), start_ns.copy()
    if len(api):
        begin[known] = np.clip(api.start_ns[calls], start_ns, end_ns)[known]
        stop[known] = np.clip(api.end_ns[calls], start_ns, end_ns)[known]
    queued = known & (stop == start_ns)
    if len(api):
        queued &= api.end_ns[calls] <= start_ns
    split = known & ~queued
    found.shares[UNKNOWN, ~known] = (end_ns - start_ns)[~known]
    found.shares[GPU_SIDE, queued] = (end_ns - start_ns)[queued]
    found.shares[OTHER_CALL, split] = (stop - begin)[split]
    found.shares[LAUNCH_TO_START, split] = (end_ns - stop)[split]
    _split_threads(hosts, found, split, found.thread, start_ns, begin)
    _follow(hosts, found, split, start_ns, end_ns, begin, launch)
    _name_calls(hosts, found, split, start_ns, begin, stop, launch)
    _decide(hosts, found, start_ns, end_ns, queued_ns)
    return found


def placed(hosts: Hosts, start_ns: Int64, end_ns: Int64, launch: Indices) -> Causes:
    """Say of stalls of any kind which thread launched, inside which range, and what drained the queue."""
    found = Causes.empty(len(launch), threads_of(hosts.trace, launch))
    for thread, mine in _by_thread(found.thread):
        found.inside[mine] = hosts.inside(thread, start_ns[mine], end_ns[mine])
        found.drained_by[mine] = hosts.blocked_at(thread, start_ns[mine])
    return found


def threads_of(trace: Trace, calls: Indices) -> Indices:
    """Return the threads of some API calls, -1 for a call of -1."""
    thread = np.searchsorted(trace.api.offsets, calls, side="right") - 1
    return np.where(calls >= 0, thread, -1)


def _split_threads(
    hosts: Hosts, found: Causes, rows: npt.NDArray[np.bool_], thread: Indices, start: Int64, stop: Int64
) -> None:
    """Add to the shares what each stall's thread did until it called the launch."""
    for one, mine in _by_thread(np.where(rows, thread, -1)):
        found.shares[: UNKNOWN + 1, mine] += hosts.time(one).split(start[mine], stop[mine])


def _follow(
    hosts: Hosts,
    found: Causes,
    split: npt.NDArray[np.bool_],
    start: Int64,
    end: Int64,
    begin: Int64,
    launch: Indices,
) -> None:
    """Where the launching thread only waited, or had not begun, take that of the surrounding range's owner.

    Of the threads of the process whose ranges hold the launching call, the one that launches most.
    """
    idle = found.shares[OFF_CPU] + (found.shares[UNKNOWN] if hosts.is_recorded else 0)
    waited = split & (2 * idle >= end - start)
    for thread, held in _by_thread(np.where(waited, found.thread, -1)):
        for owner in _owners(hosts, thread):
            mine = held[found.followed[held] < 0]
            if not len(mine):
                break
            mine = mine[_holds(hosts.trace, owner, launch[mine])]
            inside = hosts.inside(owner, start[mine], end[mine])
            mine, inside = mine[inside >= 0], inside[inside >= 0]
            was = hosts.time(thread).split(start[mine], begin[mine])
            now = hosts.time(owner).split(start[mine], begin[mine])
            found.shares[: UNKNOWN + 1, mine] += now - was
            found.followed[mine], found.inside[mine] = owner, inside
            drained = hosts.blocked_at(owner, start[mine])
            found.drained_by[mine] = np.where(drained >= 0, drained, found.drained_by[mine])


def _owners(hosts: Hosts, thread: int) -> list[int]:
    """Return the other threads of the process that have ranges, those that launch most first."""
    owners = hosts.owners(hosts.trace.threads[thread].process)
    return [t for t in owners[: _OWNERS_TRIED + 1] if t != thread][:_OWNERS_TRIED]


def _holds(trace: Trace, owner: int, launch: Indices) -> npt.NDArray[np.bool_]:
    """Return which calls lie wholly inside a range of a thread."""
    api, nvtx = trace.api, trace.nvtx
    held = np.zeros(len(launch), bool)
    for track in trace.tracks_of(owner):
        rows = ranges_of(trace, track.index)
        at = outermost(nvtx.start_ns[rows], nvtx.end_ns[rows], api.start_ns[launch], api.end_ns[launch])
        held |= at >= 0
    return held


def _name_calls(
    hosts: Hosts,
    found: Causes,
    split: npt.NDArray[np.bool_],
    start: Int64,
    begin: Int64,
    stop: Int64,
    launch: Indices,
) -> None:
    acting = np.where(found.followed >= 0, found.followed, found.thread)
    for thread, mine in _by_thread(np.where(split, acting, -1)):
        found.blocking_call[mine], _ = hosts.longest_call(thread, start[mine], begin[mine], blocking=True)
        other, length = hosts.longest_call(thread, start[mine], begin[mine], blocking=False)
        own = (stop - begin)[mine]
        found.other_call[mine] = np.where(own > length, launch[mine], other)
        found.os_call[mine] = hosts.longest_os_call(thread, start[mine], begin[mine])


def _decide(hosts: Hosts, found: Causes, start: Int64, end: Int64, queued_ns: Int64) -> None:
    largest = found.shares.argmax(axis=0)
    found.cause = _CAUSE_OF_SHARE[largest]
    bound = _is_launching(hosts, found, start, end) & (queued_ns < NEAR_ZERO_NS)
    calls = found.other_call
    own = (calls >= 0) & (hosts.is_launch[np.maximum(calls, 0)] if len(hosts.is_launch) else False)
    brief = end - start <= BETWEEN_LAUNCHES_NS
    bound &= (
        (largest == LAUNCH_TO_START)
        | ((largest == OTHER_CALL) & own & brief)
        | (((largest == HOST) | (largest == UNKNOWN)) & brief)
    )
    # A queue that a blocking call has emptied is not one that the launches are too slow for.
    bound |= (largest == LAUNCH_TO_START) & (queued_ns < NEAR_ZERO_NS)
    drained = found.drained_by[bound] >= 0
    found.cause[bound] = np.where(drained, IDLE_CAUSES.index(SYNCHRONISE), IDLE_CAUSES.index(LAUNCH_BOUND))


def _is_launching(hosts: Hosts, found: Causes, start: Int64, end: Int64) -> npt.NDArray[np.bool_]:
    """Return where the launching thread launches at least ten times in the surrounding millisecond."""
    middle = start + (end - start) // 2
    launching = np.zeros(len(start), bool)
    for thread, mine in _by_thread(found.thread):
        launching[mine] = hosts.launches_near(thread, middle[mine], SURROUNDING_NS) >= LAUNCHES
    return launching


def _by_thread(threads: Indices) -> Iterator[tuple[int, Indices]]:
    """Yield each thread and where it stands, in order; -1 is none."""
    order = np.argsort(threads, kind="stable")
    first, last = runs(threads[order])
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        if (thread := int(threads[order[low]])) >= 0:
            yield thread, order[low:high]
