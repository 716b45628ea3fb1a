"""Checks of the file or stream that a command writes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from viewer.export.atomic import STDOUT, is_stream
from viewer.export.file_types import PICTURES, FileType
from viewer.export.outputs import ForeignOutputError, OutputError, TraceOutputError, check_output
from viewer.printable import visible


def refuse_output(path: Path, kind: FileType, traces: Iterable[Path], force: bool) -> None:
    """Refuse a file that must not be written, before the trace is read.

    Raises
    ------
    typer.TyperException
        If the file is a trace (also with `force`), is of another kind, or cannot be written.
    """
    try:
        check_output(path, kind, traces, force)
    except ForeignOutputError as error:
        raise typer.TyperException(f"{error}; --force writes it all the same") from error
    except TraceOutputError as error:
        raise typer.TyperException(f"{error}; --force does not change that") from error
    except OutputError as error:
        raise typer.TyperException(str(error)) from error


def picture_format(path: Path, force: bool) -> str:
    """Return which of `PICTURES` a picture is: by its name, or PNG for streams and with `force`.

    Raises
    ------
    typer.BadParameter
        If its name has no such suffix.
    typer.TyperException
        If it would go to a terminal.
    """
    if str(path) == STDOUT and sys.stdout.isatty():
        raise typer.TyperException("a picture is not for the terminal; write `> picture.png` behind it")
    suffix = path.suffix.casefold()
    if suffix in PICTURES:
        return suffix
    if force or path.exists() or is_stream(path):
        # `refuse_output` checks next whether an existing file may be replaced.
        return ".png"
    raise typer.BadParameter(f"'{path.name}' does not end in .png, .svg or .pdf")


def print_path(path: Path) -> None:
    """Print the path of the written file, invisible characters escaped; print nothing for a stream."""
    if not is_stream(path):
        print(visible(str(path)))  # noqa: T201
