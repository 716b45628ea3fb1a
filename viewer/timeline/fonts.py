"""The picture's font: Inter from a dependency, so that a picture does not depend on the machine."""

from __future__ import annotations

from functools import cache

import fontpkg_inter
from PySide6.QtGui import QFont, QFontDatabase, QFontMetricsF

REGULAR, MEDIUM, STRONG = 400, 500, 600
_FILE = fontpkg_inter.ROOT / "files" / "Inter[opsz,wght].ttf"


@cache
def family() -> str:
    """Load the font once per process and return its family; needs a QGuiApplication."""
    loaded = QFontDatabase.addApplicationFont(str(_FILE))
    families = QFontDatabase.applicationFontFamilies(loaded) if loaded >= 0 else []
    return (
        families[0] if families else QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    )


@cache
def font(pixels: float, weight: int = REGULAR) -> QFont:
    """Return the font at a size in pixels of the painter.

    Pixel sizes and no hinting: hints depend on the screen's scale, and points are written to SVG as
    user units. Figures are of equal width, so that columns of numbers line up.
    """
    made = QFont(family())
    made.setPixelSize(max(1, round(pixels)))
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    made.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    made.setVariableAxis(QFont.Tag("wght"), weight)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


@cache
def metrics(pixels: float, weight: int = REGULAR) -> QFontMetricsF:
    """Return the metrics of `font(pixels, weight)`."""
    return QFontMetricsF(font(pixels, weight))


@cache
def _ascii_advances(pixels: float, weight: int) -> tuple[float, ...]:
    measure = metrics(pixels, weight)
    return tuple(measure.horizontalAdvance(chr(c)) for c in range(128))


def cropped(text: str, width: float, pixels: float, weight: int = REGULAR) -> str:
    """Return as much of `text` as fits into `width` pixels, with an ellipsis where cut, "" if too little.

    Advances are summed from a table: `QFontMetrics.elidedText` takes half a frame for 500 labels.
    """
    advances = _ascii_advances(pixels, weight)
    wide, dots, fits = pixels, pixels * 0.8, 0
    used = 0.0
    for char in text:
        code = ord(char)
        used += advances[code] if code < 128 else wide
        if used <= width - dots:
            fits += 1
        elif used > width:
            return text[:fits].rstrip() + "…" if fits >= 2 else ""
    return text
