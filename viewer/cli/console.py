"""Where tables are printed."""

from __future__ import annotations

from rich.console import Console


def plain_console(width: int) -> Console:
    """Return a console that prints names as they are, `width` characters wide where it is no terminal.

    Names come from the trace, and may hold what rich takes for markup or an emoji: "[rank 0] step", ":cat:".
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = width
    return console
