"""The kinds of files that Lightbox writes, and tests that recognise an existing file of each kind."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from viewer.demo.export_writer import APPLICATION_ID
from viewer.logs import HEAD

HEAD_BYTES = 1 << 16
"""How many bytes of a file the tests read."""


@dataclass(frozen=True, slots=True)
class FileType:
    """A kind of file.

    Attributes
    ----------
    name : str
        With its article: "a page of Lightbox".
    suffixes : tuple of str
        The endings of its names; a name without one gets the first.
    is_own : callable
        Takes the first `HEAD_BYTES` of a file and returns whether it is of this kind; for pages and pictures,
        whether Lightbox wrote it.
    """

    name: str
    suffixes: tuple[str, ...]
    is_own: Callable[[bytes], bool]


def _marked(magic: bytes, mark: bytes, before: bytes = b"") -> Callable[[bytes], bool]:
    """Return a test for files that begin with `magic` and hold Lightbox's mark ahead of `before`."""
    wanted = re.compile(mark)

    def is_own(head: bytes) -> bool:
        place = head.partition(before)[0] if before else head
        return head.startswith(magic) and wanted.search(place) is not None

    return is_own


def _texts(head: bytes) -> str | None:
    """Return the text at the start of a file, None where the file is not text."""
    if b"\0" in head:
        return None
    try:
        # The head may end in the middle of a character.
        return head.decode("utf-8-sig", "strict" if len(head) < HEAD_BYTES else "ignore")
    except UnicodeDecodeError:
        return None


def _table(delimiter: str) -> Callable[[bytes], bool]:
    def is_own(head: bytes) -> bool:
        text = _texts(head)
        if text is None or text.lstrip()[:1] in ("<", "{", "[", "#"):
            return False
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            first = next(rows, [])
            # The head ends in the middle of a line of a long file.
            second = next(rows, first)
        except csv.Error:
            return False
        return len(first) == len(second) > 1

    return is_own


def _is_markdown_table(head: bytes) -> bool:
    return re.match(rb"\| .* \|\n\| -", head) is not None


def _is_demo(head: bytes) -> bool:
    return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _is_session(head: bytes) -> bool:
    return head.startswith(b"{") and re.search(rb'"program":\s*"Lightbox ', head) is not None


_UTF_16 = re.escape("Lightbox ".encode("utf-16-be"))
PAGE = FileType(
    "a page of Lightbox",
    (".html", ".htm"),
    _marked(b"<!DOCTYPE html>", rb'<meta name="generator" content="Lightbox ', b"<title>"),
)
PICTURES = {
    ".png": FileType(
        "a PNG of Lightbox", (".png",), _marked(b"\x89PNG\r\n", rb"tEXtSoftware\0Lightbox ", b"IDAT")
    ),
    ".svg": FileType("an SVG of Lightbox", (".svg",), _marked(b"<?xml", rb"<desc>Lightbox ", b"<defs>")),
    ".pdf": FileType("a PDF of Lightbox", (".pdf",), _marked(b"%PDF-", rb"/Creator \(\xfe\xff" + _UTF_16)),
}
TABLES = {
    ".csv": FileType("a table as CSV", (".csv",), _table(",")),
    ".tsv": FileType("a table as TSV", (".tsv",), _table("\t")),
    ".md": FileType("a table as Markdown", (".md",), _is_markdown_table),
    ".parquet": FileType("a table as Parquet", (".parquet",), lambda head: head.startswith(b"PAR1")),
}
LOG = FileType("a log of Lightbox", (".log", ".txt"), lambda head: head.startswith(HEAD.encode()))
SESSION = FileType("a session of Lightbox", (".json",), _is_session)
DEMO = FileType("a demo of Lightbox", (".sqlite", ".sqlite3", ".db"), _is_demo)


def is_of_type(path: Path, kind: FileType) -> bool:
    """Return whether a file is of a kind; an empty file is of every kind, as nothing in it can be lost.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return not head or kind.is_own(head)
