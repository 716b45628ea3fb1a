"""`lightbox report`: the numbers of a trace, as tables for people or as one JSON object."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from viewer.analysis.study import Study
from viewer.analysis.summary.report import report, report_scope, trace_facts
from viewer.analysis.summary.summary import summary
from viewer.cli.console import plain_console
from viewer.cli.open_study import chosen_window
from viewer.cli.report_tables import report_tables


def print_report(
    study: Study, range_text: str | None, iteration: int | None, as_json: bool, *, waits: bool, pieces: bool
) -> None:
    """Print the facts and numbers of a trace.

    Raises
    ------
    typer.BadParameter, typer.TyperException
        As `viewer.cli.open_study.chosen_window`.
    """
    window, iteration = chosen_window(study, range_text, iteration)
    try:
        facts = (
            report(study, window, iteration, waits=waits, pieces=pieces)
            if as_json
            else trace_facts(study, window, iteration)
        )
    except ValueError as error:
        raise typer.TyperException(str(error)) from error
    if as_json:
        json.dump(facts, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    scope = report_scope(study, window, iteration)
    measured = summary(study, study.iterations(), scope) if study.trace.gpus else None
    console = plain_console()
    for part in report_tables(study, facts, measured, scope):
        console.print(part)


def write_html(study: Study, range_text: str | None, iteration: int | None, path: Path) -> None:
    """Write the report as one HTML page.

    Raises
    ------
    typer.BadParameter, typer.TyperException
        As `viewer.cli.open_study.chosen_window`.
    OSError
        If the file cannot be written.
    """
    window, iteration = chosen_window(study, range_text, iteration)
    from PySide6.QtGui import QGuiApplication

    from viewer.export.atomic import write_atomic
    from viewer.export.report_page import html_report, report_facts

    app = QGuiApplication.instance() or QGuiApplication(["lightbox", "-platform", "offscreen"])
    try:
        page = html_report(report_facts(study, scope=report_scope(study, window, iteration)))
    finally:
        del app
    write_atomic(path, page.encode())
