"""A picture tells what the window tells: every percentage in it is one that the window shows."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, Qt
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator

from viewer.analysis.time.scope import iteration_scope
from viewer.app.picture_dialog import PictureDialog
from viewer.app.picture_options import ITERATION, SELECTION, VIEW, WHOLE
from viewer.app.trace_loader import LoadedTrace
from viewer.drawing.theme import LIGHT
from viewer.export.figure_style import PRESETS, TIMELINE
from viewer.export.vector import svg_bytes
from viewer.panels.measurements_panel import MeasurementsPanel
from viewer.rows import build_rows
from viewer.timeline.headers.header_values import figures

PERCENT = re.compile(r"(?:< )?\d[\d,.]* [%×]")


def percents(svg):
    """All percentages in the texts of an SVG."""
    texts = (e.text or "" for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))
    return {found for text in texts for found in PERCENT.findall(text)}


def painted(table):
    """The percentages of a card, from what it paints."""
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(table.size())
    painter = QPainter(generator)
    table.paint(painter, QRect(0, 0, table.size().width(), table.size().height()), LIGHT)
    painter.end()
    return percents(bytes(content.data()))


def listed(panel):
    """The percentages of a dock's table."""
    model = panel.table.model()
    cells = (
        str(model.index(row, column).data(Qt.ItemDataRole.DisplayRole) or "")
        for row in range(model.rowCount())
        for column in range(model.columnCount())
    )
    return {found for text in cells for found in PERCENT.findall(text)}


@pytest.fixture
def window(open_window, demo_study):
    made = open_window()
    made.resize(1600, 900)
    made.trace_controller.show(LoadedTrace(demo_study, build_rows(demo_study)))
    return made


@pytest.mark.parametrize("is_filtered", [False, True])
def test_every_percentage_of_a_picture_is_one_of_the_window(window, is_filtered, qtbot):
    state = window.state
    iterations = state.iterations
    start, end = iterations.start_ns(1), iterations.end_ns(1)
    state.rows.set_expanded([row.key for row in state.rows.roots[0].walk()], True)
    state.axis.go(start, end)
    state.select((start + 5_000_000, start + 40_000_000))
    state.measurements.keep(start, start + 30_000_000, "the beginning")
    if is_filtered:
        state.set_filter(iteration_scope(iterations, frozenset({0, 1})))
    qtbot.waitUntil(lambda: window.timeline.cards.selection.table is not None)
    card = painted(window.timeline.cards.selection.table)
    kept = listed(window.findChild(MeasurementsPanel))
    dialog = PictureDialog(state, window.timeline, window.theme_manager, window)
    for what in (VIEW, WHOLE, ITERATION, SELECTION):
        dialog.options.window_box.setCurrentText(what)
        view = dialog.options.view()
        # What the headers show while the window shows this time.
        state.axis.go(*view.window_ns)
        headers = {text for row, _ in view.rows for text in figures(state, row)}
        assert len(headers) > 8
        for preset in PRESETS:
            found = percents(svg_bytes(replace(view, preset=preset), scale=1))
            assert found <= headers | card | kept, (what, preset)
            assert found & card
            if preset == TIMELINE:
                assert headers <= found
    dialog.close()
