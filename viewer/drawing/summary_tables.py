"""The summary as grids: what stands in which cell, what it means and where it leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from viewer.analysis.core.classify import CLASSES
from viewer.analysis.kernels.sync_time import ALL_CALLS
from viewer.analysis.summary.metric import Location, Metric, Value
from viewer.analysis.summary.summary import Summary
from viewer.analysis.summary.time_metrics import LIMITS
from viewer.analysis.summary.work_metrics import NORMAL_RATIO
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.format import (
    format_bytes,
    format_count,
    format_ns,
    format_rate,
    format_share,
    format_value,
)
from viewer.drawing.spec_table import Cell, Head, SpecTable, Tone
from viewer.trace.names import short_name

ALL_GPUS = "All GPUs"
_TIMES = (*CATEGORIES, "no_kernel")
_TITLES = ("compute", "hidden comm.", "exposed comm.", "copy", "idle", "no kernel")
_SMALLEST_SHARE = 0.005

Swatch = Callable[[str | int], int | None]
"""The colour of a kernel's class, or of a name."""


def _no_colour(_: str | int) -> None:
    return None


def time_grid(sheet: Summary) -> SpecTable:
    """Return where the time of each GPU goes, with the numbers that tell a GPU from its neighbours."""
    more = _of_ranks(sheet)
    heads = [Head("", number=False)]
    heads += [Head(t, _definition(sheet[k]), key=k) for k, t in zip(_TIMES, _TITLES, strict=True)]
    heads += [head for head, _ in more]
    heads.append(Head("", "Compute, hidden and exposed communication, copies; idle is hatched", number=False))
    slow = _slowest(sheet)
    rows = []
    every = range(len(sheet.gpus))
    for gpu in every if len(every) == 1 else (None, *every):
        total = sheet.scope.total_ns if gpu is None else sheet.scope.length_ns(gpu)
        cells = [_part_cell(sheet[key], gpu, total) for key in _TIMES]
        name = ALL_GPUS if gpu is None else sheet.gpus[gpu]
        is_slow = gpu is not None and gpu == slow
        said = sheet["slowest_rank"].definition if is_slow else ""
        first = Cell(
            f"{name}  slowest" if is_slow else name,
            said,
            tone="strong" if is_slow or gpu is None else "plain",
            spot=sheet["slowest_rank"].location if is_slow else None,
        )
        bar = tuple(_value(sheet[key], gpu) / max(total, 1) for key in CATEGORIES)
        rows.append([first, *cells, *(cell(gpu) for _, cell in more), Cell(bar=bar)])
    normal = [Cell(sheet[key].normal, tone="soft") for key in _TIMES]
    of_more = {"fwd : bwd": "about 1 : 2"}
    rows.append(
        [
            Cell("normal", tone="soft"),
            *normal,
            *(Cell(of_more.get(head.title, ""), tone="soft") for head, _ in more),
            Cell(),
        ]
    )
    return SpecTable("Time of each GPU", heads, rows, sheet.table("time"))


def numbers_grid(sheet: Summary, numbers: Sequence[Metric], name: str, each: bool = True) -> SpecTable:
    """Return some numbers, one a row, over all GPUs and, if asked for, on each."""
    each = each and any(v.per_gpu for v in numbers) and len(sheet.gpus) > 1
    heads = [
        Head("", number=False),
        Head(ALL_GPUS if len(sheet.gpus) != 1 else sheet.gpus[0], "Over all GPUs: sums, or as it says"),
        Head("of the time", "Share of the time of all GPUs"),
        Head("normal", number=False),
        *((Head(label) for label in sheet.gpus) if each else ()),
    ]
    rows = [_number_row(sheet, metric, each) for metric in numbers]
    table = pd.DataFrame([{"key": v.key, "name": v.name, "value": v.value, "unit": v.unit} for v in numbers])
    return SpecTable(name, heads, rows, table)


def class_grid(sheet: Summary, swatch: Swatch = _no_colour) -> SpecTable:
    """Return the kernel classes: sum and union."""
    heads = (
        Head("Class", "By the table of rules; Tools opens it", number=False),
        Head("kernels", "Kernels that touch the time of the scope, over all GPUs"),
        Head("sum", "Sum of durations: what runs at once counts twice"),
        Head("union", "Time in which at least one of them runs, added up over the GPUs"),
        Head("share", "Of the durations of all kernels"),
    )
    table = sheet.tables["classes"]
    rows = []
    for row in table[table["kernels"] > 0].sort_values("sum_ns", ascending=False).to_dict("records"):
        spot = _spot(row)
        rows.append(
            [
                Cell(row["class"], "A click leads to the longest one", spot, swatch=swatch(row["class"])),
                Cell(format_count(row["kernels"]), heads[1].tip, spot),
                Cell(format_ns(row["sum_ns"]), heads[2].tip, spot),
                Cell(format_ns(row["union_ns"]), heads[3].tip, spot),
                Cell(format_share(row["share"]), heads[4].tip, spot),
            ]
        )
    return SpecTable("Kernel classes", heads, rows, table)


def kernel_grid(sheet: Summary, swatch: Swatch = _no_colour) -> SpecTable:
    """Return the kernels that take most time."""
    heads = (
        Head("Top kernels", number=False),
        Head("share", "Of the durations of all kernels"),
        Head("sum", "Sum of durations inside the scope, over all GPUs"),
        Head("kernels", "Kernels that touch the time of the scope, over all GPUs"),
        Head("mean", "Of one launch"),
        Head("class", number=False),
    )
    table = sheet.tables["top kernels"]
    rows = []
    for row in table.to_dict("records"):
        spot, tip = _spot(row), f"{row['name']}\nA click leads to the longest one."
        texts = (
            format_share(row["share"]),
            format_ns(row["sum_ns"]),
            format_count(row["kernels"]),
            format_ns(row["mean_ns"]),
            str(row["class"]),
        )
        first = Cell(short_name(row["name"]), tip, spot, swatch=swatch(row["name_id"]))
        rows.append([first, *(Cell(t, tip, spot) for t in texts)])
    return SpecTable("Top kernels", heads, rows, table)


def phase_grid(sheet: Summary) -> SpecTable:
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
    table = sheet.tables.get("phases", pd.DataFrame())
    rows = [_phase_row(row, heads) for row in table.to_dict("records")]
    frame = table.drop(columns="top_kernels", errors="ignore")
    return SpecTable("What the phases are made of", heads, rows, frame)


def _phase_row(row: dict[Any, Any], heads: Sequence[Head]) -> list[Cell]:
    spot = _spot(row)
    total = max(sum(row[f"{c}_ns"] for c in CLASSES), 1)
    held = sorted(((row[f"{c}_ns"] / total, c) for c in CLASSES), reverse=True)
    classes = ", ".join(f"{c} {share * 100:.0f} %" for share, c in held[:3] if share >= _SMALLEST_SHARE)
    every = "\n".join(f"{c}: {format_share(share)}" for share, c in held if share)
    texts = (
        (format_ns(row["compute_ns"]), heads[1].tip),
        (format_ns(row["length_ns"]), heads[2].tip),
        (format_ns(row["idle_ns"]), heads[3].tip),
        (format_count(row["kernels"]), ""),
        (format_count(row["small_kernels"]), heads[5].tip),
        (format_count(row["seas"]), heads[6].tip),
        (format_count(row["sea_kernels"]), heads[7].tip),
        (classes, every),
        (row["top"], row["top"].replace(", ", "\n")),
    )
    first = Cell(row["phase"], f"Found by: {row['how']}", spot, "strong")
    return [first, *(Cell(text, tip, spot) for text, tip in texts)]


def copy_grid(sheet: Summary) -> SpecTable:
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
    table = sheet.tables["copies"]
    rows = []
    for kind, of_kind in table.groupby("kind", sort=False):
        sums = of_kind[["count", "bytes", "sum_ns", "union_ns", "hidden_ns", "copy_only_ns"]].sum()
        at = int((of_kind["end_ns"] - of_kind["start_ns"]).to_numpy().argmax())
        spot = _spot(of_kind.to_dict("records")[at])
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
            [
                Cell(t, h.tip or "A click leads to the longest one", spot)
                for t, h in zip(texts, heads, strict=True)
            ]
        )
    return SpecTable("Copies by kind", heads, rows, table)


def sync_grid(sheet: Summary) -> SpecTable:
    """Return the synchronising calls, by call over all GPUs."""
    heads = (
        Head("Call", number=False),
        Head("count", "Calls that touch the time of the scope; of a process once for each of its GPUs"),
        Head("CPU time", "Sum of the calls inside the scope"),
        Head("union", "Time with a thread in such a call, added up over the GPUs"),
        Head("GPU idle", "Of that: the GPU has nothing to do. This is what counts."),
    )
    table = sheet.tables["synchronisation"]
    calls = table[table["call"] != ALL_CALLS]
    rows = []
    for call, held in calls.groupby("call", sort=False):
        sums = held[["count", "sum_ns", "union_ns", "idle_ns"]].sum()
        spot = _spot(held.to_dict("records")[int(held["idle_ns"].to_numpy().argmax())])
        texts = (
            str(call),
            format_count(int(sums["count"])),
            format_ns(int(sums["sum_ns"])),
            format_ns(int(sums["union_ns"])),
            _part_of(int(sums["idle_ns"]), int(sums["union_ns"])),
        )
        rows.append([Cell(t, h.tip, spot) for t, h in zip(texts, heads, strict=True)])
    return SpecTable("Synchronising calls", heads, rows, table)


def _number_row(sheet: Summary, metric: Metric, each: bool) -> list[Cell]:
    tone: Tone = "bad" if metric.is_normal is False else "plain"
    tip, spot = _definition(metric), metric.where()
    row = [
        Cell(metric.name, tip, spot, tone),
        Cell(format_value(metric.value, metric.unit), tip, spot, tone),
        Cell(format_share(metric.share) if metric.share is not None else "", tip, spot, tone),
        Cell(metric.normal, tip, tone="soft"),
    ]
    if each:
        values = metric.per_gpu or (None,) * len(sheet.gpus)
        row += [
            Cell(format_value(value, metric.unit) if metric.per_gpu else "", tip, metric.where(gpu))
            if metric.per_gpu
            else Cell()
            for gpu, value in enumerate(values)
        ]
    return row


def _part_cell(metric: Metric, gpu: int | None, total_ns: int) -> Cell:
    ns = _value(metric, gpu)
    share = ns / max(total_ns, 1)
    limit = LIMITS.get(metric.key)
    tip = f"{format_ns(ns)} of {format_ns(total_ns)}\n{_definition(metric)}"
    return Cell(format_share(share), tip, metric.where(gpu), "bad" if limit and share >= limit else "plain")


def _of_ranks(sheet: Summary) -> list[tuple[Head, Callable[[int | None], Cell]]]:
    """Return the columns beside the parts: the head, and the cell of a GPU (None: over all)."""
    known = {v.key for v in sheet.numbers}
    columns: list[tuple[Head, Callable[[int | None], Cell]]] = []

    def of(key: str, title: str, tone: Callable[[Value], bool] = lambda _: False) -> None:
        if key not in known or sheet[key].value is None:
            return
        metric = sheet[key]

        def cell(gpu: int | None) -> Cell:
            value = metric.value if gpu is None else metric.per_gpu[gpu] if metric.per_gpu else None
            tip = _definition(metric)
            return Cell(
                format_value(value, metric.unit), tip, metric.where(gpu), "bad" if tone(value) else "plain"
            )

        columns.append((Head(title, _definition(metric), key=key), cell))

    of("iteration", "iteration")
    of("rank_wait", "wait in NCCL")
    of("small_share", "small kernels")
    of("backward_to_forward", "fwd : bwd", _is_odd_ratio)
    return columns


def _is_odd_ratio(value: Value) -> bool:
    return isinstance(value, float) and not NORMAL_RATIO[0] <= value <= NORMAL_RATIO[1]


def _slowest(sheet: Summary) -> int | None:
    """Return the GPU that stands out as the slowest, if one does."""
    ranks = sheet.tables.get("ranks")
    if ranks is None or not len(ranks) or not ranks["slowest"].any():
        return None
    return int(ranks.loc[ranks["slowest"], "gpu"].iat[0])


def _value(metric: Metric, gpu: int | None) -> int:
    value = metric.value if gpu is None else metric.per_gpu[gpu]
    return value if isinstance(value, int) else 0


def _part_of(ns: int, whole_ns: int) -> str:
    return f"{format_ns(ns)}  {format_share(ns / whole_ns)}" if whole_ns else format_ns(ns)


def _definition(metric: Metric) -> str:
    return metric.definition + (f"\nNormal: {metric.normal}." if metric.normal else "")


def _spot(row: dict[Any, Any]) -> Location | None:
    if row["start_ns"] < 0 or row["end_ns"] <= row["start_ns"]:
        return None
    return Location(int(row["start_ns"]), int(row["end_ns"]), int(row["gpu"]))
