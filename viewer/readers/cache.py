"""The cache of parsed traces: a trace that was opened before is mapped into memory instead of parsed.

An entry is a folder whose name is a hash of the trace's path, inode, size and times of change. It contains
the parsed trace as uncompressed Arrow IPC, one file per table, and the export if the trace is a report; both
are sealed. Its files are written once, under a temporary name, and later only removed, never changed: a
process that has mapped them is not disturbed.
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
"""Whether the system refuses to rename a folder while files in it are mapped."""


def cache_folder() -> Path:
    """Return the cache folder: LIGHTBOX_CACHE_DIR, else what the user chose, else the usual one."""
    if chosen := os.environ.get("LIGHTBOX_CACHE_DIR"):
        return Path(chosen)
    return _chosen_folder() or platformdirs.user_cache_path("lightbox", appauthor=False)


def is_given() -> bool:
    """Return whether the variable LIGHTBOX_CACHE_DIR says where the cache lies."""
    return bool(os.environ.get("LIGHTBOX_CACHE_DIR"))


def is_moved() -> bool:
    """Return whether the user chose where the cache lies."""
    return not is_given() and _chosen_folder() is not None


def set_folder(parent: Path | None) -> None:
    """Let the cache lie in the folder "lightbox" below `parent` from now on; None: in the usual one.

    A folder of its own: clearing the cache must remove nothing that lies beside it. What is stored already
    stays where it is.

    Raises
    ------
    OSError
        The folder cannot be made, or the choice not be written.
    """
    if parent is None:
        _choice_file().unlink(missing_ok=True)
        return
    folder = parent.absolute() / "lightbox"
    private_files.make_folder(folder)
    file = _choice_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.write_text(json.dumps({"cache_folder": str(folder)}), "utf-8")
    part.replace(file)


def _choice_file() -> Path:
    return platformdirs.user_config_path("lightbox", appauthor=False) / "store.json"


def _chosen_folder() -> Path | None:
    try:
        chosen = json.loads(_choice_file().read_text("utf-8"))["cache_folder"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.debug("the place of the cache cannot be read: %s", error)
        return None
    return Path(chosen) if isinstance(chosen, str) and Path(chosen).is_absolute() else None


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The cache entry of one trace."""

    folder: Path

    @classmethod
    def of(cls, path: Path) -> CacheEntry:
        """Return the entry of a trace in its present state; a changed or replaced file has another entry."""
        files = sorted(path.iterdir()) if path.is_dir() else [path, path.with_name(path.name + "-wal")]
        seen = [os.fsencode(path.absolute())]
        for file in files:
            with suppress(OSError):
                facts = file.stat()
                times = f"{facts.st_mtime_ns} {facts.st_ctime_ns}"
                seen += [os.fsencode(file.name), f"{facts.st_ino} {facts.st_size} {times}".encode()]
        return cls(_traces() / hashlib.sha256(b"\0".join(seen)).hexdigest()[:32])

    def load(self, path: Path, cancelled: Cancel | None = None) -> Trace | None:
        """Return the stored trace; None if there is none, or if it was damaged, which removes it.

        All files are verified before any is used.

        Raises
        ------
        Cancelled
        """
        files = checksums.unseal(self.folder / _PARSE, cancelled)
        export = self.export(cancelled) if files is not None else None
        if files is None or (export is None and sniff(path).container is Container.REPORT):
            log.debug("not in the cache")
            return None
        trace = cache_format.load(files, path, self.source(path, export))
        # The time of last use orders entries for `prune`. A read-only cache is still good to read from.
        with suppress(OSError):
            os.utime(self.folder)
        return trace

    def save(self, trace: Trace) -> bool:
        """Store a trace completely and return True; store nothing and return False if that fails."""
        with Storing(self) as storing:
            return storing.finish(trace)

    def make(self) -> None:
        """Make the folder, readable only by its user; all stored files inherit that protection.

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
        """Return the export that nsys made of a report, None if there is none; remove a damaged one.

        Raises
        ------
        Cancelled
        """
        return nsys.exported(self.folder, cancelled)

    def source(self, path: Path, export: Path | None) -> FileSource:
        """Return the source of rarely needed columns: the export, else the file while it is unchanged."""
        if export is not None:
            return FileSource(partial(open_tables, export))
        name = self.folder.name
        return FileSource(partial(open_tables, path), lambda: CacheEntry.of(path).folder.name == name)


class Storing:
    """Stores a trace in an entry while it is parsed: writes each sorted table and returns it mapped.

    A full disk ends the storing, never the reading. Leaving the context removes an unfinished entry.
    """

    def __init__(self, entry: CacheEntry) -> None:
        self._entry = entry
        self._part: Path | None = None
        self._writer: cache_format.CacheWriter | None = None
        try:
            entry.make()
            self._part = private_files.make_part(entry.folder)
            self._writer = cache_format.CacheWriter(self._part)
        except OSError as error:
            log.debug("no table is stored: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._part is not None:
            shutil.rmtree(self._part, ignore_errors=True)

    def keep(self, events: Events) -> Events:
        """Write a table and return it mapped into memory; return it unchanged if that fails."""
        writer = self._writer
        if writer is None or _MAPPED_FILES_STAY:
            return events
        try:
            return writer.put(events)
        except (OSError, pa.ArrowException) as error:
            log.debug("no further table is stored: %s", error)
            self._writer = None
            return events

    def finish(self, trace: Trace) -> bool:
        """Write the rest, rename the folder into its place and return True; False if that fails."""
        if self._writer is None or self._part is None:
            return False
        try:
            place = self._entry.folder / _PARSE
            self._writer.finish(trace, place)
            self._part.rename(place)
        except (OSError, pa.ArrowException) as error:
            log.debug("not stored: %s", error)
            # Another process may have stored the same trace first, with the same content.
            return (self._entry.folder / _PARSE).is_dir()
        log.debug("stored")
        prune(keep=self._entry.folder)
        return True


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """An entry's size, its last use (seconds since 1970), and its trace's path ("" if unknown)."""

    folder: Path
    size_bytes: int
    used_s: float
    trace: str = ""


def limit() -> int:
    """Return the limit in bytes of all entries together: the user's setting, else 20 GiB."""
    try:
        chosen = json.loads((cache_folder() / _LIMIT).read_text("utf-8"))["largest_bytes"]
        return int(chosen) if isinstance(chosen, int) and chosen >= 0 else _LARGEST_BYTES
    except FileNotFoundError:
        return _LARGEST_BYTES
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.debug("the limit of the cache cannot be read: %s", error)
        return _LARGEST_BYTES


def set_limit(size: int) -> None:
    """Set the limit in bytes of all entries together, and prune; it holds for windows and commands.

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
    """Return the entries, the most recently used first."""
    stored = []
    for folder in _folders():
        try:
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            stored.append(
                StoredTrace(folder, size, folder.stat().st_mtime, cache_format.path_in(folder / _PARSE))
            )
        except OSError as error:
            log.debug("a cache entry cannot be read: %s", error)
    return sorted(stored, key=lambda entry: -entry.used_s)


def _traces() -> Path:
    return cache_folder() / "traces"


def _folders() -> list[Path]:
    """Return the folders of all entries; another process may remove them at any time."""
    try:
        return list(_traces().iterdir())
    except OSError:
        return []


def clear() -> int:
    """Remove all entries; return the number of bytes that this freed."""
    before = sum(entry.size_bytes for entry in entries())
    shutil.rmtree(_traces(), ignore_errors=True)
    return before - sum(entry.size_bytes for entry in entries())


def prune(keep: Path | None = None, largest_bytes: int | None = None) -> None:
    """Remove entries that were unused for 30 days, then the least recently used until all fit the limit.

    `largest_bytes` is the `limit` unless given; the entry `keep` stays. Unfinished entries of other
    processes, and parsed traces of other versions of the format, are removed after a day.
    """
    most = limit() if largest_bytes is None else largest_bytes
    now = time.time()
    total = 0
    for entry in entries():
        total += entry.size_bytes
        old = now - entry.used_s > _LONGEST_UNUSED_S
        if entry.folder != keep and (old or total > most):
            log.debug("removed from the cache: %d bytes, long unused or over the limit", entry.size_bytes)
            checksums.remove(entry.folder)
            total -= entry.size_bytes
            continue
        for part in _leftovers(entry.folder):
            checksums.remove(part)


def _leftovers(folder: Path) -> list[Path]:
    """Return obsolete files and folders of an entry; another process may remove them at any time."""
    yesterday = time.time() - 86_400
    try:
        others = [part for part in folder.iterdir() if part.name not in (_PARSE, nsys.EXPORT)]
        return [part for part in others if part.stat().st_mtime < yesterday]
    except OSError:
        return []
