"""Tables of metrics: the time of each GPU, and numbers one a row."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from viewer.analysis.recording.bounds import AT_LEAST, AT_MOST
from viewer.analysis.summary.metric import MetricValue
from viewer.analysis.summary.sections import TIME
from viewer.analysis.summary.summary import Summary
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.format import format_ns, format_share, format_value
from viewer.drawing.rank_tables import late_word
from viewer.drawing.spec_table import Cell, Head, SpecTable, Tone

ALL_GPUS = "All GPUs"
TIME_COLUMNS = {
    "compute_only": "compute",
    "spinning": "of it spinning",
    "hidden_comm": "hidden comm.",
    "exposed_comm": "exposed comm.",
    "copy_only": "copy",
    "idle": "idle",
    "no_kernel": "no kernel running",
    "overlap_tax": "paid beside comm.",
    "overlap_tax_unknown": "price not known",
}
"""The metrics of time that have a column of shares in the table of each GPU's time, and its title.

Those that the summary lacks have none: nothing spins.
"""
_INDENT = "\u2003"
"""An em space, by which a part of the number above is indented."""
_BESIDE = {
    "iteration": "iteration",
    "rank_wait": "wait in NCCL",
    "small_share": "small kernels",
    "backward_to_forward": "fwd : bwd",
}
"""Metrics of other sections that tell a GPU from its neighbours."""


def time_table(summary: Summary) -> SpecTable:
    """Return where the time of each GPU goes, with the numbers that tell a GPU from its neighbours."""
    numbers = {number.key: number for number in summary.numbers}
    beside = {
        key: title for key, title in _BESIDE.items() if key in numbers and numbers[key].value is not None
    }
    shares = {key: title for key, title in TIME_COLUMNS.items() if key in numbers}
    heads = [Head("", number=False)]
    heads += [
        Head(_marked(title, summary[key]), meaning(summary[key]), key=key)
        for key, title in (shares | beside).items()
    ]
    heads.append(Head("", "Compute, hidden and exposed communication, copies; idle is hatched", number=False))
    gpus = range(len(summary.gpus))
    rows = []
    for gpu in gpus if len(gpus) == 1 else (None, *gpus):
        total = summary.scope.total_ns if gpu is None else summary.scope.length_ns(gpu)
        bar = tuple(_ns(summary[key], gpu) / max(total, 1) for key in CATEGORIES)
        rows.append(
            [
                _gpu_cell(summary, gpu),
                *(_share_cell(summary[key], gpu, total) for key in shares),
                *(_value_cell(summary[key], gpu, total) for key in beside),
                Cell(bar=bar),
            ]
        )
    usual = [Cell(summary[key].usual, tone="soft") for key in shares]
    usual += [Cell("about 1 : 2" if key == "backward_to_forward" else "", tone="soft") for key in beside]
    rows.append([Cell("usual", tone="soft"), *usual, Cell()])
    return SpecTable("Time of each GPU", heads, rows, summary.table(TIME))


def numbers_table(
    summary: Summary, numbers: Sequence[MetricValue], name: str, each: bool = True
) -> SpecTable:
    """Return some numbers, one a row, over all GPUs and, if asked for, on each."""
    each = each and any(number.per_gpu for number in numbers) and len(summary.gpus) > 1
    heads = [
        Head("", number=False),
        Head(ALL_GPUS if len(summary.gpus) != 1 else summary.gpus[0], "Over all GPUs: sums, or as it says"),
        Head("of the time", "Share of the time of all GPUs"),
        Head("usual", number=False),
        *((Head(label) for label in summary.gpus) if each else ()),
    ]
    rows = [_number_row(summary, number, each) for number in numbers]
    frame = pd.DataFrame([{"key": v.key, "name": v.title, "value": v.value, "unit": v.unit} for v in numbers])
    return SpecTable(name, heads, rows, frame)


def _marked(title: str, number: MetricValue) -> str:
    """Return the title of a column, with the mark of a number that is a bound."""
    mark = next((mark for mark in (AT_LEAST, AT_MOST) if number.title.endswith(mark)), "")
    return f"{title} {mark}".rstrip()


def meaning(number: MetricValue) -> str:
    """Return what a number means, and its usual range."""
    return number.definition + (f"\nUsual: {number.usual}." if number.usual else "")


def _number_row(summary: Summary, number: MetricValue, each: bool) -> list[Cell]:
    tone: Tone = "bad" if number.is_usual is False else "plain"
    tip, location = meaning(number), number.where()
    row = [
        Cell(f"{_INDENT * number.metric.depth}{number.title}", tip, location, tone),
        Cell(format_value(number.value, number.unit), tip, location, tone),
        Cell(format_share(number.share) if number.share is not None else "", tip, location, tone),
        Cell(number.usual, tip, tone="soft"),
    ]
    if each and number.per_gpu:
        row += [
            Cell(format_value(value, number.unit), tip, number.where(gpu))
            for gpu, value in enumerate(number.per_gpu)
        ]
    elif each:
        row += [Cell()] * len(summary.gpus)
    return row


def _gpu_cell(summary: Summary, gpu: int | None) -> Cell:
    """Return the head of a GPU's row, which says whether it is late or computes longer."""
    if gpu is None:
        return Cell(ALL_GPUS, tone="strong")
    word = late_word(summary, gpu)
    if not word:
        return Cell(summary.gpus[gpu])
    late = summary["late_ranks"]
    return Cell(f"{summary.gpus[gpu]}  {word}", late.definition, late.where(), "strong")


def _share_cell(number: MetricValue, gpu: int | None, total_ns: int) -> Cell:
    ns = _ns(number, gpu)
    tip = f"{format_ns(ns)} of {format_ns(total_ns)}\n{meaning(number)}"
    return Cell(format_share(ns / max(total_ns, 1)), tip, number.where(gpu), _tone(number, gpu, total_ns))


def _value_cell(number: MetricValue, gpu: int | None, total_ns: int) -> Cell:
    value = number.value if gpu is None else number.per_gpu[gpu] if number.per_gpu else None
    text = format_value(value, number.unit)
    return Cell(text, meaning(number), number.where(gpu), _tone(number, gpu, total_ns))


def _tone(number: MetricValue, gpu: int | None, total_ns: int) -> Tone:
    is_usual = number.is_usual if gpu is None else number.is_usual_on(gpu, total_ns)
    return "bad" if is_usual is False else "plain"


def _ns(number: MetricValue, gpu: int | None) -> int:
    value = number.value if gpu is None else number.per_gpu[gpu]
    return value if isinstance(value, int) else 0
