"""Parsed traces are stored, so that a second opening only maps files.

An entry is a folder named by what the system says of the trace: where it is, which file, how large, when it
was changed. It holds the parse as uncompressed Arrow IPC, one file per table, and the export where the trace
is a report; both are sealed. Its files are written once, under another name, and later only removed: what
somebody has mapped stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import platformdirs
import pyarrow as pa

from viewer import private_files
from viewer.readers import cache_format, checksums, nsys
from viewer.readers.errors import Cancel
from viewer.readers.open_tables import open_tables
from viewer.readers.sniff import Container, sniff
from viewer.readers.source import FileSource
from viewer.trace.events import Events
from viewer.trace.model import Trace

log = logging.getLogger("viewer.readers")

_PARSE = f"parse-{cache_format.VERSION}"
_LONGEST_UNUSED_S = 30 * 86_400
_LARGEST_BYTES = 20 * 2**30
_LIMIT = "limit.json"
_MAPPED_FILES_STAY = os.name == "nt"
"""Whether a folder cannot be renamed while files in it are mapped."""


def cache_folder() -> Path:
    """Return the folder for what can be made again; LIGHTBOX_CACHE_DIR overrides it."""
    chosen = os.environ.get("LIGHTBOX_CACHE_DIR")
    return Path(chosen) if chosen else platformdirs.user_cache_path("lightbox", appauthor=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is stored of one trace."""

    folder: Path

    @classmethod
    def of(cls, path: Path) -> Entry:
        """Return the entry of a trace as it is now; one that was changed or replaced has another."""
        files = sorted(path.iterdir()) if path.is_dir() else [path, path.with_name(path.name + "-wal")]
        seen = [os.fsencode(path.absolute())]
        for file in files:
            with suppress(OSError):
                facts = file.stat()
                times = f"{facts.st_mtime_ns} {facts.st_ctime_ns}"
                seen += [os.fsencode(file.name), f"{facts.st_ino} {facts.st_size} {times}".encode()]
        return cls(_traces() / hashlib.sha256(b"\0".join(seen)).hexdigest()[:32])

    def load(self, path: Path, cancelled: Cancel | None = None) -> Trace | None:
        """Return the stored trace; None where there is none, or it is damaged and was removed.

        All of it is checked before any is used.

        Raises
        ------
        Cancelled
        """
        files = checksums.unseal(self.folder / _PARSE, cancelled)
        export = self.export(cancelled) if files is not None else None
        if files is None or (export is None and sniff(path).container is Container.REPORT):
            log.debug("not in the store")
            return None
        trace = cache_format.load(files, path, self.source(path, export))
        # A store that cannot be written to is as good to read from.
        with suppress(OSError):
            os.utime(self.folder)
        return trace

    def save(self, trace: Trace) -> bool:
        """Store a trace, all or nothing; False where that failed, as on a full disk."""
        with Storing(self) as storing:
            return storing.finish(trace)

    def make(self) -> None:
        """Make the folder, readable by its user alone, as all that is stored is from then on.

        Raises
        ------
        OSError
            It cannot be made.
        """
        if "LIGHTBOX_CACHE_DIR" not in os.environ:
            private_files.make_folder(cache_folder())
        private_files.make_folder(_traces())
        private_files.make_folder(self.folder)

    def export(self, cancelled: Cancel | None = None) -> Path | None:
        """Return the export that nsys made of a report if it is there; a damaged one is removed.

        Raises
        ------
        Cancelled
        """
        return nsys.exported(self.folder, cancelled)

    def source(self, path: Path, export: Path | None) -> FileSource:
        """Return where seldom needed columns come from: the export, else the file while it is what it was."""
        if export is not None:
            return FileSource(partial(open_tables, export))
        name = self.folder.name
        return FileSource(partial(open_tables, path), lambda: Entry.of(path).folder.name == name)


class Storing:
    """A parse on its way into an entry: each table goes there once it is sorted, and is used from there.

    A full disk ends the storing, never the reading. Leaving it as a context removes what is not finished.
    """

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._part: Path | None = None
        self._writer: cache_format.CacheWriter | None = None
        try:
            entry.make()
            self._part = private_files.make_part(entry.folder)
            self._writer = cache_format.CacheWriter(self._part)
        except OSError as error:
            log.debug("nothing is stored: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._part is not None:
            shutil.rmtree(self._part, ignore_errors=True)

    def keep(self, events: Events) -> Events:
        """Write a table and return it mapped; where that fails, as it is."""
        writer = self._writer
        if writer is None or _MAPPED_FILES_STAY:
            return events
        try:
            return writer.put(events)
        except (OSError, pa.ArrowException) as error:
            log.debug("nothing more is stored: %s", error)
            self._writer = None
            return events

    def finish(self, trace: Trace) -> bool:
        """Write the rest and give the entry its name, all or nothing; False where that failed."""
        if self._writer is None or self._part is None:
            return False
        try:
            place = self._entry.folder / _PARSE
            self._writer.finish(trace, place)
            self._part.rename(place)
        except (OSError, pa.ArrowException) as error:
            log.debug("not stored: %s", error)
            # Another program may have been faster: what it stored is the same.
            return (self._entry.folder / _PARSE).is_dir()
        log.debug("stored")
        prune(keep=self._entry.folder)
        return True


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """What an entry takes, when it was last used (seconds since 1970), and its trace's path ("" unknown)."""

    folder: Path
    size_bytes: int
    used_s: float
    trace: str = ""


def limit() -> int:
    """Return how much all entries may take together: what the user has set, else 20 GiB."""
    try:
        chosen = json.loads((cache_folder() / _LIMIT).read_text("utf-8"))["largest_bytes"]
        return int(chosen) if isinstance(chosen, int) and chosen >= 0 else _LARGEST_BYTES
    except FileNotFoundError:
        return _LARGEST_BYTES
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.debug("the limit of the store cannot be read: %s", error)
        return _LARGEST_BYTES


def set_limit(size: int) -> None:
    """Set how much all entries may take, and remove what is too much; windows and commands follow it.

    Raises
    ------
    OSError
        It cannot be written.
    """
    if not cache_folder().is_dir():
        private_files.make_folder(cache_folder())
    part = private_files.make_part(cache_folder())
    try:
        with private_files.create(part / _LIMIT) as out:
            out.write(json.dumps({"largest_bytes": size}).encode())
        (part / _LIMIT).replace(cache_folder() / _LIMIT)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    prune()


def entries() -> list[StoredTrace]:
    """Return the entries, the one used last first."""
    found = []
    for folder in _folders():
        try:
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            found.append(
                StoredTrace(folder, size, folder.stat().st_mtime, cache_format.path_in(folder / _PARSE))
            )
        except OSError as error:
            log.debug("an entry of the store cannot be looked at: %s", error)
    return sorted(found, key=lambda entry: -entry.used_s)


def _traces() -> Path:
    return cache_folder() / "traces"


def _folders() -> list[Path]:
    """Return the folders of all entries; another program may be removing them just now."""
    try:
        return list(_traces().iterdir())
    except OSError:
        return []


def clear() -> int:
    """Remove all entries; return how many bytes are free now."""
    before = sum(entry.size_bytes for entry in entries())
    shutil.rmtree(_traces(), ignore_errors=True)
    return before - sum(entry.size_bytes for entry in entries())


def prune(keep: Path | None = None, largest_bytes: int | None = None) -> None:
    """Remove entries that were not used for long, then the oldest while all take too much.

    `largest_bytes` is the `limit` unless given; the entry `keep` stays.

    Parts of parses that another program did not finish, and parses of other versions of this one,
    go after a day.
    """
    most = limit() if largest_bytes is None else largest_bytes
    now = time.time()
    total = 0
    for entry in entries():
        total += entry.size_bytes
        old = now - entry.used_s > _LONGEST_UNUSED_S
        if entry.folder != keep and (old or total > most):
            log.debug("removed from the store: %d bytes, unused for long or too much", entry.size_bytes)
            checksums.remove(entry.folder)
            total -= entry.size_bytes
            continue
        for part in _leftovers(entry.folder):
            checksums.remove(part)


def _leftovers(folder: Path) -> list[Path]:
    """Return what nobody can want any more; another program may be removing it just now."""
    yesterday = time.time() - 86_400
    try:
        others = [part for part in folder.iterdir() if part.name not in (_PARSE, nsys.EXPORT)]
        return [part for part in others if part.stat().st_mtime < yesterday]
    except OSError:
        return []
