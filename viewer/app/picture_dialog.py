"""The Export picture dialog: content, size, and a preview that is the picture itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QImage, QPalette, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from viewer.app.save_questions import may_write
from viewer.app.theme_manager import ThemeManager
from viewer.drawing.scene import Scene
from viewer.drawing.theme import DARK, LIGHT
from viewer.export.atomic import write_atomic
from viewer.export.first_view import chosen_rows
from viewer.export.kinds import PICTURES as PICTURE_KINDS
from viewer.export.picture import picture
from viewer.export.picture_files import FORMATS, picture_bytes
from viewer.export.picture_view import Extras, PictureError, View, present_view
from viewer.export.vector import svg_bytes
from viewer.printable import visible
from viewer.rows import Row
from viewer.state import ViewState
from viewer.state.navigation import iteration_to_fit
from viewer.timeline.plain_text import PlainLabel
from viewer.timeline.timeline import Timeline

PICTURES = "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)"
VIEW, SELECTION, ITERATION, WHOLE = "This view", "The selection", "The iteration", "The whole trace"
SHOWN, IN_VIEW, PINNED, CHOSEN = "All rows shown", "Rows in view", "Pinned rows", "Rows called …"
_EXTRAS = {
    "headers": "Row names",
    "ruler": "Ruler",
    "legend": "Legend",
    "scale_bar": "Scale bar",
    "card": "Numbers of the selection",
    "table": "Numbers of the measurements",
}
_PAUSE_MS = 150
_SIZE = QSize(1180, 720)


class PictureDialog(QDialog):
    """Asks for the content of a picture, previews it, and writes or copies it.

    Parameters
    ----------
    timeline : Timeline
        The timeline whose view is exported; its scene has prepared the rows.
    """

    def __init__(
        self, state: ViewState, timeline: Timeline, theme_manager: ThemeManager, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export picture")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(_SIZE)
        self._state, self._timeline = state, timeline
        self._scene = timeline.scene or Scene(present_view(state, theme_manager.theme).study)
        self._image = QImage()
        self.window_box, self.rows_box, self.theme_box = QComboBox(), QComboBox(), QComboBox()
        self.rows_text = QLineEdit()
        self.rows_text.setPlaceholderText("Stream 7, Rank 3/NCCL")
        self.width_box, self.scale_box = QSpinBox(), QDoubleSpinBox()
        self.overlays, self.notes = QCheckBox("Overlays"), QCheckBox("Notes")
        self.measurements = QCheckBox("Measurements")
        self.extras = {name: QCheckBox(title) for name, title in _EXTRAS.items()}
        self.preview, self.message = PlainLabel(), PlainLabel()
        self.copy_button, self.save_button = QPushButton("Copy"), QPushButton("Save as…")
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.refresh)
        self._fill(theme_manager)
        self._lay_out()
        self._connect()
        state.leaving.connect(self.reject)
        self.refresh()

    def view(self) -> View:
        """Return the chosen view.

        Raises
        ------
        PictureError
            If the chosen range or rows do not exist.
        """
        state = self._state
        theme = DARK if self.theme_box.currentText() == "Dark" else LIGHT
        view = present_view(state, theme)
        return replace(
            view,
            rows=self._rows(view),
            window_ns=self._window(),
            overlays=view.overlays if self.overlays.isChecked() else frozenset(),
            notes=view.notes if self.notes.isChecked() else (),
            measurements=view.measurements if self.measurements.isChecked() else (),
            extras=Extras(**{name: box.isChecked() for name, box in self.extras.items()}),
        )

    def refresh(self) -> None:
        """Paint the picture again, and show it or the error."""
        self._pause.stop()
        try:
            self._image = picture(self.view(), self.width_box.value(), self.scale_box.value(), self._scene)
        except PictureError as error:
            self._image = QImage()
            self.message.setText(str(error)[:1].upper() + str(error)[1:] + ".")
        else:
            size = self._image.size()
            self.message.setText(f"{size.width():,} × {size.height():,} pixels")
        for button in (self.copy_button, self.save_button):
            button.setEnabled(not self._image.isNull())
        self._show_image()

    def copy(self) -> None:
        """Put the picture on the clipboard: as an image, and as SVG where a program takes that."""
        content = QMimeData()
        content.setImageData(self._image)
        # Where there are too many shapes for an SVG, the image alone is still useful.
        with suppress(PictureError):
            content.setData("image/svg+xml", svg_bytes(self.view(), *self._size(), self._scene))
        QGuiApplication.clipboard().setMimeData(content)
        self.message.setText("Copied")

    def save(self) -> None:
        """Ask for a file and write the picture."""
        study = self._state.study
        stem = study.trace.path.stem if study else "picture"
        name, kind = QFileDialog.getSaveFileName(self, "Save the picture", f"{stem}.png", PICTURES)
        path = _with_suffix(Path(name), kind) if name else None
        if path is None or not may_write(path, name, PICTURE_KINDS[path.suffix.casefold()], self):
            return
        if self._state.study is study:
            self.write(path)

    def write(self, path: Path, kind: str = "") -> None:
        """Write the picture in the format of the name, else in that of the file dialog's filter."""
        path = _with_suffix(path, kind)
        try:
            write_atomic(path, picture_bytes(self.view(), path.suffix, *self._size(), self._scene))
        except (PictureError, OSError) as error:
            self.message.setText(f"Not saved: {error}")
        else:
            self.message.setText(f"Saved: {visible(str(path))}")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the preview whenever its room changes."""
        if event.type() == QEvent.Type.Resize:
            self._show_image()
        return False

    def _size(self) -> tuple[int, float]:
        return self.width_box.value(), self.scale_box.value()

    def _window(self) -> tuple[int, int]:
        state, what = self._state, self.window_box.currentText()
        iteration = iteration_to_fit(state)
        if what == SELECTION and state.selection is not None:
            return state.selection
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

    def _show_image(self) -> None:
        """Show the picture as wide as fits."""
        if self._image.isNull():
            self.preview.clear()
            return
        d = self.devicePixelRatioF()
        room = self._scroll.viewport().size() * d
        shown = self._image.scaledToWidth(room.width(), Qt.TransformationMode.SmoothTransformation)
        pixmap = QPixmap.fromImage(shown)
        pixmap.setDevicePixelRatio(d)
        self.preview.setPixmap(pixmap)

    def _fill(self, theme_manager: ThemeManager) -> None:
        state = self._state
        iteration = iteration_to_fit(state)
        windows = [
            VIEW,
            *[SELECTION] * (state.selection is not None),
            *[ITERATION] * (iteration is not None),
            WHOLE,
        ]
        self.window_box.addItems(windows)
        self.rows_box.addItems([SHOWN, IN_VIEW, *[PINNED] * bool(state.rows.pinned), CHOSEN])
        self.theme_box.addItems(["Light", "Dark"])
        self.theme_box.setCurrentText("Dark" if theme_manager.theme.is_dark else "Light")
        self.width_box.setRange(320, 20_000)
        self.width_box.setValue(1600)
        self.width_box.setSuffix(" px")
        self.width_box.setSingleStep(100)
        self.scale_box.setRange(0.5, 4)
        self.scale_box.setSingleStep(0.5)
        self.scale_box.setDecimals(2)
        self.scale_box.setValue(2)
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
        self.extras["card"].setEnabled(state.selection is not None)
        self.extras["table"].setEnabled(bool(state.measurements.items))
        self.rows_text.setEnabled(False)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.addRow("Time", self.window_box)
        form.addRow("Rows", self.rows_box)
        form.addRow("", self.rows_text)
        form.addRow("Width", self.width_box)
        form.addRow("Scale", self.scale_box)
        form.addRow("Colours", self.theme_box)
        self.scale_box.setToolTip("Pixels of the file for each of the width: 2 for print")
        boxes = QGridLayout()
        shown = (self.overlays, self.notes, self.measurements, *self.extras.values())
        for at, box in enumerate(shown):
            boxes.addWidget(box, at, 0)
        left = QVBoxLayout()
        left.addLayout(form)
        left.addSpacing(8)
        left.addLayout(boxes)
        left.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setWidget(self.preview)
        self._scroll.setWidgetResizable(True)
        self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._scroll.setBackgroundRole(QPalette.ColorRole.Mid)
        self._scroll.setAccessibleName("Preview")
        self._scroll.viewport().installEventFilter(self)
        self.preview.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter)
        top = QHBoxLayout()
        top.addLayout(left)
        top.addWidget(self._scroll, 1)
        foot = QHBoxLayout()
        self.message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        foot.addWidget(self.message, 1)
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        for button in (close, self.copy_button, self.save_button):
            foot.addWidget(button)
        self.save_button.setDefault(True)
        whole = QVBoxLayout(self)
        whole.addLayout(top, 1)
        whole.addLayout(foot)

    def _connect(self) -> None:
        later = self._pause.start
        for box in (self.window_box, self.rows_box, self.theme_box):
            box.currentTextChanged.connect(lambda _: later())
        self.rows_box.currentTextChanged.connect(lambda text: self.rows_text.setEnabled(text == CHOSEN))
        self.rows_text.textChanged.connect(lambda _: later())
        self.width_box.valueChanged.connect(lambda _: later())
        self.scale_box.valueChanged.connect(lambda _: later())
        for check in (self.overlays, self.notes, self.measurements, *self.extras.values()):
            check.toggled.connect(lambda _: later())
        self.copy_button.clicked.connect(self.copy)
        self.save_button.clicked.connect(self.save)


def _with_suffix(path: Path, kind: str) -> Path:
    """Return a name that ends in a format; `kind` is the filter of a file dialog, "" for the first format."""
    if path.suffix.casefold() in FORMATS:
        return path
    return path.with_name(path.name + (f".{kind[:3].casefold()}" if kind else FORMATS[0]))
