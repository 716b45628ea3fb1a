"""`lightbox shot`: the timeline as a PNG file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from viewer.cli.opening import chosen_window

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(frozen=True)
class Shot:
    """What was asked for: `viewer.export.first_view` says what each is; `width` and `scale` as `picture`."""

    range_text: str | None
    lap: int | None
    patterns: tuple[str, ...]
    overlays: frozenset[str]
    theme: str
    width: int
    scale: float


def take(study: Study, shot: Shot, out: Path) -> None:
    """Paint the picture offscreen and write it, whole or not at all.

    Raises
    ------
    typer.TyperException
        If the trace has no such range, iteration or row.
    OSError
        If the file cannot be written.
    """
    window, lap = chosen_window(study, shot.range_text, shot.lap)
    from PySide6.QtGui import QGuiApplication

    from viewer.drawing.theme import DARK, LIGHT
    from viewer.export.first_view import first_view
    from viewer.export.picture import PictureError, picture, png_bytes

    app = QGuiApplication.instance() or QGuiApplication(["lightbox", "-platform", "offscreen"])
    theme = DARK if shot.theme == "dark" else LIGHT
    try:
        view = first_view(study, window, lap=lap, patterns=shot.patterns, overlays=shot.overlays, theme=theme)
        content = png_bytes(picture(view, shot.width, shot.scale))
    except PictureError as error:
        raise typer.TyperException(str(error)) from error
    finally:
        del app
    part = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
