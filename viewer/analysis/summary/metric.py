"""A metric: an entry that says what a number means, what is usual, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pandas as pd

from viewer.analysis.core.intervals import Intervals
from viewer.analysis.core.location import Location

if TYPE_CHECKING:
    from viewer.analysis.summary.inputs import MetricInputs

Unit = Literal["ns", "share", "ratio", "count", "GB/s", "text"]
Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the summary: a page of the dock, a heading in the text and on the page.

    Attributes
    ----------
    key : str
        Stable, for reports and files: "time".
    empty : str
        What to do where it has no number.
    first : str
        The key of the metric that stands first in the dock, whichever section it belongs to.
    needs_iterations : bool
        Its numbers are medians over iterations: as unsure as what marks those.
    """

    key: str
    empty: str = "There is nothing of the kind in this time."
    first: str = ""
    needs_iterations: bool = False

    @property
    def title(self) -> str:
        """The key as a heading."""
        return self.key.capitalize()


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual range of a metric.

    Attributes
    ----------
    text : str
        "under 5 %".
    holds : callable, optional
        Whether a share of the time (of metrics without one: a value) is inside; without it the metric's
        function says so.
    """

    text: str
    holds: Callable[[float], bool] | None = None


def share_under(limit: float) -> Usual:
    """Return the usual range "under 5 %"."""
    return Usual(f"under {limit * 100:.0f} %", lambda share: share < limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a metric comes to over one scope.

    Attributes
    ----------
    value : int, float, str or None
        Over all GPUs; None where it cannot be known.
    per_gpu : tuple
        The value on each GPU, () where it is one for all.
    share : float or None
        The value as a share of the time of all GPUs, where that makes sense.
    is_sum : bool
        Whether the value adds up over GPUs and time: `compare` divides it by iterations and GPUs.
    is_usual : bool or None
        For metrics whose `Usual` has no rule; None where it cannot be said.
    location : Location or None
        Where it can be seen over all GPUs.
    locations : tuple
        Where it can be seen on each GPU, () where that is the same.
    suffix : str
        Of the key, where one entry comes to several numbers.
    title, definition : str
        Instead of the entry's, where this number says more.
    usual : str or None
        Instead of the entry's text; "" where this number has no usual range.
    doubt : str
        Why the value is not sure, "" where it is.
    """

    value: Value
    per_gpu: tuple[Value, ...] = ()
    share: float | None = None
    is_sum: bool = False
    is_usual: bool | None = None
    location: Location | None = None
    locations: tuple[Location | None, ...] = ()
    suffix: str = ""
    title: str = ""
    definition: str = ""
    usual: str | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the registry; the dock, the text, the page, `compare` and JSON show whatever is there.

    Attributes
    ----------
    key : str
        Stable, for reports, files and docs/definitions.md: "idle".
    title : str
        As it is printed.
    unit : {"ns", "share", "ratio", "count", "GB/s", "text"}
    definition : str
        What is counted, and how.
    compute : callable
        Its results over a scope: one, several with suffixes, or None where there is no such number.
    usual : Usual, optional
    note : str
        Printed below the table that it stands in.
    depth : int
        How many of the metrics above it is a part of: of 1 and more the title is indented.
    """

    key: str
    section: Section
    title: str
    unit: Unit
    definition: str
    compute: Callable[[MetricInputs], Result | Iterable[Result] | None]
    usual: Usual | None = None
    note: str = ""
    depth: int = 0

    def values(self, inputs: MetricInputs) -> tuple[MetricValue, ...]:
        """Return its numbers over the scope of `inputs`."""
        results = self.compute(inputs)
        if results is None:
            return ()
        return tuple(MetricValue(self, r) for r in ((results,) if isinstance(results, Result) else results))


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One number of a summary: an entry of the registry and what it comes to."""

    metric: Metric
    result: Result

    @property
    def key(self) -> str:
        """The entry's key, with a suffix where it has several numbers."""
        return self.metric.key + self.result.suffix

    @property
    def section(self) -> Section:
        """The section that it stands in."""
        return self.metric.section

    @property
    def title(self) -> str:
        """As it is printed."""
        return self.result.title or self.metric.title

    @property
    def unit(self) -> Unit:
        """The unit of `value` and `per_gpu`."""
        return self.metric.unit

    @property
    def definition(self) -> str:
        """What is counted, and how."""
        return self.result.definition or self.metric.definition

    @property
    def value(self) -> Value:
        """Over all GPUs; None where it cannot be known."""
        return self.result.value

    @property
    def share(self) -> float | None:
        """The value as a share of the time of all GPUs, where that makes sense."""
        return self.result.share

    @property
    def per_gpu(self) -> tuple[Value, ...]:
        """The value on each GPU, () where it is one for all."""
        return self.result.per_gpu

    @property
    def usual(self) -> str:
        """The usual range, "" where there is none."""
        if self.result.usual is not None:
            return self.result.usual
        return self.metric.usual.text if self.metric.usual else ""

    @property
    def is_usual(self) -> bool | None:
        """Whether it is in its usual range; None where there is none, or the value is not known."""
        usual = self.metric.usual
        if usual is None or usual.holds is None:
            return self.result.is_usual
        # A limit such as "under 10 %" is of the time: a value in ns alone could not be held to it.
        measure = self.value if self.share is None else self.share
        return None if measure is None or isinstance(measure, str) else usual.holds(measure)

    def is_usual_on(self, gpu: int, length_ns: int) -> bool | None:
        """Return whether the value on one GPU is usual, None where its rule does not say."""
        usual, value = self.metric.usual, self.per_gpu[gpu] if self.per_gpu else None
        if usual is None or usual.holds is None or isinstance(value, str | None):
            return None
        return usual.holds(value if self.share is None else value / max(length_ns, 1))

    def where(self, gpu: int | None = None) -> Location | None:
        """Return where it can be seen: over all GPUs, or on one."""
        location, locations = self.result.location, self.result.locations
        if gpu is None or not location:
            return location
        return locations[gpu] if locations else replace(location, gpu=gpu)


def sum_of(
    per_gpu: Sequence[int], locations: Sequence[Location | None] = (), total_ns: int | None = None
) -> Result:
    """Return values of GPUs, and their sum over all.

    Parameters
    ----------
    locations : sequence of Location or None, one per GPU
    total_ns : int, optional
        The time of all GPUs, for values that are a share of it.
    """
    total = sum(per_gpu)
    return Result(
        value=total,
        per_gpu=tuple(per_gpu),
        share=None if total_ns is None else total / max(total_ns, 1),
        is_sum=True,
        location=longest(locations),
        locations=tuple(locations),
    )


def longest_intervals(intervals: Sequence[Intervals]) -> tuple[Location | None, ...]:
    """Return the longest interval of each GPU, None where it has none."""
    locations: list[Location | None] = []
    for gpu, of_gpu in enumerate(intervals):
        row = int(of_gpu.lengths.argmax()) if len(of_gpu) else -1
        known = len(of_gpu) > 0
        locations.append(Location(int(of_gpu.start_ns[row]), int(of_gpu.end_ns[row]), gpu) if known else None)
    return tuple(locations)


def longest(locations: Sequence[Location | None]) -> Location | None:
    """Return the longest of some locations, that of the last GPU among equals; None where there is none."""
    return max(
        (location for location in locations if location is not None),
        key=lambda location: (location.end_ns - location.start_ns, location.gpu or 0),
        default=None,
    )


def table(values: Sequence[MetricValue], gpus: Sequence[str]) -> pd.DataFrame:
    """Return some numbers as a table, one a row.

    Columns `name`, `value`, `unit`, `share`, `normal` and `is_normal` (the usual range), one column a GPU,
    and `definition`; their names are those of files that are saved, and stay.

    Parameters
    ----------
    gpus : sequence of str
        The GPUs' labels.
    """
    return pd.DataFrame(
        {
            "name": [v.title for v in values],
            "value": pd.Series([v.value for v in values], dtype=object),
            "unit": [v.unit for v in values],
            "share": [v.share for v in values],
            "normal": [v.usual for v in values],
            "is_normal": pd.Series([v.is_usual for v in values], dtype=object),
            **{
                label: pd.Series([v.per_gpu[g] if v.per_gpu else None for v in values], dtype=object)
                for g, label in enumerate(gpus)
            },
            "definition": [v.definition for v in values],
        }
    )
