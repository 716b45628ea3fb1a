"""Where file dialogs start: in the user's folders, never in the one the program was started from."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths

from viewer.app.settings import RECENT, SAVE_FOLDER, Settings


def folder_to_open_from() -> str:
    """Return the folder of the trace opened last, else the user's own."""
    folders = (Path(text).parent for text in Settings().get(RECENT))
    return str(next((folder for folder in folders if folder.is_dir()), _own_folder()))


def path_to_save_as(name: str) -> str:
    """Return a file name in the folder that was saved to last, else in the user's own."""
    text = Settings().get(SAVE_FOLDER)
    folder = Path(text) if text else _own_folder()
    return str((folder if folder.is_dir() else _own_folder()) / name)


def note_saved(path: Path) -> None:
    """Keep the folder of a saved file for the next dialog."""
    Settings().set(SAVE_FOLDER, str(path.absolute().parent))


def _own_folder() -> Path:
    """Return the user's documents, else the home folder."""
    documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return Path(documents) if documents and Path(documents).is_dir() else Path.home()
