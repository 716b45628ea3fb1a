"""One number of the summary: what it means, what is normal, and where to look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from viewer.analysis.core.intervals import Intervals

Unit = Literal["ns", "share", "ratio", "count", "GB/s", "text"]
Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class Location:
    """Where a number can be seen: a stretch of time, on one GPU or on all (None)."""

    start_ns: int
    end_ns: int
    gpu: int | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of the summary.

    Attributes
    ----------
    key : str
        Stable, for tests and reports: "idle".
    section : str
        The section of the summary that it stands in.
    name : str
        As it is printed.
    value : int, float, str or None
        Over all GPUs; None where it cannot be known.
    unit : {"ns", "share", "ratio", "count", "GB/s", "text"}
    definition : str
        What is counted, and how.
    share : float or None
        The value as a share of the time of all GPUs, where that makes sense.
    per_gpu : tuple
        The value on each GPU, () where it is one for all.
    normal : str
        What is normal, "" where nothing is.
    is_normal : bool or None
        None where nothing is said to be normal, or the value is not known.
    location : Location or None
        Where to look for it over all GPUs.
    spots : tuple
        Where to look for it on each GPU, () where that is the same.
    """

    key: str
    section: str
    name: str
    value: Value
    unit: Unit
    definition: str
    share: float | None = None
    per_gpu: tuple[Value, ...] = ()
    normal: str = ""
    is_normal: bool | None = None
    location: Location | None = None
    spots: tuple[Location | None, ...] = ()

    def where(self, gpu: int | None = None) -> Location | None:
        """Return where to look for it: over all GPUs, or on one."""
        if gpu is None or not self.location:
            return self.location
        return self.spots[gpu] if self.spots else replace(self.location, gpu=gpu)


def longest_stalls(stalls: Sequence[Intervals]) -> tuple[Location | None, ...]:
    """Return the longest stall of each GPU, None where there is none."""
    found: list[Location | None] = []
    for gpu, of_gpu in enumerate(stalls):
        at = int(of_gpu.lengths.argmax()) if len(of_gpu) else -1
        found.append(Location(int(of_gpu.start_ns[at]), int(of_gpu.end_ns[at]), gpu) if len(of_gpu) else None)
    return tuple(found)


def longest(spots: Sequence[Location | None]) -> Location | None:
    """Return the longest of some places, None where there is none."""
    return max(
        (s for s in spots if s is not None), key=lambda s: (s.end_ns - s.start_ns, s.gpu or 0), default=None
    )


def table(summary: Sequence[Metric], gpus: Sequence[str]) -> pd.DataFrame:
    """Return some summary as a table: name, value, unit, share, what is normal, one column a GPU.

    Parameters
    ----------
    gpus : sequence of str
        The GPUs' labels.
    """
    return pd.DataFrame(
        {
            "name": [v.name for v in summary],
            "value": pd.Series([v.value for v in summary], dtype=object),
            "unit": [v.unit for v in summary],
            "share": [v.share for v in summary],
            "normal": [v.normal for v in summary],
            "is_normal": pd.Series([v.is_normal for v in summary], dtype=object),
            **{
                label: pd.Series([v.per_gpu[g] if v.per_gpu else None for v in summary], dtype=object)
                for g, label in enumerate(gpus)
            },
            "definition": [v.definition for v in summary],
        }
    )
