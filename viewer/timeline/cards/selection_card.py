"""The selection card: the five categories of the selected range on every GPU, exactly."""

from __future__ import annotations

import time

from PySide6.QtCore import QRect, QSize, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.measure import RangeNumbers
from viewer.state import Window
from viewer.timeline.cards.card import MARGIN, Card
from viewer.timeline.cards.range_table import RangeTable

_SLOW_S, _PAUSE_MS = 0.001, 60
_HINT = "Enter keeps the measurement · Ctrl+drag adds a range · Shift+drag: no snapping"


class SelectionCard(Card):
    """Measures the selection: the categories follow every step of a drag, the rest waits for a pause.

    Attributes
    ----------
    is_short : bool
        Whether it is two lines: the length with its share of the iteration, and the categories over all GPUs.

    Signals
    -------
    measured()
        The numbers that waited for a pause are there; the card has another size, and lies where it first lay.
    """

    measured = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.table: RangeTable | None = None
        self.is_short = False
        self._cost_s = 0.0
        self._shown_range: tuple[Study, tuple[Window, ...], Iterations | None] | None = None
        self._about: tuple[tuple[str, str], ...] = ()
        self._place: tuple[QRect, QRect, QRect | None] = (QRect(), QRect(), None)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._measure)
        self._pause.timeout.connect(self.measured)

    def show_range(
        self,
        study: Study,
        ranges: tuple[Window, ...],
        iterations: Iterations | None,
        span: QRect,
        bounds: QRect,
        free: QRect | None = None,
        about: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Show the numbers of ranges beside the place where they are selected (`show_beside`).

        `about` are the facts about it where it is a stall.
        """
        wanted = (study, ranges, iterations)
        known = self._shown_range == wanted and self._about == about
        place = (span, bounds, free)
        self._shown_range, self._about = wanted, about
        if known and self.table is not None and place[1].size() == self._place[1].size():
            self._place = place
            self.show_beside(*self._place)
            return
        self._place = place
        if self._cost_s > _SLOW_S and self.isVisible():
            self._make(details=False)
            self._pause.start()
        else:
            self._measure()

    def dismiss(self) -> None:
        """Hide the card; there is no selection."""
        self._pause.stop()
        self._shown_range = self.table = None
        self.hide()

    def _measure(self) -> None:
        began = time.perf_counter()
        self._make(details=True)
        self._cost_s = time.perf_counter() - began

    def _make(self, details: bool) -> None:
        if self._shown_range is None:
            return
        try:
            self.table = RangeTable(*self._shown_range, details=details, about=self._about)
        except ValueError:
            self.dismiss()
            return
        span, room, _ = self._place
        at_side = max(span.left() - room.left(), room.right() - span.right()) - 2 * MARGIN
        self.table.fit(room.width() - MARGIN, room.height() - MARGIN, at_side)
        self.show_beside(*self._place)

    @property
    def numbers(self) -> RangeNumbers | None:
        """What is shown."""
        return self.table.numbers if self.table else None

    def content_size(self) -> QSize:
        """Return the size of the table, or of the two lines."""
        if self.table is None:
            return QSize(0, 0)
        return self.table.short_size() if self.is_short else self.table.size(_HINT)

    def paint_content(self, painter: QPainter, rect: QRect) -> None:
        """Paint the table, or the two lines."""
        if self.table is not None and self.is_short:
            self.table.paint_short(painter, rect, self.theme)
        elif self.table is not None:
            self.table.paint(painter, rect, self.theme, _HINT)
