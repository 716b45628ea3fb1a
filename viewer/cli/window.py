"""Open the window, where there is a display to open it on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

import typer

from viewer.cli.opening import refuse_missing


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
        If there is no display, or no such file.
    """
    if trace is not None:
        refuse_missing(trace)
    if not has_display():
        raise typer.TyperException(
            "there is no display here; `lightbox report TRACE` prints the numbers, "
            "`lightbox shot TRACE -o picture.png` draws the picture"
        )
    from viewer.app.run import run

    return run(trace, renderer)
