"""`lightbox compare`: the summaries of two traces side by side, as a table or as one JSON object."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import typer
from rich.text import Text

from viewer.analysis.study import Study
from viewer.analysis.summary.compare import Compared, compare, marker_notes
from viewer.analysis.summary.summary import Summary, summary
from viewer.cli.console import plain_console
from viewer.cli.console_tables import ConsoleColumn, FittedTable
from viewer.drawing.format import format_change, format_difference, format_share, format_value, shortened
from viewer.printable import visible
from viewer.trace import GPU_KINDS


def print_comparison(first: Study, second: Study, as_json: bool) -> None:
    """Print the metrics of two runs and their differences, each over its steady state.

    Raises
    ------
    typer.TyperException
        If one of them has no GPU.
    """
    for study in (first, second):
        if not any(len(study.trace.events[kind]) for kind in GPU_KINDS):
            raise typer.TyperException(f"{study.trace.path.name}: no GPU operation was recorded")
    summaries = [summary(study, study.iterations()) for study in (first, second)]
    rows, warnings = compare(*summaries), marker_notes(*summaries)
    if as_json:
        facts = {
            key: {
                "path": str(study.trace.path),
                "scope": measured.scope.what,
                "marker": _marker(measured),
                "rules": study.rules.hash,
            }
            for key, study, measured in zip(("first", "second"), (first, second), summaries, strict=True)
        }
        json.dump(
            {"warnings": list(warnings), **facts, "numbers": [asdict(row) for row in rows]},
            sys.stdout,
            indent=2,
        )
        sys.stdout.write("\n")
        return
    console = plain_console()
    names = [visible(study.trace.path.name) for study in (first, second)]
    for warning in warnings:
        console.print(Text(warning, style="yellow"))
    for name, measured, key in zip(names, summaries, ("A", "B"), strict=True):
        console.print(_head(key, name, measured))
        for note in measured.notes:
            if measured.iterations is None or note != measured.iterations.doubt_text:
                console.print(f"   {note}")
    console.print(_table(rows))
    for how in dict.fromkeys(row.how for row in rows if row.how):
        console.print(f"* {how}")
    for row in rows:
        texts = [format_value(value, row.unit) for value in (row.first, row.second)]
        if any(len(text) > _LONGEST for text in texts):
            console.print(f"{row.name}:\n   A  {texts[0]}\n   B  {texts[1]}")


def _marker(measured: Summary) -> dict[str, str] | None:
    by = measured.iterations.by if measured.iterations else None
    return {"name": by.name, "kind": by.kind, "why": by.why} if by else None


def _head(key: str, name: str, measured: Summary) -> str:
    gpus = len(measured.gpus)
    return f"{key}  {name}: {measured.scope.what}, {gpus} {'GPU' if gpus == 1 else 'GPUs'}"


def _table(rows: tuple[Compared, ...]) -> FittedTable:
    cells, section = [], ""
    for row in rows:
        cells.append([row.section if row.section != section else "", *_cells(row)])
        section = row.section
    return FittedTable("", [ConsoleColumn(*c) for c in _COLUMNS], cells, keys=2)


_LONGEST = 32
"""Of a text in the table; the whole of a longer one stands below it."""
_COLUMNS = (
    ("section", False), ("metric", False), ("A", True), ("of the time", True), ("B", True),
    ("of the time", True), ("B less A", True), ("change", True),
)  # fmt: skip


def _cells(row: Compared) -> list[Any]:
    shares = [format_share(s) if s is not None else "" for s in (row.first_share, row.second_share)]
    return [
        f"{row.name} *" if row.how else row.name,
        shortened(format_value(row.first, row.unit), _LONGEST),
        shares[0],
        shortened(format_value(row.second, row.unit), _LONGEST),
        shares[1],
        format_difference(row.difference, row.unit),
        format_change(row.change),
    ]
