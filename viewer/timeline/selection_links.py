"""SelectionLinks: the other ends of the selection, and their places in the tree and on the axis."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from viewer.rows import Row
from viewer.state import ViewState, Window
from viewer.state.places import go_to_event
from viewer.timeline.background_results import BackgroundResults
from viewer.timeline.paint.linked import Ends, ends_of_event, ends_of_stall

Standing = Callable[[Row], str]
"""Maps a row that no fold hides to its place: "" in view, else "above" or "below"."""

_SIGNS = {
    "left": "earlier than what is in view",
    "right": "later than what is in view",
    "above": "further up",
    "below": "further down",
    "folded": "in a row that is folded or hidden",
}


class SelectionLinks(QObject):
    """Follows the selected event or stall, the one chosen last.

    Signals
    -------
    changed()
        The links of the selection changed.
    """

    changed = Signal()

    def __init__(
        self, state: ViewState, background_results: BackgroundResults, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.state, self.background_results = state, background_results
        self.ends: Ends | None = None
        self._stall_first = False
        self._number: tuple[object, int | None] = (None, None)
        state.study_changed.connect(self._refresh)
        state.event_changed.connect(self._take_event)
        state.selection_changed.connect(self._take_selection)
        state.stall_changed.connect(self._take_stall)
        background_results.changed.connect(self._take_stall)

    @property
    def stall_number(self) -> int | None:
        """The number of the selected stall, None where the selection is not a stall."""
        asked = (self.background_results.stalls, self.state.stall_number, self.state.selection)
        if self._number[0] != asked:
            self._number = (asked, self._found_stall())
        return self._number[1]

    def _found_stall(self) -> int | None:
        stalls, number, selection = (
            self.background_results.stalls,
            self.state.stall_number,
            self.state.selection,
        )
        if stalls is None or selection is None:
            return None
        if number is not None and number < len(stalls):
            row = stalls.table.iloc[number]
            if (int(row["start_ns"]), int(row["end_ns"])) == selection:
                return number
        return stalls.exactly(*selection)

    def _take_event(self) -> None:
        self._stall_first = False
        self._refresh()

    def _take_selection(self) -> None:
        """Take the stall that is selected now; another range is no stall, and none is chosen then."""
        self._take_stall()
        if self.background_results.stalls is not None and self.stall_number is None:
            self.state.choose_stall(None)

    def _take_stall(self) -> None:
        number = self.stall_number
        if number is not None:
            self._stall_first = True
            self.state.choose_stall(number)
        self._refresh()

    def _refresh(self) -> None:
        state, number, stalls = self.state, self.stall_number, self.background_results.stalls
        before, self.ends = self.ends, None
        if state.chosen is not None and not (self._stall_first and number is not None):
            self.ends = ends_of_event(state, state.chosen)
        elif number is not None and stalls is not None:
            self.ends = ends_of_stall(state, stalls, number, self.background_results.producers)
        if self.ends != before:
            self.changed.emit()

    @property
    def has_other_end(self) -> bool:
        """Whether there is another end to go to."""
        return self.ends is not None and bool(self.ends.others)

    def go_to_other_end(self) -> bool:
        """Select the other end and bring it into view; return whether there is one."""
        if self.ends is None or not self.ends.others:
            return False
        other = self.ends.others[0]
        go_to_event(self.state, other.kind, other.index)
        return True

    def marks(self, row: Row) -> tuple[bool, bool]:
        """Return whether a row holds the selection, and whether it holds the other end."""
        if self.ends is None:
            return False, False
        return row.key in self.ends.own_rows, row.key in self.ends.other_rows

    def sign(self, row: Row, standing: Standing) -> str:
        """Return the sign on a row's header that points to the other end, "" for none.

        Only the row of the selected event has it, or the folded row that hides that one.
        """
        ends, rows = self.ends, self.state.rows
        if ends is None or ends.span is None or row.key not in ends.own_rows | ends.other_rows:
            return ""
        folded = row.key not in rows.expanded
        is_own = row.key in ends.own_rows and (row is ends.homes[0] or folded)
        is_other = row.key in ends.other_rows and (row is ends.homes[1] or folded)
        aside = _aside(ends.span, self.state.axis.window)
        if aside and (is_own or is_other):
            return aside
        if not is_own or is_other or ends.homes[1] is None:
            return ""
        path = ends.homes[1].path()
        shown = next((r for r in path if r.key not in rows.expanded), path[-1])
        if any(not rows.is_shown(r) for r in path):
            return "folded"
        return standing(shown) or ("folded" if shown is not path[-1] else "")

    def tip_of(self, row: Row) -> str:
        """Return further lines for a header's tooltip: warnings, and the place of the other end."""
        late = self.background_results.late_note(row)
        why = f"{late.why[:1].upper()}{late.why[1:]}" if late else ""
        lines = [self.background_results.warning(row), why]
        ends = self.ends
        if ends is not None and row.key in ends.own_rows and ends.homes[1] is not None:
            sign = self.sign(row, lambda _: "")
            where = f", {_SIGNS[sign]}" if sign else ""
            lines.append(f"The other end: {ends.homes[1].text_path}{where} (L goes there)")
        return "\n".join(line for line in lines if line)

    def note(self, row: Row) -> str:
        """Return the note in a header on a rank that is late or computes longer, "" for none."""
        late = self.background_results.late_note(row)
        return late.text if late else ""

    @property
    def doubtful(self) -> frozenset[int]:
        """The GPUs whose lanes carry a warning."""
        return frozenset(self.background_results.doubts.gpus)

    @property
    def lost(self) -> frozenset[int]:
        """The GPUs whose rows were lost while recording."""
        return self.background_results.doubts.lost


def _aside(span: Window, window: Window) -> str:
    if span[1] < window[0]:
        return "left"
    return "right" if span[0] > window[1] else ""
