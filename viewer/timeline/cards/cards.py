"""The two cards over the timeline: one for what is under the pointer, one for the selection.

Neither covers what is hovered. Each has a full and a short form; a key shows or hides them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QTimer
from PySide6.QtWidgets import QWidget

from viewer.analysis.study import Study
from viewer.drawing.hit import HitResult
from viewer.state import ViewState, Window
from viewer.timeline.background_results import BackgroundResults
from viewer.timeline.cards.card_places import around, clear_left, corner, hovered_rect
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
Form = Literal["full", "short"]
_SWITCHED: dict[str, Form | None] = {"full": None, "short": "full", "key": "full"}
"""By the user's choice, what the key makes of a card."""
_LOW_PX = 320
"""A canvas lower than that has no room for a card."""


class CardStrips(Protocol):
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
    above : QWidget or None
        What is in front of the cards while it is visible.
    """

    def __init__(
        self,
        state: ViewState,
        strips: CardStrips,
        results: BackgroundResults,
        links: SelectionLinks,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._state, self._strips, self._results, self._links = state, strips, results, links
        self._parent = parent
        self.selection, self.hover = SelectionCard(parent), HoverCard(parent)
        self.above: QWidget | None = None
        self._pointed: tuple[TimeStrip, QPointF] | None = None
        self._is_by_key = False
        self._switched: object = None
        self._switched_selection: tuple[Window, ...] = ()
        self._rest = QTimer(self, singleShot=True)
        self._rest.timeout.connect(self._show_hover)
        self.selection.measured.connect(self._give_way)
        state.card_changed.connect(self._follow_choice)

    def dismiss(self) -> None:
        """Hide both: another trace."""
        self.leave()
        self._switched_selection = ()
        self.selection.dismiss()

    def leave(self) -> None:
        """Hide the hover card: the pointer is elsewhere."""
        self._pointed = self._switched = None
        self._is_by_key = False
        self._rest.stop()
        self.hover.hide()

    def point(self, strip: TimeStrip, pos: QPointF) -> None:
        """Follow the pointer: at once where the hover card is shown, else after a rest."""
        self._pointed, self._is_by_key = (strip, pos), False
        if self._is_covered:
            return
        hit = strip.hit(pos)
        stall = self.stall_at(strip, pos)
        if self._switched not in (None, self._thing(hit, stall)):
            self._switched = None
        self._uncover(strip, pos, hit, stall)
        if self.hover.isVisible():
            self._show_hover()
            return
        on_stall = hit is not None and hit.gpu is not None and stall is not None
        self._rest.start(_EVENT_MS if has_text(hit) or on_stall else _CUT_MS)

    def switch(self) -> None:
        """Show the cards where they are not shown, or in full where they are short; hide full ones.

        It lasts until something else is hovered, or selected. Without the pointer on a strip the hover card
        is about the selected event.
        """
        items = self._state.selections.items
        self._switched_selection = () if self._switched_selection == items else items
        self.place_selection()
        if self._pointed is None and (place := self.place_of_event()) is not None:
            self._pointed, self._is_by_key = (self._strips.canvas, place), True
        if self._pointed is not None:
            strip, pos = self._pointed
            thing = self._thing(strip.hit(pos), self.stall_at(strip, pos))
            self._switched = None if self._switched == thing else thing
            self._show_hover()

    def _form(self, is_switched: bool) -> Form | None:
        choice = self._state.card
        return _SWITCHED[choice] if is_switched else None if choice == "key" else choice

    def _thing(self, hit: HitResult | None, stall: int | None) -> object:
        """Return what is hovered, by which it is known again: a band's event or column, a stall, the cut."""
        if hit is not None and has_text(hit):
            return (hit.row.key, hit.event, hit.column)
        return stall if stall is not None else "cut"

    def place_of_event(self) -> QPointF | None:
        """Return where the selected event is on the canvas, None where it is not in view."""
        chosen, canvas, study = self._state.chosen, self._strips.canvas, self._state.study
        if chosen is None or study is None:
            return None
        events = study.trace.events[chosen.kind]
        start, end = int(events.start_ns[chosen.index]), int(events.end_ns[chosen.index])
        low, high = self._state.axis.window
        x = canvas.x_of((max(start, low) + min(end, high)) // 2)
        for placed in canvas.placed:
            for band in placed.bands if placed.row.key == chosen.row_key else ():
                pos = QPointF(x, placed.y + band.y + band.height / 2)
                hit = canvas.hit(pos)
                if hit is not None and hit.event == chosen:
                    return pos
        return None

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
        items = state.selections.items
        in_view = [item for item in items if item[1] > start and item[0] < end]
        form = self._form(is_switched=bool(items) and self._switched_selection == items)
        if study is None or not in_view or form is None:
            self.selection.dismiss()
            return
        self.selection.is_short = form == "short"
        left, right = (int(canvas.x_of(t)) for t in in_view[-1])
        bounds = self._bounds()
        span = QRect(
            QPoint(bounds.left() + max(left, 0), bounds.top()),
            QPoint(bounds.left() + min(right, bounds.width()), bounds.top()),
        )
        with guard("the selection card", self.selection.dismiss):
            self.selection.show_range(
                study, items, state.iterations, span, bounds, self.below_rows(), self._about_selection(study)
            )
        self._give_way()
        self._make_room()

    def _give_way(self) -> None:
        """Let the selection's card cover least of several ranges, and nothing of what is hovered."""
        card, canvas, bounds = self.selection, self._strips.canvas, self._bounds()
        start, end = self._state.axis.window
        ranges = [item for item in self._state.selections.items if item[1] > start and item[0] < end]
        if card.isVisible() and len(ranges) > 1:
            ends = [[bounds.left() + round(canvas.x_of(t)) for t in window] for window in ranges]
            spans = [(max(a, bounds.left()), min(b, bounds.right() + 1)) for a, b in ends]
            card.move(clear_left(card.width(), spans, bounds, card.x()), card.y())
        self._uncover_again()
        self._raise_above()

    def _uncover_again(self) -> None:
        if self._pointed is not None:
            strip, pos = self._pointed
            self._uncover(strip, pos, strip.hit(pos), self.stall_at(strip, pos))

    def _uncover(self, strip: TimeStrip, pos: QPointF, hit: HitResult | None, stall: int | None) -> None:
        """Move the selection's card where it covers what is hovered; shorten it where it cannot but do so."""
        card = self.selection
        if not card.isVisible():
            return
        target = self._target(strip, pos, hit, stall)
        if not card.geometry().intersects(target):
            return
        rows = self._bounds()
        for is_short, bounds in ((card.is_short, rows), (True, rows), (True, self._all())):
            card.is_short = is_short
            if (place := corner(card.outer_size(), target, bounds)) is not None:
                card.show_at(place)
                self._raise_above()
                return

    def _target(self, strip: TimeStrip, pos: QPointF, hit: HitResult | None, stall: int | None) -> QRect:
        """Return what is hovered, in pixels of the timeline."""
        window: Window | None = None
        if stall is not None and self._results.stalls is not None and not has_text(hit):
            row = self._results.stalls.table.iloc[stall]
            window = int(row["start_ns"]), int(row["end_ns"])
        rect = hovered_rect(strip, pos, hit, window)
        return rect.translated(strip.mapTo(self._parent, QPoint()))

    def _show_hover(self) -> None:
        study = self._state.study
        if self._pointed is None or study is None or self._is_covered:
            return
        with guard("the hover card"):
            strip, pos = self._pointed
            hit, number = strip.hit(pos), self.stall_at(strip, pos)
            thing = self._thing(hit, number)
            form = self._form(is_switched=self._switched == thing)
            if self._is_by_key:
                form = "full" if self._switched == thing else None
            if form is None or not self._hold(study, strip, pos, hit, number):
                self.hover.hide()
                return
            target = self._target(strip, pos, hit, number)
            place = self._place_hover(form, target, strip.mapTo(self._parent, pos.toPoint()).x(), thing)
            if place is None:
                self.hover.hide()
            else:
                self.hover.show_at(place)

    def _hold(
        self, study: Study, strip: TimeStrip, pos: QPointF, hit: HitResult | None, number: int | None
    ) -> bool:
        """Give the hover card what is under the pointer; return whether there is something to say."""
        results = self._results
        if hit is not None and has_text(hit):
            self.hover.take_hit(study, hit, results.collectives)
        elif results.stalls is not None and number is not None and number != self._links.stall_number:
            self.hover.take_stall(study, results.stalls, number, results.producers)
        elif (hit is not None or strip is self._strips.ruler) and not self._is_selected(strip, pos):
            density = self._strips.canvas.scale().ns_per_px
            self.hover.take_cut(study, strip.time_at(pos.x()), density, results.doubts.gpus)
        else:
            return False
        return True

    def _place_hover(self, form: Form, target: QRect, x: int, thing: object) -> QRect | None:
        """Return where the hover card lies, in the fullest form that leaves free what is hovered.

        It also leaves free the selection's card, which the user asked for; where it cannot, the cut, which is
        asked for by nobody, is not shown.
        """
        card, selection = self.hover, self.selection
        taken = [selection.geometry()] if selection.isVisible() else []
        for is_short in (False, True) if form == "full" else (True,):
            card.is_short = is_short
            for bounds in (self._bounds(), self._all()):
                if (place := around(card.outer_size(), target, x, bounds, taken)) is not None:
                    return place
        if not taken or thing == "cut":
            return None
        return around(card.outer_size(), target, x, self._all())

    def _make_room(self) -> None:
        """Hide the hover card where it would lie on the selection's card, which the user asked for."""
        both = self.hover.isVisible() and self.selection.isVisible()
        if both and self.hover.geometry().intersects(self.selection.geometry()):
            self.hover.hide()

    @property
    def _is_covered(self) -> bool:
        """Whether the user writes in a field over the timeline, which no card is to cover."""
        return self.above is not None and self.above.isVisible()

    def _raise_above(self) -> None:
        if self.above is not None and self.above.isVisible():
            self.above.raise_()

    def _is_selected(self, strip: TimeStrip, pos: QPointF) -> bool:
        """Return whether a point lies in the selection, whose own card tells more than the cut."""
        at = strip.time_at(pos.x())
        return any(start <= at <= end for start, end in self._state.selections.items)

    def _about_selection(self, study: Study) -> Lines:
        """Return the facts about the selection where it is a stall."""
        stalls, number = self._results.stalls, self._links.stall_number
        if stalls is None or number is None or len(self._state.selections.items) > 1:
            return ()
        return stall_about(stalls, number, self._results.collectives, self._results.producers)

    def _follow_choice(self) -> None:
        self.leave()
        self._switched_selection = ()
        self.place_selection()

    def _all(self) -> QRect:
        """Return the whole timeline, for a card that finds no room over the rows."""
        return self._parent.rect()

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
