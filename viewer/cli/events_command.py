"""`lightbox events`: the events of some rows as a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import typer

from viewer.analysis.study import Study
from viewer.analysis.time.scope import Scope, iteration_scope
from viewer.cli.console import plain_console
from viewer.cli.console_tables import ConsoleColumn, FittedTable
from viewer.cli.open_study import chosen_window
from viewer.drawing.spreadsheet import csv_text
from viewer.drawing.times import TimeError
from viewer.panels.event_columns import EventColumn, columns_for
from viewer.panels.event_set import EventSet, Positions, gather
from viewer.panels.event_view import Wanted, frame_of, list_events, parse_durations
from viewer.printable import counted, visible
from viewer.rows.matching import nothing_called, topmost
from viewer.rows.tree import build_rows
from viewer.trace import Kind
from viewer.trace.names import short_name


@dataclass(frozen=True)
class EventQuery:
    """The command's options: rows by `viewer.rows.matching.topmost`; `durations` as ">10us"."""

    patterns: tuple[str, ...]
    range_text: str | None = None
    iteration: int | None = None
    text: str = ""
    durations: str = ""
    sort: str = "start"
    limit: int | None = None
    as_csv: bool = False


def check_durations(text: str) -> None:
    """Refuse a filter by duration that cannot be parsed.

    Raises
    ------
    typer.BadParameter
    """
    try:
        parse_durations(text)
    except TimeError as error:
        raise typer.BadParameter(str(error)) from error


def print_events(study: Study, asked: EventQuery) -> None:
    """Print the events of rows, one table per row.

    Raises
    ------
    typer.TyperException
        If the trace has no such row, range or iteration, or the events have no such column.
    """
    scope = _scope(study, asked)
    for note in scope.notes if scope else ():
        typer.echo(visible(f"lightbox: {note}"), err=True)
    least, most = parse_durations(asked.durations)
    wanted = Wanted(asked.text, least, most, scopes=(scope,) if scope else ())
    roots = build_rows(study)
    listings = []
    for pattern in asked.patterns:
        rows = topmost(roots, pattern)
        if not rows:
            raise typer.TyperException(nothing_called(roots, pattern))
        listings += [_listed(gather(study, row), wanted, asked) for row in rows]
    if asked.as_csv:
        _print_csv(listings)
    else:
        _print_tables(listings)


def _scope(study: Study, asked: EventQuery) -> Scope | None:
    window, iteration = chosen_window(study, asked.range_text, asked.iteration)
    iterations = study.iterations()
    if iteration is not None and iterations is not None:
        return iteration_scope(iterations, [iteration])
    return study.range_scope(*window) if window else None


@dataclass(frozen=True)
class _Listed:
    events: EventSet
    columns: tuple[EventColumn, ...]
    order: Positions
    found: int


def _listed(events: EventSet, wanted: Wanted, asked: EventQuery) -> _Listed:
    columns = columns_for(events)
    column = _column(columns, asked.sort)
    descending = column is not None and column.largest_first
    wanted = replace(wanted, sort=column.key if column else "", descending=descending)
    result = list_events(events, columns, wanted, lambda: False)
    order = result.order if result else np.empty(0, np.int32)
    shown = tuple(c for c in columns if c.shown or c is column)
    return _Listed(events, shown, order[: asked.limit], len(order))


def _column(columns: tuple[EventColumn, ...], name: str) -> EventColumn | None:
    """Return the column that is called "duration" or "duration_ns".

    Raises
    ------
    typer.TyperException
        If there is none; rows without events have no columns.
    """
    if not columns:
        return None
    for column in columns:
        if name.casefold() in (column.key, column.key.rsplit("_", 1)[0], column.title.casefold()):
            return column
    known = ", ".join(c.key for c in columns)
    raise typer.TyperException(f"these events have no column '{name}'; there are {known}")


def _print_csv(listings: list[_Listed]) -> None:
    frames = []
    for listed in listings:
        frame = frame_of(listed.events, listed.columns, listed.order)
        # Nullable integers: rows that lack the column would turn whole numbers into floats.
        frame = frame.astype({c: "Int64" for c in frame if frame[c].dtype == np.int64})
        if len(listings) > 1:
            frame.insert(0, "row", listed.events.row.text_path)
        frames.append(frame)
    sys.stdout.write(csv_text(pd.concat(frames, ignore_index=True)))


def _print_tables(listings: list[_Listed]) -> None:
    console = plain_console()
    for listed in listings:
        more = f", the first {len(listed.order):,}" if len(listed.order) < listed.found else ""
        columns, cells = [], []
        for column in listed.columns:
            columns.append(ConsoleColumn(column.title, column.number, cut=True))
            values = column.values(listed.events, listed.order)
            text = _short if column.key == "name" and Kind.KERNEL in listed.events.kinds else column.text
            cells.append([text(listed.events, value) for value in values])
        title = f"{listed.events.row.text_path}: {counted(listed.found, 'event')}{more}"
        console.print(FittedTable(title, columns, list(zip(*cells, strict=True))))


def _short(events: EventSet, name_id: int) -> str:
    return short_name(events.study.trace.names[int(name_id)]) or "(no name)"
