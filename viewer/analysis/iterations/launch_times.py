"""When the operations of a process were launched: their number and time between two instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.launches.launches import Launches
from viewer.trace import GPU_KINDS
from viewer.trace.events import Int64


@dataclass(frozen=True, eq=False)
class LaunchTimes:
    """The operations of a process by launch, whichever thread launched them; without the driver's migrations.

    Attributes
    ----------
    time_ns : ndarray of int64, shape (n,)
        Start of the call, of operations without a launch record their own start; sorted.
    busy_before_ns : ndarray of int64, shape (n + 1,)
        Sum of the durations of the operations before each.
    of_thread : mapping of int to ndarray of int64
        The times of the operations that each thread launched, by index of the thread; sorted.
    """

    time_ns: Int64
    busy_before_ns: Int64
    of_thread: Mapping[int, Int64] = field(default_factory=dict)

    def position(self, times: Int64 | int) -> Indices:
        """Return how many operations were launched before some instants."""
        return np.asarray(np.searchsorted(self.time_ns, times, side="left"), np.int64)

    def count(self, start_ns: Int64, end_ns: Int64) -> Indices:
        """Return how many operations were launched in each of some time ranges."""
        return self.position(end_ns) - self.position(start_ns)

    def busy_ns(self, start_ns: Int64, end_ns: Int64) -> Int64:
        """Return the durations of the operations launched in each of some time ranges, added up."""
        low, high = self.position(start_ns), self.position(end_ns)
        return self.busy_before_ns[high] - self.busy_before_ns[low]

    def by_thread(self, thread: int, start_ns: Int64, end_ns: Int64) -> int:
        """Return how many operations a thread launched in some time ranges together."""
        times = self.of_thread.get(thread)
        if times is None:
            return 0
        return int((np.searchsorted(times, end_ns) - np.searchsorted(times, start_ns)).sum())

    def whole_share(self, start_ns: Int64, end_ns: Int64) -> float:
        """Return what some ranges launch of all that the process launches."""
        whole = int(self.busy_before_ns[-1])
        return int(self.busy_ns(start_ns, end_ns).sum()) / whole if whole else 0.0

    def share(self, start_ns: Int64, end_ns: Int64) -> float:
        """Return what some ranges launch of all that is launched from the first start to the last end.

        Parameters
        ----------
        start_ns, end_ns : ndarray of int64, shape (ranges,)
            Disjoint, in order of time.
        """
        whole = int(self.busy_ns(start_ns[:1], end_ns[-1:])[0])
        return int(self.busy_ns(start_ns, end_ns).sum()) / whole if whole else 0.0


def launch_times(launches: Launches, process: int) -> LaunchTimes:
    """Return the operations of a process by launch."""
    trace, api = launches.trace, launches.trace.api
    times, lengths, calls = ([np.empty(0, np.int64)] for _ in range(3))
    for kind in GPU_KINDS:
        events = trace.events[kind]
        if not len(events):
            continue
        call, migrates = launches.api_of(kind), events.migrations()
        for gpu in trace.gpus_of(process):
            rows = rows_of_gpu(trace, kind, gpu.index)
            # The driver launches these when a page is missing, not the program: they follow no iteration.
            rows = rows[~migrates[rows]]
            of_call = call[rows]
            start = events.start_ns[rows]
            if len(api):
                # By the call, since that is what ranges on the CPU enclose; a lost call leaves the
                # operation's own start, which is later, but in the right order on its stream.
                start = np.where(of_call >= 0, api.start_ns[np.maximum(of_call, 0)], start)
            times.append(start)
            calls.append(of_call.astype(np.int64))
            lengths.append(events.end_ns[rows] - events.start_ns[rows])
    time, length = np.concatenate(times), np.concatenate(lengths)
    # Over all threads and GPUs of the process at once: whoever launches, the iteration is the process's.
    order = np.argsort(time, kind="stable")
    # Calls are grouped by thread and sorted by start, so each thread's sorted calls give its sorted times.
    call = np.sort(np.concatenate(calls))
    of_thread = {}
    for thread in trace.threads_of(process):
        low, high = np.searchsorted(call, api.offsets[[thread.index, thread.index + 1]])
        if high > low:
            of_thread[thread.index] = api.start_ns[call[low:high]]
    return LaunchTimes(time[order], np.append(0, np.cumsum(length[order])), of_thread)
