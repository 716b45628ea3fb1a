"""The view of a picture made without a window: the rows of a first view, or chosen rows."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.study import Study
from viewer.drawing.critical_line import critical_line
from viewer.drawing.layout import shown_rows
from viewer.drawing.theme import LIGHT, Theme
from viewer.export.picture_view import PictureError, View
from viewer.rows import Row
from viewer.rows.matching import nothing_called, topmost
from viewer.rows.tree import build_rows
from viewer.state import Window
from viewer.state.rows import RowState
from viewer.state.shown_path import OVERLAY


def first_view(
    study: Study,
    window_ns: Window | None = None,
    *,
    iteration: int | None = None,
    patterns: Sequence[str] = (),
    overlays: frozenset[str] = frozenset(),
    theme: Theme = LIGHT,
) -> View:
    """Return a view of a trace.

    Parameters
    ----------
    window_ns : (int, int), optional
        By default the whole window of the trace, or the iteration `iteration`.
    patterns : sequence of str
        Show the topmost rows whose path contains one of these phrases ("Stream 7"), or all phrases of a
        "Rank 3/NCCL" in this order, below their ancestors; by default the rows that a window shows first.

    Raises
    ------
    PictureError
        If no row matches a pattern.
    """
    iterations = study.iterations()
    if window_ns is None and iterations is not None and iteration is not None:
        window_ns = iterations.start_ns(iteration), iterations.end_ns(iteration)
    roots = build_rows(study)
    rows = chosen_rows(roots, patterns) if patterns else _first_rows(roots)
    line = critical_line(study) if OVERLAY in overlays and iterations is not None else None
    return View(
        study, rows, window_ns or study.trace.window_ns, theme, overlays, iterations, iteration, line=line
    )


def _first_rows(roots: tuple[Row, ...]) -> list[tuple[Row, bool]]:
    """Return the rows that a window shows when it opens a trace for the first time."""
    state = RowState()
    state.reset(roots)
    state.show_first()
    return shown_rows(state)


def chosen_rows(roots: Sequence[Row], patterns: Sequence[str]) -> list[tuple[Row, bool]]:
    """Return the topmost rows that match, each below its ancestors, in the order of the tree.

    Raises
    ------
    PictureError
        If no row matches a pattern.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        # A GPU that is merged with its process is shown by the row of the process.
        found = (row.parent if row.is_merged else row for row in topmost(roots, pattern))
        keys = {row.key for row in found if row is not None}
        if not keys:
            raise PictureError(nothing_called(roots, pattern))
        chosen |= keys
    rows = [row for root in roots for row in root.walk() if not row.is_merged]
    above = {up.key for row in rows if row.key in chosen for up in row.path()[:-1]}
    return [(row, row.key in above) for row in rows if row.key in chosen or row.key in above]
