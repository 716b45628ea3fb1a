"""Whether a file may be written: never the trace; what is of another kind is asked about."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from viewer.export.kinds import Kind
from viewer.export.outputs import ForeignOutputError, OutputError, check_output
from viewer.printable import visible
from viewer.state import ViewState


def may_write(path: Path, chosen: str, kind: Kind, parent: QWidget) -> bool:
    """Return whether a file may be written; ask the user, or show why not.

    Parameters
    ----------
    chosen : str
        The name that a file dialog returned, and has asked about.
    """
    try:
        check_output(path, kind, open_traces())
    except ForeignOutputError as error:
        return _agrees(f"{error}. Replace it?" if path.exists() else f"{error}. Write it?", parent)
    except OutputError as error:
        _box(QMessageBox.Icon.Warning, f"Nothing was saved: {error}.", parent).exec()
        return False
    # A suffix that was added names a file that the dialog knew nothing of.
    is_asked = path == Path(chosen) or not path.exists()
    return is_asked or _agrees(f"{path} is there already. Replace it?", parent)


def open_traces() -> list[Path]:
    """Return the traces that are open in this program, those that are compared with too."""
    states = (state for top in QApplication.topLevelWidgets() for state in top.findChildren(ViewState))
    return [state.study.trace.path for state in states if state.study is not None]


def _agrees(text: str, parent: QWidget) -> bool:
    box = _box(QMessageBox.Icon.Question, text, parent)
    box.setStandardButtons(QMessageBox.StandardButton.Yes | QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(QMessageBox.StandardButton.Cancel)
    box.button(QMessageBox.StandardButton.Yes).setText("Replace" if "Replace" in text else "Write")
    return box.exec() == QMessageBox.StandardButton.Yes


def _box(icon: QMessageBox.Icon, text: str, parent: QWidget) -> QMessageBox:
    box = QMessageBox(icon, "Lightbox", visible(text), parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    return box
