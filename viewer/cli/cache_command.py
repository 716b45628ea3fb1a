"""`lightbox cache`: lists, limits and clears the stored traces, which open at once."""

from __future__ import annotations

import time

import typer

from viewer.drawing.format import format_bytes
from viewer.printable import visible
from viewer.readers import cache

GIB = 2**30


def print_cache() -> None:
    """Print the stored traces, the last used first."""
    stored = [entry for entry in cache.entries() if entry.size_bytes]
    for entry in stored:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used_s))
        typer.echo(
            f"{format_bytes(entry.size_bytes):>13}  {used}  {visible(str(entry.trace or entry.folder))}"
        )
    total = sum(entry.size_bytes for entry in stored)
    limit = cache.limit() / GIB
    typer.echo(f"{format_bytes(total):>13} of at most {limit:,.4g} GiB, in {cache.cache_folder()}")


def clear_cache() -> None:
    """Remove all stored traces and print their size; windows that show them keep working."""
    typer.echo(f"removed {format_bytes(cache.clear())}")


def limit_cache(gib: float) -> None:
    """Set the limit of the stored traces; print what this removes and what stays."""
    before = {entry.folder: entry for entry in cache.entries()}
    cache.set_limit(round(gib * GIB))
    gone = before.keys() - {entry.folder for entry in cache.entries()}
    if gone:
        size = sum(before[folder].size_bytes for folder in gone)
        typer.echo(f"removed {format_bytes(size)}, {len(gone)} of {len(before)} traces")
    print_cache()
