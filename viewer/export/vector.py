"""Pictures as SVG and PDF: text stays text, and the same picture gives the same bytes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid5

from PySide6.QtCore import QBuffer, QByteArray, QHashSeed, QIODevice, QMarginsF, QRectF, QSizeF, QUuid
from PySide6.QtGui import QPageLayout, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator

from viewer import __version__
from viewer.drawing.scene import Scene
from viewer.export.picture import Page, page_of
from viewer.export.picture_view import PictureError, View
from viewer.timeline.paint.fonts import fallback_families, families, fonts_for, language, metrics

MAX_SHAPES = 400_000
POINTS_PER_INCH = 72
_NAMESPACE = UUID("6f1d3f0c-7a54-4b51-9a4e-b3e2f6f8c0a7")
_STAMP = re.compile(rb"""\(D:\d{14}[^)]*\)|(?<=Date=")\d{4}-\d\d-\d\dT[^"]*""")
_PATTERN = re.compile(r"texpattern_[0-9a-f]+")
_TEXT = re.compile(r"<text ([^>]*?)\s*>([^<]*)</text>")
_FAMILIES = ("Inter", "Segoe UI", "Helvetica Neue", "Arial")
_HAN = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def svg_bytes(
    view: View, width: int | None = None, scale: float | None = None, scene: Scene | None = None
) -> bytes:
    """Return a picture as an SVG file.

    Its parameters are those of `viewer.export.picture.picture`; its size on paper is the same at every
    `scale`, which sets the resolution.

    Raises
    ------
    PictureError
        As `PicturePage`, or if it would hold too many shapes.
    """
    with fonts_for("svg"):
        picture = _checked_page(view, width, scale, scene)
        content = QByteArray()
        buffer = QBuffer(content)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        generator = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
        generator.setOutputDevice(buffer)
        generator.setResolution(round(picture.dots_per_inch * picture.dpr))
        generator.setSize(picture.size)
        generator.setViewBox(QRectF(0, 0, picture.size.width(), picture.size.height()))
        generator.setTitle(picture.caption)
        generator.setDescription(f"Lightbox {__version__}")
        _paint(picture, QPainter(generator))
        return _finished(bytes(content.data()).decode()).encode()


def pdf_bytes(
    view: View, width: int | None = None, scale: float | None = None, scene: Scene | None = None
) -> bytes:
    """Return a picture as a PDF file of one page; parameters and errors as `svg_bytes`."""
    with fonts_for("pdf"), _fixed_order():
        picture = _checked_page(view, width, scale, scene)
        content = QByteArray()
        buffer = QBuffer(content)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        writer = QPdfWriter(buffer)
        dots = picture.dots_per_inch * picture.dpr
        writer.setResolution(round(dots))
        points = POINTS_PER_INCH / dots
        size = QSizeF(picture.size.width() * points, picture.size.height() * points)
        page = QPageSize(size, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
        writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF()))
        writer.setTitle(picture.caption)
        writer.setCreator(f"Lightbox {__version__}")
        writer.setDocumentId(QUuid(str(uuid5(_NAMESPACE, picture.caption))))
        _paint(picture, QPainter(writer))
        return _STAMP.sub(_fixed_stamp, bytes(content.data()))


@contextmanager
def _fixed_order() -> Iterator[None]:
    """Fix the seed of Qt's hash tables, whose order decides the order of the fonts in a PDF."""
    QHashSeed.setDeterministicGlobalSeed()
    try:
        yield
    finally:
        QHashSeed.resetRandomGlobalSeed()


def _finished(svg: str) -> str:
    """Return an SVG with its patterns numbered in order; every text with a width and fallback fonts.

    Qt's names of patterns depend on what the process painted before. Without a width, text in a fallback
    font would run over the bars.
    """
    names: dict[str, str] = {}
    svg = _PATTERN.sub(lambda match: names.setdefault(match[0], f"pattern{len(names) + 1}"), svg)
    svg = svg.replace("<svg ", "<svg style=\"font-feature-settings: 'tnum'\" ", 1)
    named = ", ".join(f"'{name}'" for name in (*_FAMILIES, *fallback_families()))
    written = f'font-family="{",".join(families())}"'
    return _TEXT.sub(_fitted_text, svg).replace(written, f'font-family="{named}, sans-serif"')


def _fitted_text(found: re.Match[str]) -> str:
    attributes, text = found[1], found[2]
    pixels, weight = (re.search(rf'font-{what}="(\d+)"', attributes) for what in ("size", "weight"))
    if not text or pixels is None or weight is None:
        return found[0]
    length = metrics(int(pixels[1]), int(weight[1])).horizontalAdvance(html.unescape(text))
    # A program that opens the file chooses the forms of Han characters by the language.
    spoken = f' xml:lang="{language()}"' if _HAN.search(html.unescape(text)) else ""
    return (
        f'<text {attributes} textLength="{length:.2f}" lengthAdjust="spacingAndGlyphs"{spoken}>{text}</text>'
    )


def _fixed_stamp(found: re.Match[bytes]) -> bytes:
    """Return the first second of 2000 in as many bytes as the stamp: a PDF refers to byte offsets."""
    old = found[0]
    if old.startswith(b"("):
        return b"(D:20000101000000Z".ljust(len(old) - 1) + b")"
    return b"2000-01-01T00:00:00Z".ljust(len(old))


def _checked_page(view: View, width: int | None, scale: float | None, scene: Scene | None) -> Page:
    picture = page_of(view, width, scale, scene)
    _check(picture)
    return picture


def _check(picture: Page) -> None:
    shapes = len(picture.frame.draw) + len(picture.frame.labels)
    if shapes > MAX_SHAPES:
        raise PictureError(
            f"{shapes:,} shapes are too many for an SVG or a PDF; choose fewer rows, a shorter range, or PNG"
        )


def _paint(picture: Page, painter: QPainter) -> None:
    try:
        picture.paint(painter)
    finally:
        painter.end()
