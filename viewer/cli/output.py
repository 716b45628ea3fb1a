"""Where a command writes to: a file that may be written, or a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from viewer.export.atomic import STDOUT, is_stream
from viewer.export.kinds import PICTURES, Kind
from viewer.export.outputs import ForeignOutputError, OutputError, TraceOutputError, check_output


def refuse_output(path: Path, kind: Kind, traces: Iterable[Path], force: bool) -> None:
    """Refuse a file that may not be written, before a trace is read for it.

    Raises
    ------
    typer.TyperException
        It is a trace, whatever is forced, or not of its kind; or no such file can be written.
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
    """Return which of `PICTURES` a picture is: by its name, PNG for streams and what is forced.

    Raises
    ------
    typer.BadParameter
        If its name does not say.
    typer.TyperException
        If it would go to a terminal.
    """
    if str(path) == STDOUT and sys.stdout.isatty():
        raise typer.TyperException("a picture is not for the terminal; write `> picture.png` behind it")
    suffix = path.suffix.casefold()
    if suffix in PICTURES:
        return suffix
    if force or path.exists() or is_stream(path):
        # Whether a file that is there may become a picture is asked next.
        return ".png"
    raise typer.BadParameter(f"'{path.name}' does not end in .png, .svg or .pdf")


def print_path(path: Path) -> None:
    """Print which file was written; streams are theirs who opened them."""
    if not is_stream(path):
        print(path)  # noqa: T201
