"""Settings: how much the stored traces may take."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QInputDialog, QWidget

from viewer.readers import cache

GIB = 2**30
_MOST_GIB = 100_000


def ask_limit(parent: QWidget) -> QInputDialog:
    """Ask how much the stored traces may take together, and remove what is too much; return the dialog."""
    taken = sum(entry.size_bytes for entry in cache.entries()) / GIB
    dialog = QInputDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle("Stored traces")
    dialog.setInputMode(QInputDialog.InputMode.DoubleInput)
    dialog.setDoubleDecimals(1)
    dialog.setDoubleRange(0, _MOST_GIB)
    dialog.setDoubleValue(cache.limit() / GIB)
    dialog.setLabelText(
        f"Traces are stored so that they open at once; now they take {taken:,.1f} GiB.\n"
        f"They lie in {cache.cache_folder()}.\n\nAt most, in GiB:"
    )
    dialog.doubleValueSelected.connect(lambda gib: cache.set_limit(round(gib * GIB)))
    dialog.open()
    return dialog
