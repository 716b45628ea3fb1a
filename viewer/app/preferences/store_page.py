"""The page of the store: where parsed traces lie, how much they may take, and clearing them."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtWidgets import QDoubleSpinBox, QFileDialog, QHBoxLayout, QPushButton, QWidget

from viewer.app.preferences.fields import add_field, form_of
from viewer.drawing.format import format_bytes
from viewer.printable import counted, visible
from viewer.readers import cache
from viewer.timeline.plain_text import PlainLabel

GIB = 2**30
_MOST_GIB = 100_000


class StorePage(QWidget):
    """What is set here holds for windows and commands alike."""

    def __init__(self) -> None:
        super().__init__()
        self.place, self.taken, self.message = PlainLabel(), PlainLabel(), PlainLabel()
        self.message.setWordWrap(True)
        self.change_button, self.usual_button = QPushButton("Change…"), QPushButton("Use the usual place")
        self.clear_button = QPushButton("Clear")
        self.limit = QDoubleSpinBox()
        self.limit.setAccessibleName("The stored traces take at most, in GiB")
        self.limit.setDecimals(1)
        self.limit.setRange(0, _MOST_GIB)
        self.limit.setSuffix(" GiB")
        self.limit.setKeyboardTracking(False)
        form = form_of(self)
        add_field(
            form,
            "Folder",
            _row(self.place, self.change_button, self.usual_button),
            "A trace that was opened is stored there, so that it opens at once the next time. "
            "What is stored elsewhere stays there.",
        )
        add_field(
            form, "At most", self.limit, "What was not used for longest goes first, and all after 30 days."
        )
        add_field(form, "Stored", _row(self.taken, self.clear_button))
        form.addRow("", self.message)
        self.limit.valueChanged.connect(self._set_limit)
        self.change_button.clicked.connect(self._ask)
        self.usual_button.clicked.connect(lambda: self.store_in(None))
        self.clear_button.clicked.connect(self.clear)
        if cache.is_given():
            for button in (self.change_button, self.usual_button):
                button.setEnabled(False)
                button.setToolTip("The variable LIGHTBOX_CACHE_DIR says where they lie")
        self.refresh()

    def refresh(self) -> None:
        """Show where the traces lie, and what they take."""
        stored = cache.entries()
        self.place.setText(visible(str(cache.cache_folder())))
        size = format_bytes(sum(entry.size_bytes for entry in stored))
        self.taken.setText(f"{counted(len(stored), 'trace')}, {size}")
        self.limit.blockSignals(True)
        self.limit.setValue(cache.limit() / GIB)
        self.limit.blockSignals(False)
        self.clear_button.setEnabled(bool(stored))
        self.usual_button.setVisible(cache.is_moved())

    def clear(self) -> None:
        """Remove all stored traces; what is open stays open."""
        self.message.setText(f"{format_bytes(cache.clear())} are free again.")
        self.refresh()

    def store_in(self, folder: Path | None) -> None:
        """Store traces in a folder of the user's from now on, in "lightbox" below it; None: the usual one."""
        self._try(lambda: cache.set_folder(folder))

    def _ask(self) -> None:
        name = QFileDialog.getExistingDirectory(
            self, "Where to store traces", str(cache.cache_folder().parent)
        )
        if name:
            self.store_in(Path(name))

    def _set_limit(self, gib: float) -> None:
        self._try(lambda: cache.set_limit(round(gib * GIB)))

    def _try(self, act: object) -> None:
        self.message.setText("")
        try:
            act()  # type: ignore[operator]
        except OSError as error:
            what = os.strerror(error.errno) if error.errno else str(error)
            self.message.setText(visible(f"That cannot be written: {what}"))
        self.refresh()


def _row(*widgets: QWidget) -> QWidget:
    """Return widgets side by side."""
    whole = QWidget()
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        row.addWidget(widget)
    row.addStretch(1)
    return whole
