"""Tables as files: the one writer of all docks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table by the suffix of its name: `.parquet`, `.tsv`, anything else as CSV.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    suffix = path.suffix.casefold()
    if suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
