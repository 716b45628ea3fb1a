"""The options of the demo: the simulated job, and the damage to its recording."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from viewer.demo.injected_faults import FAULTS, Fault, job_of, rank_faults_of
from viewer.demo.markings import MARKINGS, Marking
from viewer.demo.overlap_tax import DEFAULT_TAX
from viewer.demo.pipeline import STAGE_RANKS, STAGES
from viewer.demo.rank_faults import RankFaults

Oddity = Literal[
    "versioned-tables",
    "environment-rank",
    "mpi-ranks",
    "unread-tables",
    "migrations",
    "nsys-messages",
    "impossible-rows",
    "no-event-records",
    "lost-event-records",
    "no-sync-ids",
    "null-sync-ids",
    "zero-sync-ids",
    "max-sync-ids",
]
ODDITIES: tuple[Oddity, ...] = get_args(Oddity)
"""The oddities that a file may contain, see `viewer.demo.oddities`."""

DEMO_VERSION = 9
"""Raise it when the same options give another file: cached demos of other versions are not used."""


@dataclass(frozen=True)
class DemoOptions:
    """The options of a demo.

    Attributes
    ----------
    ranks : int
        Number of processes, one GPU each.
    tensor : int
        Size of a tensor parallel group of adjacent ranks; a data parallel group has one rank of each of four.
    iterations : int or None
        Number of iterations; None means eight (twenty, in four samples, with ``like="distca"``).
    events : int or None
        Approximate number of rows in the file (ten million for the benchmarks); sets `iterations`.
    like : {"megatron", "distca", "pipeline"}
        ``distca`` is recorded as the public context-parallel scripts do it: a range
        ``sample_0(repeat=5)`` around five iterations and none around each, sleeps between samples,
        compute on a stream that is not 7, context switches but no OS runtime rows. ``pipeline`` is a
        pipeline of four stages with two ranks each, see `viewer.demo.pipeline`.
    slow_rank : int or None
        The rank whose compute kernels take 6 % longer; None, or a rank that does not exist, for no slow rank.
    fault : Fault or None
        A fault to inject, in a separate NVTX range: a busy CPU, numbers fetched one by one, an allocation,
        launch-bound tiny kernels, a late event of another GPU, a lost core, the profiler's own work, a
        loop that polls, kernels that wait for a collective which they do not need, data that come late to
        all hosts. Or, without a range: a host that is late, two slow ranks in the place of `slow_rank`.
        Of a pipeline, and of nothing else: a stage that computes longer, in the place of `slow_rank`.
        All other random numbers stay: the job without the fault is what mending it would give.
    overlap_tax : float or None
        The fraction by which compute kernels take longer while communication of their GPU runs beside them;
        None for 3 %, and for 0 in a clean job.
    clean : bool
        A healthy job: no slow rank, no checkpoint, no slow first iteration, no wait for data, the batch
        prefetched, faster links between the ranks.
    one_stream : bool
        All groups take turns on one NCCL stream, and their all-reduces have one name, as with XLA.
    shift : mapping of int to int
        Nanoseconds by which a rank's GPU rows are off (negative: early); its CPU rows stay.
    drift : mapping of int to int
        Nanoseconds a second by which a rank's GPU clock drifts, from the trace's zero on.
    lose : mapping of int to float
        The fraction of a rank's GPU rows that is missing from the file, without any message.
    oddities : tuple of Oddity
        Oddities to write into the file; the job does not change.
    rank_faults : RankFaults
        What is wrong with some ranks, besides `slow_rank`; in a clean job too.
    marking : Marking
        How the NVTX ranges mark the iterations; the job does not change.
    seed : int
        The seed of all random numbers: the same options and seed give the same file.
    """

    ranks: int = 8
    tensor: int = 2
    iterations: int | None = None
    events: int | None = None
    like: Literal["megatron", "distca", "pipeline"] = "megatron"
    slow_rank: int | None = 5
    fault: Fault | None = None
    overlap_tax: float | None = None
    clean: bool = False
    one_stream: bool = False
    shift: Mapping[int, int] = field(default_factory=dict)
    drift: Mapping[int, int] = field(default_factory=dict)
    lose: Mapping[int, float] = field(default_factory=dict)
    oddities: tuple[Oddity, ...] = ()
    rank_faults: RankFaults = field(default_factory=RankFaults)
    marking: Marking = "iterations"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.ranks < 1:
            raise ValueError(f"a job needs at least one rank, not {self.ranks}")
        if self.tensor < 1:
            raise ValueError(f"a tensor parallel group needs at least one rank, not {self.tensor}")
        if self.fault is not None and self.fault not in FAULTS:
            raise ValueError(f"no fault {self.fault!r}; there are {', '.join(FAULTS)}")
        if self.fault is not None and self.like != job_of(self.fault):
            raise ValueError(
                f"no fault {self.fault!r} in a job like {self.like}, only in one like {job_of(self.fault)}"
            )
        if self.like not in ("megatron", "distca", "pipeline"):
            raise ValueError(f"like is megatron, distca or pipeline, not {self.like!r}")
        if self.like == "pipeline" and self.ranks != STAGES * STAGE_RANKS:
            raise ValueError(f"a pipeline has {STAGES * STAGE_RANKS} ranks, not {self.ranks}")
        if self.marking not in MARKINGS:
            raise ValueError(f"no marking {self.marking!r}; there are {', '.join(MARKINGS)}")
        if self.overlap_tax is not None and not 0 <= self.overlap_tax <= 1:
            raise ValueError(f"an overlap tax is a fraction, not {self.overlap_tax}")
        if self.iterations is not None and self.iterations < 1:
            raise ValueError(f"a job needs at least one iteration, not {self.iterations}")
        if odd := set(self.oddities) - set(ODDITIES):
            raise ValueError(f"no oddity {min(odd)!r}; there are {', '.join(ODDITIES)}")
        faulty = set(self.shift) | set(self.drift) | set(self.lose) | self.rank_faults.ranks
        unknown = sorted(faulty - set(range(self.ranks)))
        if unknown:
            raise ValueError(f"there is no rank {unknown[0]}; the job has ranks 0 to {self.ranks - 1}")

    @property
    def straggler(self) -> int | None:
        """The slow rank, None if there is none."""
        if self.clean or self.slow_rank is None or not 0 <= self.slow_rank < self.ranks:
            return None
        return None if self.fault in ("two-slow-ranks", "heavy-stage") else self.slow_rank

    @property
    def tax(self) -> float:
        """The fraction by which communication lengthens the kernels beside it."""
        if self.overlap_tax is not None:
            return self.overlap_tax
        return 0.0 if self.clean else DEFAULT_TAX

    @property
    def all_rank_faults(self) -> RankFaults:
        """The faults of single ranks: `rank_faults`, and what `fault` does to them."""
        return self.rank_faults.merged(rank_faults_of(self.fault, self.ranks))

    @property
    def key(self) -> str:
        """A text, usable in a file name, that differs between options with different files."""
        facts = (
            self.ranks,
            self.tensor,
            self.fault,
            self.iterations,
            self.events,
            self.like,
            self.straggler,
            self.tax,
            self.clean,
            sorted(self.shift.items()),
            sorted(self.drift.items()),
            sorted(self.lose.items()),
            self.oddities,
            self.rank_faults.facts,
            self.one_stream,
            self.marking,
            self.seed,
        )
        return f"v{DEMO_VERSION}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}"
