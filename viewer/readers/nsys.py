"""The export of reports through nsys: finds nsys, runs its export, and explains failures."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from viewer import private_files
from viewer.readers import checksums
from viewer.readers.errors import Cancel, Cancelled, Progress, ReadError, check
from viewer.readers.schema import parse_version
from viewer.readers.sniff import Container, shown, sniff
from viewer.readers.subprocess_run import talk

log = logging.getLogger("viewer.readers")

_KNOWN_FOLDERS = (
    "/opt/nvidia/nsight-systems*/*/bin",
    "/opt/nvidia/nsight-systems*/bin",
    "/usr/local/cuda*/bin",
    "/usr/lib/nsight-systems/bin",
    "C:/Program Files/NVIDIA Corporation/Nsight Systems */target-windows-x64",
    "/Applications/NVIDIA Nsight Systems.app/Contents/target-*",
)
EXPORT = "export"
"""The folder of a cache entry for the export that nsys made of a report."""
_PARQUET_SINCE = (2023, 4)
_VERSION_S = 20
_ROOM_BYTES = 16 * 2**20

_TOO_NEW = re.compile(r"Version number is invalid|newer than your current version", re.IGNORECASE)
_UNREADABLE = re.compile(r"ProtobufParse|ReadMessage", re.IGNORECASE)
"""The output of nsys both for a damaged report and for one that is newer than itself."""
_DAMAGED = re.compile(
    r"magic number mismatch|cannot read from stream|unexpected end|truncated|decompress|Corrupt|checksum"
    r"|NotSupportedException|bad_alloc|length_error|out_of_range|nsys crashed",
    re.IGNORECASE,
)
_CRASHES = frozenset((-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGFPE, -signal.SIGILL))
_VERSION_IN_HEADER_SINCE = (2023, 3, 3)
_NAMED_VERSION = re.compile(r"\b(20\d\d[.@]\d+[.@]\d+)")
_PERCENT = re.compile(rb"(\d{1,3})%")


@dataclass(frozen=True, slots=True)
class Nsys:
    """An nsys on this machine, and the version that it prints ("2022.4.2.1-df9881f")."""

    path: Path
    version: str

    @property
    def short(self) -> str:
        """The version in its usual form: "2022.4.2"."""
        return ".".join(map(str, parse_version(self.version)[:3]))


def find_nsys(cancelled: Cancel | None = None) -> Nsys | None:
    """Return the newest nsys on PATH or in its usual folders, None if there is none."""
    installed = []
    for candidate in _candidates():
        check(cancelled)
        version = _version_of(candidate, cancelled)
        if version:
            installed.append(Nsys(candidate, version))
    return max(installed, key=lambda nsys: parse_version(nsys.version), default=None)


def export(
    report: Path,
    written_by: str | None,
    folder: Path,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Path:
    """Let nsys export a report into a folder; leave nothing behind if that fails.

    Parameters
    ----------
    report : Path
    written_by : str or None
        The nsys version in the report's header.
    folder : Path
        The export goes to ``folder/export/*``, as parquetdir if nsys supports it, else as SQLite.

    Raises
    ------
    ReadError
        There is no nsys, it is older than the report, the report is damaged, the disk is full.
    Cancelled
        The export was cancelled, and its process ended.
    """
    nsys = find_nsys(cancelled)
    check(cancelled)
    if nsys is None:
        raise ReadError(_without_nsys(report, written_by))
    try:
        private_files.make_folder(folder)
        part = private_files.make_part(folder)
    except OSError as error:
        raise ReadError(_not_written(folder, error)) from error
    try:
        wanted = ["parquetdir"] if parse_version(nsys.version) >= _PARQUET_SINCE else []
        reason = ""
        for form in [*wanted, "sqlite"]:
            output = _run(nsys, report, part, form, progress, cancelled)
            if output is None:
                made = _made(part)
                if made is not None:
                    return _put(made, folder)
            reason = output or "no export was written"
            if _TOO_NEW.search(reason) or _DAMAGED.search(reason) or _UNREADABLE.search(reason):
                break
        raise ReadError(_why(report, written_by, nsys, part, reason))
    except OSError as error:
        raise ReadError(_not_written(folder, error)) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def exported(folder: Path, cancelled: Cancel | None = None) -> Path | None:
    """Return the verified export in a folder; None if there is none, or if it was damaged, which removes it.

    Raises
    ------
    Cancelled
    """
    files = checksums.unseal(folder / EXPORT, cancelled)
    return folder / EXPORT / min(files).split("/")[0] if files else None


_ELSEWHERE = "make room, or set LIGHTBOX_CACHE_DIR to a folder on another disk"


def _not_written(folder: Path, error: OSError) -> str:
    return f"{shown(folder)} cannot be written ({error.strerror}): {_ELSEWHERE}."


def _candidates() -> Iterator[Path]:
    """Yield executables named nsys, each once."""
    name = "nsys.exe" if sys.platform == "win32" else "nsys"
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for pattern in _KNOWN_FOLDERS:
        root = Path(Path(pattern).anchor)
        if root.is_dir():
            folders += sorted(root.glob(str(Path(pattern).relative_to(root))))
    seen = set()
    for folder in folders:
        file = folder / name
        if os.access(file, os.X_OK) and file.is_file() and (real := file.resolve()) not in seen:
            seen.add(real)
            yield file


def _version_of(candidate: Path, cancelled: Cancel | None) -> str | None:
    """Return the version that a candidate prints, None if it is not Nsight Systems or does not answer."""
    ends_at = time.monotonic() + _VERSION_S
    pieces: list[bytes] = []

    def is_unwanted() -> bool:
        return time.monotonic() > ends_at or (cancelled is not None and cancelled())

    try:
        talk([str(candidate), "--version"], None, pieces.append, is_unwanted)
    except (OSError, Cancelled) as error:
        log.debug("%s prints no version: %s", candidate, type(error).__name__)
        return None
    text = b"".join(pieces).decode("utf-8", "replace")
    match = re.search(r"version (\d+\.\S+)", text)
    return match[1] if match and "Nsight Systems" in text else None


def _run(
    nsys: Nsys, report: Path, part: Path, form: str, progress: Progress | None, cancelled: Cancel | None
) -> str | None:
    """Run one export; return None if it succeeds, else the output of nsys.

    nsys runs in a separate folder on a link with a plain name: unusual characters in paths cannot disturb
    it, and all files that it leaves are in that folder.
    """
    link = part / f"report{report.suffix or '.nsys-rep'}"
    if not link.exists():
        try:
            link.symlink_to(report.absolute())
        except OSError as error:
            log.debug("no link to the report: %s", error)
            link = report.absolute()
    command = [str(nsys.path), "export", "--type", form, "--force-overwrite", "true", "-o", _OUTPUT[form]]
    if progress is not None:
        progress(f"Exporting with nsys {nsys.short}", 0.0)
    output = b""

    def hear(heard: bytes) -> None:
        nonlocal output
        output = (output + heard)[-65_536:]
        percents = _PERCENT.findall(heard)
        if progress is not None and percents:
            progress(f"Exporting with nsys {nsys.short}", min(int(percents[-1]) / 100, 1.0))

    log.debug("nsys %s exports as %s", nsys.version, form)
    code = talk([*command, str(link)], part, hear, cancelled)
    log.debug("nsys ended with %d", code)
    if code == 0:
        return None
    text = output.decode("utf-8", "replace") or "nsys printed nothing"
    # A shell script around nsys reports its signal as 128 + number.
    return f"{text}\nnsys crashed" if {code, 128 - code} & _CRASHES else text


_OUTPUT = {"sqlite": "export.sqlite", "parquetdir": "export_pqtdir"}


def _made(part: Path) -> Path | None:
    """Return the export that nsys made, None if there is none; its place in the folder varies by version."""
    for candidate in (part / "export.sqlite", *(p for p in sorted(part.rglob("*")) if p.is_dir())):
        try:
            if candidate.exists() and sniff(candidate).container is not Container.REPORT:
                return candidate
        except ReadError as error:
            log.debug("this is no export: %s", error)
    return None


def _put(made: Path, folder: Path) -> Path:
    """Seal a finished export and move it to its place in one step."""
    staged = private_files.make_part(made.parent)
    made.rename(staged / made.name)
    private_files.close_to_others(staged)
    checksums.seal(staged, folder / EXPORT, checksums.sums_in(staged))
    # Another process may have made the same export first, and may be reading it: use that one.
    if (existing := exported(folder)) is not None:
        return existing
    staged.rename(folder / EXPORT)
    return folder / EXPORT / made.name


def _without_nsys(report: Path, written_by: str | None) -> str:
    which = f"Nsight Systems {written_by} or newer" if written_by else "Nsight Systems"
    return (
        f"{shown(report)} is a report, which only nsys can read, and no nsys was found: install {which}, or "
        f"run `nsys export --type sqlite {shown(report)}` where it is installed and open the .sqlite file."
    )


def _why(report: Path, written_by: str | None, nsys: Nsys, part: Path, output: str) -> str:
    """Return one line that says why nsys could not export and what to do."""
    name = shown(report)
    elsewhere = f"run `nsys export --type sqlite {name}` where it was recorded and open the .sqlite file"
    if _TOO_NEW.search(output) or parse_version(written_by) > parse_version(nsys.short):
        named = [version.replace("@", ".") for version in _NAMED_VERSION.findall(output)]
        newer = written_by or next((version for version in named if version != nsys.short), None)
        by, install = (f"nsys {newer},", newer) if newer else ("an nsys", "of a newer version")
        return (
            f"{name} was written by {by} newer than the nsys {nsys.short} found here ({nsys.path}): "
            f"install Nsight Systems {install}, or {elsewhere}."
        )
    unreadable = _UNREADABLE.search(output) is not None
    if unreadable and not written_by and parse_version(nsys.short) < _VERSION_IN_HEADER_SINCE:
        return (
            f"{name} is damaged, or was written by an nsys newer than the nsys {nsys.short} found here: copy "
            f"it again from where it was recorded, install a newer Nsight Systems, or {elsewhere}."
        )
    if unreadable or _DAMAGED.search(output):
        return f"{name} is cut off or damaged: copy it again from where it was recorded."
    if "No space left" in output or "disk is full" in output or shutil.disk_usage(part).free < _ROOM_BYTES:
        return f"the disk is full: {name} could not be exported; {_ELSEWHERE}."
    lines = [line.strip() for line in re.split(r"[\r\n]", output) if line.strip()]
    last = lines[-1][-200:] if lines else "no reason given"
    return (
        f"nsys {nsys.short} could not export {name} ({last}): "
        f"try `nsys export --type sqlite {name}` yourself."
    )
