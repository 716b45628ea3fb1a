"""The picture's font: Inter from a dependency, so that pictures are the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Literal

import fontpkg_inter
from PySide6.QtCore import QLocale
from PySide6.QtGui import QFont, QFontDatabase, QFontMetricsF

REGULAR, MEDIUM, STRONG = 400, 500, 600
WORD_ENDS = re.compile(r"(?<!\d) ")
"""Matches the spaces at which a line may end; a number stays with its unit."""
Target = Literal["image", "svg", "pdf"]
_FILE = fontpkg_inter.ROOT / "files" / "Inter[opsz,wght].ttf"
_HAN_FAMILIES = {
    "zh-Hans": ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei"),
    "zh-Hant": (
        "Noto Sans CJK TC",
        "Noto Sans TC",
        "Source Han Sans TC",
        "PingFang TC",
        "Microsoft JhengHei",
    ),
    "zh-HK": ("Noto Sans CJK HK", "Noto Sans HK", "Source Han Sans HC", "PingFang HK", "Microsoft JhengHei"),
    "ja": ("Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans", "Hiragino Sans", "Yu Gothic UI"),
    "ko": ("Noto Sans CJK KR", "Noto Sans KR", "Source Han Sans K", "Apple SD Gothic Neo", "Malgun Gothic"),
}
"""Families that write Han characters in the forms of a language: of Linux, macOS and Windows."""


@cache
def family() -> str:
    """Load the font once per process and return its family; needs a QGuiApplication."""
    loaded = QFontDatabase.addApplicationFont(str(_FILE))
    families = QFontDatabase.applicationFontFamilies(loaded) if loaded >= 0 else []
    return (
        families[0] if families else QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    )


def han_language(languages: Iterable[str]) -> str:
    """Return in which language's forms a reader expects Han characters, a tag as BCP 47 spells it.

    One code point has several forms (直, 骨). The first of the reader's languages that writes Han decides;
    where none does it is simplified Chinese, in which most of such texts are.

    Parameters
    ----------
    languages : iterable of str
        As `QLocale.uiLanguages`, preferred first: "zh-Hant-TW", "en".
    """
    for language in languages:
        main, *rest = language.replace("_", "-").split("-")
        if main in ("ja", "ko"):
            return main
        if main == "zh":
            if {"HK", "MO"} & set(rest):
                return "zh-HK"
            return "zh-Hant" if {"Hant", "TW"} & set(rest) else "zh-Hans"
    return "zh-Hans"


@cache
def language() -> str:
    """Return the `han_language` of this process, from the user's locale."""
    return han_language(QLocale.system().uiLanguages())


@cache
def families() -> tuple[str, ...]:
    """Return the families that texts are set in, preferred first: Inter, then one for the reader's Han."""
    han = next((name for name in _HAN_FAMILIES[language()] if QFontDatabase.hasFamily(name)), None)
    return (family(), han) if han else (family(),)


def fallback_families() -> tuple[str, ...]:
    """Return the families for the reader's Han characters on all systems, for files read elsewhere."""
    return _HAN_FAMILIES[language()]


def font(pixels: float, weight: int = REGULAR) -> QFont:
    """Return the font at a size in pixels of the painter.

    Pixel sizes and no hinting: hints depend on the screen's scale, and points are written to SVG as
    user units. Figures are of equal width, so that columns of numbers line up.
    """
    return _font(pixels, weight, _target.get())


def metrics(pixels: float, weight: int = REGULAR) -> QFontMetricsF:
    """Return the metrics of `font(pixels, weight)`."""
    return _metrics(pixels, weight, _target.get())


@contextmanager
def fonts_for(target: Target) -> Iterator[None]:
    """Use, inside the block, fonts that survive as text in an SVG or a PDF.

    An SVG knows a weight by its name only. A PDF has no characters for glyphs that stand in for others:
    figures of equal width, brackets raised beside figures.
    """
    token = _target.set(target)
    try:
        yield
    finally:
        _target.reset(token)


_target: ContextVar[Target] = ContextVar("target", default="image")


@cache
def _font(pixels: float, weight: int, target: Target) -> QFont:
    # QFont() would begin as the application's font, with its figures of equal width.
    made = QFont(families())
    made.setPixelSize(max(1, round(pixels)))
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    made.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    made.setVariableAxis(QFont.Tag("wght"), weight)
    # Inter takes its weight from the axis; the families for other scripts have none.
    made.setWeight(QFont.Weight(weight))
    if target == "pdf":
        made.setFeature(QFont.Tag("calt"), 0)
    else:
        made.setFeature(QFont.Tag("tnum"), 1)
    return made


@cache
def _metrics(pixels: float, weight: int, target: Target) -> QFontMetricsF:
    return QFontMetricsF(_font(pixels, weight, target))


def advance(text: str, pixels: float, weight: int = REGULAR) -> float:
    """Return the width of `text`; cached, as every step of the pointer measures a card again."""
    return _advance(text, pixels, weight, _target.get())


@lru_cache(maxsize=2048)
def _advance(text: str, pixels: float, weight: int, target: Target) -> float:
    return _metrics(pixels, weight, target).horizontalAdvance(text)


def char_advances(text: str, pixels: float, weight: int = REGULAR) -> Iterator[float]:
    """Yield the width of each character of `text` alone; the sum is nearly the width of the text."""
    ascii_wide = _ascii_advances(pixels, weight, _target.get())
    for char in text:
        code = ord(char)
        yield ascii_wide[code] if code < 128 else advance(char, pixels, weight)


@cache
def _ascii_advances(pixels: float, weight: int, target: Target) -> tuple[float, ...]:
    measure = _metrics(pixels, weight, target)
    return tuple(measure.horizontalAdvance(chr(c)) for c in range(128))


def cropped(text: str, width: float, pixels: float, weight: int = REGULAR) -> str:
    """Return as much of `text` as fits into `width` pixels, with an ellipsis where cut, "" if none fits.

    Advances are summed from a table: `QFontMetrics.elidedText` takes half a frame for 500 labels.
    """
    advances = _ascii_advances(pixels, weight, _target.get())
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


def wrapped(text: str, width: float, pixels: float, weight: int = REGULAR, most: int = 2) -> list[str]:
    """Return `text` in at most `most` lines; where it does not fit, the last ends in an ellipsis."""

    def fits(line: str) -> bool:
        return advance(line, pixels, weight) <= width

    lines = [""]
    for word in WORD_ENDS.split(text):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if not lines[-1] or fits(longer):
            lines[-1] = longer
        elif len(lines) < most:
            lines[-1] = lines[-1].rstrip()
            lines.append(word)
        else:
            while not fits(f"{lines[-1]} …") and len(ends := [*WORD_ENDS.finditer(lines[-1])]):
                lines[-1] = lines[-1][: ends[-1].start()].rstrip()
            lines[-1] += " …"
            break
    return [line if fits(line) else cropped(line, width, pixels, weight) for line in lines]


def squeezed(text: str, width: float, pixels: float, weight: int = REGULAR) -> str:
    """Return `text`, without its middle where it is too long: kernels differ by the ends of their names."""
    if cropped(text, width, pixels, weight) == text:
        return text
    for kept in range(len(text) - 1, 3, -1):
        shorter = f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
        if advance(shorter, pixels, weight) <= width:
            return shorter
    return ""
