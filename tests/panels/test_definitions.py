"""What does this number mean: from every column and cell of every table to its entry."""

import ast
import importlib
import inspect
import itertools
import pkgutil

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

import viewer.panels
from viewer import definitions
from viewer.analysis.summary.compare import compare
from viewer.analysis.summary.reconcile import reconcile
from viewer.analysis.summary.sections import ITERATIONS, SECTIONS
from viewer.analysis.summary.summary import summary
from viewer.drawing.number_tables import numbers_table
from viewer.drawing.summary_tables import section_tables
from viewer.drawing.theme import LIGHT
from viewer.panels.comparison_panel import comparison_frame
from viewer.panels.event_columns import COLUMNS
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.reconcile_page import interpretation_table
from viewer.panels.spec_table_view import SpecTableView
from viewer.timeline.definitions_dialog import DefinitionsDialog, show_definitions

MODULES = [
    importlib.import_module(f"viewer.panels.{info.name}")
    for info in pkgutil.iter_modules(viewer.panels.__path__)
]


def columns_of(module):
    """Yield the columns that a module's tables have, whatever they show."""
    held = [value for value in vars(module).values() if isinstance(value, tuple)]
    if hasattr(module, "_columns"):
        held += module._columns(LIGHT)
    yield from (column for columns in held for column in columns if isinstance(column, TableColumn))


def tables_of(module):
    """Return what a module calls its tables."""
    calls = [n for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.Call)]
    made = [call for call in calls if getattr(call.func, "id", "") == "FrameTable"]
    return [definitions.slug(call.args[1].value) for call in made if len(call.args) > 1]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_column_of_a_table_has_its_entry(module):
    tables = tables_of(module)
    for column in columns_of(module):
        assert tables
        assert any(definitions.find(f"{table}.{column.key}") for table in tables), column.key


def test_enough_columns_are_met():
    assert sum(len(list(columns_of(module))) for module in MODULES) > 80


def test_every_column_of_events_has_its_entry():
    assert not [c.key for c in COLUMNS if definitions.find(f"events.{c.key}") is None]


def test_every_cell_of_the_summary_has_its_entry(demo_study, qtbot):
    sheet = summary(demo_study, demo_study.iterations())
    bands = [band for section in SECTIONS for band in section_tables(sheet, section)]
    grids = [*itertools.chain(*bands), interpretation_table(reconcile(demo_study, sheet.scope, "idle", 0.2))]
    assert len(grids) > 10
    for grid in grids:
        view = SpecTableView(grid)
        qtbot.addWidget(view)
        for column, head in enumerate(grid.heads):
            if head.title and head.title not in sheet.gpus:
                assert definitions.find(view.definition_of(-1, column)), (grid.name, head.title)
            for row in range(len(grid.rows)):
                if grid.rows[row][column].text and head.title:
                    assert definitions.find(view.definition_of(row, column)), (grid.name, head.title)


def test_a_metric_leads_to_its_own_entry_in_whatever_column(demo_study, qtbot):
    sheet = summary(demo_study, demo_study.iterations())
    view = SpecTableView(numbers_table(sheet, sheet.section(ITERATIONS), "Iterations"))
    qtbot.addWidget(view)
    keys = [metric.key for metric in sheet.section(ITERATIONS)]
    for column in range(len(view.spec.heads)):
        assert [view.definition_of(row, column) for row in range(len(keys))] == keys


def test_the_dialog_shows_the_entry_and_tints_it(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    dialog = show_definitions(window, "stalls.share")
    (first, *_) = dialog.page.extraSelections()
    assert first.cursor.selectedText().startswith("stalls.share")
    assert dialog.page.verticalScrollBar().value() > 0
    assert show_definitions(window, "idle") is dialog
    assert "nothing runs on any stream" in dialog.page.extraSelections()[0].cursor.selectedText()
    show_definitions(window)
    assert not dialog.page.extraSelections()
    assert dialog.page.verticalScrollBar().value() == 0


def test_a_header_asks_what_its_numbers_mean(qtbot):
    import pandas as pd

    window = QWidget()
    qtbot.addWidget(window)
    table = FrameTable([TableColumn("share", "Evidence", number=True)], "Stalls", parent=window)
    table.set_frame(pd.DataFrame({"share": [0.5]}))
    menu = table._menu(-1, 0)
    menu.actions()[0].trigger()
    dialog = window.findChild(DefinitionsDialog)
    assert dialog.page.extraSelections()[0].cursor.selectedText().startswith("stalls.share")
    assert table.horizontalHeader().contextMenuPolicy() == Qt.ContextMenuPolicy.CustomContextMenu


def test_a_compared_number_leads_to_its_metric(demo_study, qtbot):
    numbers = summary(demo_study, demo_study.iterations())
    table = FrameTable([TableColumn("name", "Number")], "Comparison")
    qtbot.addWidget(table)
    table.set_frame(comparison_frame(compare(numbers, numbers)))
    assert [table.definition_of(row, 0) for row in range(4)] == [
        "compute_only",
        "hidden_comm",
        "overlap_tax",
        "exposed_comm",
    ]
    assert table.definition_of(-1, 0) == "comparison.name"
