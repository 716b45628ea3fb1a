"""Exports from the window: pictures, tables and the report, each with its file dialog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from viewer.app.folders import note_saved, path_to_save_as
from viewer.app.notices import NoticeBar
from viewer.app.save_questions import may_write
from viewer.export import file_types
from viewer.export.atomic import write_atomic
from viewer.export.report_page import html_report, report_facts
from viewer.export.table_files import TableError, write_table
from viewer.printable import visible
from viewer.state import ViewState
from viewer.state.jobs import IsCancelled, Worker

PAGES = "HTML (*.html)"
TABLES = "CSV (*.csv);;Parquet (*.parquet);;TSV (*.tsv);;Markdown (*.md)"


def export_report(state: ViewState, notice: NoticeBar, parent: QWidget) -> None:
    """Ask for a file and write the report; a background thread computes its numbers."""
    study = state.study
    if study is None:
        return
    marker, scope = state.marker, state.scope
    kept, notes = state.measurements.items, state.notes.items
    name, _ = QFileDialog.getSaveFileName(
        parent, "Export report", path_to_save_as(f"{study.trace.path.stem}.html"), PAGES
    )
    if not name:
        return
    path = Path(name)
    path = path if path.suffix else path.with_suffix(".html")
    if not may_write(path, name, file_types.PAGE, parent):
        return
    notice.tell("Finding the numbers of the report …")

    def work(_asked: IsCancelled) -> None:
        facts = report_facts(study, marker, scope, kept, notes)
        write_atomic(path, html_report(facts).encode())

    _write("The report", path, work, notice, parent)


def save_table(frame: pd.DataFrame, notice: NoticeBar, parent: QWidget) -> None:
    """Ask for a file and write a panel's table to it in a background thread."""
    name, chosen = QFileDialog.getSaveFileName(parent, "Save the table", path_to_save_as("table.csv"), TABLES)
    if not name:
        return
    path = Path(name)
    if not path.suffix:
        path = path.with_suffix(chosen[chosen.find("*") + 1 : chosen.find(")")])
    kind = file_types.TABLES.get(path.suffix.casefold(), file_types.TABLES[".csv"])
    if not may_write(path, name, kind, parent):
        return
    _write("The table", path, lambda _: write_table(frame, path), notice, parent)


def _write(
    what: str, path: Path, work: Callable[[IsCancelled], None], notice: NoticeBar, parent: QWidget
) -> None:
    """Write a file in a thread, and report success or the error."""
    note_saved(path)

    def tried(asked: IsCancelled) -> str:
        try:
            work(asked)
        except (TableError, OSError) as error:
            return str(error.strerror or error) if isinstance(error, OSError) else str(error)
        return ""

    def tell(reason: str) -> None:
        if reason:
            notice.tell(f"{what} was not saved: {visible(str(path))}: {reason}", severity="error")
        else:
            notice.tell(f"{what} is saved: {visible(str(path))}", "Open", lambda: _show(path))

    worker = Worker(parent)
    worker.busy_changed.connect(lambda busy: None if busy else worker.deleteLater())
    worker.start(tried, tell)


def _show(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.absolute())))
