"""A trace whose every text is hostile: no widget takes any of it for markup, a key, a mark or an order."""

import re
import shutil
import sqlite3

import pytest
from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QLabel,
    QMenu,
    QTextBrowser,
    QToolTip,
    QWidget,
)

from tests.conftest import ROOT
from viewer.panels.details_panel import DetailsPanel
from viewer.panels.panel import Panel
from viewer.rows import RowKind
from viewer.trace import Kind

WAIT_MS = 60_000
MARKUP = '<img src="file:///etc/hostname"><b>&amp;'
HOSTILE = f" {MARKUP} \x1b[31m\u202e\u2066\r\n\t[*]&x=1"
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SHOWN_ROWS = 40


@pytest.fixture
def hostile(demo_path, tmp_path):
    """The small demo, with something hostile after each of its texts."""
    folder = tmp_path / "a [*] &x"
    folder.mkdir()
    path = folder / "<img src='x'> \u202e&\x1b[31m\n[*].sqlite"
    shutil.copyfile(demo_path, path)
    connection = sqlite3.connect(path)
    for table, column in (
        ("StringIds", "value"), ("NVTX_EVENTS", "text"), ("PROCESSES", "name"), ("TARGET_INFO_GPU", "name"),
        ("DIAGNOSTIC_EVENT", "text"), ("META_DATA_EXPORT", "value"),
    ):  # fmt: skip
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            connection.execute(
                f'UPDATE "{table}" SET "{column}" = "{column}" || ? WHERE typeof("{column}") = \'text\'',
                (HOSTILE,),
            )
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def looked_at(open_window, hostile, qtbot):
    """A window on it, with an event, a row's events and every panel looked at."""
    window = open_window()
    window.open(hostile)
    qtbot.waitUntil(lambda: window.state.study is not None and not window.loader.is_busy, timeout=WAIT_MS)
    state = window.state
    stream = next(r for root in state.rows.roots for r in root.walk() if r.kind is RowKind.STREAM)
    state.rows.set_expanded([r.key for r in stream.path()], True)
    state.list_events(stream.key)
    for panel in window.findChildren(Panel):
        window.target.bring_panel(panel.title)
        qtbot.wait(1)
    details = window.findChild(DetailsPanel)
    window.target.bring_panel(details.title)
    kernel = next(
        i for i in range(len(stream.events)) if stream.events.ref(i, stream.key).kind is Kind.KERNEL
    )
    state.select_event(stream.events.ref(kernel, stream.key))
    qtbot.waitUntil(lambda: details.details is not None, timeout=WAIT_MS)
    return window


OWN_PICTURE = re.compile(r"bar-\d+|fill-[a-z]+")


def fault(text):
    """Return why a text that a widget shows could be obeyed."""
    return f"orders in {text!r}" if ORDERS.search(text) else ""


def tip_fault(text):
    if not text:
        return ""
    if GuiQt.mightBeRichText(text) and ("<img" in text or "<b>&" in text):
        return f"markup in the tip {text!r}"
    return fault(text)


def cell_faults(model):
    if isinstance(model, QAbstractListModel):
        yield from (fault(str(model.index(row, 0).data() or "")) for row in range(model.rowCount()))
        return
    for row in range(min(model.rowCount(), SHOWN_ROWS)):
        for column in range(model.columnCount()):
            index = model.index(row, column, QModelIndex())
            yield fault(str(index.data() or ""))
            yield tip_fault(index.data(Qt.ItemDataRole.ToolTipRole))
    for column in range(model.columnCount()):
        yield fault(str(model.headerData(column, Qt.Orientation.Horizontal) or ""))
        yield tip_fault(model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole))


def faults(widget):
    yield tip_fault(widget.toolTip())
    yield fault(widget.windowTitle())
    if isinstance(widget, QLabel):
        yield fault(widget.text())
        if widget.textFormat() == Qt.TextFormat.PlainText and "<a href" in widget.text():
            yield f"our own markup in {widget.text()!r}"
        if widget.textFormat() != Qt.TextFormat.PlainText and "<img" in widget.text():
            yield f"markup in {widget.text()!r}"
    if isinstance(widget, QAbstractButton):
        yield fault(widget.text())
        if re.search("(?<!&)&(?!&)x", widget.text()):
            yield f"a key in {widget.text()!r}"
    if isinstance(widget, QComboBox):
        yield from (fault(widget.itemText(i)) for i in range(widget.count()))
    if isinstance(widget, QAbstractItemView) and widget.model() is not None:
        yield from cell_faults(widget.model())
    if isinstance(widget, QTextBrowser):
        pictures = [
            held.toImageFormat().name() for held in widget.document().allFormats() if held.isImageFormat()
        ]
        # Our own bars are pictures in the document, by names that no text of others can take.
        is_own = all(OWN_PICTURE.fullmatch(name) for name in pictures)
        if not is_own:
            yield f"a picture in a page: {pictures}"
        yield fault(widget.toPlainText().replace("\ufffc", "" if pictures and is_own else "\x00"))


def test_no_widget_obeys_a_text(looked_at):
    found = {
        f"{type(widget).__name__}: {wrong}"
        for widget in [looked_at, *looked_at.findChildren(QWidget)]
        for wrong in faults(widget)
        if wrong
    }
    assert not found, "\n".join(sorted(found))


def test_what_was_written_is_what_is_read(looked_at):
    page = looked_at.findChild(DetailsPanel).page.toPlainText().replace("\u200b", "").replace("\u00a0", " ")
    assert MARKUP in page
    process = looked_at.state.study.trace.processes[0].name
    assert process.endswith(" \\x1b[31m\\u202e\\u2066\\r\\n\\t[*]&x=1")
    assert "\\x1b[31m\\u202e\\u2066\\r\\n\\t[*]&x=1" in page
    title = looked_at.windowTitle()
    assert "[*][*]" in title
    assert "\\u202e" in title


def test_a_tip_on_the_screen_shows_the_name(looked_at, qtbot):
    headers = looked_at.timeline.headers
    index = headers.model().index(0, 0, QModelIndex())
    QToolTip.showText(headers.mapToGlobal(headers.rect().center()), index.data(Qt.ItemDataRole.ToolTipRole))
    shown = QToolTip.text()
    QToolTip.hideText()
    assert not tip_fault(shown)


def test_a_recent_file_is_named_as_it_is(open_window, hostile):
    window = open_window()
    window.settings.add_recent(hostile)
    window.show_page()
    found = [wrong for widget in window.findChildren(QWidget) for wrong in faults(widget) if wrong]
    assert not found
    menu = next(m for m in window.menuBar().findChildren(QMenu) if m.title() == "Open recent")
    menu.aboutToShow.emit()
    assert "[*] &&x" in menu.actions()[0].text()


@pytest.mark.parametrize(
    ("what", "where"),
    [
        (r"\bQLabel\b", {"timeline/plain_text.py", "app/theme_manager.py"}),
        (r"\.to_csv\(", {"drawing/spreadsheet.py"}),
        (r"QToolTip\.showText\((?!.*tip\()", set()),
    ],
)  # fmt: skip
def test_one_place_sets_text(what, where):
    folder = ROOT / "viewer"
    used = {
        str(file.relative_to(folder))
        for file in folder.rglob("*.py")
        if re.search(what, file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert used <= where
