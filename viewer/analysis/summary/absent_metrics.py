"""Metrics of the time without compute: by what was missing, and what blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.dependencies.pieces import BY_COMMUNICATION, BY_COMPUTE, BY_COPY
from viewer.analysis.stalls.causes import SHARES
from viewer.analysis.stalls.stall_details import SHARE_TEXT
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, longest_intervals, sum_of
from viewer.analysis.summary.sections import ABSENT

_Find = Callable[[MetricInputs, int], Intervals]
"""The time of one GPU, by its index, that a metric sums."""


def _sum(field: str, find: _Find, inputs: MetricInputs) -> Result:
    per_gpu = [getattr(sums, field) for sums in inputs.reasons]
    intervals = inputs.on_each_gpu(partial(find, inputs))
    return sum_of(per_gpu, longest_intervals(intervals), inputs.scope.total_ns)


def _where_any(field: str, find: _Find, inputs: MetricInputs) -> Result | None:
    """Return a sum that is left out where there is nothing of the kind."""
    return _sum(field, find, inputs) if any(getattr(sums, field) for sums in inputs.reasons) else None


def _absent(inputs: MetricInputs) -> Result:
    # What the five categories leave beside compute: so it is W without P, to the nanosecond.
    intervals = inputs.stalls("exposed_comm", "copy_only", "idle")
    per_gpu = [sums.compute_absent_ns for sums in inputs.reasons]
    return sum_of(per_gpu, longest_intervals(intervals), inputs.scope.total_ns)


def _starved_by(inputs: MetricInputs) -> Iterator[Result]:
    """Yield what the threads did, what took longest first; what none did is left out."""
    totals = inputs.starved_by.sum(axis=0)
    # One place for all shares: the host does several things in one piece, none with an interval of its own.
    where = longest_intervals(inputs.on_each_gpu(partial(_starved, inputs)))
    # By time, then in the order of the table, so that equal ones keep their places from run to run.
    for share in sorted(range(len(SHARES)), key=lambda share: (-int(totals[share]), share)):
        if int(totals[share]):
            result = sum_of(inputs.starved_by[:, share].tolist(), where, inputs.scope.total_ns)
            name = SHARES[share]
            yield replace(result, suffix=f".{name}", title=f"of it {SHARE_TEXT[name]}")


def _starved(inputs: MetricInputs, gpu: int) -> Intervals:
    return inputs.study.stall_reasons.pieces(gpu).starved


def _blocked(inputs: MetricInputs, gpu: int) -> Intervals:
    return inputs.study.stall_reasons.pieces(gpu).blocked


def _blocked_by(blocker: int, inputs: MetricInputs, gpu: int) -> Intervals:
    pieces = inputs.study.stall_reasons.pieces(gpu)
    return pieces.at(pieces.blocker == blocker).blocked


def _waiting(inputs: MetricInputs, gpu: int) -> Intervals:
    return inputs.study.stall_reasons.waits(gpu)


def _unresolved(inputs: MetricInputs, gpu: int) -> Intervals:
    return inputs.study.stall_reasons.pieces(gpu).unresolved


def _after_last(inputs: MetricInputs, gpu: int) -> Intervals:
    return inputs.study.stall_reasons.after_last(gpu)


def _exposed_blocking(inputs: MetricInputs, gpu: int) -> Intervals:
    return inputs.study.stall_reasons.exposed(gpu) & _blocked(inputs, gpu)


def _exposed_free(inputs: MetricInputs, gpu: int) -> Intervals:
    # Less all that was blocked, whoever blocked it: a copy that blocks meanwhile is no proof that this
    # communication cost nothing, but hiding it would win nothing then either.
    return inputs.study.stall_reasons.exposed(gpu) - _blocked(inputs, gpu)


METRICS = (
    Metric(
        "compute_absent",
        ABSENT,
        "compute absent",
        "ns",
        "No compute kernel runs on any stream of the GPU: exposed communication, copy only and idle "
        "together. It is launch-starved, blocked, unresolved, or after the last compute kernel.",
        _absent,
    ),
    Metric(
        "launch_starved",
        ABSENT,
        "launch-starved",
        "ns",
        "Until the call has returned that launches the next compute kernel: the host came too late.",
        partial(_sum, "launch_starved_ns", _starved),
    ),
    Metric(
        "launch_starved_by",
        ABSENT,
        "of it, by what the host did",
        "ns",
        "Of the launch-starved time, what the launching thread did meanwhile, as in idle stalls.",
        _starved_by,
        depth=1,
    ),
    Metric(
        "blocked",
        ABSENT,
        "blocked",
        "ns",
        "The next compute kernel is launched, and an operation that it has to wait for has not ended: one "
        "before it on its stream, or one that an event stands for.",
        partial(_sum, "blocked_ns", _blocked),
    ),
    Metric(
        "blocked_by_communication",
        ABSENT,
        "of it by communication",
        "ns",
        "Blocked, and the operation that ends last is a collective. Its own wait for a late rank is in it.",
        partial(_where_any, "by_communication_ns", partial(_blocked_by, BY_COMMUNICATION)),
        depth=1,
    ),
    Metric(
        "blocked_by_waiting",
        ABSENT,
        "of that waiting for a late rank",
        "ns",
        "Blocked by a collective that waits itself for a rank that comes later.",
        partial(_where_any, "communication_wait_ns", _waiting),
        depth=2,
    ),
    Metric(
        "blocked_by_copy",
        ABSENT,
        "of it by copies",
        "ns",
        "Blocked, and the operation that ends last is a copy or a set.",
        partial(_where_any, "by_copy_ns", partial(_blocked_by, BY_COPY)),
        depth=1,
    ),
    Metric(
        "blocked_by_compute",
        ABSENT,
        "of it by another GPU's compute",
        "ns",
        "Blocked, and the operation that ends last is a compute kernel of another GPU of the process.",
        partial(_where_any, "by_compute_ns", partial(_blocked_by, BY_COMPUTE)),
        depth=1,
    ),
    Metric(
        "unresolved",
        ABSENT,
        "unresolved",
        "ns",
        "The next compute kernel is launched, and all that it is known to wait for has ended: the latency of "
        "starting it, or a dependency that is not recorded. Without a launch record all of it.",
        partial(_sum, "unresolved_ns", _unresolved),
    ),
    Metric(
        "after_last",
        ABSENT,
        "after the last compute kernel",
        "ns",
        "No compute kernel follows on the GPU in the whole recording.",
        partial(_where_any, "after_last_ns", _after_last),
    ),
    Metric(
        "exposed_blocking",
        ABSENT,
        "exposed communication that blocks",
        "ns",
        "Exposed communication while the next compute kernel is blocked: what hiding it can win.",
        partial(_where_any, "exposed_blocking_ns", _exposed_blocking),
    ),
    Metric(
        "exposed_free",
        ABSENT,
        "exposed communication that blocks nothing",
        "ns",
        "The rest of exposed communication: no compute kernel was kept from running by it, as far as the "
        "recording tells.",
        partial(_where_any, "exposed_free_ns", _exposed_free),
    ),
)
