"""Text in widgets: what others wrote is shown as it is, and never taken for markup, a key or a mark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel, QWidget

from viewer.printable import visible, visible_lines


class PlainLabel(QLabel):
    """A label that shows its text as it is: no markup, no picture, no link, no key."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(visible_lines(text))


class Links(QLabel):
    """A line of links, each with its text as it is; `linkActivated` tells the key of one."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.RichText)

    def show_links(
        self, head: str, links: Iterable[tuple[str, str]], between: str = ", ", colour: str = ""
    ) -> None:
        """Show a text and after it some links, by key and text."""
        style = f"text-decoration: none{f'; color: {colour}' if colour else ''}"
        shown = (f'<a href="{escape(key)}" style="{style}">{_as_markup(text)}</a>' for key, text in links)
        self.setText(_as_markup(head) + _as_markup(between).join(shown))

    def show_table(self, head: str, lines: Iterable[tuple[str, str, str]]) -> None:
        """Show a heading and links below one another, by key and text, each with another text beside it."""
        rows = "".join(
            f'<tr><td><a href="{escape(key)}" style="text-decoration: none">{_as_markup(text)}</a></td>'
            f"<td style='padding-left: 18px'>{_as_markup(beside)}</td></tr>"
            for key, text, beside in lines
        )
        self.setText(
            f"{_as_markup(head)}<table align='center' cellspacing='2'>{rows}</table>" if head else ""
        )


def tip(text: str) -> str:
    """Return a text for a tooltip; where Qt would take it for markup, as markup that shows it."""
    shown = visible_lines(text)
    return wrapped_tip(shown) if Qt.mightBeRichText(shown) else shown


def wrapped_tip(text: str) -> str:
    """Return a long text for a tooltip, which Qt then breaks into lines; plain text is one long line."""
    return f"<p style='white-space: pre-wrap'>{_as_markup(text)}</p>"


def _as_markup(text: str) -> str:
    return escape(visible_lines(text), quote=False).replace("\n", "<br>")


def without_key(text: str) -> str:
    """Return a text for a button or a menu, where "&" would mark a key."""
    return visible(text).replace("&", "&&")


def for_title(text: str) -> str:
    """Return a text for a window's title, where "[*]" would be the mark of what is not saved."""
    return visible(text).replace("[*]", "[*][*]")
