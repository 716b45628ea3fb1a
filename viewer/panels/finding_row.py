"""One finding in its dock: number, texts, the bar of its win, figures, its grade, and a button."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from viewer.analysis.findings.finding import Finding
from viewer.drawing.format import format_share
from viewer.drawing.theme import Theme
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import PlainLabel

TITLE_PX, TEXT_PX, WIN_PX = 13, 11, 13
BAR_WIDTH, BAR_HEIGHT = 128, 12
_WIN_WIDTH, _SHARE_WIDTH, _GRADE_WIDTH, _NUMBER_WIDTH = 84, 56, 64, 22
_OPENS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
GRADE_TIPS = {
    "replayed": "The iterations were replayed with this mended",
    "ceiling": "It wins no more than this: a replay cannot tell how much of it",
    "measured": "What it takes in the whole recording: without iterations nothing can be won of one",
}


class FindingRow(QFrame):
    """Shows a finding; a click, Enter or the space bar goes to its place, the arrow keys to the next one.

    Signals
    -------
    chosen()
        The user wants to see it.
    button_pressed()
        The button has been pressed.
    step(int)
        The focus goes one row on (1) or back (-1).
    """

    chosen = Signal()
    button_pressed = Signal()
    step = Signal(int)

    def __init__(self, number: int, finding: Finding, most: float, theme: Theme, button: str) -> None:
        super().__init__()
        self.finding = finding
        self.setObjectName("finding")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        win = finding.win_text.removeprefix("at most ").removesuffix(" in all")
        share = format_share(finding.share)
        self.setAccessibleName(
            f"Finding {number}: {finding.title}. {finding.win_text}, {share}, {finding.grade}"
        )
        self.setAccessibleDescription(f"{finding.evidence}. Next: {finding.next_step}")
        self._number = PlainLabel(str(number))
        self._number.setObjectName("soft")
        self._number.setFixedWidth(_NUMBER_WIDTH)
        self._number.setFont(font(TITLE_PX, STRONG))
        self.bar = WinBar(finding.share / most if most else 0.0, theme)
        self.win = _figure(win, _WIN_WIDTH, strong=True)
        self.share = _figure(share, _SHARE_WIDTH)
        self.share.setObjectName("soft")
        self.grade = PlainLabel(finding.grade)
        self.grade.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.grade.setFixedWidth(_GRADE_WIDTH)
        self.grade.setFont(font(TEXT_PX))
        self.grade.setToolTip(GRADE_TIPS[finding.grade])
        self.button = QPushButton(button)
        self.button.setAccessibleName(f"{button}: {finding.title}")
        self.button.setVisible(bool(button))
        self.button.clicked.connect(self.button_pressed)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(12)
        top = Qt.AlignmentFlag.AlignTop
        middle = Qt.AlignmentFlag.AlignVCenter
        row.addWidget(self._number, 0, top)
        row.addLayout(self._texts(), 1)
        for widget in (self.bar, self.win, self.share, self.grade, self.button):
            row.addWidget(widget, 0, middle)
        self.set_theme(theme)
        self.set_chosen(False)

    def _texts(self) -> QVBoxLayout:
        finding = self.finding
        texts = QVBoxLayout()
        texts.setSpacing(1)
        title = PlainLabel(finding.title)
        title.setFont(font(TITLE_PX, STRONG))
        following = QHBoxLayout()
        following.setSpacing(4)
        word, advice = PlainLabel("Next:"), PlainLabel(finding.next_step)
        word.setFont(font(TEXT_PX, STRONG))
        following.addWidget(word, 0, Qt.AlignmentFlag.AlignTop)
        following.addWidget(advice, 1)
        evidence = PlainLabel(finding.evidence)
        for label in (evidence, advice):
            label.setFont(font(TEXT_PX))
        for label in (evidence, word, advice):
            label.setObjectName("soft")
        for label in (title, evidence, advice):
            label.setWordWrap(True)
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        texts.addWidget(title)
        texts.addWidget(evidence)
        texts.addLayout(following)
        return texts

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self.bar.set_theme(theme)
        ink = theme.good if self.finding.grade == "replayed" else theme.text_soft
        colour = f"#{ink & 0xFFFFFF:06x}"
        self.grade.setStyleSheet(
            f"color: {colour}; border: 1px solid {colour}; border-radius: 8px; padding: 1px 0;"
        )

    def set_chosen(self, chosen: bool) -> None:
        """Mark it as the one that is looked at."""
        ground, accent, line = (
            f"#{argb & 0xFFFFFF:06x}"
            for argb in (self._theme.accent_ground, self._theme.accent, self._theme.line_soft)
        )
        mark = (
            f"background: {ground}; border-left: 3px solid {accent};"
            if chosen
            else "border-left: 3px solid transparent;"
        )
        self.setStyleSheet(
            f"#finding {{ {mark} border-bottom: 1px solid {line}; }}"
            f"#finding:focus {{ border-left: 3px solid {accent}; }}"
        )
        self.bar.is_on_tint = chosen
        self.bar.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.setFocus()
            self.chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _OPENS:
            self.chosen.emit()
        elif event.key() in _STEPS:
            self.step.emit(_STEPS[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Keep the keys of a row from the shortcuts of the window."""
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Down, Qt.Key.Key_Up)
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in keys
        ):
            event.accept()
            return True
        return super().event(event)


class WinBar(QWidget):
    """The bar of a win, as a share of the largest one."""

    def __init__(self, share: float, theme: Theme) -> None:
        super().__init__()
        self._share, self._theme = share, theme
        self.is_on_tint = False
        self.setFixedSize(QSize(BAR_WIDTH, BAR_HEIGHT))

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, rect = QPainter(self), QRectF(self.rect())
        ground = self._theme.line if self.is_on_tint else self._theme.line_soft
        painter.fillRect(rect, QColor.fromRgba(ground))
        rect.setWidth(max(rect.width() * min(self._share, 1.0), 1.0))
        painter.fillRect(rect, QColor.fromRgba(self._theme.good))
        painter.end()


def _figure(text: str, width: int, *, strong: bool = False) -> PlainLabel:
    label = PlainLabel(text)
    label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    label.setMinimumWidth(width)
    if strong:
        label.setFont(font(WIN_PX, STRONG))
    return label
