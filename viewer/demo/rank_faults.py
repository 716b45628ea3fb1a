"""Faults of single ranks, or of several together: slow GPUs, late hosts, rows that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from viewer.demo.program import Do, Step

LOADER = "dataloader.next"
_ATTENTION = "flash_"


@dataclass(frozen=True)
class RankFaults:
    """What is wrong with some ranks; each mapping is by rank.

    Attributes
    ----------
    slow : mapping of int to float
        Factor by which all compute kernels take longer, as with a lower clock.
    longer_attention : mapping of int to float
        Factor by which its attention kernels take longer, as with longer sequences.
    late_host_ms : mapping of int to float
        Time by which its host is late in `LOADER`, each iteration, while it computes outside CUDA.
    missing : mapping of int to int
        The row of its collectives (of the commonest kind, from 0) that the file lacks.
    begin_ms : mapping of int to float
        When its recording begins: earlier CUDA calls and GPU operations are missing.
    """

    slow: Mapping[int, float] = field(default_factory=dict)
    longer_attention: Mapping[int, float] = field(default_factory=dict)
    late_host_ms: Mapping[int, float] = field(default_factory=dict)
    missing: Mapping[int, int] = field(default_factory=dict)
    begin_ms: Mapping[int, float] = field(default_factory=dict)

    @property
    def ranks(self) -> set[int]:
        """The ranks with any fault."""
        return {rank for of_kind in vars(self).values() for rank in of_kind}

    def merged(self, other: RankFaults) -> RankFaults:
        """Return both sets of faults; of one kind at one rank, the other's."""
        kinds = {name: {**of_kind, **getattr(other, name)} for name, of_kind in vars(self).items()}
        return RankFaults(**kinds)

    @property
    def facts(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """What makes files differ, in an order that is always the same."""
        return tuple(tuple(sorted(of_kind.items())) for of_kind in vars(self).values())

    def pace(self, steps: Sequence[Step], ranks: int) -> npt.NDArray[np.float64]:
        """Return the factor of each step's work on each rank, shape (steps, ranks)."""
        pace = np.ones((len(steps), ranks))
        for rank, factor in self.slow.items():
            pace[:, rank] *= factor
        is_attention = np.array([s.kernel.startswith(_ATTENTION) for s in steps])
        for rank, factor in self.longer_attention.items():
            pace[is_attention, rank] *= factor
        return pace

    def host_delay_ns(self, steps: Sequence[Step], ranks: int) -> npt.NDArray[np.int64]:
        """Return how long the host computes before each step besides the usual, shape (steps, ranks), ns."""
        delay = np.zeros((len(steps), ranks), np.int64)
        inside = [i + 1 for i, s in enumerate(steps) if s.do == Do.PUSH and s.text == LOADER]
        for rank, ms in self.late_host_ms.items():
            delay[inside, rank] = round(ms * 1e6)
        return delay
