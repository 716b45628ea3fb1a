"""Drag and drop: the hint over the window during a drag, and the choice among several files."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtWidgets import QWidget

from viewer.printable import visible
from viewer.timeline.plain_text import PlainLabel

INSET = 12


class DropHint(PlainLabel):
    """A frame over the window that names the file which a drop would open."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self.setObjectName("dropHint")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def offer(self, path: Path, others: int) -> None:
        """Show the name of the file that a drop would open."""
        self.setText(f"Drop to open {visible(path.name)}" + f"\n{one_at_a_time(others)}" * (others > 0))
        self.setGeometry(self.parentWidget().rect().adjusted(INSET, INSET, -INSET, -INSET))
        self.show()
        self.raise_()


def local_files(dragged: QMimeData) -> list[Path]:
    """Return the local files and folders in a drag."""
    return [Path(url.toLocalFile()) for url in dragged.urls() if url.isLocalFile()]


def one_at_a_time(others: int) -> str:
    """Return the note about ignored files: "One trace at a time: the other 2 files are left"."""
    left = "the other file is left" if others == 1 else f"the other {others} files are left"
    return f"One trace at a time: {left}"
