"""Open the window, where there is a display to open it on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

import typer

from viewer.cli.opening import refuse_missing
from viewer.plain import visible

LONGEST_NAME = 120


def has_display() -> bool:
    """Whether Qt can show a window here."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


def open_window(trace: Path | None, renderer: Literal["auto", "gl", "raster"]) -> int:
    """Open a window on a trace, or an empty one, and return the exit code when it is closed.

    Raises
    ------
    typer.TyperException
        If there is no display, or no such file, or a session whose trace is not there.
    """
    if trace is not None:
        refuse_missing(trace)
        _refuse_lost(trace)
    if not has_display():
        raise typer.TyperException(
            "there is no display here; `lightbox report TRACE` prints the numbers, "
            "`lightbox shot TRACE -o picture.png` draws the picture"
        )
    from viewer.app.run import run

    return run(trace, renderer)


def _refuse_lost(path: Path) -> None:
    """Refuse a session that cannot be read, or whose trace is not where it says.

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
