"""The context menus of the canvas: for a place, and for a note."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtGui import QAction, QColor, QIcon, QPixmap
from PySide6.QtWidgets import QMenu, QWidget

from viewer.drawing.hit import HitResult
from viewer.rows import EventRef
from viewer.state import Note, ViewState
from viewer.state.navigation import event_window
from viewer.state.notes import COLOURS
from viewer.timeline.event_menu import add_pin_stream, fill_event_menu
from viewer.timeline.plain_text import without_key
from viewer.timeline.what_if_menu import add_what_if_menu, proposals_for
from viewer.trace.names import short_name

_SWATCH_PX, _NAME_CHARS = 12, 36


def note_here(time_ns: int, row_key: str = "") -> Note:
    """Return an empty note on an instant, in one row or over all rows."""
    return Note(time_ns, time_ns, row_key=row_key)


def note_on_event(state: ViewState, event: EventRef) -> Note:
    """Return an empty note bound to an event and its present row."""
    return Note(*event_window(state, event), row_key=event.row_key, event=event)


def note_in_mind(state: ViewState) -> Note:
    """Return an empty note on the place that the user most likely means.

    The selected event under the pointer, else the selected range, else the selected event, else the
    place under the pointer, else the middle of the window.
    """
    hover, chosen = state.hover, state.chosen
    if chosen is not None and (state.selection is None or (hover and hover.event == chosen)):
        return note_on_event(state, chosen)
    if state.selection is not None:
        return Note(*state.selection)
    if hover is not None:
        return note_here(hover.time_ns, hover.row.key if hover.row else "")
    return note_here(sum(state.axis.window) // 2)


def place_menu(
    state: ViewState,
    time_ns: int,
    row_key: str,
    hit: HitResult | None,
    write: Callable[[Note], None],
    actions: Iterable[QAction],
    parent: QWidget,
) -> QMenu:
    """Return the menu of a place on the canvas.

    Parameters
    ----------
    write : callable
        Opens the editor of a note.
    actions : iterable of QAction
        Further commands of the window; disabled ones are left out.
    """
    menu = QMenu(parent)
    event = hit.event if hit is not None else None
    if event is not None and state.study is not None:
        fill_event_menu(menu, state, event)
        menu.addSeparator()
    menu.addAction("Add note here", lambda: write(note_here(time_ns, row_key)))
    if state.selection is not None:
        low, high = state.selection
        menu.addAction("Add note on the selection", lambda: write(Note(low, high)))
    if event is not None and state.study is not None:
        menu.addAction(
            without_key(f"Add note on {_name(state, event)}"), lambda: write(note_on_event(state, event))
        )
    row = state.rows.row(row_key)
    if event is None and row is not None:
        # Beside its bars, a row can still be listed and pinned.
        menu.addSeparator()
        if row.stream is not None and state.study is not None:
            add_pin_stream(menu, state, row.stream)
        menu.addAction(without_key(f"Show {row.label} in Events"), lambda: state.list_events(row.key))
        if state.study is not None:
            add_what_if_menu(menu, state, proposals_for(state, row=row))
    usable = [action for action in actions if action.isEnabled()]
    if usable:
        menu.addSeparator()
        menu.addActions(usable)
    return menu


def note_menu(state: ViewState, number: int, edit: Callable[[int], None], parent: QWidget) -> QMenu:
    """Return the menu of a note."""
    notes = state.notes
    note = notes.items[number]
    menu = QMenu(parent)
    menu.addAction("Edit", lambda: edit(number))
    fill_colours(menu.addMenu("Colour"), lambda colour: notes.change(number, colour=colour))
    arrow = menu.addAction("Arrow", lambda: notes.change(number, arrow=not note.arrow))
    arrow.setCheckable(True)
    arrow.setChecked(note.arrow)
    back = menu.addAction("Put the label back", lambda: notes.change(number, offset=None))
    back.setEnabled(note.offset is not None)
    menu.addSeparator()
    menu.addAction("Delete", lambda: notes.delete({number}))
    return menu


def fill_colours(menu: QMenu, choose: Callable[[str], None]) -> None:
    """Fill a menu with the colours of notes."""
    for name, colour in COLOURS.items():
        swatch = QPixmap(_SWATCH_PX, _SWATCH_PX)
        swatch.fill(QColor(colour))
        menu.addAction(QIcon(swatch), name, lambda colour=colour: choose(colour))


def _name(state: ViewState, event: EventRef) -> str:
    assert state.study is not None
    trace = state.study.trace
    name = short_name(trace.names[int(trace.events[event.kind].name_id[event.index])]) or "the event"
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 1]}…"
