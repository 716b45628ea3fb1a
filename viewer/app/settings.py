"""The settings kept between sessions: typed, and robust against invalid stored values."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QSettings

from viewer.state.view_state import CardForm

log = logging.getLogger("viewer.app")

T = TypeVar("T")
VERSION = 2
RECENT_LIMIT = 12


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One stored value.

    Attributes
    ----------
    key : str
        Its name in the file.
    default : T
        The value where nothing, or a value of the wrong type, is stored.
    read : callable
        Turns the stored JSON value into a T; raises ValueError, TypeError or KeyError where it cannot.
    """

    key: str
    default: T
    read: Callable[[Any], T]


def _one_of(*values: T) -> Callable[[Any], T]:
    def read(value: Any) -> T:
        if value not in values:
            raise ValueError(value)
        return values[values.index(value)]

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise TypeError(value)
    return tuple(value)


def _texts_by_text(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise TypeError(value)
    return value


THEME = Setting("theme", "system", _one_of("system", "light", "dark"))
TEXT_SIZES = (11, 12, 13, 14, 15, 16, 18, 20)
SCALES = (75, 100, 125, 150, 175, 200, 250, 300)
TEXT_PX = Setting("text_px", 13, _one_of(*TEXT_SIZES))
SCALE = Setting("scale", 100, _one_of(*SCALES))
STILL = Setting("reduced_motion", False, _one_of(False, True))
EXACT_TIMES = Setting("exact_times", False, _one_of(False, True))
DECIMAL_SIZES = Setting("decimal_sizes", False, _one_of(False, True))
CARD: Setting[CardForm] = Setting("card", "full", _one_of("full", "short", "key"))
OVERLAYS: Setting[tuple[str, ...]] = Setting("overlays", ("idle", "exposed", "waiting"), _texts)
RECENT: Setting[tuple[str, ...]] = Setting("recent", (), _texts)
RECENT_SHAPES: Setting[dict[str, str]] = Setting("recent_shapes", {}, _texts_by_text)
GEOMETRY = Setting("geometry", b"", bytes.fromhex)
LAYOUT = Setting("layout", b"", bytes.fromhex)
DOCKS = Setting("docks", "by height", _one_of("by height", "folded", "open"))
HEADER_WIDTH = Setting("header_width", 0, int)
SAVE_FOLDER = Setting("save_folder", "", str)


class Settings:
    """The settings file of the user.

    It stores values as JSON texts, which keep their types on every system. Keys that this version does not
    know stay unchanged.
    """

    def __init__(self) -> None:
        self._file = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Lightbox", "Lightbox")
        self._file.setValue("version", VERSION)

    def get(self, setting: Setting[T]) -> T:
        """Return a value, the default where none is stored or it is invalid."""
        stored = self._file.value(setting.key)
        if stored is None:
            return setting.default
        try:
            return setting.read(json.loads(str(stored)))
        except (ValueError, TypeError, KeyError) as error:
            log.debug("setting %s is not as expected: %s", setting.key, error)
            return setting.default

    def set(self, setting: Setting[T], value: T) -> None:
        """Store a value."""
        plain = value.hex() if isinstance(value, bytes) else value
        self._file.setValue(setting.key, json.dumps(plain))

    def add_recent(self, path: Path, shape: str = "") -> None:
        """Put a file in front of the recent ones, with a few words on it: "8 ranks · 1.378 s"."""
        text = str(path.absolute())
        others = [p for p in self.get(RECENT) if p != text]
        recent = (text, *others)[:RECENT_LIMIT]
        self.set(RECENT, recent)
        shapes = self.get(RECENT_SHAPES) | {text: shape}
        self.set(RECENT_SHAPES, {path: shape for path, shape in shapes.items() if path in recent})

    def recent(self) -> tuple[Path, ...]:
        """Return the recent files that still exist, the latest first."""
        return tuple(p for t in self.get(RECENT) if (p := Path(t)).exists())

    def shape_of(self, path: Path) -> str:
        """Return the line on a recent file from when it was opened last, "" for nothing."""
        return self.get(RECENT_SHAPES).get(str(path.absolute()), "")
