"""Rows by text: which words of a filter a path lacks, and which rows a pattern names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from viewer.rows.row import Row

Word = re.Pattern[str]
MOST_NAMES, MOST_NUMBERS = 40, 10
_NUMBERED = re.compile(r"(.+ )(\d+)", re.DOTALL)


def words_of(text: str) -> list[Word]:
    """Return the patterns of a filter's words: each matches anywhere in a path, in any case, numbers whole.

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


def topmost(roots: Iterable[Row], pattern: str) -> list[Row]:
    """Return the topmost rows that a pattern names, in the order of the tree.

    A path has to hold the phrase ("Stream 7"), or all phrases of a "Rank 3/NCCL" in this order.
    """
    phrases = [re.escape(" ".join(p.split())) for p in re.split("[/›]", pattern) if p.strip()]
    if not phrases:
        return []
    wanted = re.compile(".*".join(rf"(?<!\w){phrase}(?!\w)" for phrase in phrases), re.IGNORECASE)
    return [row for root in roots for row in _topmost(root, wanted)]


def nothing_called(roots: Iterable[Row], pattern: str) -> str:
    """Return in one line that no row matches a pattern, and what the rows are called, kernels apart."""
    numbers: dict[str, list[str]] = {}
    for root in roots:
        for row in root.walk():
            if not row.kind.traits.is_kernel:
                numbered = _NUMBERED.fullmatch(row.label)
                name, number = numbered.groups() if numbered else (row.label, "")
                numbers.setdefault(name, []).append(number)
    names = [f"{name}{_in_short(dict.fromkeys(seen))}" for name, seen in numbers.items()]
    more = [f"{len(names) - MOST_NAMES} more"] * (len(names) > MOST_NAMES)
    listed = "; ".join([*names[:MOST_NAMES], *more]) or "no rows"
    return f"no row is called '{pattern}'; the trace has {listed}; 'A/B' names B below A"


def _in_short(numbers: Iterable[str]) -> str:
    shown = list(numbers)
    if len(shown) > MOST_NUMBERS:
        shown = [*shown[: MOST_NUMBERS - 2], "…", shown[-1]]
    return ", ".join(shown).replace(", …,", " …")


def _topmost(row: Row, wanted: re.Pattern[str]) -> list[Row]:
    if wanted.search(row.text_path):
        return [row]
    return [match for child in row.children for match in _topmost(child, wanted)]
