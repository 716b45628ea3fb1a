"""A file becomes a Trace."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from viewer.logs import keep_private
from viewer.readers import cache as store
from viewer.readers import nsys
from viewer.readers.build import Early, build
from viewer.readers.errors import Cancel, Cancelled, Progress, ReadError
from viewer.readers.file_thread import apart
from viewer.readers.metadata import doctor_facts
from viewer.readers.open_tables import open_tables
from viewer.readers.sniff import Container, FileKind, shown, sniff
from viewer.trace.model import Trace

log = logging.getLogger("viewer.readers")

__all__ = [
    "Cancel",
    "Cancelled",
    "Early",
    "FileKind",
    "Progress",
    "ReadError",
    "doctor_facts",
    "read",
    "sniff",
]

_EXPORT_SHARE = 0.6
"""How much of the progress bar the export of a report takes."""


def read(
    path: str | os.PathLike[str],
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    cache: bool = True,
    early: Early | None = None,
) -> Trace:
    """Read a trace: an export (SQLite, parquetdir, arrowdir) or, through nsys, a report.

    Parameters
    ----------
    path : str or path-like
        Opened read-only; nothing is ever written beside it.
    progress : callable, optional
        Called with what is being done and a fraction from 0 to 1.
    cancelled : callable, optional
        Asked often; when it returns True the work ends with `Cancelled`, at the latest after
        `beside.GRACE_S`, also where the file does not answer.
    cache : bool
        Whether to use and fill the store of parsed traces.
    early : callable, optional
        Called once, in a thread of its own, with a trace of what the GPUs did as soon as that is read: calls,
        ranges and the rest are missing. Not called for a stored trace, which is there at once.

    Raises
    ------
    ReadError
        The file cannot be read. The message is one line and says what to do.
    Cancelled
    """
    path = Path(path)
    try:
        return apart(lambda asked: _read(path, progress, asked, cache, early), cancelled)
    except MemoryError as error:
        raise ReadError(f"{shown(path)} needs more memory than this machine has.") from error


def _read(
    path: Path, progress: Progress | None, cancelled: Cancel, cache: bool, early: Early | None
) -> Trace:
    keep_private(path)
    kind = sniff(path)
    log.debug("reading %r: %s", str(path), kind.container.name)
    entry = store.Entry.of(path)
    if cache and (stored := entry.load(path, cancelled)) is not None:
        log.debug("from the store: %d events", sum(map(len, stored.events.values())))
        return stored
    export, recorded_by = None, kind.version
    if kind.container is Container.REPORT:
        exporting = _part_of(progress, 0.0, _EXPORT_SHARE)
        try:
            entry.make()
        except OSError as error:
            log.debug("no folder in the store: %s", error)
        export = entry.export(cancelled)
        if export is None:
            export = nsys.export(path, kind.version, entry.folder, exporting, cancelled)
        progress = _part_of(progress, _EXPORT_SHARE, 1.0)
        kind = sniff(export)
    tables = open_tables(export or path, kind, cancelled)
    source = entry.source(path, export)
    try:
        if not cache:
            return build(path, tables, source, progress, cancelled, early, recorded_by=recorded_by)
        with store.Storing(entry) as storing:
            trace = build(path, tables, source, progress, cancelled, early, storing.keep, recorded_by)
            if store.Entry.of(path) == entry:
                storing.finish(trace)
            else:
                log.debug("not stored: the file was changed while it was read")
        return trace
    finally:
        tables.close()


def _part_of(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return a progress that fills a part of another."""
    if progress is None:
        return None
    whole = progress
    return lambda what, done: whole(what, begin + (end - begin) * done)
