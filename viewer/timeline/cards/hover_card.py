"""The hover card: the event, events or value under the pointer; over none of them, what all GPUs do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.dependencies.stall_producers import StallProducers
from viewer.analysis.stalls.stalls import Stalls
from viewer.analysis.study import Study
from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.format import format_instant
from viewer.drawing.hit import HitResult
from viewer.timeline.cards.card import Card
from viewer.timeline.cards.card_text import CATEGORY_TITLES, gpu_names, running_at
from viewer.timeline.cards.hit_text import hit_text
from viewer.timeline.cards.stall_hits import stall_heading, stall_lines
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, STRONG, cropped, font, metrics

WIDTH = 480
_TITLE, _TEXT, _LINE = 12.5, 11, 17
_TITLE_LINES = 3
_MAX_CUT_GPUS = 24
_NOTHING = {IDLE: "nothing on any stream"}
_NO_WARNINGS: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class Item:
    """One line: a swatch's colour (None for none), a label, a value."""

    colour: int | None
    label: str
    value: str


class HoverCard(Card):
    """Shows what the band under the pointer says, a stall, or what all GPUs do at an instant.

    Attributes
    ----------
    is_short : bool
        Whether it is the title and one line; `items` are left out.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.title = ""
        self.subtitle = ""
        self.items: tuple[Item, ...] = ()
        self.brief = ""
        self.is_short = False
        self._shown_key: object = None

    def take_hit(self, study: Study, hit: HitResult, collectives: Collectives | None = None) -> None:
        """Hold what the band under the pointer says (`viewer.timeline.cards.hit_text.has_text`)."""
        is_taxed = study.known_overlap_tax is not None
        key = (id(study), hit.row.key, hit.event, hit.column, hit.counter, collectives is None, is_taxed)
        if key != self._shown_key:
            self._shown_key = key
            text = hit_text(study, hit, collectives)
            self._hold(text.title, text.subtitle, [Item(None, *line) for line in text.lines], text.brief)

    def take_stall(
        self, study: Study, stalls: Stalls, number: int, producers: StallProducers | None = None
    ) -> None:
        """Hold the facts about a stall of a GPU."""
        key = (id(stalls), id(producers), number)
        if key != self._shown_key:
            self._shown_key = key
            items = [Item(None, *line) for line in stall_lines(stalls, number, producers)]
            title, where = stall_heading(stalls, number)
            cause = next((item.value for item in items if item.label == "Cause"), "")
            self._hold(title, where, items, " · ".join(filter(None, (cause, where))))

    def take_cut(
        self,
        study: Study,
        time_ns: int,
        resolution_ns: float,
        warnings: Mapping[int, str] = _NO_WARNINGS,
    ) -> None:
        """Hold what every GPU does at an instant, and what makes that doubtful."""
        key = (id(study), time_ns)
        if key == self._shown_key:
            return
        self._shown_key = key
        items, parts = [], []
        labels = gpu_names(study.trace)
        for gpu in study.trace.gpus[:_MAX_CUT_GPUS]:
            part, names = running_at(study, gpu.index, time_ns)
            parts.append(part)
            colour = self.theme.parts[part] if part != IDLE else self.theme.hatch
            what = ", ".join(dict.fromkeys(names)) or _NOTHING.get(part, "")
            text = f"{CATEGORY_TITLES[part]}: {what}" if what else CATEGORY_TITLES[part]
            items.append(Item(colour, labels[gpu.index], text))
            if gpu.index in warnings:
                title = warnings[gpu.index].split("\n")[0]
                items.append(Item(self.theme.warning, "not to be trusted", title))
        counts = ((CATEGORY_TITLES[part].lower(), parts.count(part)) for part in sorted(set(parts)))
        brief = " · ".join(f"{count} {what}" for what, count in counts)
        self._hold(format_instant(time_ns, resolution_ns), "What runs at the cut, on every GPU", items, brief)

    def _hold(self, title: str, subtitle: str, items: list[Item], brief: str) -> None:
        room = WIDTH * (_TITLE_LINES - 0.4)
        self.title, self.subtitle = cropped(title.replace("\n", " "), room, _TITLE, STRONG), subtitle
        self.items, self.brief = tuple(items), brief or subtitle
        self.setAccessibleName(title)
        self.setAccessibleDescription("\n".join(f"{i.label}: {i.value}" for i in items))

    def content_size(self) -> QSize:
        """Return the size of title and lines."""
        if self.is_short:
            title = metrics(_TITLE, STRONG).horizontalAdvance(self.title)
            wide = max(title, metrics(_TEXT).horizontalAdvance(self.brief))
            return QSize(min(WIDTH, int(wide) + 6), 2 * _LINE)
        value = max((metrics(_TEXT, MEDIUM).horizontalAdvance(i.value) for i in self.items), default=0.0)
        wide = max(self._label_width() + value, metrics(_TITLE, STRONG).horizontalAdvance(self.title))
        width = min(WIDTH, int(max(wide, metrics(_TEXT).horizontalAdvance(self.subtitle))) + 6)
        height = self._title_rect(width).height() + _LINE + 7 + _LINE * len(self.items)
        return QSize(width, height)

    def _label_width(self) -> float:
        label = max((metrics(_TEXT).horizontalAdvance(i.label) for i in self.items), default=0.0)
        swatch = 16 if any(i.colour is not None for i in self.items) else 0
        return label + swatch + 16

    def _title_rect(self, width: int) -> QRect:
        room = QRect(0, 0, width, 16 * _TITLE_LINES)
        flags = int(Qt.TextFlag.TextWrapAnywhere)
        needed = metrics(_TITLE, STRONG).boundingRect(QRectF(room), flags, self.title).toAlignedRect()
        return QRect(0, 0, width, min(needed.height(), 16 * _TITLE_LINES))

    def paint_content(self, painter: QPainter, rect: QRect) -> None:
        """Paint title and lines."""
        theme = self.theme
        if self.is_short:
            self._paint_short(painter, rect)
            return
        title = self._title_rect(rect.width()).translated(rect.topLeft())
        painter.setFont(font(_TITLE, STRONG))
        painter.setPen(QColor(theme.text))
        painter.drawText(title, int(Qt.TextFlag.TextWrapAnywhere), self.title)
        y = title.bottom() + 1
        base = marks.text_baseline(y, _LINE, _TEXT)
        marks.paint_text(painter, self.subtitle, rect.left(), base, _TEXT, theme.text_soft)
        y += _LINE + 3
        painter.fillRect(rect.left(), y, rect.width(), 1, QColor(theme.line))
        y += 4
        left = rect.left() + self._label_width()
        for item in self.items:
            x = float(rect.left())
            if item.colour is not None:
                painter.fillRect(QRect(QPoint(int(x), y + 4), QSize(9, 9)), QColor(item.colour))
                x += 16
            base = marks.text_baseline(y, _LINE, _TEXT)
            marks.paint_text(painter, item.label, x, base, _TEXT, theme.text_soft)
            value = cropped(item.value, rect.right() - left, _TEXT, MEDIUM)
            marks.paint_text(painter, value, left, base, _TEXT, theme.text, MEDIUM)
            y += _LINE

    def _paint_short(self, painter: QPainter, rect: QRect) -> None:
        theme, left, room = self.theme, rect.left(), rect.width()
        base = marks.text_baseline(rect.top() - 1, _LINE, _TITLE)
        title, brief = self.title, self.brief
        if metrics(_TITLE, STRONG).horizontalAdvance(title) > room:
            title = cropped(title, room, _TITLE, STRONG)
        if metrics(_TEXT).horizontalAdvance(brief) > room:
            brief = cropped(brief, room, _TEXT)
        marks.paint_text(painter, title, left, base, _TITLE, theme.text, STRONG)
        base = marks.text_baseline(rect.top() + _LINE, _LINE, _TEXT)
        marks.paint_text(painter, brief, left, base, _TEXT, theme.text_soft)
