"""Tables as text that spreadsheets read: a name in them is never taken for a formula."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

_FORMULA = re.compile(r"\s*(?![+-]?\d+(\.\d+)?\s*$)[=+\-@\uff0b\uff0d\uff1d\uff20]")
"""How a text begins that a spreadsheet would carry out, and that is no number; also in wide forms."""


def harmless(text: str) -> str:
    """Return the text of a cell; an apostrophe before it makes a spreadsheet show what it would carry out."""
    return f"'{text}" if _FORMULA.match(text) else text


def csv_text(frame: pd.DataFrame, separator: str = ",") -> str:
    """Return a table as CSV, or as TSV, with its titles: texts are harmless, numbers stay as they are."""
    plain = pd.DataFrame({number: _column(frame.iloc[:, number]) for number in range(frame.shape[1])})
    plain.columns = pd.Index([_cell(title) for title in frame.columns])
    return plain.to_csv(index=False, sep=separator, lineterminator="\n")


def _column(values: pd.Series) -> pd.Series:
    # Each distinct text once; code -1, a missing one, picks the None that stands last.
    if isinstance(values.dtype, pd.CategoricalDtype):
        known = np.array([*map(_cell, values.cat.categories), None], object)
        return pd.Series(known[values.cat.codes.to_numpy()], values.index)
    if values.dtype.kind not in "OUST":
        return values
    return values.map(_cell)


def _cell(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) else value
