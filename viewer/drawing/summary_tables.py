"""The tables of each section of the summary: what stands in which cell, what it means and where it leads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from viewer.analysis.core.classify import CLASS_LABELS, CLASSES
from viewer.analysis.core.location import Location
from viewer.analysis.kernels.sync_time import ALL_CALLS
from viewer.analysis.summary import sections
from viewer.analysis.summary.metric import MetricValue, Section
from viewer.analysis.summary.summary import Summary
from viewer.drawing.format import format_bytes, format_count, format_ns, format_rate, format_share
from viewer.drawing.number_tables import TIME_COLUMNS, numbers_table, time_table
from viewer.drawing.rank_tables import arrival_table, difference_table, verdict_table
from viewer.drawing.spec_table import Cell, Head, SpecTable
from viewer.trace.names import short_name

_SMALLEST_SHARE = 0.005
_LONGEST = "A click leads to the longest one"

Swatch = Callable[[str | int], int | None]
"""The colour of a kernel's class, or of a name."""
Builder = Callable[[Summary, Swatch], SpecTable]


def no_colour(_: str | int) -> None:
    """Return no colour, for tables without them."""


def section_tables(
    summary: Summary, section: Section, swatch: Swatch = no_colour, each: bool = True
) -> list[list[SpecTable]]:
    """Return the tables of a section that have rows; those of one list stand side by side.

    Every number of the section is in one of them: what has no cell in a table of its own stands in one of
    numbers, one a row.

    Parameters
    ----------
    each : bool
        Whether the table of numbers has a column for each GPU.
    """
    layout = _LAYOUTS.get(section, _Layout())
    numbers = [number for number in section_numbers(summary, section) if number.key not in layout.covers]
    bands = [
        [build(summary, swatch) for build in layout.above],
        [numbers_table(summary, numbers, section.title, each)],
        [build(summary, swatch) for build in layout.below],
    ]
    shown = [[table for table in band if table.rows] for band in bands]
    return [band for band in shown if band]


def section_numbers(summary: Summary, section: Section) -> tuple[MetricValue, ...]:
    """Return the numbers of a section, before them the one that stands first, wherever it belongs."""
    first = (number for number in summary.numbers if number.key == section.first)
    return (*first, *(number for number in summary.section(section) if number.key != section.first))


def _class_table(summary: Summary, swatch: Swatch) -> SpecTable:
    """Return the kernel classes: sum and union."""
    heads = (
        Head("Class", "By the table of rules; Tools opens it", number=False),
        Head("kernels", "Kernels that touch the time of the scope, over all GPUs"),
        Head("sum", "Sum of durations: what runs at once counts twice"),
        Head("union", "Time in which at least one of them runs, added up over the GPUs"),
        Head("share", "Of the durations of all kernels"),
    )
    table = summary.tables["classes"]
    rows = []
    for row in table[table["kernels"] > 0].sort_values("sum_ns", ascending=False).to_dict("records"):
        location = _location(row)
        rows.append(
            [
                Cell(_label(row["class"]), _LONGEST, location, swatch=swatch(row["class"])),
                Cell(format_count(row["kernels"]), heads[1].tip, location),
                Cell(format_ns(row["sum_ns"]), heads[2].tip, location),
                Cell(format_ns(row["union_ns"]), heads[3].tip, location),
                Cell(format_share(row["share"]), heads[4].tip, location),
            ]
        )
    return SpecTable("Kernel classes", heads, rows, table)


def _kernel_table(summary: Summary, swatch: Swatch) -> SpecTable:
    """Return the kernels that take most time."""
    heads = (
        Head("Top kernels", number=False),
        Head("share", "Of the durations of all kernels"),
        Head("sum", "Sum of durations inside the scope, over all GPUs"),
        Head("kernels", "Kernels that touch the time of the scope, over all GPUs"),
        Head("mean", "Of one launch"),
        Head("class", number=False),
    )
    table = summary.tables["top kernels"]
    rows = []
    for row in table.to_dict("records"):
        location, tip = _location(row), f"{row['name']}\n{_LONGEST}."
        texts = (
            format_share(row["share"]),
            format_ns(row["sum_ns"]),
            format_count(row["kernels"]),
            format_ns(row["mean_ns"]),
            _label(row["class"]),
        )
        first = Cell(short_name(row["name"]), tip, location, swatch=swatch(row["name_id"]))
        rows.append([first, *(Cell(text, tip, location) for text in texts)])
    return SpecTable("Top kernels", heads, rows, table)


def _phase_table(summary: Summary, _: Swatch) -> SpecTable:
    """Return the phases: how long, of what, how finely cut, how much idle."""
    heads = (
        Head("Phase", number=False),
        Head("compute", "Union of the compute kernels that it launched: per iteration, mean over the GPUs"),
        Head("length", "From its first to its last operation: per iteration, mean over the GPUs"),
        Head("idle inside", "Nothing on any stream between its operations: over all GPUs and iterations"),
        Head("kernels", "Kernels that it launched: over all GPUs and iterations"),
        Head("small", "Kernels under 10 µs"),
        Head("small-kernel bursts", "Runs of compute kernels in which every hundred average under 10 µs"),
        Head("in bursts", "Kernels in small-kernel bursts"),
        Head("Classes", "By duration", number=False),
        Head("Top kernels", "By duration", number=False),
    )
    table = summary.tables["phases"]
    rows = [_phase_row(row, heads) for row in table.to_dict("records")]
    frame = table.drop(columns="top_kernels", errors="ignore")
    return SpecTable("What the phases are made of", heads, rows, frame)


def _phase_row(row: dict[Any, Any], heads: Sequence[Head]) -> list[Cell]:
    location = _location(row)
    total = max(sum(row[f"{c}_ns"] for c in CLASSES), 1)
    shares = sorted(((row[f"{name}_ns"] / total, name) for name in CLASSES), reverse=True)
    largest = ", ".join(
        f"{_label(name)} {share * 100:.0f} %" for share, name in shares[:3] if share >= _SMALLEST_SHARE
    )
    all_classes = "\n".join(f"{_label(name)}: {format_share(share)}" for share, name in shares if share)
    texts = (
        (format_ns(row["compute_ns"]), heads[1].tip),
        (format_ns(row["length_ns"]), heads[2].tip),
        (format_ns(row["idle_ns"]), heads[3].tip),
        (format_count(row["kernels"]), ""),
        (format_count(row["small_kernels"]), heads[5].tip),
        (format_count(row["seas"]), heads[6].tip),
        (format_count(row["sea_kernels"]), heads[7].tip),
        (largest, all_classes),
        (row["top"], row["top"].replace(", ", "\n")),
    )
    first = Cell(row["phase"], f"Found by: {row['how']}", location, "strong")
    return [first, *(Cell(text, tip, location) for text, tip in texts)]


def _copy_table(summary: Summary, _: Swatch) -> SpecTable:
    """Return the copies and sets, by kind over all GPUs."""
    heads = (
        Head("Kind", number=False),
        Head("count", "Copies and sets that touch the time of the scope, over all GPUs"),
        Head("size", "Bytes of them all; of those that straddle an edge, too"),
        Head("speed", "Bytes over the sum of durations, 10⁹ bytes a second"),
        Head("union", "Time in which at least one runs, added up over the GPUs"),
        Head("hidden", "Beside a kernel: costs nearly nothing"),
        Head("not hidden", "No kernel runs meanwhile"),
        Head("Streams", number=False),
        Head("with compute", "On a stream that also computes, where a copy queues and cannot hide"),
        Head("pageable", "From or to host memory that is not pinned: the call waits for the copy"),
    )
    table = summary.tables["copies"]
    rows = []
    for kind, of_kind in table.groupby("kind", sort=False):
        sums = of_kind[["count", "bytes", "sum_ns", "union_ns", "hidden_ns", "copy_only_ns"]].sum()
        longest = int((of_kind["end_ns"] - of_kind["start_ns"]).to_numpy().argmax())
        location = _location(of_kind.to_dict("records")[longest])
        streams = sorted({s for text in of_kind["streams"] for s in text.split(", ")}, key=int)
        texts = (
            str(kind),
            format_count(int(sums["count"])),
            format_bytes(int(sums["bytes"])),
            format_rate(int(sums["bytes"]), int(sums["sum_ns"])),
            format_ns(int(sums["union_ns"])),
            _part_of(int(sums["hidden_ns"]), int(sums["union_ns"])),
            _part_of(int(sums["copy_only_ns"]), int(sums["union_ns"])),
            ", ".join(streams),
            format_count(int(of_kind["on_compute_stream"].sum())),
            format_count(int(of_kind["pageable"].sum())),
        )
        rows.append(
            [Cell(text, head.tip or _LONGEST, location) for text, head in zip(texts, heads, strict=True)]
        )
    return SpecTable("Copies by kind", heads, rows, table)


def _sync_table(summary: Summary, _: Swatch) -> SpecTable:
    """Return the synchronising calls, by call over all GPUs."""
    heads = (
        Head("Call", number=False),
        Head("count", "Calls that touch the time of the scope; of a process once for each of its GPUs"),
        Head("CPU time", "Sum of the calls inside the scope"),
        Head("union", "Time with a thread in such a call, added up over the GPUs"),
        Head("GPU idle", "Of that: the GPU has nothing to do. This is what counts."),
    )
    table = summary.tables["synchronisation"]
    calls = table[table["call"] != ALL_CALLS]
    rows = []
    for call, of_call in calls.groupby("call", sort=False):
        sums = of_call[["count", "sum_ns", "union_ns", "idle_ns"]].sum()
        location = _location(of_call.to_dict("records")[int(of_call["idle_ns"].to_numpy().argmax())])
        texts = (
            str(call),
            format_count(int(sums["count"])),
            format_ns(int(sums["sum_ns"])),
            format_ns(int(sums["union_ns"])),
            _part_of(int(sums["idle_ns"]), int(sums["union_ns"])),
        )
        rows.append([Cell(text, head.tip, location) for text, head in zip(texts, heads, strict=True)])
    return SpecTable("Synchronising calls", heads, rows, table)


def _overlap_table(summary: Summary, _: Swatch) -> SpecTable:
    """Return why exposed collectives are not hidden, alike ones as one line."""
    heads = (
        Head(
            "What held the next compute kernel",
            "While these collectives were exposed",
            number=False,
            is_sentence=True,
        ),
        Head("per iteration", "Exposed time of them all: mean over the iterations and the GPUs"),
        Head("exposed", "Exposed time of them all in the scope, over all GPUs"),
        Head("share", "Of all exposed communication in the scope"),
        Head("Held their start", "What the collectives themselves had waited for", number=False),
    )
    table = summary.tables["why exposed"]
    rows = []
    for row in table[table["share"] >= _SMALLEST_SHARE].to_dict("records"):
        location = _location(row)
        each = format_ns(row["per_iteration_ns"]) if row["per_iteration_ns"] >= 0 else ""
        exposed, share = format_ns(row["exposed_ns"]), format_share(row["share"])
        texts = (row["text"], each, exposed, share, row["starts_after"])
        # The first text may be cut: its tip is the whole of it.
        tips = (row["text"], *(head.tip for head in heads[1:]))
        rows.append([Cell(text, tip, location) for text, tip in zip(texts, tips, strict=True)])
    return SpecTable("Why exposed", heads, rows, table)


def _label(name: str) -> str:
    """Return what the window calls a kernel class."""
    return CLASS_LABELS.get(name, name)


def _part_of(ns: int, total_ns: int) -> str:
    return f"{format_ns(ns)}  {format_share(ns / total_ns)}" if total_ns else format_ns(ns)


def _location(row: dict[Any, Any]) -> Location | None:
    if row["start_ns"] < 0 or row["end_ns"] <= row["start_ns"]:
        return None
    return Location(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))


@dataclass(frozen=True)
class _Layout:
    """The tables of a section around that of its numbers.

    Attributes
    ----------
    above, below : tuple of callable
        What stands side by side.
    covers : collection of str
        The keys of the numbers that have a cell in those.
    """

    above: tuple[Builder, ...] = ()
    below: tuple[Builder, ...] = ()
    covers: Collection[str] = ()


_LAYOUTS = {
    sections.TIME: _Layout(above=(lambda summary, _: time_table(summary),), covers=TIME_COLUMNS),
    sections.ABSENT: _Layout(below=(_overlap_table,)),
    sections.KERNELS: _Layout(above=(_kernel_table, _class_table)),
    sections.PHASES: _Layout(above=(_phase_table,)),
    sections.COPIES: _Layout(below=(_copy_table,)),
    sections.SYNCHRONISATION: _Layout(below=(_sync_table,)),
    sections.RANKS: _Layout(
        above=(lambda summary, _: verdict_table(summary),),
        covers=("late_ranks",),
        below=(lambda summary, _: arrival_table(summary), lambda summary, _: difference_table(summary)),
    ),
}
