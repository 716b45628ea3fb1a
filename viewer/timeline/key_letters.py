"""Keys that go by their place: W, A, S and D lie together on a US keyboard, and act there on every other."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

_XKB = {25: "W", 38: "A", 39: "S", 40: "D"}
_WINDOWS = {0x11: "W", 0x1E: "A", 0x1F: "S", 0x20: "D"}
_MAC = {13: "W", 0: "A", 1: "S", 2: "D"}


def letter_of(event: QKeyEvent) -> str:
    """Return the letter that a US keyboard has on this key, "" for other keys."""
    if sys.platform == "darwin":
        known, code = _MAC, event.nativeVirtualKey()
        physical = QApplication.platformName() == "cocoa"
    else:
        known = _WINDOWS if sys.platform == "win32" else _XKB
        code = event.nativeScanCode()
        physical = code > 1
    if physical:
        return known.get(code, "")
    key = event.key()
    return chr(key) if Qt.Key.Key_A <= key <= Qt.Key.Key_Z else ""
