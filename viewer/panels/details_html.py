"""The page of the Details dock: sections as the rich text of a QTextBrowser, with painted bars."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QRect, Qt, QUrl
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QTextDocument

from viewer.drawing.format import format_ns, format_share
from viewer.drawing.theme import Theme
from viewer.panels.selection_details import Bar, DetailSection, Link, SelectionDetails, Step
from viewer.timeline.paint.paint_rows import stripes

BAR_PX, SWATCH_PX = 14, 10
_SURE = "proven"
_COMPUTE, _EXPOSED, _COPY = 0, 2, 3


def show_details(
    document: QTextDocument, details: SelectionDetails, theme: Theme, width: int, dpr: float
) -> None:
    """Write a page into a document.

    Parameters
    ----------
    width : int
        Of bars, logical pixels.
    dpr : float
        Device pixels per logical pixel.
    """
    for number, section in enumerate(details.sections):
        if section.bars:
            images = {f"bar-{number}": bar_image(section.bars, theme, width, dpr)}
            images |= {f"fill-{bar.fill}": swatch_image(bar.fill, theme, dpr) for bar in section.bars}
            for name, image in images.items():
                document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), image)
    document.setHtml(html_of(details, theme))


def bar_image(bars: tuple[Bar, ...], theme: Theme, width: int, dpr: float) -> QImage:
    """Return a bar of parts whose widths are their times; each is seen, however short."""
    image = _image(width, BAR_PX, dpr)
    painter = QPainter(image)
    total, sum_ns = max(sum(bar.ns for bar in bars), 1), 0
    for bar in bars:
        left = round(sum_ns / total * width)
        sum_ns += bar.ns
        right = max(round(sum_ns / total * width), left + 1)
        _fill(painter, QRect(left, 0, right - left, BAR_PX), bar.fill, theme)
    painter.end()
    return image


def swatch_image(fill: str, theme: Theme, dpr: float) -> QImage:
    """Return a square of what a part of a bar is painted as."""
    image = _image(SWATCH_PX, SWATCH_PX, dpr)
    painter = QPainter(image)
    _fill(painter, QRect(0, 0, SWATCH_PX, SWATCH_PX), fill, theme)
    painter.end()
    return image


def _image(width: int, height: int, dpr: float) -> QImage:
    image = QImage(round(width * dpr), round(height * dpr), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(dpr)
    image.fill(Qt.GlobalColor.transparent)
    return image


def fill_colour(fill: str, theme: Theme) -> int:
    """Return the colour of a part of a wait or of the critical path."""
    parts = theme.parts
    return {
        "waiting": parts[_EXPOSED], "exposed": parts[_EXPOSED], "compute": parts[_COMPUTE],
        "copy": parts[_COPY], "host": theme.text_faint,
    }.get(fill, theme.background)  # fmt: skip


def _fill(painter: QPainter, box: QRect, fill: str, theme: Theme) -> None:
    painter.fillRect(box, QColor(fill_colour(fill, theme)))
    if fill == "waiting":
        painter.fillRect(box, QBrush(stripes(theme.waiting, 1.0)))
    elif fill == "lag":
        painter.setPen(QColor(theme.text_faint))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(0, 0, -1, -1))


def html_of(details: SelectionDetails, theme: Theme) -> str:
    """Return a page for a QTextBrowser."""
    soft = _css(theme.text_soft)
    parts = [
        f"<p style='margin:4px 0 0 0; font-size:14px'><b>{_wrapping(details.title)}</b></p>",
        f"<p style='margin:0 0 6px 0; color:{soft}'>{escape(details.subtitle)}</p>",
    ]
    sections = (_section(number, section, theme) for number, section in enumerate(details.sections))
    return "".join([*parts, *sections])


def _css(argb: int) -> str:
    return f"#{argb & 0xFFFFFF:06x}"


def _section(number: int, section: DetailSection, theme: Theme) -> str:
    soft = _css(theme.text_soft)
    above = _heading(section, soft)
    if section.bars:
        above += _bars(number, section.bars)
    if section.badge.text:
        above += _badge(section, theme)
    below = "".join(_step(step, theme) for step in section.steps)
    below += "".join(_link(link, theme) for link in section.links)
    return above + _lines(section, soft) + below


def _heading(section: DetailSection, soft: str) -> str:
    if not section.title:
        return ""
    about = f"<p style='margin:0 0 2px 0; color:{soft}'>{escape(section.about)}</p>" if section.about else ""
    if not section.value:
        return f"<p style='margin:12px 0 2px 0'><b>{escape(section.title)}</b></p>{about}"
    return (
        "<table width='99%' cellspacing='0' style='margin:12px 0 2px 0'><tr>"
        f"<td><b>{escape(section.title)}</b></td>"
        f"<td align='right'><b>{_unbroken(section.value)}</b></td></tr></table>{about}"
    )


def _bars(number: int, bars: tuple[Bar, ...]) -> str:
    rows = "".join(
        f"<tr><td width='18' style='padding:2px 0'>"
        f"<img src='fill-{bar.fill}' style='vertical-align:middle'></td>"
        f"<td style='padding:2px 8px 2px 0'>{_wrapping(bar.text)}</td>"
        f"<td align='right' style='padding:2px 0'>{_unbroken(format_ns(bar.ns))}</td>"
        f"{_share_cell(bar)}</tr>"
        for bar in bars
    )
    return (
        f"<p style='margin:4px 0'><img src='bar-{number}'></p>"
        f"<table width='99%' cellspacing='0'>{rows}</table>"
    )


def _share_cell(bar: Bar) -> str:
    if bar.share is None:
        return ""
    return f"<td align='right' width='56' style='padding:2px 0'>{_unbroken(format_share(bar.share))}</td>"


def _badge(section: DetailSection, theme: Theme) -> str:
    badge = section.badge
    ink = _css(theme.good if badge.text == _SURE else theme.text_soft)
    return (
        "<table cellspacing='0' style='margin:4px 0 2px 0'><tr>"
        f"<td style='border:1px solid {ink}; padding:0 6px; color:{ink}'>{escape(badge.text)}</td>"
        f"<td style='padding:1px 8px; color:{_css(theme.text_soft)}'>{_wrapping(badge.beside)}</td>"
        "</tr></table>"
    )


def _step(step: Step, theme: Theme) -> str:
    edge = _css(theme.link if step.is_own else theme.line)
    soft, ink = _css(theme.text_soft), _css(theme.text)
    title = _wrapping(step.title)
    if not step.is_own:
        href = f"{step.event.kind.name}/{step.event.index}"
        title = f"<a href='{href}' style='color:{ink}; text-decoration:none'>{title}</a>"
    box = (
        "<table width='99%' cellspacing='0' style='margin:1px 0'><tr>"
        f"<td width='4' style='background-color:{_css(fill_colour(step.fill, theme))}'></td>"
        f"<td style='background-color:{_css(theme.control)}; border:1px solid {edge}; padding:3px 8px'>"
        f"{title}<br><span style='color:{soft}'>{_wrapping(step.about)}</span></td></tr></table>"
    )
    return box if step.is_own else f"{box}<p style='margin:0 0 0 20px; color:{soft}'>▾</p>"


def _link(link: Link, theme: Theme) -> str:
    return (
        "<table width='99%' cellspacing='0' style='margin:2px 0'><tr>"
        f"<td style='background-color:{_css(theme.control)}; border:1px solid {_css(theme.line)}; "
        f"padding:4px 8px'><a href='{link.key}' style='color:{_css(theme.text)}; text-decoration:none'>"
        f"{_wrapping(link.text)}</a></td>"
        f"<td align='right' style='background-color:{_css(theme.control)}; padding:4px 8px; "
        f"border:1px solid {_css(theme.line)}; color:{_css(theme.good)}'><b>{_unbroken(link.value)}</b></td>"
        "</tr></table>"
    )


def _lines(section: DetailSection, soft: str) -> str:
    lines = "".join(
        f"<tr><td style='color:{soft}; padding:1px 12px 1px 0'>{_unbroken(label)}</td>"
        f"<td style='padding:1px 0'>{_wrapping(value)}</td></tr>"
        if label
        else f"<tr><td colspan='2' style='padding:1px 0'>{_wrapping(value)}</td></tr>"
        for label, value in section.lines
    )
    for number, row in enumerate(section.grid):
        colour = f"color:{soft};" if number == 0 else ""
        cells = "".join(
            f"<td align='{'right' if at else 'left'}' style='{colour} padding:1px 10px 1px 0'>"
            f"{_unbroken(cell)}</td>"
            for at, cell in enumerate(row)
        )
        lines += f"<tr>{cells}</tr>"
    return f"<table cellspacing='0'>{lines}</table>" if lines else ""


def _unbroken(text: str) -> str:
    return escape(text).replace(" ", "&nbsp;")


def _wrapping(text: str) -> str:
    """Let a C++ name break where it may: after a comma, a colon or a bracket."""
    broken = escape(text)
    for sign in (",", "::", "&lt;"):
        broken = broken.replace(sign, f"{sign}\u200b")
    return broken
