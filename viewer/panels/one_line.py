"""OneLine and Choice: widgets whose text ends in an ellipsis where it does not fit."""

from __future__ import annotations

from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QComboBox, QSizePolicy, QStyle, QStyleOptionComboBox

from viewer.printable import visible
from viewer.timeline.paint.fonts import WORD_ENDS
from viewer.timeline.plain_text import PlainLabel

_MARGIN = 1


def cut_at_words(text: str, room: int, metrics: QFontMetrics) -> str:
    """Return as many words of `text` as fit into `room` pixels, with an ellipsis where some do not."""
    if metrics.horizontalAdvance(text) <= room:
        return text
    ends = (f"{text[: match.start()].rstrip(' ,;·:')} …" for match in reversed([*WORD_ENDS.finditer(text)]))
    return next((line for line in ends if metrics.horizontalAdvance(line) <= room), "…")


def cut_before_words(text: str, room: int, metrics: QFontMetrics) -> str:
    """Return as many of the last words of `text` as fit, after an ellipsis where some do not: for paths."""
    if metrics.horizontalAdvance(text) <= room:
        return text
    ends = (f"… {text[match.end() :]}" for match in WORD_ENDS.finditer(text))
    return next((line for line in ends if metrics.horizontalAdvance(line) <= room), "…")


class OneLine(PlainLabel):
    """A label that takes the width left over; `text` returns all of its text, also where it is cut.

    Parameters
    ----------
    keeps_end : bool
        Whether to cut at the beginning: of a path the end tells most.
    """

    _keeps_end = False

    def __init__(self, keeps_end: bool = False) -> None:
        super().__init__()
        self._keeps_end = keeps_end
        self._whole = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def text(self) -> str:
        return self._whole

    def setText(self, text: str) -> None:
        self._whole = visible(text)
        self.setAccessibleName(self._whole)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        cut = cut_before_words if self._keeps_end else cut_at_words
        super().setText(cut(self._whole, self.contentsRect().width(), self.fontMetrics()))


class Choice(QComboBox):
    """A combo box that cuts its text likewise."""

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        super().initStyleOption(option)
        field = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        option.currentText = cut_at_words(option.currentText, field.width() - 2 * _MARGIN, self.fontMetrics())
