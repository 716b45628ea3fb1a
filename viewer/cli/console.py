"""The console on which commands print tables."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from viewer.printable import visible_lines

UNLIMITED = 10_000


class _PlainConsole(Console):
    """A console that shows control characters of texts as visible ones, and obeys only those of rich."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible_lines(segment.text))


def plain_console() -> Console:
    """Return a console that prints names unchanged, and without a terminal also unbroken.

    Names come from the trace, and may hold text that rich reads as markup or an emoji: "[rank 0] step" or
    ":cat:".
    """
    console = _PlainConsole(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = UNLIMITED
    return console
