"""The choices of the Export picture dialog: kind, heading, time, rows, size, colours and parts."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QGridLayout,
    QLineEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from viewer.app.theme_manager import ThemeManager
from viewer.drawing.theme import DARK, LIGHT
from viewer.export.figure_style import PAPER, SLIDE, STYLES, TIMELINE
from viewer.export.first_view import chosen_rows
from viewer.export.picture_view import Extras, PictureError, View, present_view
from viewer.rows import Row
from viewer.state import ViewState
from viewer.state.navigation import iteration_to_fit
from viewer.timeline.timeline import Timeline

VIEW, SELECTION, ITERATION, WHOLE = "This view", "The selection", "The iteration", "The whole trace"
SHOWN, IN_VIEW, PINNED, CHOSEN = "All rows shown", "Rows in view", "Pinned rows", "Rows called …"
KINDS = {"As in the window": TIMELINE, "Slide, 16:9": SLIDE, "Figure for a paper": PAPER}
_SIZES = {TIMELINE: (1600, 2.0), SLIDE: (1600, 2.0), PAPER: (STYLES[PAPER].width, STYLES[PAPER].scale)}
_FIELD_WIDTH = 210
_EXTRAS = {
    "headers": "Row names",
    "ruler": "Ruler",
    "legend": "Legend",
    "scale_bar": "Scale bar",
    "card": "Numbers of the selection",
    "table": "Numbers of the measurements",
}


class PictureOptions(QWidget):
    """What a picture shows, as the user has chosen it.

    Signals
    -------
    changed()
        Another choice.
    """

    changed = Signal()

    def __init__(
        self, state: ViewState, timeline: Timeline, look: ThemeManager, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._state, self._timeline = state, timeline
        self.kind_box = QComboBox()
        self.title_edit, self.subtitle_edit = QLineEdit(), QLineEdit()
        self.window_box, self.rows_box, self.theme_box = QComboBox(), QComboBox(), QComboBox()
        self.rows_text = QLineEdit()
        self.rows_text.setPlaceholderText("Stream 7, Rank 3/NCCL")
        self.width_box, self.scale_box = QSpinBox(), QDoubleSpinBox()
        self.transparent = QCheckBox("No background")
        self.overlays, self.notes = QCheckBox("Overlays"), QCheckBox("Notes")
        self.measurements = QCheckBox("Measurements")
        self.extras = {name: QCheckBox(title) for name, title in _EXTRAS.items()}
        self._fill(look)
        self._lay_out()
        self._connect()

    @property
    def size_px(self) -> tuple[int, float]:
        """The width before scaling, and the scale."""
        return self.width_box.value(), self.scale_box.value()

    def view(self) -> View:
        """Return the chosen view.

        Raises
        ------
        PictureError
            If the chosen range or rows do not exist.
        """
        theme = DARK if self.theme_box.currentText() == "Dark" else LIGHT
        view = present_view(self._state, theme)
        return replace(
            view,
            rows=self._rows(view),
            window_ns=self._window(),
            overlays=view.overlays if self.overlays.isChecked() else frozenset(),
            notes=view.notes if self.notes.isChecked() else (),
            measurements=view.measurements if self.measurements.isChecked() else (),
            extras=Extras(**{name: box.isChecked() for name, box in self.extras.items()}),
            title=self.title_edit.text(),
            subtitle=self.subtitle_edit.text(),
            is_transparent=self.transparent.isChecked(),
            preset=KINDS[self.kind_box.currentText()],
        )

    def _window(self) -> tuple[int, int]:
        state, what = self._state, self.window_box.currentText()
        iteration = iteration_to_fit(state)
        if what == SELECTION and (hull := state.selections.hull) is not None:
            return hull
        if what == ITERATION and state.iterations is not None and iteration is not None:
            return state.iterations.start_ns(iteration), state.iterations.end_ns(iteration)
        return state.axis.limits if what == WHOLE else state.axis.window

    def _rows(self, view: View) -> list[tuple[Row, bool]]:
        what, timeline = self.rows_box.currentText(), self._timeline
        pinned = [(p.row, p.expanded) for p in timeline.pinned_headers.visible_rows()]
        if what == PINNED:
            return pinned
        if what == IN_VIEW:
            return pinned + [(p.row, p.expanded) for p in timeline.headers.visible_rows()]
        if what == CHOSEN:
            patterns = [text.strip() for text in self.rows_text.text().split(",") if text.strip()]
            if not patterns:
                raise PictureError("write which rows: Stream 7, Rank 3/NCCL")
            return chosen_rows(self._state.rows.roots, patterns)
        return pinned + list(view.rows)

    def _take_kind(self) -> None:
        """Set the size that is usual for a kind of picture."""
        kind = KINDS[self.kind_box.currentText()]
        width, scale = _SIZES[kind]
        self.width_box.setValue(width)
        self.scale_box.setValue(scale)
        if kind == PAPER:
            self.theme_box.setCurrentText("Light")
        # A slide and a figure have one table, beside their lanes.
        self.extras["card"].setText(_EXTRAS["card"] if kind == TIMELINE else "Numbers of the GPUs")
        self.extras["card"].setEnabled(kind != TIMELINE or self._state.selection is not None)
        for name in ("table", "scale_bar"):
            self.extras[name].setEnabled(
                kind == TIMELINE and (name != "table" or bool(self._state.measurements.items))
            )

    def _fill(self, look: ThemeManager) -> None:
        state = self._state
        iteration = iteration_to_fit(state)
        windows = [
            VIEW,
            *[SELECTION] * (state.selection is not None),
            *[ITERATION] * (iteration is not None),
            WHOLE,
        ]
        self.kind_box.addItems(list(KINDS))
        self.window_box.addItems(windows)
        self.rows_box.addItems([SHOWN, IN_VIEW, *[PINNED] * bool(state.rows.pinned), CHOSEN])
        self.theme_box.addItems(["Light", "Dark"])
        self.theme_box.setCurrentText("Dark" if look.theme.is_dark else "Light")
        self.width_box.setRange(320, 20_000)
        self.width_box.setSuffix(" px")
        self.width_box.setSingleStep(100)
        self.scale_box.setRange(0.5, 4)
        self.scale_box.setSingleStep(0.5)
        self.scale_box.setDecimals(2)
        self.scale_box.setSuffix(" ×")
        first = Extras()
        for name, box in self.extras.items():
            box.setChecked(getattr(first, name))
        for box, there in (
            (self.overlays, bool(state.overlays)),
            (self.notes, bool(state.notes.items)),
            (self.measurements, bool(state.measurements.items)),
        ):
            box.setChecked(there)
            box.setEnabled(there)
        self.rows_text.setEnabled(False)
        self._take_kind()

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.addRow("Kind", self.kind_box)
        form.addRow("Title", self.title_edit)
        form.addRow("Subtitle", self.subtitle_edit)
        form.addRow("Time", self.window_box)
        form.addRow("Rows", self.rows_box)
        form.addRow("", self.rows_text)
        form.addRow("Width", self.width_box)
        form.addRow("Scale", self.scale_box)
        form.addRow("Colours", self.theme_box)
        form.addRow("", self.transparent)
        for field in (self.title_edit, self.subtitle_edit, self.rows_text):
            field.setMinimumWidth(_FIELD_WIDTH)
        self.scale_box.setToolTip("Pixels of the file for each of the width: 2 for print")
        self.rows_text.setAccessibleName("Rows called")
        boxes = QGridLayout()
        for position, box in enumerate((self.overlays, self.notes, self.measurements, *self.extras.values())):
            boxes.addWidget(box, position, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(form)
        column.addSpacing(8)
        column.addLayout(boxes)
        column.addStretch(1)

    def _connect(self) -> None:
        self.kind_box.currentTextChanged.connect(lambda _: self._take_kind())
        self.rows_box.currentTextChanged.connect(lambda text: self.rows_text.setEnabled(text == CHOSEN))
        for box in (self.kind_box, self.window_box, self.rows_box, self.theme_box):
            box.currentTextChanged.connect(lambda _: self.changed.emit())
        for edit in (self.title_edit, self.subtitle_edit, self.rows_text):
            edit.textChanged.connect(lambda _: self.changed.emit())
        self.width_box.valueChanged.connect(lambda _: self.changed.emit())
        self.scale_box.valueChanged.connect(lambda _: self.changed.emit())
        parts = (self.overlays, self.notes, self.measurements, *self.extras.values())
        for check in (self.transparent, *parts):
            check.toggled.connect(lambda _: self.changed.emit())
