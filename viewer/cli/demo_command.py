"""`lightbox demo`: parses the options of the demo, and writes its file."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Literal

import typer

from viewer.demo import DemoOptions, default_demo, make_demo
from viewer.demo.injected_faults import Fault
from viewer.drawing.times import TimeError, parse_ns
from viewer.export.atomic import is_stream, open_stream, replacing


def demo_options(
    iterations: int | None,
    events: int | None,
    like: Literal["megatron", "distca", "pipeline"],
    shift: list[str],
    lose: list[str],
    fault: Fault | None,
    clean: bool,
) -> DemoOptions:
    """Return the options of a demo trace.

    Raises
    ------
    typer.BadParameter
        If a rank, a time or a share cannot be parsed, or the job cannot have the fault.
    """
    shifts, losses = _shifts(shift), _losses(lose)
    try:
        return DemoOptions(
            iterations=iterations,
            events=events,
            like=like,
            shift=shifts,
            lose=losses,
            fault=fault,
            clean=clean,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def write_demo(options: DemoOptions, out: Path | None) -> Path:
    """Write a demo trace to `out`, a file or a stream, by default into the cache folder; return its path.

    Raises
    ------
    typer.TyperException
        If it cannot be written into the cache folder.
    OSError
        If it cannot be written to `out`.
    """
    from viewer.readers.cache import cache_folder

    if out is not None:
        _write_out(options, out)
        return out
    try:
        if options == DemoOptions():
            return default_demo()
        kept = cache_folder() / "demo" / options.key / "demo.sqlite"
        return kept if kept.is_file() else make_demo(kept, options)
    except OSError as error:
        raise typer.TyperException(
            f"the demo cannot be written: {error.filename or out}: {error.strerror or error}"
        ) from error


def _write_out(options: DemoOptions, out: Path) -> None:
    if not is_stream(out):
        with replacing(out) as part:
            make_demo(part, options)
        return
    with tempfile.TemporaryDirectory(prefix="lightbox-demo-") as folder:
        made = make_demo(Path(folder) / "demo.sqlite", options)
        with made.open("rb") as file, open_stream(out) as stream:
            shutil.copyfileobj(file, stream)


def _rank(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter(f"'{text}' is not the number of a rank")
    return int(text)


def _shifts(texts: list[str]) -> dict[int, int]:
    shifts = {}
    for text in texts:
        rank, _, time = text.partition(":")
        try:
            shifts[_rank(rank)] = parse_ns(time)
        except TimeError as error:
            raise typer.BadParameter(f"--shift takes RANK:TIME, as 3:250ms: {error}") from error
    return shifts


def _losses(texts: list[str]) -> dict[int, float]:
    losses = {}
    for text in texts:
        rank, colon, share = text.partition(":")
        try:
            lost = float(share) if colon else 1.0
        except ValueError:
            lost = -1.0
        if not 0 < lost <= 1:
            raise typer.BadParameter(f"--lose takes RANK or RANK:SHARE, as 6:0.9, not '{text}'")
        losses[_rank(rank)] = lost
    return losses
