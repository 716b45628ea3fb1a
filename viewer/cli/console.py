"""Where tables are printed."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from viewer.printable import visible_lines

UNLIMITED = 10_000


class _PlainConsole(Console):
    """A console to which no text can give an order: rich's own are not part of the texts."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible_lines(segment.text))


def plain_console() -> Console:
    """Return a console that prints names as they are, as wide as they are where it is no terminal.

    Names come from the trace, and may hold what rich takes for markup or an emoji: "[rank 0] step", ":cat:".
    """
    console = _PlainConsole(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = UNLIMITED
    return console
