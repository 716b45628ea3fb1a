"""What leaves the window as a file: pictures, tables, the report. Each asks where to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from PySide6.QtWidgets import QFileDialog

from viewer.app.picture_dialog import PictureDialog
from viewer.export.tables import TableError, write_table

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow

TABLES = "CSV (*.csv);;Parquet (*.parquet);;TSV (*.tsv);;Markdown (*.md)"


def export_picture(window: MainWindow) -> None:
    """Show the dialog that makes pictures."""
    PictureDialog(window.state, window.timeline, window.look, window).open()


def save_table(window: MainWindow, frame: pd.DataFrame) -> None:
    """Ask for a file and write a panel's table to it."""
    name, kind = QFileDialog.getSaveFileName(window, "Save the table", "table.csv", TABLES)
    if not name:
        return
    path = Path(name)
    if not path.suffix:
        path = path.with_suffix(kind[kind.find("*") + 1 : kind.find(")")])
    try:
        write_table(frame, path)
    except (TableError, OSError) as error:
        window.notice.tell(f"The table was not saved: {error}")
