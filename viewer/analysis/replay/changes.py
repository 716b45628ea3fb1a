"""Changes to try on a recorded job: what each is, and how it is said (docs/definitions.md, section 12)."""

from __future__ import annotations

from dataclasses import dataclass


class ChangeError(ValueError):
    """A change that matches nothing in a trace; the message says so, and what there is."""


@dataclass(frozen=True, slots=True)
class FlattenRanks:
    """Each compute kernel takes the median of its durations over the ranks that do the same work."""

    def __str__(self) -> str:
        return "ranks flattened"


@dataclass(frozen=True, slots=True)
class CloseRange:
    """The host spends no time outside CUDA calls in the NVTX ranges of a name."""

    name: str

    def __str__(self) -> str:
        return f"host time in “{self.name}” closed"


@dataclass(frozen=True, slots=True)
class CloseIdle:
    """The launching threads spend no time outside CUDA calls where a GPU is idle; None: on all ranks."""

    rank: int | None = None

    def __str__(self) -> str:
        return "idle closed on all ranks" if self.rank is None else f"idle closed on rank {self.rank}"


@dataclass(frozen=True, slots=True)
class CloseHole:
    """The launching thread spends no time outside CUDA calls in one stall [start, end) of a GPU."""

    gpu: int
    start_ns: int
    end_ns: int

    def __str__(self) -> str:
        return f"one stall of GPU {self.gpu} closed"


@dataclass(frozen=True, slots=True)
class RemoveCall:
    """The CUDA calls of a name, in any spelling, take no time and wait for nothing."""

    name: str

    def __str__(self) -> str:
        return f"{self.name} removed"


@dataclass(frozen=True, slots=True)
class FreeCall:
    """One CUDA call, an index into ``trace.api``, takes no time and waits for nothing."""

    call: int

    def __str__(self) -> str:
        return "one call free"


@dataclass(frozen=True, slots=True)
class RemoveCopies:
    """The copies of a kind (HtoD, DtoH, ...) before the first kernel of each iteration take no time."""

    kind: str

    def __str__(self) -> str:
        return f"{self.kind} copies before the first kernel removed"


@dataclass(frozen=True, slots=True)
class Scale:
    """The kernels whose name holds a pattern, or of a class, last `factor` times as long.

    Of a matched collective it is the transfer that does; the wait for later ranks remains.
    """

    pattern: str
    factor: float

    def __str__(self) -> str:
        return f"{self.pattern} × {self.factor:g}"


@dataclass(frozen=True, slots=True)
class Hide:
    """The collectives of a kind transfer in no time; their waits for later ranks remain."""

    kind: str

    def __str__(self) -> str:
        return f"{self.kind} hidden"


@dataclass(frozen=True, slots=True)
class NoWait:
    """Streams no longer wait for the collectives of a kind, by calls in the NVTX ranges of a name.

    Without a name: by calls anywhere.
    """

    kind: str
    range_name: str | None = None

    def __str__(self) -> str:
        where = f" in “{self.range_name}”" if self.range_name is not None else ""
        return f"no wait for {self.kind}{where}"


@dataclass(frozen=True, slots=True)
class FreeLaunches:
    """The calls that launch take no time; how long an operation starts after its call remains."""

    def __str__(self) -> str:
        return "launches free"


Change = (
    FlattenRanks
    | CloseRange
    | CloseIdle
    | CloseHole
    | RemoveCall
    | FreeCall
    | RemoveCopies
    | Scale
    | Hide
    | NoWait
    | FreeLaunches
)
