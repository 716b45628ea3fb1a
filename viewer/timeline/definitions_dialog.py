"""The dialog that shows docs/definitions.md, at the entry that was asked for."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QTextBlock, QTextCursor, QTextFormat
from PySide6.QtWidgets import QDialog, QPushButton, QTextBrowser, QTextEdit, QVBoxLayout, QWidget

from viewer import definitions

MEANING = "What does this number mean?"
SIZE = (980, 680)
_TINT = 40
_ABOVE = 40
"""So many pixels of what comes before the entry stay in view."""


class DefinitionsDialog(QDialog):
    """The whole document in a window that stays open beside the main one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("What every number means")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.page = QTextBrowser()
        self.page.setAccessibleName("Definitions")
        self.page.setOpenLinks(False)
        self.page.document().setDocumentMargin(16)
        self.page.setHtml(definitions.html())
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        column = QVBoxLayout(self)
        column.addWidget(self.page, 1)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        self.resize(*SIZE)

    def go_to(self, anchor: str) -> None:
        """Scroll to an anchor and tint what stands there; "" goes to the beginning."""
        self.page.setExtraSelections([])
        if not anchor:
            self.page.verticalScrollBar().setValue(0)
            return
        self.page.scrollToAnchor(anchor)
        bar = self.page.verticalScrollBar()
        bar.setValue(bar.value() - _ABOVE)
        if (block := self._block_of(anchor)) is not None:
            self.page.setExtraSelections([self._tinted(cursor) for cursor in _row_of(block)])

    def _block_of(self, anchor: str) -> QTextBlock | None:
        block = self.page.document().begin()
        while block.isValid():
            if any(anchor in span.format.anchorNames() for span in block.textFormats()):
                return block
            block = block.next()
        return None

    def _tinted(self, cursor: QTextCursor) -> QTextEdit.ExtraSelection:
        found = QTextEdit.ExtraSelection()
        tint = self.palette().color(QPalette.ColorRole.Highlight)
        found.format.setBackground(QColor(tint.red(), tint.green(), tint.blue(), _TINT))
        found.format.setProperty(QTextFormat.Property.FullWidthSelection, False)
        found.cursor = cursor
        return found


def show_definitions(parent: QWidget, name: str = "") -> DefinitionsDialog:
    """Show the document at the entry of a key (see `viewer.definitions.find`), "" for its beginning."""
    window = parent.window()
    dialog = window.findChild(DefinitionsDialog) or DefinitionsDialog(window)
    entry = definitions.find(name) if name else None
    dialog.show()
    dialog.raise_()
    dialog.go_to(entry.anchor if entry else "")
    return dialog


def _row_of(block: QTextBlock) -> list[QTextCursor]:
    """Return cursors that select a paragraph, or every cell of the table row that it stands in."""
    cursor = QTextCursor(block)
    table = cursor.currentTable()
    if table is None:
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        return [cursor]
    row, found = table.cellAt(cursor).row(), []
    for column in range(table.columns()):
        cell = table.cellAt(row, column)
        inside = cell.firstCursorPosition()
        inside.setPosition(cell.lastCursorPosition().position(), QTextCursor.MoveMode.KeepAnchor)
        found.append(inside)
    return found
