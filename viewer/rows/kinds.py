"""The kinds of rows, one object each. A new kind is one entry of `RowKind`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from viewer.analysis.study import Study
from viewer.rows.counter import Counter, Samples, ValueScale
from viewer.trace import Kind


class Lanes(Enum):
    """How the lanes of a row's events lie."""

    BARS = "bars"
    MIXED = "mixed"
    """Operations of several streams: those that overlap lie in a few low lanes."""
    NESTED = "nested"
    """Ranges and calls inside one another: a lane for each depth."""


class NameStyle(Enum):
    """How names are written into bars."""

    KERNELS = "kernels"
    """The part of a kernel's name that tells it from others."""
    RANGES = "ranges"
    """Without arguments, and with the duration where there is room."""
    CALLS = "calls"
    """Without arguments."""


@dataclass(frozen=True)
class RowTraits:
    """What a kind of row is.

    Attributes
    ----------
    name : str
        Unique among the kinds; part of the keys of counter rows, which sessions keep.
    holds_rows : bool
        It is there for the rows below it: unfolded where everything is shown, and listed by their events.
    lanes, names : Lanes, NameStyle
    table : Kind or None
        The one table of the trace that all its events come from.
    siblings : str
        Rows of one parent with the same word share their time among them (docs/definitions.md, section 2);
        "" for rows without a share.
    is_kernel : bool
        Its label is the name of a kernel: long, and different at its ends.
    is_previewed : bool
        A folded thread shows the first two of these, in the order of the kinds.
    counter : Counter or None
        The table of (time, value) that it draws instead of events.
    shown_at_first : bool
        False: hidden until it is asked for.
    """

    name: str
    holds_rows: bool = False
    lanes: Lanes = Lanes.BARS
    names: NameStyle = NameStyle.CALLS
    table: Kind | None = None
    siblings: str = ""
    is_kernel: bool = False
    is_previewed: bool = False
    counter: Counter | None = None
    shown_at_first: bool = True


def _launch_latency(study: Study, gpu: int) -> Samples:
    latency = study.launch_latency(gpu)
    return Samples(latency.times_ns, latency.queued_ns, latency.dry_ns)


def _has_launches(study: Study, gpu: int) -> bool:
    return len(study.trace.api) > 0 and len(study.order(gpu)) > 0


@unique
class RowKind(Enum):
    """What a row shows. Rows are made in `viewer.rows.tree`, those of counters by themselves."""

    PROCESS = RowTraits("process", holds_rows=True, names=NameStyle.RANGES)
    OTHERS = RowTraits("others", holds_rows=True)
    GPU = RowTraits("gpu", holds_rows=True)
    KERNELS = RowTraits("kernels", lanes=Lanes.MIXED, names=NameStyle.KERNELS, siblings="operations")
    FAMILY = RowTraits(
        "family", lanes=Lanes.MIXED, names=NameStyle.KERNELS, siblings="families", is_kernel=True
    )
    KERNEL_NAME = RowTraits("kernel_name", names=NameStyle.KERNELS, siblings="kernels", is_kernel=True)
    MEMORY = RowTraits("memory", lanes=Lanes.MIXED, siblings="operations")
    MEMORY_KIND = RowTraits("memory_kind", lanes=Lanes.MIXED, siblings="copies")
    STREAM = RowTraits("stream", lanes=Lanes.MIXED, names=NameStyle.KERNELS, siblings="streams")
    OTHER_STREAMS = RowTraits(
        "other_streams", lanes=Lanes.MIXED, names=NameStyle.KERNELS, shown_at_first=False
    )
    """The streams of a GPU that communicate, but for the main ones, as one."""
    LAUNCHES = RowTraits(
        "launches",
        shown_at_first=False,
        counter=Counter(
            "Launch latency",
            "in the queue",
            unit="ns",
            meaning="from the return of the launch to the start of what started last",
            load=_launch_latency,
            has_row=_has_launches,
            scale=ValueScale(1_000, 1_000_000_000, is_log=True),
            only_while_busy=True,
        ),
    )
    PROJECTION = RowTraits("projection", lanes=Lanes.NESTED, names=NameStyle.RANGES)
    THREADS = RowTraits("threads", holds_rows=True)
    THREAD = RowTraits("thread", holds_rows=True)
    NVTX = RowTraits("nvtx", lanes=Lanes.NESTED, names=NameStyle.RANGES, table=Kind.NVTX, is_previewed=True)
    API = RowTraits("api", lanes=Lanes.NESTED, table=Kind.API, is_previewed=True)
    OSRT = RowTraits("osrt", lanes=Lanes.NESTED, table=Kind.OSRT, is_previewed=True)
    CPU = RowTraits("cpu", table=Kind.ON_CPU, is_previewed=True)
    OVERHEAD = RowTraits("overhead", lanes=Lanes.NESTED, table=Kind.OVERHEAD)

    def __init__(self, traits: RowTraits) -> None:
        # Read for every label of a frame: `value` would take longer.
        self.traits = traits

    def __repr__(self) -> str:
        return f"RowKind.{self.name}"
