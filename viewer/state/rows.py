"""Which rows are shown, unfolded and pinned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QObject, Signal

from viewer.rows import Row, RowKind
from viewer.rows.matching import Word, missing, words_of
from viewer.rows.presets import PRESETS, first_view, hidden_at_first, launch_rows


class RowState(QObject):
    """Owner of what is unfolded, hidden, pinned and filtered, by `Row.key`.

    Attributes
    ----------
    preset : str
        The preset that the rows stand in; "" after rows have been unfolded or hidden one by one.
    launches : tuple of str
        Keys of the rows that show how far the CPU runs ahead (`viewer.rows.presets.launch_rows`).
    background : frozenset of str
        Rows that stay hidden until the user shows them; they do not count as hidden by the user.

    Signals
    -------
    changed()
        The rows that are shown, or their order, are others.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.roots: tuple[Row, ...] = ()
        self.expanded: set[str] = set()
        self.hidden: set[str] = set()
        self.pinned: list[str] = []
        self.filter_text = ""
        self.preset: str = "lanes"
        self.launches: tuple[str, ...] = ()
        self.background: frozenset[str] = frozenset()
        self._hidden_at_first: frozenset[str] = frozenset()
        self._by_key: dict[str, Row] = {}
        self._shown: dict[str, tuple[Row, ...]] | None = None
        self._before_filter: set[str] | None = None

    def reset(self, roots: tuple[Row, ...]) -> None:
        """Take the rows of another trace, in the first view."""
        self.roots = roots
        self._by_key = {row.key: row for root in roots for row in root.walk()}
        self.expanded.clear()
        self.hidden.clear()
        self.pinned.clear()
        self.filter_text = ""
        self.launches = tuple(launch_rows(roots))
        self._hidden_at_first = hidden_at_first(roots)
        self.background = self._hidden_at_first
        self._shown = self._before_filter = None
        self.changed.emit()

    def apply_preset(self, name: str) -> None:
        """Unfold and hide what a preset of `viewer.rows.presets` does; a filter stays."""
        self._take(*PRESETS[name](self.roots), name)

    def show_first(self) -> None:
        """Unfold and hide what is best at first sight."""
        expanded, hidden = first_view(self.roots)
        is_lanes = (expanded, hidden) == PRESETS["lanes"](self.roots)
        self._take(expanded, hidden, "lanes" if is_lanes else "")

    def _take(self, expanded: Iterable[str], hidden: Iterable[str], preset: str) -> None:
        self.expanded, self.hidden, self.preset = set(expanded), set(hidden), preset
        self.background = self._hidden_at_first | self.hidden
        self._shown = None
        if self._before_filter is not None:
            self._before_filter = set(self.expanded)
            self.expanded.update(self._above_matches())
        self.changed.emit()

    @property
    def missed(self) -> set[str]:
        """Keys of the rows that the user has hidden, without those that are hidden at first."""
        return self.hidden - self.background

    def row(self, key: str) -> Row | None:
        """Return the row of a key, None if this trace has none."""
        return self._by_key.get(key)

    @property
    def unfolded(self) -> set[str]:
        """What is unfolded when no filter unfolds more."""
        return self.expanded if self._before_filter is None else self._before_filter

    def restore(
        self,
        expanded: Iterable[str],
        hidden: Iterable[str],
        pinned: Iterable[str],
        filter_text: str = "",
        preset: str = "",
    ) -> None:
        """Show the rows as they were shown before; keys that this trace does not have are passed over."""
        wanted = {key for key in expanded if key in self._by_key}
        hidden = {key for key in hidden if key in self._by_key}
        pinned = [key for key in dict.fromkeys(pinned) if key in self._by_key]
        by_preset = PRESETS[preset](self.roots)[1] if preset in PRESETS else ()
        self.background = self._hidden_at_first.union(by_preset)
        now = (self.expanded, self.hidden, self.pinned, self.filter_text, self.preset)
        if self._before_filter is None and now == (wanted, hidden, pinned, filter_text.strip(), preset):
            return
        self.expanded, self.hidden, self.pinned, self.preset = wanted, hidden, pinned, preset
        self.filter_text = ""
        self._shown = self._before_filter = None
        self.set_filter(filter_text)
        if not self.filter_text:
            self.changed.emit()

    def nearest_shown(self, row: Row) -> Row | None:
        """Return the row, or what stands for it where it is folded away or hidden; None if nothing does."""
        nearest = None
        for step in row.shown_path():
            if not self.is_shown(step):
                break
            nearest = step
            if step.key not in self.expanded:
                break
        return nearest

    def gpu_row(self, gpu: int) -> Row | None:
        """Return the row that shows a GPU, its own or that of its process; None if there is none."""
        rows = (row for root in self.roots for row in root.walk())
        row = next((row for row in rows if row.kind is RowKind.GPU and row.gpu == gpu), None)
        return row.parent if row is not None and row.is_merged else row

    def set_expanded(self, keys: Iterable[str], expanded: bool) -> None:
        """Unfold or fold rows."""
        before = set(self.expanded)
        (self.expanded.update if expanded else self.expanded.difference_update)(keys)
        if self.expanded != before:
            self._leave_preset()
            self.changed.emit()

    def set_hidden(self, keys: Iterable[str], hidden: bool) -> None:
        """Hide rows, with what is under them, or show them again."""
        before = set(self.hidden)
        (self.hidden.update if hidden else self.hidden.difference_update)(keys)
        if self.hidden != before:
            self._shown = None
            if not self.background.issuperset(self.hidden ^ before):
                self.preset = ""
            self.changed.emit()

    def _leave_preset(self) -> None:
        """Stand in no preset any more, unless a filter will take the unfolding back."""
        if self._before_filter is None:
            self.preset = ""

    def set_pinned(self, key: str, pinned: bool) -> None:
        """Pin a row below the ruler, or take it off."""
        if pinned and key not in self.pinned:
            self.pinned.append(key)
        elif not pinned and key in self.pinned:
            self.pinned.remove(key)
        else:
            return
        self.changed.emit()

    def pin_all(self, keys: Iterable[str], pinned: bool) -> None:
        """Pin rows below the ruler, after those that are pinned already, or take them off."""
        keys = [key for key in keys if (key in self.pinned) != pinned]
        if pinned:
            self.pinned += keys
        else:
            self.pinned = [key for key in self.pinned if key not in keys]
        if keys:
            self.changed.emit()

    def move_pinned(self, key: str, position: int) -> None:
        """Move a pinned row to `position` among the pinned ones."""
        if key in self.pinned:
            self.pinned.remove(key)
            self.pinned.insert(position, key)
            self.changed.emit()

    def set_filter(self, text: str) -> None:
        """Show only rows whose path holds every word of `text` (any case), their ancestors and descendants.

        What hides a match is unfolded; without a filter the rows are folded again as they were before.
        """
        text = text.strip()
        if text == self.filter_text:
            return
        self.filter_text = text
        self._shown = None
        if self._before_filter is None:
            self._before_filter = set(self.expanded)
        self.expanded = set(self._before_filter)
        if text:
            self.expanded.update(self._above_matches())
        else:
            self._before_filter = None
        self.changed.emit()

    @property
    def shown(self) -> Mapping[str, tuple[Row, ...]]:
        """The rows that pass hiding and filter (folding apart), in order, by the key of the row above them.

        The roots are under "". A GPU that its process stands for is not among them, and what is under it is
        under the process. The same object is returned until hiding or filter change.
        """
        if self._shown is None:
            self._shown = {}
            self._shown[""] = self._passing(self.roots, words_of(self.filter_text), self._shown)
        return self._shown

    def is_shown(self, row: Row) -> bool:
        """Whether a row passes hiding and filter (folding apart)."""
        if row.is_merged and row.parent is not None:
            return self.is_shown(row.parent)
        above = row.shown_path()[:-1]
        return row in self.shown.get(above[-1].key if above else "", ())

    def _passing(
        self, rows: Iterable[Row], words: list[Word], shown: dict[str, tuple[Row, ...]]
    ) -> tuple[Row, ...]:
        passing: list[Row] = []
        for row in rows:
            if row.key in self.hidden:
                continue
            left = missing(row, words)
            below = self._passing(row.children, left, shown) if row.children else ()
            if row.is_merged:
                passing += below
                continue
            if below:
                shown[row.key] = below
            if below or not left:
                passing.append(row)
        return tuple(passing)

    def _above_matches(self) -> Iterable[str]:
        words = words_of(self.filter_text)
        return [key for key in self.shown if key and (row := self.row(key)) and missing(row, words)]
