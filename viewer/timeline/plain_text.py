"""Text in widgets: what others wrote is shown as it is, and never taken for markup, a key or a mark."""

from __future__ import annotations

from html import escape

from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel, QWidget

from viewer.plain import visible, visible_lines


class PlainLabel(QLabel):
    """A label that shows its text as it is: no markup, no picture, no link, no key."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(visible_lines(text))


def tip(text: str) -> str:
    """Return a text for a tooltip; where Qt would take it for markup, as markup that shows it."""
    shown = visible_lines(text)
    return wrapped_tip(shown) if Qt.mightBeRichText(shown) else shown


def wrapped_tip(text: str) -> str:
    """Return a long text for a tooltip, which Qt then breaks into lines; plain text is one long line."""
    shown = escape(visible_lines(text), quote=False).replace("\n", "<br>")
    return f"<p style='white-space: pre-wrap'>{shown}</p>"


def without_key(text: str) -> str:
    """Return a text for a button or a menu, where "&" would mark a key."""
    return visible(text).replace("&", "&&")


def for_title(text: str) -> str:
    """Return a text for a window's title, where "[*]" would be the mark of what is not saved."""
    return visible(text).replace("[*]", "[*][*]")
