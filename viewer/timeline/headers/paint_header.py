"""Painting of row headers: a pure function on any QPainter, for the window and for export alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPolygonF

from viewer.drawing.bands import Band, CounterBand, StateBand
from viewer.drawing.format import format_tick
from viewer.drawing.layout import PlacedRow, bands_in
from viewer.drawing.theme import Theme
from viewer.rows import Row, RowKind
from viewer.timeline.paint import marks
from viewer.timeline.paint.fonts import MEDIUM, REGULAR, STRONG, cropped, font, metrics, squeezed

INDENT, ARROW = 14, 22
"""What each level of rows is indented by; and the room for the arrow before the first."""
RIGHT = 12
COLUMN = 62
"""How far the right edges of two columns of figures are apart."""
PIN_SIZE = 14
LABEL_PX, FIGURE_PX, DETAIL_PX, SMALL_PX, SCALE_PX, SCALE_LINE = 13, 12, 11, 11, 9.5, 11
GAP = 8
LINE, TWO_LINES = 20, 29
"""The height of a line where there is room, and the least height of a row for two."""
MARK = 3
PATH_SIGN = "›"


@dataclass(frozen=True, slots=True)
class HeaderStyle:
    """How one header stands there at the moment.

    Attributes
    ----------
    figures : tuple of str
        What stands at the right (`viewer.timeline.headers.header_values.figures`).
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
    is_on_path : bool
        The first of the figures stands out: the critical path is mostly on this rank.
    names : (str, str)
        Of a stream what it does, and which it is: they stand in place of the row's label and detail.
    note : str
        What makes the rank late, in the warning's colour at the right of the first line; "" for nothing.
    as_path : bool
        Painted with its full path and without indentation, as in the pinned area.
    """

    figures: tuple[str, ...] = ()
    value: str = ""
    foldable: bool = False
    hovered: bool = False
    current: bool = False
    focused: bool = False
    pinned: bool = False
    as_path: bool = False
    warning: bool = False
    note: str = ""
    own: bool = False
    other: bool = False
    sign: str = ""
    names: tuple[str, str] = ("", "")
    is_on_path: bool = False


def pin_rect(placed: PlacedRow, line: QRect, note: str = "") -> QRect:
    """Return where the pin of a header is, from the line of its label: left of its figures and its note."""
    is_gpu = placed.row.kind in (RowKind.PROCESS, RowKind.GPU)
    columns = 2 if is_gpu and not _has_two_lines(placed) else 1
    taken = columns * COLUMN
    if note and _has_two_lines(placed):
        taken = max(taken, _note_width(note))
    elif note:
        taken += _note_width(_note_text(placed, note)) + GAP
    x = line.right() + 1 - RIGHT - taken - PIN_SIZE - GAP
    x = max(x, line.left() + ARROW)
    return QRect(x, line.top() + (line.height() - PIN_SIZE) // 2, PIN_SIZE, PIN_SIZE)


def _note_text(placed: PlacedRow, note: str) -> str:
    """Return what is shown of a note: beside figures there is room for the last part, "+6.0 %"."""
    return note if _has_two_lines(placed) else note.rpartition(", ")[2]


def _note_width(note: str) -> int:
    return round(metrics(SMALL_PX).horizontalAdvance(note)) + 1


def sign_rect(placed: PlacedRow, line: QRect, note: str = "") -> QRectF:
    """Return where the sign to the other end stands, left of the pin's place."""
    pin = pin_rect(placed, line, note)
    return QRectF(pin.left() - GAP - 12, line.center().y() - 5.5, 12, 12)


def label_line(placed: PlacedRow, rect: QRect) -> QRect:
    """Return the line that the label of a header in `rect` stands in: in the middle, or the first of two."""
    high = min(LINE, rect.height())
    drawn = placed.bands
    top = (rect.height() - high) // 2
    if _has_two_lines(placed):
        high = min(LINE, (rect.height() - 1) // 2)
        top = 1 if rect.height() < 2 * LINE + 4 else 3
    elif len(drawn) > 1 and len(list(bands_in([placed], StateBand))) != 1:
        top = max(0, drawn[0].y + drawn[0].height // 2 - LINE // 2)
    return QRect(rect.left(), rect.top() + top, rect.width(), high)


def second_line(line: QRect) -> QRect:
    """Return the line below the label's, in a header of two."""
    return line.translated(0, line.height())


def _has_two_lines(placed: PlacedRow) -> bool:
    """Return whether a header has room for the process below its GPU."""
    return placed.row.kind is RowKind.PROCESS and bool(placed.row.hardware) and placed.height >= TWO_LINES


def text_left(row: Row, rect: QRect, as_path: bool = False) -> int:
    """Return where the text of a header begins."""
    return rect.left() + ARROW + (0 if as_path else (len(row.shown_path()) - 1) * INDENT)


def paint_header(painter: QPainter, placed: PlacedRow, rect: QRect, theme: Theme, style: HeaderStyle) -> None:
    """Paint the header of a row.

    Parameters
    ----------
    rect : QRect
        Where, in logical pixels; its height is the row's.
    """
    row = placed.row
    line = label_line(placed, rect)
    left = text_left(row, rect, style.as_path)
    two = _has_two_lines(placed)
    _paint_ground(painter, row, rect, theme, style)
    if style.foldable and not style.as_path:
        _paint_arrow(painter, left - 11, line.center().y() + 0.5, placed.expanded, theme)
    lower = second_line(line) if two else line
    room = _paint_figures(painter, row, lower, line.right() + 1 - _scale_width(row), theme, style)
    if two:
        text = cropped(row.program or row.hardware, room - left, DETAIL_PX)
        marks.paint_line(
            painter, text, QRectF(left, lower.top(), room - left, lower.height()), DETAIL_PX, theme.text_soft
        )
        room = line.right() + 1 - RIGHT
    if style.note:
        note = _note_text(placed, style.note)
        wide = _note_width(note)
        box = QRectF(room - wide, line.top(), wide, line.height())
        marks.paint_line(painter, note, box, SMALL_PX, theme.warning, is_right=True)
        room -= wide + GAP
    if style.hovered or style.pinned:
        pin = pin_rect(placed, line, style.note)
        _paint_pin(painter, QRectF(pin), style.pinned, theme)
        room = min(room, pin.left() - GAP // 2)
    if style.warning:
        marks.paint_warning(painter, QRectF(room - 13, line.center().y() - 6, 13, 13), theme)
        room -= 13 + GAP // 2
    if style.sign:
        sign = sign_rect(placed, line, style.note)
        marks.paint_sign(painter, sign, style.sign, theme)
        room = min(room, round(sign.left()) - GAP // 2)
    for is_marked, column, colour in ((style.own, 0, theme.event), (style.other, 1, theme.link)):
        if is_marked:
            edge = rect.right() + 1 - MARK * (2 - column)
            painter.fillRect(QRect(edge, rect.top() + 1, MARK, rect.height() - 1), QColor(colour))
    texts = _texts(row, two, room - left, theme, style)
    _paint_texts(painter, row, texts, QRect(left, line.top(), max(0, room - left), line.height()))
    for band in placed.bands:
        if (paint := _BESIDE.get(type(band))) is not None:
            paint(painter, placed, band, rect, left, theme)


def _paint_figures(
    painter: QPainter, row: Row, line: QRect, right: int, theme: Theme, style: HeaderStyle
) -> int:
    """Write the figures into their columns, and return where the room to their left ends."""
    if not style.figures:
        return right - RIGHT
    is_gpu = row.kind in (RowKind.PROCESS, RowKind.GPU)
    ink = theme.text if is_gpu else theme.text_soft
    pixels = FIGURE_PX if is_gpu else DETAIL_PX
    for column, text in enumerate(reversed(style.figures)):
        end = right - RIGHT - column * COLUMN
        box = QRectF(end - 2 * COLUMN, line.top(), 2 * COLUMN, line.height())
        weight = STRONG if style.is_on_path and column == len(style.figures) - 1 else REGULAR
        marks.paint_line(painter, text, box, pixels, ink, weight, is_right=True)
    return end - round(metrics(pixels).horizontalAdvance(text)) - GAP


def _paint_ground(painter: QPainter, row: Row, rect: QRect, theme: Theme, style: HeaderStyle) -> None:
    ground = theme.background_alternate if (row.process or 0) % 2 else theme.background
    painter.fillRect(rect, QColor.fromRgba(theme.line_soft if style.as_path and style.pinned else ground))
    if style.hovered or style.current:
        tint = QColor.fromRgba(theme.accent)
        tint.setAlphaF(0.14 if style.current and style.focused else 0.07)
        painter.fillRect(rect, tint)
    if style.current and style.focused:
        painter.fillRect(QRect(rect.left(), rect.top(), 2, rect.height()), QColor.fromRgba(theme.accent))
    edge = theme.line if row.kind == RowKind.PROCESS or style.as_path else theme.line_soft
    painter.fillRect(QRect(rect.left(), rect.top(), rect.width(), 1), QColor.fromRgba(edge))


Text = tuple[str, int, int, int]
"""A text, its size in pixels, its weight and its colour."""


def _paint_texts(painter: QPainter, row: Row, texts: Sequence[Text], box: QRect) -> None:
    x, room = float(box.left()), float(box.width())
    for text, pixels, weight, colour in texts:
        shown = (squeezed if row.kind.traits.is_kernel else cropped)(text, room, pixels, weight)
        if not shown:
            return
        marks.paint_line(painter, shown, QRectF(x, box.top(), room, box.height()), pixels, colour, weight)
        gap = GAP // 2 if text.endswith(PATH_SIGN) else GAP
        used = metrics(pixels, weight).horizontalAdvance(shown) + gap
        x, room = x + used, room - used


def _texts(row: Row, two_lines: bool, room: int, theme: Theme, style: HeaderStyle) -> list[Text]:
    """Return what stands in the line of the label, from left to right, as far as there is room."""
    is_top = row.kind is RowKind.PROCESS or style.as_path
    weight = STRONG if is_top else MEDIUM if row.kind is RowKind.GPU else REGULAR
    pixels = LABEL_PX if is_top or row.kind is RowKind.GPU else FIGURE_PX
    name, detail = row.label, row.detail
    if row.hardware:
        whole = " · ".join(t for t in (row.hardware, row.program) if t)
        choices = (whole, row.hardware, row.hardware.split(" · ")[0])
        if two_lines:
            choices = (row.hardware if row.program else "", choices[2], "")
        used = metrics(pixels, weight).horizontalAdvance(name) + GAP
        detail = next((t for t in choices if used + metrics(DETAIL_PX).horizontalAdvance(t) <= room), "")
    if style.names[0]:
        name, detail = style.names
    texts = [
        (name, pixels, weight, theme.text),
        (style.value, FIGURE_PX, MEDIUM, theme.text),
        (detail, DETAIL_PX, REGULAR, theme.text_soft),
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
    below_first = [b for _, b in bands_in([placed], StateBand) if b.y > placed.bands[0].y]
    if row.kind is not RowKind.PROCESS or row.gpu is not None or band not in below_first:
        return
    text = next((child.label for child in row.children if child.gpu == band.gpu), "GPU")
    painter.setFont(font(SMALL_PX))
    painter.setPen(QColor.fromRgba(theme.text_soft))
    box = QRectF(left, rect.top() + band.y - 2, rect.width() - left, band.height + 4)
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
