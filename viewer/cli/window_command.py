"""Opens the window, or says why there is no display for it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from viewer.cli.open_study import refuse_missing
from viewer.cli.qt import refuse_window
from viewer.printable import visible

LONGEST_NAME = 120


def open_window(trace: Path | None, renderer: Literal["auto", "gl", "raster"]) -> int:
    """Open a window on a trace, or an empty one, and return the exit code when it is closed.

    Raises
    ------
    typer.TyperException
        If Qt cannot show a window here, the file does not exist, or it is a session without its trace.
    """
    if trace is not None:
        refuse_missing(trace)
    refuse_window()
    if trace is not None:
        _refuse_lost(trace)
    from viewer.app.run import run

    return run(trace, renderer)


def _refuse_lost(path: Path) -> None:
    """Refuse a session that cannot be read, or whose trace is missing.

    Raises
    ------
    typer.TyperException
    """
    from viewer.app.session_store import is_session, read_session
    from viewer.state.session_json import SessionError

    if not is_session(path):
        return
    try:
        session = read_session(path)
    except SessionError as error:
        raise typer.TyperException(f"{visible(path.name)} {error}") from error
    if session.find_trace() is None:
        name = _short(visible(session.trace_name or "its trace"))
        raise typer.TyperException(
            f"{visible(path.name)} belongs to {name}, which is not there: put it beside {visible(path.name)}"
        )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
