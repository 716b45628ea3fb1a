"""Where tables are printed."""

from __future__ import annotations

import os

from rich.console import Console

UNLIMITED = 10_000


def plain_console() -> Console:
    """Return a console that prints names as they are, as wide as they are where it is no terminal.

    Names come from the trace, and may hold what rich takes for markup or an emoji: "[rank 0] step", ":cat:".
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = UNLIMITED
    return console
