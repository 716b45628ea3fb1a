"""Opens a path as a Study, with progress on the terminal and errors in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from viewer.drawing.format import format_ns
from viewer.drawing.times import TimeError, parse_iteration, parse_range
from viewer.printable import visible

EVER_NS = (-(2**62), 2**62)

if TYPE_CHECKING:
    from viewer.analysis.study import Study
    from viewer.trace import Trace


def refuse_missing(path: Path) -> None:
    """Refuse a path that does not exist.

    Raises
    ------
    typer.TyperException
    """
    try:
        path.lstat()
    except OSError as error:
        raise typer.TyperException(f"{path}: {(error.strerror or str(error)).lower()}") from error


def open_trace(path: Path) -> Trace:
    """Read a trace.

    Raises
    ------
    typer.TyperException
        If it cannot be read; the message is one line that says what to do.
    """
    refuse_missing(path)
    from viewer.readers import ReadError, read

    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Opening", total=1.0)
        try:
            return read(
                path, progress=lambda what, share: bar.update(task, description=what, completed=share)
            )
        except ReadError as error:
            raise typer.TyperException(str(error)) from error


def open_study(path: Path, rules: str) -> Study:
    """Read a trace for its numbers; print wrong lines of the table of kernel classes on stderr.

    Parameters
    ----------
    rules : str
        "builtin", or "own" for the user's table of kernel classes where there is one.
    """
    from viewer.analysis.core.classify import Rules
    from viewer.analysis.study import Study

    study = Study(open_trace(path), Rules.builtin() if rules == "builtin" else None)
    for error in study.rules.errors:
        typer.echo(visible(f"lightbox: {study.rules.origin}: {error}; the line is left out"), err=True)
    return study


def check_window(range_text: str | None, iteration: int | None) -> None:
    """Refuse an invalid range or iteration before the trace is read.

    Raises
    ------
    typer.BadParameter
    """
    if range_text is not None and iteration is not None:
        raise typer.BadParameter("--range and --iteration cannot both be given")
    if range_text is not None and parse_iteration(range_text) is None:
        try:
            parse_range(range_text, EVER_NS)
        except TimeError as error:
            raise typer.BadParameter(str(error)) from error


def chosen_window(
    study: Study, range_text: str | None, iteration: int | None
) -> tuple[tuple[int, int] | None, int | None]:
    """Return the requested range and iteration; at most one of them is not None.

    Raises
    ------
    typer.TyperException
        If the trace has no such iteration, or nothing lies in the range.
    """
    if range_text is not None and (named := parse_iteration(range_text)) is not None:
        range_text, iteration = None, named
    if iteration is not None:
        iterations = study.iterations()
        if iterations is None:
            raise typer.TyperException("no iterations were found in this trace; use --range 2.1s..2.35s")
        if iteration >= iterations.count:
            raise typer.TyperException(
                f"there is no iteration {iteration}; the trace has 0 to {iterations.count - 1}"
            )
        return None, iteration
    if range_text is None:
        return None, None
    low, high = study.trace.span_ns
    try:
        start, end = parse_range(range_text, study.trace.window_ns)
    except TimeError as error:
        raise typer.TyperException(str(error)) from error
    if end <= low or start >= high:
        raise typer.TyperException(
            f"nothing lies in {range_text}: the trace runs from {_bound(low)} to {_bound(high)}"
        )
    return (start, end), None


def _bound(ns: int) -> str:
    return format_ns(ns) if ns else "0"
