"""The rank whose rows are in view: its header and its lane stay at the top while they scroll."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from viewer.drawing.layout import PlacedRow, row_height
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT, Theme
from viewer.rows import Row, RowKind
from viewer.state import ViewState
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.headers.header_values import figure_style
from viewer.timeline.headers.paint_header import ARROW, HeaderStyle, paint_header
from viewer.timeline.selection_links import SelectionLinks
from viewer.timeline.strip import guard
from viewer.timeline.strips.canvas import Canvas

LINE = 1
"""Below the rank, in which the rows under it begin."""


def stuck_rank(placed: Sequence[PlacedRow]) -> PlacedRow | None:
    """Return the rank that stays at the top, placed there; None where its own row is in view, or the next is.

    Parameters
    ----------
    placed : sequence of PlacedRow
        The rows in view, from top to bottom.
    """
    if not placed:
        return None
    first = placed[0]
    root = next((row for row in first.row.shown_path() if row.kind is RowKind.PROCESS), None)
    if root is None or (first.row is root and (first.y >= 0 or not first.expanded)):
        return None
    height = row_height(root, True, first.sizes)
    below = next((p for p in placed[1:] if root not in p.row.shown_path()), None)
    if below is not None and below.y < height + LINE:
        return None
    return PlacedRow(root, 0, height, True, first.sizes)


class StickyHeader(QWidget):
    """The header of the rank at the top: a click goes to its row, one on the arrow folds it.

    Signals
    -------
    clicked(Row)
    """

    clicked = Signal(object)

    def __init__(self, state: ViewState, parent: QWidget) -> None:
        super().__init__(parent)
        self._state = state
        self.theme: Theme = LIGHT
        self.links: SelectionLinks | None = None
        self.placed: PlacedRow | None = None
        self.setAccessibleName("Rank of the rows in view")
        state.axis.changed.connect(self.update)
        state.filter_changed.connect(self.update)
        state.path.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.placed is not None:
            with guard("painting the header of the rank in view"):
                row = self.placed.row
                style = HeaderStyle(
                    **figure_style(self._state, row),
                    foldable=True,
                    warning=bool(self.links and self.links.background_results.warning(row)),
                    note=self.links.note(row) if self.links else "",
                )
                rect = QRect(0, 0, self.width(), self.placed.height)
                paint_header(painter, self.placed, rect, self.theme, style)
                edge = QRect(0, self.placed.height, self.width(), LINE)
                painter.fillRect(edge, QColor.fromRgba(self.theme.line))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.placed is None or event.button() != Qt.MouseButton.LeftButton:
            return
        row = self.placed.row
        if event.position().x() < ARROW:
            self._state.rows.set_expanded([row.key], False)
        self.clicked.emit(row)


class StickyRank:
    """Owns the header and the lane at the top of the rows, and shows the rank that belongs there."""

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget) -> None:
        self.header, self.strip = StickyHeader(state, parent), Canvas(state, place, parent)
        self.strip.is_labelled = False
        self.strip.setAccessibleName("State of the rank of the rows in view")
        for widget in self.widgets:
            widget.hide()

    @property
    def widgets(self) -> tuple[StickyHeader, Canvas]:
        """Header and lane."""
        return self.header, self.strip

    @property
    def row(self) -> Row | None:
        """The rank that is shown, None for none."""
        placed = self.header.placed
        return placed.row if placed is not None else None

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.header.theme = theme
        self.header.update()
        self.strip.set_theme(theme)

    def set_scene(self, scene: Scene | None) -> None:
        """Show another trace."""
        self.strip.set_scene(scene)

    def set_links(self, links: SelectionLinks) -> None:
        """Show warnings, and what is selected."""
        self.header.links = self.strip.links = links

    def follow(self, placed: Sequence[PlacedRow], top: int, place: AxisPlace) -> int:
        """Show the rank of the rows in view at `top`, and return its height; logical pixels of the parent."""
        stuck = stuck_rank(placed)
        self.header.placed = stuck
        if stuck is not None:
            height = stuck.height + LINE
            self.header.setGeometry(0, top, place.headers, height)
            self.strip.setGeometry(place.left, top, place.width, height)
            self.strip.set_rows([replace(stuck, y=0)])
            self.header.update()
        for widget in self.widgets:
            widget.setVisible(stuck is not None)
        return stuck.height + LINE if stuck is not None else 0
