"""Tables for a terminal: numbers stay whole, words break or shrink, and wide tables print in parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from viewer.drawing.format import MINUS

LEAST = 14
"""How many characters a column of words keeps where room is short."""
_GAP = 3
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|[nµm]?s\b|[KMGT]i?B)")
_NO_BREAK = "\N{NO-BREAK SPACE}"
Cell = str | Text


@dataclass(frozen=True)
class ConsoleColumn:
    """A column of numbers or words; long texts break into lines, or with `cut` end in "…"."""

    title: str
    number: bool = False
    cut: bool = False


@dataclass(frozen=True)
class FittedTable:
    """A table as wide as its content.

    Where the terminal is narrower, columns of words shrink to `LEAST`, and words among numbers break; where
    that is not enough, the table is printed in parts that each begin with the first `keys` columns. Numbers
    stay whole.
    """

    title: str
    columns: Sequence[ConsoleColumn]
    rows: Sequence[Sequence[Cell]]
    keys: int = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Text(self.title, style="bold")
        for part, widths in self._parts(options.max_width):
            yield self._table(part, widths)

    def _parts(self, room: int) -> list[tuple[list[int], list[int]]]:
        """Return the columns of each part, and their widths."""
        full = [
            max(_width(column.title), *(_width(row[at]) for row in self.rows), 0)
            for at, column in enumerate(self.columns)
        ]
        least = [self._least(at, width) for at, width in enumerate(full)]
        keys = list(range(self.keys))
        parts, part = [], list(keys)
        for at in range(self.keys, len(self.columns)):
            if len(part) > len(keys) and _sum([least[i] for i in (*part, at)]) > room:
                parts.append(part)
                part = list(keys)
            part.append(at)
        parts.append(part)
        return [(part, _shrunk([full[i] for i in part], [least[i] for i in part], room)) for part in parts]

    def _least(self, at: int, full: int) -> int:
        """Return the least width at which no number and no word of a column breaks."""
        column = self.columns[at]
        if not column.number:
            return min(full, max(LEAST, _width(column.title)))
        cells = [_text(row[at]) for row in self.rows]
        texts = (_unbroken(text) for text in (column.title, *cells) if not _is_number(text))
        words = [word for text in texts for word in text.split(" ")]
        return max(_width(text) for text in ("", *words, *filter(_is_number, cells)))

    def _table(self, part: list[int], widths: list[int]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for at, width in zip(part, widths, strict=True):
            column = self.columns[at]
            table.add_column(
                column.title,
                justify="right" if column.number else "left",
                min_width=width,
                max_width=width,
                no_wrap=column.cut,
                overflow="ellipsis" if column.cut else "fold",
            )
        for row in self.rows:
            cells = zip(part, widths, strict=True)
            table.add_row(*(row[at] if self.columns[at].cut else _fitted(row[at], w) for at, w in cells))
        return table


def _text(cell: Cell) -> str:
    return cell.plain if isinstance(cell, Text) else cell


def _unbroken(text: str) -> str:
    """Return a text whose numbers stay on the line of their unit."""
    return _BEFORE_UNIT.sub(_NO_BREAK, text)


def _fitted(cell: Cell, width: int) -> Cell:
    """Break a text into lines of a width; rich would also break between a number and its unit."""
    if _width(cell) <= width:
        return cell
    lines = [""]
    for word in _unbroken(_text(cell)).split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    text = "\n".join(filter(None, lines)).replace(_NO_BREAK, " ")
    return Text(text, style=cell.style) if isinstance(cell, Text) else text


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in ("+", MINUS, "<")


def _width(cell: Cell) -> int:
    return max((cell_len(line) for line in _text(cell).split("\n")), default=0)


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * len(widths) - 1


def _shrunk(full: list[int], least: list[int], room: int) -> list[int]:
    """Return widths that fit into `room` where that is possible; the widest columns shrink first."""
    widths = list(full)
    while _sum(widths) > room:
        at = max(range(len(widths)), key=lambda i: widths[i] if widths[i] > least[i] else -1)
        if widths[at] <= least[at]:
            break
        widths[at] -= 1
    return widths
