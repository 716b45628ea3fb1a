"""The critical path in `lightbox report` for people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.text import Text

from viewer.analysis.replay.path_table import path_table
from viewer.analysis.study import Study
from viewer.analysis.time.scope import Scope
from viewer.cli.console_tables import ConsoleColumn, FittedTable
from viewer.drawing.format import format_ns, format_share
from viewer.trace.names import short_name

PART_TITLES = {
    "compute": "compute",
    "communication": "communication",
    "copy": "copies",
    "host": "host",
    "gap": "gaps",
}
_LISTED = 4


def critical_path_tables(study: Study, scope: Scope | None) -> list[Text | FittedTable]:
    """Return what the critical paths of the iterations used consist of; nothing without iterations."""
    iterations = study.iterations()
    if iterations is None:
        return []
    chosen = list(iterations.basis if scope is None else scope.iterations_of(iterations))
    paths = study.critical_paths()
    if not chosen:
        return []
    table = pd.concat([path_table(study.replay, paths[iteration]) for iteration in chosen])
    total = max(int(table["duration_ns"].sum()), 1)
    by_part = table.groupby("part")["duration_ns"].sum()
    rows = [
        [
            title,
            format_ns(int(by_part.get(part, 0)) // len(chosen)),
            format_share(int(by_part.get(part, 0)) / total),
            _most(table[table["part"] == part], "name", total) if part != "gap" else "",
        ]
        for part, title in PART_TITLES.items()
    ]
    columns = (
        ConsoleColumn("of the path"),
        ConsoleColumn("an iteration", True),
        ConsoleColumn("share", True),
        ConsoleColumn("most of it"),
    )
    median = int(np.median([paths[iteration].length_ns for iteration in chosen]))
    count = "1 iteration" if len(chosen) == 1 else f"{len(chosen)} iterations"
    return [
        FittedTable(f"\nCritical path: {count}, median {format_ns(median)}", columns, rows),
        Text(f"By rank: {_most(table, 'rank', total)}"),
    ]


def _most(table: pd.DataFrame, column: str, total: int) -> str:
    """Return the values of a column that have most of the path, each with its share."""
    sums = table[table[column] != ""].groupby(column)["duration_ns"].sum().sort_values(ascending=False)
    texts = sums.head(_LISTED).items()
    return ", ".join(f"{short_name(str(name))} {format_share(int(ns) / total)}" for name, ns in texts)
