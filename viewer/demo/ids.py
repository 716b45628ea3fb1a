"""The ids in the demo's file: processes, threads, streams and strings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from viewer.demo.options import DemoOptions

Int64 = npt.NDArray[np.int64]

FIRST_PID = 40_000
PID_STEP = 7
VM = 1 << 48
CONTEXT = 1
CPUS_PER_RANK = 12
DEFAULT_STREAM = 7

THREADS = {"main": 0, "loader": 2, "autograd": 4}
"""Offset of each thread's id from its process's id."""

THREADS_START_NS = 1_000_000
"""The time of the first context switches, which put the main and autograd threads on their cores."""

THREAD_NAMES = {"main": "pt_main_thread", "loader": "pt_data_pin", "autograd": "pt_autograd_0"}

STREAM_IDS = {"megatron": (7, 20, 24, 28, 32), "distca": (31, 36, 40, 44, 7), "pipeline": (7, 20, 24, 28, 32)}
"""Stream ids by slot: compute, tensor parallel or between stages, data parallel, world, copies.

In distca the copies' is the default one."""


def pids(ranks: int) -> Int64:
    """Return the process ids, by rank."""
    return np.arange(FIRST_PID, FIRST_PID + PID_STEP * ranks, PID_STEP, dtype=np.int64)


def global_pids(ranks: int) -> Int64:
    """Return nsys's serialised process ids, by rank."""
    return VM | (pids(ranks) << 24)


def global_tids(ranks: int, thread: str) -> Int64:
    """Return nsys's serialised ids of one thread of each process, by rank."""
    return global_pids(ranks) | (pids(ranks) + THREADS[thread])


def cpus(ranks: int, thread: str) -> Int64:
    """Return the core that each rank's thread is bound to."""
    return np.arange(ranks, dtype=np.int64) * CPUS_PER_RANK + list(THREADS).index(thread)


def streams(options: DemoOptions) -> Int64:
    """Return the stream ids by slot."""
    return np.array(STREAM_IDS[options.like], np.int64)


@dataclass
class Strings:
    """StringIds: every text once, numbered in order of first use."""

    texts: dict[str, int] = field(default_factory=dict)

    def __call__(self, text: str) -> int:
        """Return the id of a text; a new text gets the next id."""
        return self.texts.setdefault(text, len(self.texts) + 1)
