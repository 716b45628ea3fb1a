"""The CUDA tables of the demo: turns simulated iterations into rows of calls and GPU operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.demo.ids import CONTEXT, Strings, global_pids, streams
from viewer.demo.kernels import KERNELS
from viewer.demo.options import DemoOptions
from viewer.demo.program import CALLS, EVENT_WAITS, Do, Step
from viewer.demo.row_arrays import Column, Int64, Rows, flat, kept, pick, threads_of
from viewer.demo.simulation import SimulatedIteration

NO_STREAM = 4_294_967_295
_LOSS_SEED = 1
# nsys of the schema's year gives queries the type of a stream wait; other years call them event syncs.
_SYNC_TYPES = {Do.EVENT_SYNC: 1, Do.EVENT_QUERY: 2, Do.STREAM_WAIT: 2}
_FOREIGN_HANDLE = 900
_LOCAL_MEMORY_BYTES = 250_871_808
_COMMONEST = "all_reduce"

Mask = npt.NDArray[np.bool_]


@dataclass
class CudaTables:
    """Turns iterations into rows of CUDA calls and GPU operations.

    Columns have one value per (rank, step), rank after rank. The counters (grid and event sync ids) continue
    from one iteration to the next.
    """

    options: DemoOptions
    strings: Strings
    _grids: int = 1
    _records: int = 1
    _collectives: int = 0

    def __post_init__(self) -> None:
        ranks = self.options.ranks
        self._rng = np.random.default_rng((self.options.seed, _LOSS_SEED))
        self._gpid = global_pids(ranks)
        self._streams = streams(self.options)
        # Each process counts from about the same number, so the ids of processes collide, as in real
        # recordings.
        self._first_event = 30 + 5 * np.arange(ranks, dtype=np.int64)
        self._first_sync_id = 16_000 + 17 * np.arange(ranks, dtype=np.int64)

    def of(self, iteration: SimulatedIteration) -> Iterator[tuple[str, Rows]]:
        """Yield the rows of an iteration as (table, columns)."""
        steps = iteration.program.steps
        calls, correlation = pick(steps, *CALLS), iteration.correlation
        yield "CUPTI_ACTIVITY_KIND_RUNTIME", self._runtime(iteration, calls, correlation)
        yield "CUPTI_ACTIVITY_KIND_KERNEL", self._kernels(iteration, correlation)
        yield "CUPTI_ACTIVITY_KIND_MEMCPY", self._copies(iteration, correlation)
        yield "CUPTI_ACTIVITY_KIND_MEMSET", self._sets(iteration, correlation)
        # Each record of an event has a sync id of its own, which what waits for it repeats; 0 is none.
        records = pick(steps, Do.RECORD)
        sync_id = np.zeros((len(steps), self.options.ranks), np.int64)
        sync_id[records] = self._records + np.arange(len(records))[:, None] + self._first_sync_id
        self._records += len(records)
        yield "CUPTI_ACTIVITY_KIND_CUDA_EVENT", self._events(iteration, records, correlation, sync_id)
        yield "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", self._syncs(iteration, correlation, sync_id)

    def _runtime(self, iteration: SimulatedIteration, calls: Int64, correlation: Int64) -> Rows:
        names = [iteration.program.steps[i].api for i in calls]
        rows: dict[str, Column] = {
            "start": flat(iteration.call_start_ns, calls),
            "end": flat(iteration.call_end_ns, calls),
            "eventClass": self._each([0 if n.startswith("cuda") else 1 for n in names]),
            "globalTid": threads_of(iteration, calls),
            "correlationId": flat(correlation, calls),
            "nameId": self._each([self.strings(n) for n in names]),
            "returnValue": 0,
        }
        return self._recorded(rows, iteration, calls)

    def _operations(
        self, iteration: SimulatedIteration, which: Int64, correlation: Int64
    ) -> dict[str, Column]:
        # The columns that all kinds of operations have. `shift` and `drift` put a rank's GPU clock off.
        ranks = np.arange(self.options.ranks)
        shift = np.array([self.options.shift.get(int(r), 0) for r in ranks], np.int64)
        drift = np.array([self.options.drift.get(int(r), 0) for r in ranks], np.int64)
        start, end = (t + shift + t * drift // 10**9 for t in (iteration.gpu_start_ns, iteration.gpu_end_ns))
        return {
            "start": flat(start, which),
            "end": flat(end, which),
            "deviceId": np.repeat(ranks, len(which)),
            "contextId": CONTEXT,
            "greenContextId": 0,
            "streamId": self._each([int(self._streams[iteration.program.steps[i].stream]) for i in which]),
            "correlationId": flat(correlation, which),
            "globalPid": np.repeat(self._gpid, len(which)),
        }

    def _kernels(self, iteration: SimulatedIteration, correlation: Int64) -> Rows:
        which = pick(iteration.program.steps, Do.KERNEL, Do.COLLECTIVE)
        kernels = [KERNELS[iteration.program.steps[i].kernel] for i in which]
        rows = self._operations(iteration, which, correlation)
        grid = self._grids + np.arange(len(which))
        self._grids += len(which)
        shared = [k.static_shared_bytes + k.dynamic_shared_bytes for k in kernels]
        rows |= {
            "demangledName": self._each([self.strings(k.name) for k in kernels]),
            "shortName": self._each([self.strings(k.short) for k in kernels]),
            "launchType": 1,
            "cacheConfig": 1,
            "registersPerThread": self._each([k.registers for k in kernels]),
            "staticSharedMemory": self._each([k.static_shared_bytes for k in kernels]),
            "dynamicSharedMemory": self._each([k.dynamic_shared_bytes for k in kernels]),
            "localMemoryPerThread": 0,
            "localMemoryTotal": _LOCAL_MEMORY_BYTES,
            "gridId": np.tile(grid, self.options.ranks),
            "sharedMemoryExecuted": self._each([_shared_memory_step(s) for s in shared]),
            "sharedMemoryLimitConfig": 0,
            "clusterX": 0,
            "clusterY": 0,
            "clusterZ": 0,
            "clusterSchedulingPolicy": 0,
            "maxPotentialClusterSize": 0,
            "maxActiveClusters": 0,
        }
        for place, axis in enumerate("XYZ"):
            rows[f"grid{axis}"] = self._each([k.grid[place] for k in kernels])
            rows[f"block{axis}"] = self._each([k.block[place] for k in kernels])
        return self._lose(rows, self._is_there(iteration, which))

    def _copies(self, iteration: SimulatedIteration, correlation: Int64) -> Rows:
        which = pick(iteration.program.steps, Do.COPY)
        steps = [iteration.program.steps[i] for i in which]
        rows = self._operations(iteration, which, correlation)
        rows |= {
            "bytes": self._each([s.bytes for s in steps]),
            "copyKind": self._each([s.copy_kind for s in steps]),
            "srcKind": self._each([s.source_kind for s in steps]),
            "dstKind": self._each([s.target_kind for s in steps]),
            "copyCount": 1,
        }
        return self._lose(rows)

    def _sets(self, iteration: SimulatedIteration, correlation: Int64) -> Rows:
        which = pick(iteration.program.steps, Do.SET)
        steps = [iteration.program.steps[i] for i in which]
        rows = self._operations(iteration, which, correlation)
        rows |= {
            "value": 0,
            "bytes": self._each([s.bytes for s in steps]),
            "memKind": self._each([s.target_kind for s in steps]),
        }
        return self._lose(rows)

    def _events(
        self, iteration: SimulatedIteration, which: Int64, correlation: Int64, sync_id: Int64
    ) -> Rows:
        ranks, steps = self.options.ranks, [iteration.program.steps[i] for i in which]
        handle = np.array([s.handle for s in steps], np.int64)[:, None] + self._first_event
        rows: dict[str, Column] = {
            "timestamp": 0,  # not collected, as in most recordings
            "deviceId": np.repeat(np.arange(ranks), len(which)),
            "contextId": CONTEXT,
            "streamId": self._each([int(self._streams[s.stream]) for s in steps]),
            "correlationId": flat(correlation, which),
            "globalPid": np.repeat(self._gpid, len(which)),
            "eventId": np.ascontiguousarray(handle.T).ravel(),
            "eventSyncId": flat(sync_id, which),
        }
        return self._recorded(rows, iteration, which)

    def _syncs(self, iteration: SimulatedIteration, correlation: Int64, sync_id: Int64) -> Rows:
        steps = iteration.program.steps
        which = pick(steps, *EVENT_WAITS, Do.SYNC)
        handle = np.full((len(steps), self.options.ranks), NO_STREAM, np.int64)
        record = np.zeros_like(handle)
        for i in which:
            event = steps[i].event
            if event is not None:
                handle[i], record[i] = steps[event].handle + self._first_event, sync_id[event]
            elif steps[i].do == Do.STREAM_WAIT:
                handle[i] = _FOREIGN_HANDLE
        rows: dict[str, Column] = {
            "start": flat(iteration.call_start_ns, which) + 300,
            "end": flat(iteration.call_end_ns, which) - 100,
            "deviceId": np.repeat(np.arange(self.options.ranks), len(which)),
            "contextId": CONTEXT,
            "streamId": self._each([self._waiting_stream(steps[i]) for i in which]),
            "correlationId": flat(correlation, which),
            "globalPid": np.repeat(self._gpid, len(which)),
            "syncType": self._each([_sync_type(steps[i]) for i in which]),
            "eventId": flat(handle, which),
            "eventSyncId": flat(record, which),
        }
        return self._recorded(rows, iteration, which)

    def _waiting_stream(self, step: Step) -> int:
        """Return the id of the stream that a wait holds up, or is for; `NO_STREAM` where it is the host."""
        if step.do in (Do.EVENT_SYNC, Do.EVENT_QUERY) or step.stream < 0:
            return NO_STREAM
        return int(self._streams[step.stream])

    def _each(self, values: list[int]) -> Int64:
        """Return the values of some steps, repeated for each rank."""
        return np.tile(np.array(values, np.int64), self.options.ranks)

    def _recorded(self, rows: Rows, iteration: SimulatedIteration, which: Int64) -> Rows:
        """Return the rows of steps that their ranks do, once these are recorded."""
        rank = np.repeat(np.arange(self.options.ranks), len(which))
        is_recorded = self._is_recorded(rank, flat(iteration.call_start_ns, which))
        return kept(rows, is_recorded & flat(iteration.is_done, which))

    def _is_recorded(self, rank: Int64, start_ns: Int64) -> Mask:
        """Return the rows that lie after the beginning of their rank's recording."""
        begin = self.options.all_rank_faults.begin_ms
        begins = np.array([begin.get(r, -np.inf) * 1e6 for r in range(self.options.ranks)])
        return np.asarray(start_ns >= begins[rank])

    def _is_there(self, iteration: SimulatedIteration, which: Int64) -> Mask:
        """Return the kernels that run, without those that `RankFaults.missing` names, rank after rank."""
        steps = iteration.program.steps
        is_reduce = np.array([steps[i].kernel == _COMMONEST for i in which])
        number = self._collectives + np.cumsum(is_reduce) - 1
        self._collectives += int(is_reduce.sum())
        missing = self.options.all_rank_faults.missing
        lacks = [is_reduce & (number == missing.get(r, -1)) for r in range(self.options.ranks)]
        return ~np.concatenate(lacks) & flat(iteration.is_done, which)

    def _lose(self, rows: dict[str, Column], is_there: Mask | None = None) -> Rows:
        """Return the rows that are in the file: a rank may lack some, or begin late.

        `options.lose` names the fraction of each rank's rows that is lost at random.
        """
        device = np.asarray(rows["deviceId"])
        is_kept = self._is_recorded(device, np.asarray(rows["start"]))
        if is_there is not None:
            is_kept &= is_there
        if self.options.lose:
            fraction = np.array([self.options.lose.get(r, 0.0) for r in range(self.options.ranks)])
            is_kept &= self._rng.random(len(device)) >= fraction[device]
        return kept(rows, is_kept)


def _sync_type(step: Step) -> int:
    return _SYNC_TYPES.get(step.do, 4 if step.stream < 0 else 3)


def _shared_memory_step(size: int) -> int:
    """Return the smallest shared memory configuration of an H200, from 32 KiB on, that fits `size` bytes."""
    return next(kib * 1024 for kib in (32, 64, 100, 132, 164, 196, 228) if size <= kib * 1024)
