"""The Export picture dialog: content, size, and a preview that is the picture itself."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QImage, QPalette, QPixmap
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from viewer.app.folders import note_saved, path_to_save_as
from viewer.app.picture_options import PictureOptions
from viewer.app.save_questions import may_write
from viewer.app.theme_manager import ThemeManager
from viewer.drawing.scene import Scene
from viewer.export.atomic import write_atomic
from viewer.export.file_types import PICTURES as PICTURE_KINDS
from viewer.export.picture import picture
from viewer.export.picture_files import FORMATS, picture_bytes
from viewer.export.picture_view import PictureError, present_view
from viewer.export.vector import svg_bytes
from viewer.printable import visible
from viewer.state import ViewState
from viewer.timeline.plain_text import PlainLabel
from viewer.timeline.timeline import Timeline

PICTURES = "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)"
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
        self._state = state
        self._scene = timeline.scene or Scene(present_view(state, theme_manager.theme).study)
        self._image = QImage()
        self.options = PictureOptions(state, timeline, theme_manager, self)
        self.preview, self.message = PlainLabel(), PlainLabel()
        self.copy_button, self.save_button = QPushButton("Copy"), QPushButton("Save as…")
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.refresh)
        self._lay_out()
        self.options.changed.connect(self._pause.start)
        self.copy_button.clicked.connect(self.copy)
        self.save_button.clicked.connect(self.save)
        state.leaving.connect(self.reject)
        self.refresh()

    def refresh(self) -> None:
        """Paint the picture again, and show it or the error."""
        self._pause.stop()
        try:
            self._image = picture(self.options.view(), *self.options.size_px, self._scene)
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
        if self._pause.isActive():
            self.refresh()
        content = QMimeData()
        content.setImageData(self._image)
        # Where there are too many shapes for an SVG, the image alone is still useful.
        with suppress(PictureError):
            svg = svg_bytes(self.options.view(), *self.options.size_px, self._scene)
            content.setData("image/svg+xml", svg)
        QGuiApplication.clipboard().setMimeData(content)
        self.message.setText("Copied")

    def save(self) -> None:
        """Ask for a file and write the picture."""
        study = self._state.study
        stem = study.trace.path.stem if study else "picture"
        name, kind = QFileDialog.getSaveFileName(
            self, "Save the picture", path_to_save_as(f"{stem}.png"), PICTURES
        )
        path = _with_suffix(Path(name), kind) if name else None
        if path is None or not may_write(path, name, PICTURE_KINDS[path.suffix.casefold()], self):
            return
        if self._state.study is study:
            note_saved(path)
            self.write(path)

    def write(self, path: Path, kind: str = "") -> None:
        """Write the picture in the format of the name, else in that of the file dialog's filter."""
        path = _with_suffix(path, kind)
        try:
            content = picture_bytes(self.options.view(), path.suffix, *self.options.size_px, self._scene)
            write_atomic(path, content)
        except (PictureError, OSError) as error:
            self.message.setText(f"Not saved: {error}")
        else:
            self.message.setText(f"Saved: {visible(str(path))}")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the preview whenever its room changes."""
        if event.type() == QEvent.Type.Resize:
            self._show_image()
        return False

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

    def _lay_out(self) -> None:
        self._scroll = QScrollArea()
        self._scroll.setWidget(self.preview)
        self._scroll.setWidgetResizable(True)
        self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._scroll.setBackgroundRole(QPalette.ColorRole.Mid)
        self._scroll.setAccessibleName("Preview")
        self._scroll.viewport().installEventFilter(self)
        self.preview.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter)
        top = QHBoxLayout()
        top.addWidget(self.options)
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


def _with_suffix(path: Path, kind: str) -> Path:
    """Return a name that ends in a format; `kind` is the filter of a file dialog, "" for the first format."""
    if path.suffix.casefold() in FORMATS:
        return path
    return path.with_name(path.name + (f".{kind[:3].casefold()}" if kind else FORMATS[0]))
