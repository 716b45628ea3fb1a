"""The tabs of the docks below the timeline: painted with their counts, and the docks folded down to them."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QMargins, QObject, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar

from viewer.drawing.theme import LIGHT, Theme
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, metrics
from viewer.timeline.strip import guard

APART = "\u2003 "
"""Between a title and its count in the text of a tab: the ground of the count is that much wider."""
ALARM = " !"
"""At the end of a count that wants to be looked at."""
FIRST_HEIGHT, MOST_OF_HEIGHT = 264, 0.42
"""Of the docks: at first, and at most of the window's, so that the timeline keeps the larger part."""
_SMALLER, _PAD, _PILL = 2, 13, 5
"""How much smaller counts are than titles; beside a title; how much higher than its count a ground is."""
_HIDDEN = "Docks hidden: click a tab"
_MOST = 16_777_215
"""Qt's largest height of a widget."""


class DockTabs(QObject):
    """Owns whether the docks below are folded down to their tabs, and paints these.

    A click on the tab in front folds them, a click on any tab of folded ones unfolds them.

    Attributes
    ----------
    is_folded : bool

    Signals
    -------
    changed()
        The docks have been folded or unfolded.
    chosen(bool)
        The user has folded (True) or unfolded them.
    """

    changed = Signal()
    chosen = Signal(bool)

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._theme: Theme = LIGHT
        self._height = 0
        self._bars: list[QTabBar] = []
        self._pointed = QPoint(-1, -1)
        self.is_folded = False

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        for bar in self._bars:
            bar.update()

    def watch(self) -> None:
        """Take over the tab bars that Qt has made, once it has laid the docks out."""
        QTimer.singleShot(0, self, self._watch)

    def _watch(self) -> None:
        found = self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for bar in found:
            if bar not in self._bars:
                bar.setMouseTracking(True)
                bar.setAccessibleName("Docks")
                bar.tabBarClicked.connect(lambda number, bar=bar: self._click(bar, number))
                bar.installEventFilter(self)
                bar.destroyed.connect(lambda _, bar=bar: self._bars.remove(bar))
                self._bars.append(bar)

    def below(self) -> list[QDockWidget]:
        """Return the docks below the timeline."""
        area, docks = Qt.DockWidgetArea.BottomDockWidgetArea, self._window.findChildren(QDockWidget)
        return [dock for dock in docks if self._window.dockWidgetArea(dock) is area]

    def choose(self, folded: bool) -> None:
        """Fold or unfold the docks because the user wants it: also at the next start."""
        self.fold(folded)
        self.chosen.emit(folded)

    def fold(self, folded: bool) -> None:
        """Fold the docks down to their tabs, or give them their height back."""
        docks, most = self.below(), round(self._window.height() * MOST_OF_HEIGHT)
        if folded and not self.is_folded:
            in_front = (dock for dock in docks if not dock.visibleRegion().isEmpty())
            tabs = max((bar.height() for bar in self._bars if bar.isVisible()), default=0)
            self._height = next((dock.height() + tabs for dock in in_front), 0)
        was_folded, self.is_folded = self.is_folded, folded
        self._hold(docks)
        if was_folded and not folded:
            height = min(self._height or FIRST_HEIGHT, most)
            self._window.resizeDocks(docks[:1], [height], Qt.Orientation.Vertical)
        if was_folded != folded:
            self.changed.emit()
        for bar in self._bars:
            bar.update()

    def _hold(self, docks: Iterable[QDockWidget]) -> None:
        """Hold docks at no height while they are folded."""
        for dock in docks:
            if (panel := dock.widget()) is not None:
                least = panel.property("leastHeight")
                if least is None:
                    panel.setProperty("leastHeight", least := panel.minimumHeight())
                panel.setMinimumHeight(0 if self.is_folded else least)
            dock.setMaximumHeight(0 if self.is_folded else _MOST)

    def _click(self, bar: QTabBar, number: int) -> None:
        if number >= 0:
            self.choose(not self.is_folded and number == bar.currentIndex())

    # Painting

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Paint a tab bar in place of Qt, which has no room for a count of its own."""
        if not isinstance(watched, QTabBar):
            return False
        if event.type() == QEvent.Type.Paint:
            with guard("painting the tabs of the docks"):
                self._paint(watched)
            return True
        if event.type() in (QEvent.Type.MouseMove, QEvent.Type.Leave, QEvent.Type.HoverMove):
            inside = watched.mapFromGlobal(watched.cursor().pos())
            self._pointed = inside if event.type() != QEvent.Type.Leave else QPoint(-1, -1)
            watched.update()
        return False

    def _paint(self, bar: QTabBar) -> None:
        theme, pixels, painter = self._theme, bar.font().pixelSize(), QPainter(bar)
        painter.fillRect(bar.rect(), QColor.fromRgba(theme.panel))
        if self.is_folded:
            painter.fillRect(0, 0, bar.width(), 1, QColor.fromRgba(theme.line))
        end = 0
        for number in range(bar.count()):
            rect = bar.tabRect(number)
            is_front = number == bar.currentIndex() and not self.is_folded
            is_pointed = rect.contains(self._pointed)
            _paint_tab(painter, rect, bar.tabText(number), pixels, theme, is_front, is_pointed)
            if number == bar.currentIndex() and bar.hasFocus():
                painter.setPen(QColor.fromRgba(theme.accent))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(rect.marginsRemoved(QMargins(3, 4, 4, 4)), 4, 4)
            end = rect.right()
        room = bar.width() - end - 2 * _PAD
        if self.is_folded and metrics(pixels - _SMALLER).horizontalAdvance(_HIDDEN) < room:
            box = QRectF(0, 0, bar.width() - _PAD, bar.height())
            marks.paint_line(painter, _HIDDEN, box, pixels - _SMALLER, theme.text_faint, is_right=True)
        painter.end()


def _paint_tab(
    painter: QPainter,
    rect: QRect,
    text: str,
    pixels: int,
    theme: Theme,
    is_front: bool,
    is_pointed: bool,
) -> None:
    title, _, count = text.partition(APART)
    ink = theme.text if is_front or is_pointed else theme.text_soft
    weight = MEDIUM if is_front else REGULAR
    box = QRectF(rect).adjusted(_PAD, 0, 0, 0)
    marks.paint_line(painter, title, box, pixels, ink, weight)
    if count:
        shown, small = count.removesuffix(ALARM), pixels - _SMALLER
        left = box.left() + metrics(pixels, weight).horizontalAdvance(title) + 6
        high = small + _PILL
        wide = metrics(small).horizontalAdvance(shown) + 12
        pill = QRectF(left, rect.top() + (rect.height() - high) / 2, wide, high)
        is_alarm = count.endswith(ALARM)
        ground = QColor.fromRgba(theme.warning if is_alarm else theme.text_faint)
        ground.setAlphaF(0.18)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(pill, high / 2, high / 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        colour = theme.warning if is_alarm else theme.text_soft
        marks.paint_line(painter, shown, pill.adjusted(6, 0, 0, 0), small, colour)
    if is_front:
        painter.fillRect(
            rect.left() + _PAD - 4,
            rect.bottom() - 1,
            rect.width() - 2 * _PAD + 8,
            2,
            QColor.fromRgba(theme.accent),
        )


def tab_text(title: str, count: str) -> str:
    """Return the text of a tab, which is as wide as what is painted."""
    return f"{title}{APART}{count}" if count else title
