"""The host tables of the demo: turns simulated iterations into NVTX ranges, OS calls, context switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from viewer.demo.draws import between
from viewer.demo.ids import THREADS_START_NS, Strings, cpus, global_tids
from viewer.demo.loops import SAMPLE_ITERATIONS, SAMPLE_TEXT
from viewer.demo.markings import DOMAIN_IDS, marked
from viewer.demo.options import DemoOptions
from viewer.demo.program import FLUSH, PREEMPTED, Do
from viewer.demo.randoms import Float, uniform
from viewer.demo.row_arrays import Int64, Rows, flat, kept, pick, threads_of
from viewer.demo.simulation import SimulatedIteration

NVTX_PUSH_POP = 59
OSRT_CLASS = 27
BUFFER_FLUSH = 3
RUNNABLE, INTERRUPTIBLE = 1, 2
_LOADER_LEAD_NS = 24_000_000
_LOADER_READS = 9
_READING = 0.77
_PREEMPTED_SYNC_NS = 3_000_000
_LOST_CORE_NS, _READ_BEGINS_NS = (12_000, 70_000), (4_000, 80_000)


@dataclass
class HostTables:
    """Turns iterations into rows of the host's threads; open ranges and waits continue in the next one."""

    options: DemoOptions
    strings: Strings
    _sample_start: Int64 | None = None
    _autograd_free: Int64 = field(init=False)

    def __post_init__(self) -> None:
        ranks = self.options.ranks
        self._autograd_free = THREADS_START_NS + np.full(ranks, 60_000, np.int64)
        self._tids = {t: global_tids(ranks, t) for t in ("main", "autograd", "loader")}
        self._cpus = {t: cpus(ranks, t) for t in ("main", "autograd", "loader")}

    def of(self, iteration: SimulatedIteration) -> Iterator[tuple[str, Rows]]:
        """Yield the rows of an iteration as (table, columns)."""
        yield "NVTX_EVENTS", self._ranges(iteration)
        if self.options.like == "distca" and self.options.marking != "none":
            yield from self._sample(iteration)
        waits = [*self._pauses(iteration), *self._hand_overs(iteration)]
        for thread, name, start, end in waits:
            if name == FLUSH:
                yield "PROFILER_OVERHEAD", self._overhead(thread, name, start, end)
                continue
            if self.options.like != "distca" and name != PREEMPTED:
                yield "OSRT_API", self._os_call(thread, name, start, end)
            yield "SCHED_EVENTS", self._away(thread, start, end, name == PREEMPTED)
        for start, end in self._preemptions(iteration):
            yield "SCHED_EVENTS", self._away("main", start, end, True)
        yield from self._loader(iteration)

    def _ranges(self, iteration: SimulatedIteration) -> Rows:
        steps, ranks = iteration.program.steps, self.options.ranks
        shown_ranges = [
            (push, pop, *shown)
            for push, pop in iteration.program.ranges
            if (
                shown := marked(
                    steps[push].text.format(iteration=iteration.index),
                    steps[push].domain,
                    self.options.marking,
                    iteration.index,
                )
            )
        ]
        pushes = np.array([push for push, *_ in shown_ranges], np.int64)
        pops = np.array([pop for _, pop, *_ in shown_ranges], np.int64)
        # NCCL registers its strings: its ranges have a textId and a domain, those of PyTorch their own text.
        texts = [text for *_, text, _ in shown_ranges]
        registered = [steps[push].domain != "" for push, *_ in shown_ranges]
        rows: Rows = {
            "start": flat(iteration.call_start_ns, pushes),
            "end": flat(iteration.call_end_ns, pops),
            "eventType": NVTX_PUSH_POP,
            "color": [steps[push].argb for push, *_ in shown_ranges] * ranks,
            "text": [None if r else t for t, r in zip(texts, registered, strict=True)] * ranks,
            "globalTid": threads_of(iteration, pushes),
            "textId": [self.strings(t) if r else None for t, r in zip(texts, registered, strict=True)]
            * ranks,
            "domainId": [DOMAIN_IDS[domain] for *_, domain in shown_ranges] * ranks,
        }
        return kept(rows, flat(iteration.is_done, pushes))

    def _sample(self, iteration: SimulatedIteration) -> Iterator[tuple[str, Rows]]:
        """Yield the range around a whole sample: it begins in one iteration and ends in a later one."""
        program = iteration.program
        if program.open_push is not None:
            self._sample_start = iteration.call_start_ns[program.open_push]
        if program.open_pop is not None and self._sample_start is not None:
            text = SAMPLE_TEXT.format(sample=iteration.index // SAMPLE_ITERATIONS)
            yield (
                "NVTX_EVENTS",
                {
                    "start": self._sample_start,
                    "end": iteration.call_end_ns[program.open_pop],
                    "eventType": NVTX_PUSH_POP,
                    "text": [text] * self.options.ranks,
                    "globalTid": self._tids["main"],
                    "domainId": 0,
                },
            )

    def _pauses(self, iteration: SimulatedIteration) -> Iterator[tuple[str, str, Int64, Int64]]:
        """Yield the waits of the main thread inside calls of the operating system."""
        for i in pick(iteration.program.steps, Do.PAUSE):
            yield (
                "main",
                iteration.program.steps[i].os_call,
                iteration.call_start_ns[i],
                iteration.call_end_ns[i],
            )

    def _hand_overs(self, iteration: SimulatedIteration) -> Iterator[tuple[str, str, Int64, Int64]]:
        """Yield the waits of the main and the autograd thread for each other around every backward pass."""
        # A switch to autograd ends its wait and starts the main thread's; a switch back does the reverse.
        for i in pick(iteration.program.steps, Do.SWITCH):
            if iteration.program.steps[i].thread == "autograd":
                given = iteration.call_start_ns[i]
                yield "autograd", "pthread_cond_wait", self._autograd_free, iteration.call_end_ns[i]
            else:
                yield "main", "pthread_cond_wait", given, iteration.call_end_ns[i]
                self._autograd_free = iteration.call_start_ns[i] + 2_000

    def _preemptions(self, iteration: SimulatedIteration) -> Iterator[tuple[Int64, Int64]]:
        """Yield the times in which a thread that spins in a long synchronisation loses its core."""
        for i in pick(iteration.program.steps, Do.SYNC):
            start, length = iteration.call_start_ns[i], iteration.call_end_ns[i] - iteration.call_start_ns[i]
            if length.min() > _PREEMPTED_SYNC_NS:
                when, lost = self._numbers(iteration, i, "preempted"), self._numbers(iteration, i, "lost")
                off = start + (length * (0.2 + 0.5 * when)).astype(np.int64)
                yield off, off + between(_LOST_CORE_NS, lost)

    def _loader(self, iteration: SimulatedIteration) -> Iterator[tuple[str, Rows]]:
        """Yield the loader thread's rows while it makes the batch that the main thread waits for."""
        waits = [
            i for i in pick(iteration.program.steps, Do.PAUSE) if iteration.program.steps[i].os_call == "poll"
        ]
        if not waits:
            return
        begin, end = (
            iteration.call_start_ns[waits[0]] - _LOADER_LEAD_NS,
            iteration.call_end_ns[waits[0]] - 90_000,
        )
        # Equal parts, each with one read that fills most of it, so that reads never overlap.
        part = (end - begin) // _LOADER_READS
        tid, cpu = self._tids["loader"], self._cpus["loader"]
        yield "SCHED_EVENTS", {"start": begin, "cpu": cpu, "isSchedIn": 1, "globalTid": tid, "threadState": 0}
        for number in range(_LOADER_READS):
            late = self._numbers(iteration, waits[0], f"read {number} begins")
            length = self._numbers(iteration, waits[0], f"read {number} lasts")
            start = begin + number * part + between(_READ_BEGINS_NS, late)
            stop = start + (part * (_READING * (0.9 + 0.2 * length))).astype(np.int64)
            yield "OSRT_API", self._os_call("loader", "read", start, stop)
            yield "SCHED_EVENTS", self._away("loader", start + 1_500, stop - 1_500)
        yield "OSRT_API", self._os_call("loader", "pthread_cond_broadcast", end - 6_000, end - 2_000)
        yield "SCHED_EVENTS", {"start": end, "cpu": cpu, "isSchedIn": 0, "globalTid": tid, "threadState": 0}

    def _numbers(self, iteration: SimulatedIteration, step: int, use: str) -> Float:
        """Return a number in (0, 1) for each rank, which belongs to a step and a use."""
        key = iteration.program.keys[step : step + 1]
        numbers: Float = uniform(self.options.seed, iteration.index, key, self.options.ranks, use)[0]
        return numbers

    def _os_call(self, thread: str, name: str, start: Int64, end: Int64) -> Rows:
        return {
            "start": start,
            "end": end,
            "eventClass": OSRT_CLASS,
            "globalTid": self._tids[thread],
            "nameId": self.strings(name),
            "returnValue": 0,
            "nestingLevel": 0,
            "callchainId": 0,
            "argumentsId": 0,
        }

    def _overhead(self, thread: str, name: str, start: Int64, end: Int64) -> Rows:
        return {
            "start": start,
            "end": end,
            "globalTid": self._tids[thread],
            "nameId": self.strings(name),
            "overheadType": BUFFER_FLUSH,
        }

    def _away(self, thread: str, start: Int64, end: Int64, preempted: bool = False) -> Rows:
        """Return each rank's context switches around a time off its core: out at `start`, in at `end`."""
        ranks = len(start)
        return {
            "start": np.concatenate([start, end]),
            "cpu": np.tile(self._cpus[thread], 2),
            "isSchedIn": np.repeat(np.array([0, 1], np.int64), ranks),
            "globalTid": np.tile(self._tids[thread], 2),
            "threadState": np.repeat(
                np.array([RUNNABLE if preempted else INTERRUPTIBLE, 0], np.int64), ranks
            ),
        }
