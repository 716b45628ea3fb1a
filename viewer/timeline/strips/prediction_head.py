"""Left of the prediction: what is changed, what that wins, how sure it is; keep, add, close."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QToolButton, QVBoxLayout, QWidget

from viewer.drawing.theme import LIGHT, Theme
from viewer.state import Note, ViewState
from viewer.state.navigation import iteration_to_fit
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import PlainLabel, tip, without_key
from viewer.timeline.spoken import announce

BIG_PX, TITLE_PX, SMALL_PX = 20, 12, 11
REPLAYING = "replaying the iterations…"


class PredictionHead(QWidget):
    """Says the prediction of `ViewState.what_if` in numbers.

    Parameters
    ----------
    fill : callable
        Fills a menu with the changes that can be added.
    """

    def __init__(
        self, state: ViewState, fill: Callable[[QMenu], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._state, self._fill = state, fill
        self.theme: Theme = LIGHT
        self.title, self.lengths, self.saving, self.sure = (PlainLabel() for _ in range(4))
        for label, pixels, weight in (
            (self.title, TITLE_PX, STRONG),
            (self.lengths, BIG_PX, STRONG),
            (self.saving, SMALL_PX, None),
            (self.sure, SMALL_PX, None),
        ):
            label.setFont(font(pixels, weight) if weight else font(pixels))
        self.sure.setObjectName("soft")
        self.keep, self.add, self.shut = QPushButton("Keep"), QPushButton("Add a change"), QToolButton()
        self.keep.setToolTip("Write the prediction into a note on the iteration")
        self.shut.setText("✕")
        self.shut.setAccessibleName("Close the prediction")
        self.shut.setToolTip("Close the prediction  (Esc)")
        self.shut.setAutoRaise(True)
        menu = QMenu(self)
        menu.aboutToShow.connect(self._fill_menu)
        self.add.setMenu(menu)
        self._build()
        self.keep.clicked.connect(self._keep)
        self.shut.clicked.connect(state.what_if.close)
        for changed in (state.what_if.changed, state.iterations_changed, state.axis.changed):
            changed.connect(self._follow)

    def _build(self) -> None:
        top, below = QHBoxLayout(), QHBoxLayout()
        top.addWidget(self.title, 1)
        top.addWidget(self.shut)
        below.setSpacing(8)
        below.addWidget(self.keep)
        below.addWidget(self.add)
        below.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 3, 6, 5)
        column.setSpacing(1)
        column.addLayout(top)
        for label in (self.lengths, self.saving, self.sure):
            column.addWidget(label)
        column.addStretch(1)
        column.addLayout(below)

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self._show()

    def _follow(self) -> None:
        if not self.isHidden():
            self._show()
            if self.sender() is self._state.what_if and self._state.what_if.prediction is not None:
                announce(self, self._state.what_if.prediction.text)

    def _show(self) -> None:
        what_if = self._state.what_if
        prediction = what_if.prediction
        self._set_title()
        self.keep.setEnabled(prediction is not None)
        if prediction is None:
            self.lengths.setText("")
            self.saving.setText(what_if.failure or REPLAYING)
            self.saving.setToolTip(tip(what_if.failure))
            self.sure.setText("")
            self.sure.setToolTip("")
            return
        self.lengths.setText(prediction.lengths_text(iteration_to_fit(self._state) or 0))
        self.saving.setText(f"{prediction.saving_text}   {prediction.range_text}")
        self.saving.setToolTip("Median over the steady iterations, the least and the most")
        self.sure.setText(prediction.sure_text)
        self.sure.setToolTip(tip(" ".join(prediction.answer.doubts)))
        ink = QColor(self.theme.good if prediction.answer.saving_ns >= 0 else self.theme.error)
        palette = self.saving.palette()
        palette.setColor(self.saving.foregroundRole(), ink)
        self.saving.setPalette(palette)

    def _set_title(self) -> None:
        text = f"What if: {', '.join(map(str, self._state.what_if.changes))}"
        room = max(self.width() - 60, 40)
        self.title.setText(
            QFontMetrics(self.title.font()).elidedText(text, Qt.TextElideMode.ElideRight, room)
        )
        self.title.setToolTip(tip(text))
        self.setAccessibleName(text)

    def _fill_menu(self) -> None:
        menu, what_if = self.add.menu(), self._state.what_if
        menu.clear()
        for change in what_if.changes:
            menu.addAction(without_key(f"Remove: {change}"), partial(what_if.remove, change))
        menu.addSeparator()
        self._fill(menu)

    def _keep(self) -> None:
        prediction, state = self._state.what_if.prediction, self._state
        if prediction is not None:
            number = iteration_to_fit(state) or 0
            iterations = prediction.iterations
            state.notes.add(Note(iterations.start_ns(number), iterations.end_ns(number), prediction.text))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_title()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the ground and the line above."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self.theme.panel))
        painter.fillRect(0, 0, self.width(), 1, QColor(self.theme.line))
        painter.end()
