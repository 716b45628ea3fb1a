"""EventFilters: the fields over the events table that say which events to list."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QPushButton, QWidget

from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.time.scope import Scope, iteration_scope
from viewer.drawing.theme import Theme
from viewer.drawing.times import TimeError
from viewer.panels.event_set import EventSet
from viewer.panels.event_view import Wanted, parse_durations
from viewer.panels.one_line import Choice
from viewer.state import ViewState
from viewer.timeline.plain_text import tip

TYPING_PAUSE_MS = 150
ALL_CLASSES, ALL_STREAMS, ALL_ITERATIONS = "All classes", "All streams", "All iterations"


class EventFilters(QWidget):
    """Name, duration, class, stream, iteration and the selected range; an event has to pass them all.

    Signals
    -------
    changed()
        Other events pass.
    """

    changed = Signal()

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._theme: Theme | None = None
        self.text, self.duration = QLineEdit(), QLineEdit()
        self.group, self.stream, self.iteration = Choice(), Choice(), Choice()
        self.in_selection = QPushButton("In the selection")
        self.in_selection.setCheckable(True)
        self.in_selection.setToolTip("Only events that touch a selected range")
        self.text.setPlaceholderText("Name")
        self.text.setAccessibleName("Only events whose name holds these words")
        self.duration.setPlaceholderText(">10us, 1ms..5ms")
        self.duration.setAccessibleName("Only events of these durations")
        for field, least, most in ((self.text, 110, 190), (self.duration, 118, 150)):
            field.setClearButtonEnabled(True)
            field.setMinimumWidth(least)
            field.setMaximumWidth(most)
        for choice, what in (
            (self.group, "class"),
            (self.stream, "stream"),
            (self.iteration, "iteration"),
        ):
            choice.setAccessibleName(f"Only events of this {what}")
            choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            choice.setMaxVisibleItems(24)
            choice.activated.connect(lambda _: self.changed.emit())
        self.iteration.setToolTip("Only events that touch this iteration, as it is on their GPU")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget in (
            self.text, self.duration, self.group, self.stream, self.iteration, self.in_selection,
        ):  # fmt: skip
            row.addWidget(widget)
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._pause.timeout.connect(self.changed)
        self.text.textChanged.connect(self._pause.start)
        self.duration.textChanged.connect(self._pause.start)
        self.in_selection.toggled.connect(lambda _: self.changed.emit())
        state.selection_changed.connect(self._follow_selection)
        state.iterations_changed.connect(self._follow_iterations)
        state.study_changed.connect(self._follow_iterations)
        self._follow_selection()
        self._follow_iterations()
        # Until events are known there is nothing to choose.
        _fill(self.group, ALL_CLASSES, [])
        _fill(self.stream, ALL_STREAMS, [])

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme

    def offer(self, events: EventSet, streams: list[int], is_one_name: bool) -> None:
        """Offer the classes and the streams that some events have; of one name there is nothing to type."""
        self.text.setVisible(not is_one_name)
        if is_one_name:
            with QSignalBlocker(self.text):
                self.text.clear()
        _fill(self.group, ALL_CLASSES, [(CLASS_LABELS.get(name, name), name) for name in events.present])
        _fill(self.stream, ALL_STREAMS, [(f"Stream {number}", number) for number in streams])

    def wanted(self) -> Wanted:
        """Return what the fields say, without an order.

        Raises
        ------
        TimeError
            If the duration cannot be read; the field is marked.
        """
        self._pause.stop()
        try:
            least, most = parse_durations(self.duration.text())
        except TimeError as error:
            self.duration.setToolTip(tip(str(error)))
            self._mark_wrong(True)
            raise
        self._mark_wrong(False)
        state = self._state
        scopes: list[Scope] = [state.filter] if state.filter is not None else []
        number, iterations = self.iteration.currentData(), state.iterations
        if number is not None and iterations is not None and number < iterations.count:
            scopes.append(iteration_scope(iterations, (number,)))
        return Wanted(
            self.text.text(), least, most, self.group.currentData() or "", self.stream.currentData(),
            tuple(scopes), tuple(state.selections.items) if self.in_selection.isChecked() else (),
        )  # fmt: skip

    def _mark_wrong(self, wrong: bool) -> None:
        colour = f"#{self._theme.error & 0xFFFFFF:06x}" if self._theme is not None else "red"
        self.duration.setStyleSheet(f"QLineEdit {{ border-color: {colour}; }}" if wrong else "")
        if not wrong:
            self.duration.setToolTip("")

    def _follow_selection(self) -> None:
        has_selection = self._state.selection is not None
        self.in_selection.setEnabled(has_selection)
        if not has_selection:
            self.in_selection.setChecked(False)
        elif self.in_selection.isChecked():
            # The range is being dragged: list once it rests.
            self._pause.start()

    def _follow_iterations(self) -> None:
        iterations = self._state.iterations
        count = iterations.count if iterations is not None else 0
        before = self.iteration.currentData()
        doubt = iterations.in_doubt if iterations is not None else ""
        numbers: list[tuple[str, object]] = [
            (f"Iteration {number}{doubt}", number) for number in range(count)
        ]
        _fill(self.iteration, ALL_ITERATIONS, numbers)
        if before is not None and self.iteration.currentData() != before:
            self.changed.emit()


def _fill(choice: Choice, all_of: str, items: list[tuple[str, object]]) -> None:
    """Fill a box, keeping its choice where that is still offered; without a choice to make it is hidden."""
    chosen = choice.currentData()
    choice.clear()
    choice.addItem(all_of, None)
    for label, value in items:
        choice.addItem(label, value)
    choice.setCurrentIndex(max(choice.findData(chosen), 0) if chosen is not None else 0)
    choice.setVisible(len(items) > 1)
