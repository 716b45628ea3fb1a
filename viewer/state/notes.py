"""Notes: what a reader writes onto the trace, at an instant, over a range, or on one event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from viewer.analysis.study import Study
from viewer.printable import visible_lines
from viewer.rows import EventRef
from viewer.state.history import Edited, History
from viewer.state.time_axis import Window

COLOURS = {"Red": "#d13b4c", "Violet": "#7c5cd6", "Blue": "#2563eb", "Teal": "#12857a", "Amber": "#b7791f",
           "Grey": "#64748b"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """A text with the place that it speaks of.

    Attributes
    ----------
    text : str
        What would not be seen in it, or be obeyed, is spelled out.
    start_ns, end_ns : int
        An instant where both are equal, else a range.
    row_key : str
        The row it stands in; "" for all rows.
    event : EventRef or None
        The event it is bound to; it has the event's times, whatever `start_ns` says.
    offset : (int, int) or None
        Where the label was put, in logical pixels from the place; None: where there is room.
    arrow : bool
        Whether an arrow leads from the label to the place.
    extra : mapping
        What a session of another version says of it.
    """

    start_ns: int
    end_ns: int
    text: str = ""
    colour: str = COLOURS["Red"]
    row_key: str = ""
    event: EventRef | None = None
    offset: tuple[int, int] | None = None
    arrow: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible_lines(self.text))

    def span(self, study: Study | None) -> Window:
        """Return start and end: those of its event where this trace has it, else its own."""
        if self.event is None or study is None:
            return self.start_ns, self.end_ns
        events = study.trace.events[self.event.kind]
        if self.event.index >= len(events):
            return self.start_ns, self.end_ns
        return int(events.start_ns[self.event.index]), int(events.end_ns[self.event.index])


class Notes(Edited):
    """Owner of the notes.

    Signals
    -------
    chosen_changed()
        Another note is selected, or another one is being written.
    """

    chosen_changed = Signal()

    def __init__(self, history: History, parent: QObject | None = None) -> None:
        super().__init__(history, parent)
        self.items: tuple[Note, ...] = ()
        self.chosen: int | None = None
        self.draft: Note | None = None

    def load(self, items: tuple[Note, ...] = ()) -> None:
        """Replace all notes; none of them is selected."""
        self.set_draft(None)
        self.choose(None)
        super().load(items)

    def add(self, note: Note) -> None:
        """Add a note."""
        self._edit((*self.items, note))

    def change(self, position: int, run: str = "", **fields: Any) -> None:
        """Change fields of one note; edits of the same `run` are undone together."""
        self._replace(position, replace(self.items[position], **fields), run)

    def paint(self, positions: set[int], colour: str) -> None:
        """Give notes another colour, all in one step."""
        painted = (
            replace(note, colour=colour) if at in positions else note for at, note in enumerate(self.items)
        )
        self._edit(tuple(painted))

    def choose(self, position: int | None) -> None:
        """Select a note, or none."""
        if position != self.chosen:
            self.chosen = position
            self.chosen_changed.emit()

    def delete_chosen(self) -> None:
        """Delete the selected note."""
        if self.chosen is not None:
            self.delete({self.chosen})

    def set_draft(self, note: Note | None) -> None:
        """Say what is being written and not kept yet."""
        if note != self.draft:
            self.draft = note
            self.chosen_changed.emit()

    def _show(self, items: tuple[Note, ...]) -> None:
        if len(items) != len(self.items):
            self.choose(None)
        super()._show(items)
