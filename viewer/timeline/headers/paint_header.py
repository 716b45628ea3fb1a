"""Painting of row headers: a pure function on any QPainter, for the window and for export alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPolygonF

from viewer.drawing.bands import Band, CounterBand, StateBand
from viewer.drawing.format import format_tick
from viewer.drawing.layout import PlacedRow, bands_in, row_bands
from viewer.drawing.theme import Theme
from viewer.rows import Row, RowKind
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, STRONG, cropped, font, metrics, squeezed

INDENT = 16
RIGHT = 12
FIGURE_WIDTH = 76
PIN_SIZE = 14
LABEL_PX, DETAIL_PX, SMALL_PX, SCALE_PX, SCALE_LINE = 13, 12, 11, 9.5, 11
GAP = 8
LINE = 20
MARK = 3
PATH_SIGN = "›"


@dataclass(frozen=True, slots=True)
class HeaderStyle:
    """How one header stands there at the moment.

    Attributes
    ----------
    figure : str
        What stands at the right (`viewer.timeline.headers.header_values.figure`).
    value : str
        What a counter row shows at the cursor.
    foldable : bool
        It has rows below it: an arrow is painted.
    hovered, current, focused, pinned : bool
        Under the pointer; the keyboard's row; with the keyboard in the tree; pinned.
    warning : bool
        What its lanes show is not to be trusted.
    own, other : bool
        It holds what is selected; it holds the other end of that.
    sign : str
        Where the other end is: left, right, above, below, folded; "" for none.
    as_path : bool
        Painted with its full path and without indentation, as in the pinned area.
    """

    figure: str = ""
    value: str = ""
    foldable: bool = False
    hovered: bool = False
    current: bool = False
    focused: bool = False
    pinned: bool = False
    as_path: bool = False
    warning: bool = False
    own: bool = False
    other: bool = False
    sign: str = ""


def pin_rect(line: QRect) -> QRect:
    """Return where the pin of a header is, from the line that its label stands in."""
    x = line.right() + 1 - RIGHT - FIGURE_WIDTH - PIN_SIZE
    return QRect(x, line.top() + (line.height() - PIN_SIZE) // 2, PIN_SIZE, PIN_SIZE)


def sign_rect(line: QRect) -> QRectF:
    """Return where the sign to the other end stands, left of the pin's place."""
    pin = pin_rect(line)
    return QRectF(pin.left() - GAP - 12, line.center().y() - 5.5, 12, 12)


def label_line(placed: PlacedRow, rect: QRect) -> QRect:
    """Return the line that the label of a header in `rect` stands in: beside the row's first lane."""
    drawn = row_bands(placed.row, placed.expanded)
    centre = drawn[0].y + drawn[0].height // 2 if len(drawn) > 1 else rect.height() // 2
    return QRect(rect.left(), rect.top() + max(0, centre - LINE // 2), rect.width(), min(LINE, rect.height()))


def paint_header(painter: QPainter, placed: PlacedRow, rect: QRect, theme: Theme, style: HeaderStyle) -> None:
    """Paint the header of a row.

    Parameters
    ----------
    rect : QRect
        Where, in logical pixels; its height is the row's.
    """
    row = placed.row
    line = label_line(placed, rect)
    left = rect.left() + (1 if style.as_path else len(row.path())) * INDENT
    _paint_ground(painter, row, rect, theme, style)
    if style.foldable and not style.as_path:
        _paint_arrow(painter, left - INDENT / 2, line.center().y() + 0.5, placed.expanded, theme)
    room = line.right() + 1 - RIGHT - _scale_width(row)
    if style.figure:
        painter.setFont(font(DETAIL_PX))
        is_busy = row.kind in (RowKind.PROCESS, RowKind.GPU)
        painter.setPen(QColor.fromRgba(theme.text_soft if is_busy else theme.text_faint))
        box = QRectF(left, line.top(), room - left, line.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, style.figure)
        room -= round(metrics(DETAIL_PX).horizontalAdvance(style.figure)) + GAP
    if style.hovered or style.pinned:
        pin = pin_rect(line)
        _paint_pin(painter, QRectF(pin), style.pinned, theme)
        room = min(room, pin.left() - GAP // 2)
    if style.warning:
        marks.paint_warning(painter, QRectF(room - 13, line.center().y() - 6, 13, 13), theme)
        room -= 13 + GAP // 2
    if style.sign:
        sign = sign_rect(line)
        marks.paint_sign(painter, sign, style.sign, theme)
        room = min(room, round(sign.left()) - GAP // 2)
    for is_marked, column, colour in ((style.own, 0, theme.event), (style.other, 1, theme.link)):
        if is_marked:
            edge = rect.right() + 1 - MARK * (2 - column)
            painter.fillRect(QRect(edge, rect.top() + 1, MARK, rect.height() - 1), QColor(colour))
    _paint_texts(painter, row, QRect(left, line.top(), max(0, room - left), line.height()), theme, style)
    for band in row_bands(row, placed.expanded):
        if (paint := _BESIDE.get(type(band))) is not None:
            paint(painter, placed, band, rect, left, theme)


def _paint_ground(painter: QPainter, row: Row, rect: QRect, theme: Theme, style: HeaderStyle) -> None:
    painter.fillRect(
        rect, QColor.fromRgba(theme.line_soft if style.as_path and style.pinned else theme.panel)
    )
    if style.hovered or style.current:
        tint = QColor.fromRgba(theme.accent)
        tint.setAlphaF(0.14 if style.current and style.focused else 0.07)
        painter.fillRect(rect, tint)
    if style.current and style.focused:
        painter.fillRect(QRect(rect.left(), rect.top(), 2, rect.height()), QColor.fromRgba(theme.accent))
    edge = theme.line if row.kind == RowKind.PROCESS or style.as_path else theme.line_soft
    painter.fillRect(QRect(rect.left(), rect.top(), rect.width(), 1), QColor.fromRgba(edge))


def _paint_texts(painter: QPainter, row: Row, box: QRect, theme: Theme, style: HeaderStyle) -> None:
    strong = row.kind == RowKind.PROCESS or style.as_path
    weight = STRONG if strong else MEDIUM if row.kind == RowKind.GPU else REGULAR
    x, room = float(box.left()), float(box.width())
    for text, pixels, text_weight, colour in _texts(row, weight, theme, style):
        shown = (squeezed if row.kind.traits.is_kernel else cropped)(text, room, pixels, text_weight)
        if not shown:
            return
        painter.setFont(font(pixels, text_weight))
        painter.setPen(QColor.fromRgba(colour))
        painter.drawText(QRectF(x, box.top(), room, box.height()), Qt.AlignmentFlag.AlignVCenter, shown)
        gap = GAP // 2 if text.endswith(PATH_SIGN) else GAP
        used = metrics(pixels, text_weight).horizontalAdvance(shown) + gap
        x, room = x + used, room - used


def _texts(row: Row, weight: int, theme: Theme, style: HeaderStyle) -> list[tuple[str, int, int, int]]:
    """Return (text, pixels, weight, colour) of what stands in a header, from left to right."""
    texts = [
        (row.label, LABEL_PX, weight, theme.text),
        (style.value, DETAIL_PX, MEDIUM, theme.text),
        (row.detail, DETAIL_PX, REGULAR, theme.text_soft),
    ]
    if style.as_path and row.parent is not None:
        rank = row.path()[0]
        texts.insert(0, (f"{rank.label} {PATH_SIGN}", LABEL_PX, weight, theme.text))
    return [t for t in texts if t[0]]


def _paint_state_name(
    painter: QPainter, placed: PlacedRow, band: StateBand, rect: QRect, left: int, theme: Theme
) -> None:
    """Name a state lane of a folded process beside it; the first lane has the label of the row beside it."""
    row = placed.row
    below_first = [b for _, b in bands_in([placed], StateBand) if b.y > row_bands(row, placed.expanded)[0].y]
    if row.kind is not RowKind.PROCESS or band not in below_first:
        return
    gpu = next((child.label for child in row.children if child.gpu == band.gpu), "GPU")
    text = "GPU state" if len(below_first) == 1 else f"{gpu} state"
    painter.setFont(font(SMALL_PX))
    painter.setPen(QColor.fromRgba(theme.text_soft))
    box = QRectF(left + INDENT, rect.top() + band.y - 2, rect.width() - left - INDENT, band.height + 4)
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)


def _paint_scale(
    painter: QPainter, _placed: PlacedRow, band: CounterBand, rect: QRect, _left: int, theme: Theme
) -> None:
    """Write the values at the lines of a counter row beside them."""
    painter.setFont(font(SCALE_PX))
    painter.setPen(QColor.fromRgba(theme.text_faint))
    for text, share in _scale_texts(band.row):
        top = rect.top() + band.y + (band.height - SCALE_LINE) * (1 - share)
        box = QRectF(rect.left(), top, rect.width() - RIGHT, SCALE_LINE)
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)


def _scale_texts(row: Row) -> list[tuple[str, float]]:
    """Return the texts beside a counter row, each with its height as a share; none for other rows."""
    counter = row.kind.traits.counter
    if counter is None or row.scale is None:
        return []
    return [(format_tick(value, counter.unit), share) for value, share in row.scale.ticks()]


def _scale_width(row: Row) -> int:
    """Return how much room at the right of a header the scale takes."""
    widths = [metrics(SCALE_PX).horizontalAdvance(text) for text, _ in _scale_texts(row)]
    return round(max(widths)) + GAP if widths else 0


_BESIDE: dict[type[Band], Callable[..., None]] = {StateBand: _paint_state_name, CounterBand: _paint_scale}
"""What stands in a header beside each kind of band."""


def _paint_arrow(painter: QPainter, x: float, y: float, expanded: bool, theme: Theme) -> None:
    corners = ((-4, -2), (4, -2), (0, 3)) if expanded else ((-2, -4), (-2, 4), (3, 0))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor.fromRgba(theme.text_soft))
    painter.drawPolygon(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in corners]))
    painter.restore()


def _paint_pin(painter: QPainter, box: QRectF, pinned: bool, theme: Theme) -> None:
    """Paint a drawing pin: a head, a collar, a needle."""
    cx, top, unit = box.center().x(), box.top(), box.height() / 14
    head = QPainterPath()
    head.addRoundedRect(QRectF(cx - 3 * unit, top + unit, 6 * unit, 5.5 * unit), 1.5 * unit, 1.5 * unit)
    head.addRoundedRect(QRectF(cx - 5 * unit, top + 6.5 * unit, 10 * unit, 2 * unit), unit, unit)
    head.addRect(QRectF(cx - 0.5 * unit, top + 8.5 * unit, unit, 4.5 * unit))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor.fromRgba(theme.accent if pinned else theme.text_faint))
    painter.drawPath(head.simplified())
    painter.restore()
