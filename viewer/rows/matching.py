"""Filtering rows by text: which words a row's path lacks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viewer.rows.model import Row

Word = re.Pattern[str]


def words_of(text: str) -> list[Word]:
    """Return what a filter's words look for: any part of the path in any case, numbers whole.

    "20" is found in "Stream 20" and in "H20", not in "H200".
    """
    return [_word(w) for w in text.split()]


def missing(row: Row, words: Sequence[Word]) -> list[Word]:
    """Return the words that a row's path lacks; all that is under the row has the others."""
    return [w for w in words if not w.search(row.text_path)]


def _word(text: str) -> Word:
    before = r"(?<!\d)" if text[0].isdigit() else ""
    after = r"(?!\d)" if text[-1].isdigit() else ""
    return re.compile(before + re.escape(text) + after, re.IGNORECASE)
