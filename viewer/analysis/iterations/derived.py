"""Iterations that no range marks, cut at the optimizer (docs/definitions.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viewer.analysis.iterations.candidate import Candidate, Instances, disagreement
from viewer.analysis.iterations.launch_times import LaunchTimes
from viewer.analysis.iterations.optimizer_steps import OptimizerSteps
from viewer.trace import Trace
from viewer.trace.events import Int64

_MOST_OF_ONE = 0.9
"""What is shorter than so much of the median is no whole iteration: the recording began in its middle."""


def derived(
    trace: Trace,
    steps: Mapping[int, OptimizerSteps],
    times: Mapping[int, LaunchTimes],
    part_starts: Mapping[int, Int64],
) -> Candidate | None:
    """Return the iterations that end with the optimizer's steps, None without two of them.

    Each begins with the first operation that is launched after the optimizer of the one before.

    Parameters
    ----------
    steps, times : mapping of int to OptimizerSteps, LaunchTimes
        By process.
    part_starts : mapping of int to ndarray of int64
        When the ranges begin that name a part of an iteration, sorted: they tell where the first one begins.
    """
    instances = {
        process: cut
        for process, of_process in steps.items()
        if (cut := _cut(of_process, times[process], part_starts.get(process))) is not None
    }
    if not instances:
        return None
    lead = steps[next(iter(instances))]
    # Ranks may have recorded other numbers of steps: each keeps its own here, and `detect` aligns them.
    counts = {process: len(cut) for process, cut in instances.items()}
    ops = {p: times[p].count(cut.start_ns, cut.end_ns) for p, cut in instances.items()}
    even = {p: float((np.abs(n - np.median(n)) <= 0.1 * np.median(n)).mean()) for p, n in ops.items()}
    found = "the kernels of the optimizer" if lead.by_kernels else "the ranges of the optimizer"
    # Kernels alone, without a range that names any part of an iteration, confirm nothing.
    is_guess = lead.by_kernels and not any(len(starts) for starts in part_starts.values())
    return Candidate(
        name=lead.name,
        domain=lead.domain,
        what="optimizer",
        count=min(counts.values()),
        gpu_share=min(times[p].share(cut.start_ns, cut.end_ns) for p, cut in instances.items()),
        even_share=min(even.values()),
        cpu_ns=sum(int((cut.end_ns - cut.start_ns).sum()) for cut in instances.values()),
        qualifies=True,
        kind="guess" if is_guess else "derived",
        why=f"cut after {found} ({lead.name}){'; no range names a part of one' if is_guess else ''}",
        processes=tuple(sorted(counts)),
        disagreement=disagreement(trace, counts),
        instances=instances,
    )


def _cut(steps: OptimizerSteps, times: LaunchTimes, part_starts: Int64 | None) -> Instances | None:
    """Return the time from each step's end to that of the next; of the first one, from where it begins."""
    if len(steps) < 2:
        return None
    ends = times.position(steps.end_ns)
    typical = int(np.median(np.diff(ends)))
    begin = _first(steps, times, part_starts, typical)
    # From step to step without a gap: what lies between the optimizer and the next forward pass belongs to
    # the iteration that it feeds.
    start = np.append(times.time_ns[min(begin, len(times.time_ns) - 1)], steps.end_ns[:-1])
    # A recording often begins in the middle of an iteration: such a rest would pass for a short one.
    whole = slice(0 if ends[0] - begin >= _MOST_OF_ONE * typical else 1, None)
    name_ids = np.full(len(steps), steps.name_id, np.uint32)
    return Instances(steps.thread, steps.domain, start, steps.end_ns, name_ids, copies_wanted=False).take(
        whole
    )


def _first(steps: OptimizerSteps, times: LaunchTimes, part_starts: Int64 | None, typical: int) -> int:
    """Return the operation with which the first iteration begins.

    It is as far ahead of the first forward pass as in the other iterations; without ranges that name parts,
    the iteration has as many operations as the median one.
    """
    ends = times.position(steps.end_ns)
    if part_starts is not None and len(part_starts) and part_starts[0] < steps.end_ns[0]:
        next_part = np.searchsorted(part_starts, steps.end_ns[:-1])
        # A step after which no part begins is the last one of the recording.
        known = next_part < len(part_starts)
        if known.any():
            ahead = times.position(part_starts[next_part[known]]) - ends[:-1][known]
            return max(0, int(times.position(int(part_starts[0]))) - int(np.median(ahead)))
    return max(0, int(ends[0]) - typical)
