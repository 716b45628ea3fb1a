"""The readers: `read` turns an export or a report into a `Trace`."""

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
"""The share of the progress bar that the export of a report takes."""


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
        Opened read-only; nothing is ever written next to it.
    progress : callable, optional
        Called with the current step and a fraction from 0 to 1.
    cancelled : callable, optional
        Called often; when it returns True the work ends with `Cancelled`, at the latest after
        `file_thread.GRACE_S`, even if the file system does not respond.
    cache : bool
        Whether to use and fill the cache of parsed traces.
    early : callable, optional
        Called once, in a separate thread, with a trace of the GPU operations as soon as they are read; calls,
        ranges and the rest are missing from it. Not called for a cached trace, which loads at once.

    Raises
    ------
    ReadError
        The file cannot be read. The message is one line and says what to do.
    Cancelled
    """
    path = Path(path)
    try:
        return apart(lambda unwanted: _read(path, progress, unwanted, cache, early), cancelled)
    except MemoryError as error:
        raise ReadError(f"{shown(path)} needs more memory than this machine has.") from error


def _read(
    path: Path, progress: Progress | None, cancelled: Cancel, cache: bool, early: Early | None
) -> Trace:
    keep_private(path)
    kind = sniff(path)
    log.debug("reading %r: %s", str(path), kind.container.name)
    entry = store.CacheEntry.of(path)
    if cache and (stored := entry.load(path, cancelled)) is not None:
        log.debug("from the cache: %d events", sum(map(len, stored.events.values())))
        return stored
    export, recorded_by = None, kind.version
    if kind.container is Container.REPORT:
        exporting = _part_of(progress, 0.0, _EXPORT_SHARE)
        try:
            entry.make()
        except OSError as error:
            log.debug("no folder in the cache: %s", error)
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
            if store.CacheEntry.of(path) == entry:
                storing.finish(trace)
            else:
                log.debug("not stored: the file was changed while it was read")
        return trace
    finally:
        tables.close()


def _part_of(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return a progress callable for one part, from `begin` to `end`, of another."""
    if progress is None:
        return None
    report = progress
    return lambda what, done: report(what, begin + (end - begin) * done)
