"""The two cards over the timeline: one for what is under the pointer, one for the selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QTimer
from PySide6.QtWidgets import QWidget

from viewer.analysis.study import Study
from viewer.state import ViewState
from viewer.timeline.background_results import BackgroundResults
from viewer.timeline.cards.hit_text import has_text
from viewer.timeline.cards.hover_card import HoverCard
from viewer.timeline.cards.selection_card import SelectionCard
from viewer.timeline.cards.stall_hits import Lines, stall_about, stall_at
from viewer.timeline.selection_links import SelectionLinks
from viewer.timeline.strip import guard

if TYPE_CHECKING:
    from viewer.timeline.strip import TimeStrip
    from viewer.timeline.strips.canvas import Canvas
    from viewer.timeline.strips.gl_canvas import GlCanvas
    from viewer.timeline.strips.overview import Overview
    from viewer.timeline.strips.ruler import Ruler

_EVENT_MS, _CUT_MS = 250, 600
_LOW_PX = 320
"""A canvas lower than that has no room for a card."""


class Strips(Protocol):
    """The strips over which cards lie; the canvas is another one after OpenGL has failed."""

    canvas: Canvas | GlCanvas
    pinned: Canvas
    ruler: Ruler
    overview: Overview


class Cards(QObject):
    """Decides when a card is shown, with what, and where.

    Parameters
    ----------
    parent : QWidget
        The cards lie over it.

    Attributes
    ----------
    hover : HoverCard
        Shown after the pointer has rested; follows it from then on.
    selection : SelectionCard
        Shown while the selection is in view.
    """

    def __init__(
        self,
        state: ViewState,
        strips: Strips,
        results: BackgroundResults,
        links: SelectionLinks,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._state, self._strips, self._results, self._links = state, strips, results, links
        self._parent = parent
        self.selection, self.hover = SelectionCard(parent), HoverCard(parent)
        self._pointed: tuple[TimeStrip, QPointF] | None = None
        self._rest = QTimer(self, singleShot=True)
        self._rest.timeout.connect(self._show_hover)

    def dismiss(self) -> None:
        """Hide both: another trace."""
        self.leave()
        self.selection.dismiss()

    def leave(self) -> None:
        """Hide the hover card: the pointer is elsewhere."""
        self._pointed = None
        self._rest.stop()
        self.hover.hide()

    def point(self, strip: TimeStrip, pos: QPointF) -> None:
        """Follow the pointer: at once where the hover card is shown, else after a rest."""
        self._pointed = (strip, pos)
        if self.hover.isVisible():
            self._show_hover()
            return
        hit = strip.hit(pos)
        on_stall = hit is not None and hit.gpu is not None and self.stall_at(strip, pos) is not None
        self._rest.start(_EVENT_MS if has_text(hit) or on_stall else _CUT_MS)

    def stall_at(self, strip: TimeStrip, pos: QPointF) -> int | None:
        """Return the number of the stall under a point, None where there is none."""
        study, stalls = self._state.study, self._results.stalls
        if study is None or stalls is None:
            return None
        density = self._strips.canvas.scale().ns_per_px
        return stall_at(study, stalls, strip.hit(pos), self._state.overlays, density)

    def place_selection(self) -> None:
        """Show the selection's card where it covers least, or hide it where the selection is out of view."""
        state, canvas = self._state, self._strips.canvas
        study, (start, end) = state.study, state.axis.window
        in_view = [item for item in state.selections.items if item[1] > start and item[0] < end]
        if study is None or not in_view:
            self.selection.dismiss()
            return
        left, right = (int(canvas.x_of(t)) for t in in_view[-1])
        bounds = self._bounds()
        span = QRect(
            QPoint(bounds.left() + max(left, 0), bounds.top()),
            QPoint(bounds.left() + min(right, bounds.width()), bounds.top()),
        )
        with guard("the selection card", self.selection.dismiss):
            self.selection.show_range(
                study,
                state.selections.items,
                state.iterations,
                span,
                bounds,
                self.below_rows(),
                self._about_selection(study),
            )
        self._make_room()

    def _show_hover(self) -> None:
        study, background_results = self._state.study, self._results
        if self._pointed is None or study is None:
            return
        with guard("the hover card"):
            strip, pos = self._pointed
            at = strip.mapTo(self._parent, pos.toPoint())
            span = QRect(at.x() - 1, at.y(), 2, 1)
            bounds = self._bounds()
            hit = strip.hit(pos)
            number, stalls = self.stall_at(strip, pos), background_results.stalls
            if hit is not None and has_text(hit):
                self.hover.show_hit(study, hit, span, bounds, background_results.collectives)
            elif stalls is not None and number is not None and number != self._links.stall_number:
                self.hover.show_stall(study, stalls, number, span, bounds)
            elif (hit is not None or strip is self._strips.ruler) and not self._is_selected(strip, pos):
                density = self._strips.canvas.scale().ns_per_px
                time_ns = strip.time_at(pos.x())
                self.hover.show_cut(study, time_ns, density, span, bounds, background_results.doubts.gpus)
                self._make_room()
            else:
                self.hover.hide()
            self.hover.raise_()

    def _make_room(self) -> None:
        """Hide the hover card where it would lie on the selection's card, which the user asked for."""
        both = self.hover.isVisible() and self.selection.isVisible()
        if both and self.hover.geometry().intersects(self.selection.geometry()):
            self.hover.hide()

    def _is_selected(self, strip: TimeStrip, pos: QPointF) -> bool:
        """Return whether a point lies in the selection, whose own card tells more than the cut."""
        at = strip.time_at(pos.x())
        return any(start <= at <= end for start, end in self._state.selections.items)

    def _about_selection(self, study: Study) -> Lines:
        """Return the facts about the selection where it is a stall."""
        stalls, number = self._results.stalls, self._links.stall_number
        if stalls is None or number is None or len(self._state.selections.items) > 1:
            return ()
        return stall_about(stalls, number, self._results.collectives)

    def _bounds(self) -> QRect:
        """Return where cards may lie: over pinned rows and canvas, in a small window over all strips."""
        area = self._strips.pinned.geometry().united(self._strips.canvas.geometry())
        return area if area.height() >= _LOW_PX else area.united(self._strips.overview.geometry())

    def below_rows(self) -> QRect:
        """Return the part of the canvas that no row covers."""
        canvas = self._strips.canvas
        area = canvas.geometry()
        if canvas.placed:
            last = canvas.placed[-1]
            area.setTop(min(area.top() + last.y + last.height, area.bottom()))
        return area
