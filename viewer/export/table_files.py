"""Writers of tables as files, for all docks and commands."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pandas as pd

from viewer.drawing.spreadsheet import csv_text
from viewer.export.atomic import write_atomic

MOST_MARKDOWN_ROWS = 1000
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])")
"""Characters that Markdown reads as markup; an underscore only where it does not join two word parts."""


class TableError(Exception):
    """A table that cannot be written in this format; its text is one line for people."""


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table atomically in the format of its suffix: Parquet, Markdown, TSV, all else as CSV.

    Raises
    ------
    TableError
        If it is too long for Markdown.
    OSError
        If it cannot be written.
    """
    write_atomic(path, table_bytes(frame, path.suffix.casefold()))


def table_bytes(frame: pd.DataFrame, suffix: str) -> bytes:
    """Return a table as the bytes of a file.

    Raises
    ------
    TableError
        If it is too long for Markdown.
    """
    if suffix == ".parquet":
        file = io.BytesIO()
        _plain(frame).to_parquet(file, index=False)
        return file.getvalue()
    if suffix == ".md":
        return markdown(frame).encode()
    return csv_text(frame, "\t" if suffix == ".tsv" else ",").encode("utf-8", "replace")


def markdown(frame: pd.DataFrame) -> str:
    """Return a short table as Markdown, numbers right-aligned.

    Raises
    ------
    TableError
        If it has more than `MOST_MARKDOWN_ROWS`.
    """
    if len(frame) > MOST_MARKDOWN_ROWS:
        raise TableError(f"{len(frame):,} rows are too many for Markdown; save as CSV or Parquet")
    rules = ["---:" if frame[c].dtype.kind in "iuf" else "---" for c in frame]
    lines = [list(map(_cell, frame.columns)), rules]
    lines += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if not isinstance(value, str):
        return str(value)
    return _MARKDOWN.sub(r"\\\g<0>", value).replace("\n", " ")


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with categories and mixed columns as texts: a Parquet column has one type."""
    spelled = {
        str(c): frame[c].astype(frame[c].cat.categories.dtype)
        for c in frame
        if isinstance(frame[c].dtype, pd.CategoricalDtype)
    }
    mixed = {
        str(c): frame[c].map(lambda v: None if v is None else str(v))
        for c in frame
        if frame[c].dtype == object and frame[c].dropna().map(type).nunique() > 1
    }
    return frame.assign(**spelled, **mixed) if spelled or mixed else frame
