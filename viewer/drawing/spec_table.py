"""SpecTable: a small table of texts, each of which says what it means and where it can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from viewer.analysis.core.location import Location

Tone = Literal["plain", "bad", "soft", "strong"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes
    ----------
    tip : str
        Shown on hover: what the number means.
    location : Location or None
        Where a click leads.
    tone : {"plain", "bad", "soft", "strong"}
        "bad" is outside the usual range.
    swatch : int or None
        An ARGB colour beside the text.
    bar : tuple of float
        Shares of the five categories, drawn as a stacked bar instead of a text.
    """

    text: str = ""
    tip: str = ""
    location: Location | None = None
    tone: Tone = "plain"
    swatch: int | None = None
    bar: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column; numbers are right-aligned.

    Attributes
    ----------
    key : str
        What docs/definitions.md calls it, "" where its title says so.
    is_sentence : bool
        Its texts are sentences, which say the most: it may be wider than other columns.
    """

    title: str
    tip: str = ""
    number: bool = True
    key: str = ""
    is_sentence: bool = False


@dataclass(frozen=True, eq=False)
class SpecTable:
    """A named table; `frame` holds the numbers themselves, for files."""

    name: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
