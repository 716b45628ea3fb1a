"""Columns of the docks' tables: nothing is cut that has room, numbers keep apart, words give way."""

import pandas as pd
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QStyleOptionHeader, QStyleOptionViewItem

from viewer.panels.frame_table import LEAST_WORDS, FrameTable, TableColumn

LONG = "8 idle stalls of 59.60 ms between iterations, waiting, inside save_checkpoint and more of it"
COLUMNS = (
    TableColumn("what", "What"),
    TableColumn("n", "Number", number=True),
    TableColumn("m", "Mean\nper GPU", number=True),
)


@pytest.mark.parametrize("width", [300, 700, 1400])
def test_words_take_the_room_that_numbers_leave(qtbot, width):
    table = FrameTable(COLUMNS, "Table")
    qtbot.addWidget(table)
    table.resize(width, 200)
    table.show()
    table.set_frame(pd.DataFrame({"what": [LONG], "n": [1_234_567], "m": [1]}))
    widths = [table.columnWidth(i) for i in range(3)]
    advance = table.fontMetrics().horizontalAdvance
    assert widths[1] >= advance("1234567") + 6
    assert widths[2] < advance("Mean per GPU") + 40
    room = table.viewport().width()
    assert sum(widths) == room or widths[0] == LEAST_WORDS < room


def test_a_mark_keeps_its_colour_in_a_selected_row(qtbot):
    red = 0xFFD64550
    table = FrameTable((TableColumn("k", "", lambda _: "●", colour=lambda _: red), COLUMNS[0]), "Table")
    qtbot.addWidget(table)
    table.resize(400, 200)
    table.show()
    table.set_frame(pd.DataFrame({"k": ["x"], "what": ["y"]}))
    table.selectRow(0)
    picture, cell = table.viewport().grab().toImage(), table.visualRect(table.model().index(0, 0))
    y = cell.center().y()
    assert red in {picture.pixelColor(x, y).rgba() for x in range(cell.left(), cell.right())}


@pytest.mark.parametrize("descending", [False, True])
def test_categories_are_sorted_as_the_texts_they_stand_for(qtbot, descending):
    texts = pd.Series(["10 b", "9 a", "Z", "", "a", "9 a"])
    order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
    orders = []
    for column in (texts, texts.astype(pd.CategoricalDtype(["Z", "a", "9 a", "", "10 b", "unused"]))):
        table = FrameTable(COLUMNS[:1], "Table")
        qtbot.addWidget(table)
        table.set_frame(pd.DataFrame({"what": column}))
        table.frame_model.sort(0, order)
        orders.append(table.frame_model.order.tolist())
    assert orders[0] == orders[1]


def shown_cells(table):
    """Yield each cell's whole text, the text that is painted, and the room in view for it."""
    for column in range(table.model().columnCount()):
        index = table.model().index(0, column)
        option = QStyleOptionViewItem()
        option.initFrom(table)
        option.widget, option.rect = table, table.visualRect(index)
        table.itemDelegateForIndex(index).initStyleOption(option, index)
        yield index.data(), option.text, option.rect.width()


@pytest.mark.parametrize("narrow", [False, True])
def test_a_number_is_whole_or_a_sign_wherever_the_table_ends(qtbot, narrow):
    table = FrameTable(COLUMNS, "Table")
    qtbot.addWidget(table)
    table.resize(300, 200)
    table.show()
    table.set_frame(pd.DataFrame({"what": [LONG], "n": [1_234_567], "m": [89_123]}))
    if narrow:
        table.setColumnWidth(1, 40)
    advance = table.fontMetrics().horizontalAdvance
    seen = set()
    bar = table.horizontalScrollBar()
    bar.setMaximum(table.horizontalHeader().length() - table.viewport().width())
    for at in (*range(0, bar.maximum(), 7), bar.maximum()):
        bar.setValue(at)
        for whole, painted, room in list(shown_cells(table))[1:]:
            assert painted in (whole, "…")
            assert painted == "…" or advance(whole) <= room
            seen.add(painted)
    assert seen == {"…", "89123"} | ({"1234567"} if not narrow else set())


def test_the_sort_mark_stands_beside_the_title(qtbot):
    table = FrameTable(COLUMNS, "Table")
    qtbot.addWidget(table)
    table.resize(900, 200)
    table.show()
    table.set_frame(pd.DataFrame({"what": [LONG], "n": [7], "m": [1]}))
    header = table.horizontalHeader()
    picture = QPixmap(header.size())
    for section, title in enumerate(("What", "Number", "Mean\nper GPU")):
        header.setSortIndicator(section, Qt.SortOrder.DescendingOrder)
        option = QStyleOptionHeader()
        header.initStyleOption(option)
        painter = QPainter(picture)
        header.paintSection(painter, QRect(0, 0, header.sectionSize(section), header.height()), section)
        painter.end()
        header.initStyleOptionForIndex(option, section)
        assert option.text == f"{title} ▾"
        assert option.sortIndicator == QStyleOptionHeader.SortIndicator.None_
