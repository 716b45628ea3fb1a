"""Spoken: the timeline in words, for screen readers: what is in view, selected, and where the keyboard is."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.study import Study
from viewer.drawing.format import format_instant, format_ns, format_share
from viewer.printable import visible
from viewer.rows import EventRef
from viewer.state import ViewState
from viewer.state.navigation import ranges_text
from viewer.trace.names import short_name


def announce(source: QObject, text: str) -> None:
    """Let a screen reader say a text, where one listens."""
    if text and QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(source, text))


class DescribedStrips(Protocol):
    """The widgets that are described; the canvas is another one after OpenGL has failed."""

    @property
    def canvas(self) -> QWidget: ...
    @property
    def ruler(self) -> QWidget: ...
    @property
    def overview(self) -> QWidget: ...


class Spoken(QObject):
    """Keeps names and descriptions of the painted strips true, and announces what the keyboard chooses."""

    def __init__(self, state: ViewState, strips: DescribedStrips, parent: QObject) -> None:
        super().__init__(parent)
        self._state, self._strips = state, strips
        strips.ruler.setAccessibleName("Time and iterations")
        strips.overview.setAccessibleName("Overview of the whole trace")
        state.event_changed.connect(self._say_event)
        state.selection_changed.connect(self._say_selection)
        state.iterations_changed.connect(self._say_iteration)
        state.study_changed.connect(self._describe)
        state.axis.changed.connect(self._describe_window)
        self._describe()

    @property
    def event(self) -> str:
        """The selected event in words, "" without one."""
        study, chosen = self._state.study, self._state.chosen
        return event_words(study, self._state, chosen) if study is not None and chosen is not None else ""

    @property
    def selection(self) -> str:
        """The selected ranges in words, with what the GPUs do there; "" without any."""
        study, items = self._state.study, self._state.selections.items
        if study is None or not items:
            return ""
        try:
            numbers = study.measure_all(items, self._state.iterations, details=False)
        except ValueError:
            return f"Selected: {ranges_text(items)}, outside the recording"
        whole = max(numbers.length_ns * len(numbers.parts_ns), 1)
        parts = zip(_PARTS, numbers.all_ns.tolist(), strict=True)
        shares = ", ".join(f"{what} {format_share(ns / whole)}" for what, ns in parts if ns)
        start = format_instant(numbers.start_ns, numbers.length_ns / 1000)
        return f"Selected: {ranges_text(numbers.windows)} from {start}; {shares}"

    @property
    def window(self) -> str:
        """What is in view, in words."""
        start, end = self._state.axis.window
        return f"{format_ns(end - start)} in view from {format_instant(start, (end - start) / 1000)}"

    def _describe(self) -> None:
        described = self.window if self._state.study is not None else "no trace is open"
        self._strips.ruler.setAccessibleDescription(described)
        self._strips.overview.setAccessibleDescription(described)
        words = (self.event, self.selection)
        self._strips.canvas.setAccessibleDescription(". ".join(filter(None, (*words, described))))

    def _describe_window(self) -> None:
        # A frame of a zoom or a drag is not to wait for words that nobody hears.
        if QAccessible.isActive():
            self._describe()

    def _say_event(self) -> None:
        self._describe()
        announce(self._strips.canvas, self.event)

    def _say_selection(self) -> None:
        if QAccessible.isActive():
            self._describe()
            announce(self._strips.canvas, self.selection)

    def _say_iteration(self) -> None:
        number, iterations = self._state.iteration, self._state.iterations
        if number is not None and iterations is not None:
            length = format_ns(int(iterations.duration_ns[number]))
            announce(self._strips.ruler, f"{iterations.called(number)}, {length}")


_PARTS = ("compute", "hidden communication", "exposed communication", "copy", "idle")


def event_words(study: Study, state: ViewState, ref: EventRef) -> str:
    """Return an event in words: its name, length, begin, and the row that it is in."""
    events = study.trace.events[ref.kind]
    start, end = int(events.start_ns[ref.index]), int(events.end_ns[ref.index])
    name = short_name(study.trace.names[int(events.name_id[ref.index])]) or "(no name)"
    row = state.rows.row(ref.row_key)
    where = f", {row.text_path}" if row is not None else ""
    return visible(f"{name}, {format_ns(end - start)}, begins at {format_instant(start)}{where}")
