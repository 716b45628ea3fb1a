"""`lightbox whatif`: the iterations as they would be with changes, as a table or as one JSON object."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence

import typer
from rich.text import Text

from viewer.analysis.replay.changes import (
    Change,
    ChangeError,
    CloseIdle,
    CloseRange,
    FlattenRanks,
    FreeLaunches,
    Hide,
    NoWait,
    RemoveCall,
    RemoveCopies,
    Scale,
)
from viewer.analysis.replay.what_if import Chosen, WhatIf
from viewer.analysis.study import Study
from viewer.cli.console import plain_console
from viewer.cli.console_tables import ConsoleColumn, FittedTable
from viewer.drawing.format import format_ns, format_share

Asked = Sequence[tuple[str, Change]]
"""The changes, each with the option that asks for it."""


def asked_changes(
    *,
    flatten_ranks: bool,
    close_range: list[str],
    close_idle: list[str],
    remove_call: list[str],
    remove_copy: list[str],
    scale: list[str],
    hide: list[str],
    no_wait: list[str],
    free_launches: bool,
) -> Asked:
    """Return the changes of the options.

    Raises
    ------
    typer.BadParameter
        If an option cannot be read, or no change is asked for.
    """
    asked: list[tuple[str, Change]] = []
    if flatten_ranks:
        asked.append(("--flatten-ranks", FlattenRanks()))
    asked += [(f"--close-range {name}", CloseRange(name)) for name in close_range]
    asked += [(f"--close-idle {rank}", _idle(rank)) for rank in close_idle]
    asked += [(f"--remove-call {name}", RemoveCall(name)) for name in remove_call]
    asked += [(f"--remove-copy {kind}", RemoveCopies(kind)) for kind in remove_copy]
    asked += [(f"--scale {text}", _scale(text)) for text in scale]
    asked += [(f"--hide {kind}", Hide(kind)) for kind in hide]
    asked += [(f"--no-wait {text}", _no_wait(text)) for text in no_wait]
    if free_launches:
        asked.append(("--free-launches", FreeLaunches()))
    if not asked:
        raise typer.BadParameter("no change is given, as --flatten-ranks or --scale gemm:0.5")
    return asked


def _idle(text: str) -> CloseIdle:
    if text == "all":
        return CloseIdle()
    if not text.isdecimal():
        raise typer.BadParameter(f"--close-idle takes a rank or all, not {text!r}")
    return CloseIdle(int(text))


def _scale(text: str) -> Scale:
    # From the right: names of kernels hold colons, factors do not.
    pattern, colon, factor = text.rpartition(":")
    try:
        number = float(factor)
    except ValueError:
        number = math.nan
    if not colon or not pattern or not 0 <= number < math.inf:
        raise typer.BadParameter(f"--scale takes PATTERN:F, as gemm:0.5, with F from 0 on, not {text!r}")
    return Scale(pattern, number)


def _no_wait(text: str) -> NoWait:
    kind, at, name = text.partition("@")
    return NoWait(kind, name if at else None)


def print_what_if(study: Study, asked: Asked, chosen: Chosen, as_json: bool) -> None:
    """Print what the iterations would be with some changes.

    Raises
    ------
    typer.TyperException
        If a change matches nothing, or there are no such iterations.
    """
    try:
        answer = study.what_if([change for _, change in asked], chosen=chosen)
    except ChangeError as error:
        raise typer.TyperException(str(error)) from error
    if as_json:
        json.dump(_facts(answer, asked), sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    console = plain_console()
    for part in _tables(answer):
        console.print(part)


def _facts(answer: WhatIf, asked: Asked) -> dict[str, object]:
    return {
        "changes": [option for option, _ in asked],
        "iterations": [
            {"index": one.index, "recorded_ns": one.recorded_ns, "predicted_ns": one.predicted_ns}
            for one in answer.iterations
        ],
        "saving_ns": answer.saving_ns,
        "saving_range_ns": list(answer.saving_range_ns),
        "replay_error_ns": answer.replay_error_ns,
        "explained_share": answer.explained_share,
        "doubts": list(answer.doubts),
    }


def _tables(answer: WhatIf) -> list[Text | FittedTable]:
    found = answer.found
    rows = [
        [
            found.called(one.index),
            found.flags[one.index] or "",
            format_ns(one.recorded_ns),
            format_ns(one.predicted_ns),
            format_ns(one.recorded_ns - one.predicted_ns),
        ]
        for one in answer.iterations
    ]
    columns = (
        ConsoleColumn(found.by.unit),
        ConsoleColumn("flag"),
        ConsoleColumn("recorded", True),
        ConsoleColumn("predicted", True),
        ConsoleColumn("saving", True),
    )
    low, high = (format_ns(ns) for ns in answer.saving_range_ns)
    parts: list[Text | FittedTable] = [
        FittedTable(f"What if: {', '.join(map(str, answer.changes))}", columns, rows),
        Text(f"Saving: {format_ns(answer.saving_ns)} an iteration (median), {low} to {high}", style="bold"),
    ]
    parts += [Text(doubt, style="yellow") for doubt in answer.doubts]
    share = answer.explained_share
    if share is not None:
        parts.append(
            Text(
                f"{format_share(share)} of the starts on the new critical path are explained; "
                "the rest is the uncertainty of this answer."
            )
        )
    parts.append(_paths(answer))
    parts.append(
        Text(f"Without a change the replay differs from the recording by {answer.replay_error_ns} ns.")
    )
    if found.doubt:
        parts.append(Text(found.doubt_text, style="yellow"))
    return parts


def _paths(answer: WhatIf) -> FittedTable:
    titles = ("compute", "communication", "copies", "host", "gaps")
    columns = [ConsoleColumn(answer.found.by.unit), *(ConsoleColumn(title, True) for title in titles)]
    rows = [
        [answer.found.called(path.iteration), *(format_ns(ns) for ns in path.sums.values())]
        for path in answer.critical_paths
    ]
    return FittedTable("New critical path", columns, rows)
