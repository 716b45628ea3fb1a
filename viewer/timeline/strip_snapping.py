"""Snapping on the strips: to boundaries of iterations and to edges of events, over the whole height."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from viewer.drawing.layout import PlacedRow
from viewer.drawing.scene import Scene
from viewer.drawing.snapping import SEEN_PX, Edges, edges_of, nearest, next_edge, seen_edges
from viewer.rows import Row
from viewer.state import ViewState
from viewer.state.selections import END, START, with_range
from viewer.trace.events import Int64


class RowStrip(Protocol):
    """The interface that snapping needs of a strip of rows."""

    scene: Scene | None
    placed: Sequence[PlacedRow]

    def placed_at(self, y: float) -> PlacedRow | None: ...
    def span_ns(self, pixels: float) -> int: ...


class SnappedStrips(Protocol):
    """The strips of rows; the canvas is another one after OpenGL has failed."""

    @property
    def pinned(self) -> RowStrip: ...
    @property
    def canvas(self) -> RowStrip: ...


class Snapping:
    """Finds what a selection snaps to."""

    def __init__(self, state: ViewState, strips: SnappedStrips) -> None:
        self._state, self._strips = state, strips

    def near(self, placed: PlacedRow | None, time_ns: int, tolerance_ns: int) -> int | None:
        """Return what is snapped to near an instant, None where nothing is.

        That is the nearest of the boundaries of iterations and of the edges that are seen in the row under
        the pointer, without any the nearest in the other rows, without any the nearest edge of that row.

        Parameters
        ----------
        placed : PlacedRow or None
            The row under the pointer.
        """
        scene = self._strips.canvas.scene
        low, high = time_ns - tolerance_ns, time_ns + tolerance_ns
        least = SEEN_PX * self._strips.canvas.span_ns(1)
        points = self._boundaries(placed.row if placed else None)
        if scene is None:
            return nearest(points, time_ns, tolerance_ns)
        for rows in ([placed] if placed else [], self._rows()):
            edges = np.concatenate((points, seen_edges(edges_of(scene, rows), low, high, least)))
            if (found := nearest(edges, time_ns, tolerance_ns)) is not None:
                return found
        return scene.snap(placed.row, time_ns, tolerance_ns) if placed else None

    def next(self, row: Row | None, time_ns: int, direction: int) -> int | None:
        """Return the next (1) or previous (-1) boundary or edge of a row; of None, of all rows in view."""
        canvas = self._strips.canvas
        if canvas.scene is None:
            return None
        rows = self._rows()
        if row is not None:
            rows = [placed for placed in rows if placed.row is row] or rows
        sets: list[Edges] = edges_of(canvas.scene, rows)
        low, high = self._state.axis.limits
        reach = high - time_ns if direction > 0 else time_ns - low
        pixel = max(canvas.span_ns(1), 1)
        return next_edge(sets, self._boundaries(row), time_ns, direction, pixel, max(reach, 0))

    def nudge(self, direction: int, snap: bool) -> None:
        """Move the edge of the selection that is painted broader: by a pixel, or to the next snap.

        The next snap is one of the row under the pointer; without one, of any row in view.
        """
        state, pixel = self._state, max(self._strips.canvas.span_ns(1), 1)
        selections, row = state.selections, state.hover.row if state.hover else None
        if selections.current is None:
            return
        fixed, now = selections.current[1 - selections.edge], selections.current[selections.edge]
        moved = self.next(row, now, direction) if snap else now + direction * pixel
        if moved == fixed:
            moved += direction * pixel
        low, high = state.axis.limits
        if moved is None or not low <= moved <= high:
            return
        selections.edge = END if moved > fixed else START
        selections.set(with_range(selections.others, (fixed, moved)), "nudge")
        start, end = state.axis.window
        if not start <= moved <= end:
            margin = (end - start) // 10
            state.axis.pan(moved + margin - end if moved > end else moved - margin - start, "nudge")

    def _rows(self) -> list[PlacedRow]:
        return [*self._strips.pinned.placed, *self._strips.canvas.placed]

    def _boundaries(self, row: Row | None) -> Int64:
        """Return the boundaries of the iterations, on the rows of a GPU also its own."""
        iterations = self._state.iterations
        if iterations is None or not iterations.count:
            return np.empty(0, np.int64)
        own = iterations.starts[row.gpu] if row is not None and row.gpu is not None else iterations.edges_ns
        return np.concatenate((iterations.edges_ns, own))
