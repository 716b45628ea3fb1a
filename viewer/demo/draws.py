"""The random times of an iteration, drawn before it runs: what its steps take when nothing holds them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.demo.options import DemoOptions
from viewer.demo.program import Do, Program
from viewer.demo.randoms import Float, exponential, normal, uniform

Int64 = npt.NDArray[np.int64]

SLOW = 1.06
CALL_GAP_NS, RANGE_GAP_NS = 8_200, 700
LAUNCH_SPREAD = 0.14
LATENCY_NS, FINISH_NS = (5_000, 6_400), (0, 900)


@dataclass(frozen=True)
class Draws:
    """Times of the steps of one iteration. All arrays have shape (steps, ranks) and hold nanoseconds.

    Attributes
    ----------
    host_ns : ndarray of int64
        How long the host is in the step's call, if nothing blocks it.
    before_ns : ndarray of int64
        How long the host computes before the step.
    work_ns : ndarray of int64
        How long the operation runs alone on the GPU; for a collective from when its last member is there.
    latency_ns : ndarray of int64
        From the beginning of the call until the operation can start.
    finish_ns : ndarray of int64
        How much later than the others' a rank's part of a collective ends.
    """

    host_ns: Int64
    before_ns: Int64
    work_ns: Int64
    latency_ns: Int64
    finish_ns: Int64


def draw(program: Program, options: DemoOptions, iteration: int) -> Draws:
    """Return the times of an iteration's steps.

    A step's numbers depend on its key, not on what else the program does: a fault changes no other step's.
    """
    steps, faults, ranks = program.steps, options.all_rank_faults, options.ranks
    pace = faults.pace(steps, ranks)
    if options.straggler is not None:
        pace[:, options.straggler] *= SLOW
    spread = _column([s.spread for s in steps])
    host_spread = _column([LAUNCH_SPREAD if s.work_ns else s.spread for s in steps])
    think = _column([RANGE_GAP_NS if s.do in (Do.PUSH, Do.POP) else CALL_GAP_NS for s in steps])
    compute = np.array([s.do == Do.KERNEL for s in steps])[:, None]
    for_step = (options.seed, iteration, program.keys, ranks)
    host = _about([s.host_ns for s in steps], host_spread, normal(*for_step, "host"))
    work = _about([s.work_ns for s in steps], spread, normal(*for_step, "work"))
    before = (think * (0.7 + 0.3 * exponential(*for_step, "before"))).astype(np.int64)
    return Draws(
        host.astype(np.int64),
        before + faults.host_delay_ns(steps, ranks),
        np.where(compute, work * pace, work).astype(np.int64),
        between(LATENCY_NS, uniform(*for_step, "latency")),
        between(FINISH_NS, uniform(*for_step, "finish")),
    )


def between(bounds: tuple[int, int], numbers: Float) -> Int64:
    """Return whole numbers from the first bound up to the last, without it, for numbers in (0, 1)."""
    low, high = bounds
    return low + np.floor((high - low) * numbers).astype(np.int64)


def _about(typical: Sequence[int], spread: Float, numbers: Float) -> Float:
    # Never below 40 %: a wide spread would make negative durations.
    return _column(typical) * np.maximum(1 + spread * numbers, 0.4)


def _column(values: Sequence[float]) -> Float:
    return np.array(values, np.float64)[:, None]
