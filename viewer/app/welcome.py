"""The welcome page of an empty window: how to open a trace, or the name of the one that is opening."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedLayout, QVBoxLayout, QWidget

from viewer.app.icons import app_icon
from viewer.printable import visible
from viewer.timeline.paint.fonts import STRONG, font
from viewer.timeline.plain_text import Links, PlainLabel

RECENT_SHOWN = 6
TITLE_PX = 22


class Welcome(QWidget):
    """The page shown while no trace is open.

    Signals
    -------
    open_requested(), demo_requested()
        A file is to be chosen; the demo is to be opened.
    recent_requested(str)
        The user chose one of the recent files.
    """

    open_requested = Signal()
    demo_requested = Signal()
    recent_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        icon, title = PlainLabel(), PlainLabel("Open a trace")
        icon.setPixmap(app_icon().pixmap(QSize(64, 64), self.devicePixelRatioF()))
        title.setFont(font(TITLE_PX, STRONG))
        text = PlainLabel(
            "Open a report of Nsight Systems (.nsys-rep, .qdrep), its SQLite, Parquet or Arrow export,\n"
            "or drop one here. No report at hand? The demo is a training job of eight ranks."
        )
        text.setObjectName("soft")
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        opener, demo = QPushButton("Open a report…"), QPushButton("Open the demo")
        opener.setDefault(True)
        opener.clicked.connect(self.open_requested)
        demo.clicked.connect(self.demo_requested)
        buttons = QHBoxLayout()
        buttons.addStretch()
        buttons.addWidget(opener)
        buttons.addWidget(demo)
        buttons.addStretch()
        self._recent = Links()
        self._recent.setObjectName("soft")
        self._recent.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._recent.linkActivated.connect(self._open_recent)
        self._paths: tuple[Path, ...] = ()
        self.card, self.opening = QWidget(), PlainLabel()
        self.opening.setObjectName("soft")
        self.opening.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.opening.setWordWrap(True)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.card)
        self._pages.addWidget(self.opening)
        column = QVBoxLayout(self.card)
        column.setSpacing(14)
        column.addStretch(2)
        for widget in (icon, title, text):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addLayout(buttons)
        column.addWidget(self._recent)
        column.addStretch(3)

    def set_recent(self, files: Sequence[tuple[Path, str]]) -> None:
        """List recent files, each with what is known of it."""
        files = files[:RECENT_SHOWN]
        self._paths = tuple(path for path, _ in files)
        lines = [(str(number), path.name, shape) for number, (path, shape) in enumerate(files)]
        self._recent.show_table("Recent" if lines else "", lines)

    def show_opening(self, name: str = "") -> None:
        """Show only the name of the trace that is opening; "" shows the recent files."""
        self.opening.setText(visible(name))
        self._pages.setCurrentWidget(self.opening if name else self.card)

    def _open_recent(self, link: str) -> None:
        self.recent_requested.emit(str(self._paths[int(link)]))
