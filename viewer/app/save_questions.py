"""Questions before a file is written: never over the trace, and over other kinds only if the user agrees."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from viewer.export.file_types import FileType
from viewer.export.outputs import ForeignOutputError, OutputError, check_output
from viewer.printable import visible
from viewer.state import ViewState


def may_write(path: Path, chosen: str, kind: FileType, parent: QWidget) -> bool:
    """Return whether a file may be written; ask the user, or show why not.

    Parameters
    ----------
    chosen : str
        The name from a file dialog, which has already asked whether to replace it.
    """
    try:
        check_output(path, kind, open_traces())
    except ForeignOutputError as error:
        return _agrees(f"{error}. Replace it?" if path.exists() else f"{error}. Write it?", parent)
    except OutputError as error:
        _box(QMessageBox.Icon.Warning, f"Nothing was saved: {error}.", parent).exec()
        return False
    # With an added suffix it is another file, about which the dialog has not asked.
    is_asked = path == Path(chosen) or not path.exists()
    return is_asked or _agrees(f"{path} is there already. Replace it?", parent)


def open_traces() -> list[Path]:
    """Return the open traces of this program, with those of comparisons."""
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
