"""The page of the kernel classes: the rules to edit, and beside them what each takes of the open trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.core.classify import Rules
from viewer.analysis.kernels.rule_use import rule_use
from viewer.drawing.format import format_count, format_ns, format_share
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.printable import visible
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.timeline.plain_text import PlainLabel

PAUSE_MS = 250
"""How long the text must stay before it is tried out: every letter is another set of rules."""
_MOST_ERRORS = 3
_ABOUT = (
    "The first rule that matches decides the class of a kernel. A rule is a pattern, below the [class] "
    "that it gives; it sees the kernel's base name, after “full:” all of the name."
)


def _unless_none(text: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a text of a number that is a dash for nothing."""
    return lambda value: text(value) if value and not np.isnan(value) else "–"


def _number(key: str, title: str, text: Callable[[Any], str], tip: str) -> TableColumn:
    return TableColumn(key, title, _unless_none(text), number=True, tip=tip)


COLUMNS = (
    TableColumn("class", "Class"),
    _number("names", "Names", format_count, "Kernel names that it takes first"),
    _number("kernels", "Kernels", format_count, "Of the whole trace"),
    _number("sum_ns", "Sum", format_ns, "Durations added up"),
    _number("share", "Share", format_share, "Of the durations of all kernels"),
    TableColumn("rule", "Rule", tip="Double-click: its line in the text"),
    TableColumn("example", "Most time", tip="The name with most time that it takes"),
)


class RulesPage(QWidget):
    """Edits the user's own table of rules; the numbers follow when it is applied."""

    def __init__(self, state: ViewState, apply: Callable[[], None]) -> None:
        super().__init__()
        self._state, self._apply = state, apply
        self._worker = Worker(self)
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._try_out)
        self.text, self.table = QPlainTextEdit(), FrameTable(COLUMNS, "What each rule takes")
        self.text.setAccessibleName("Rules of the kernel classes")
        self.text.setTabChangesFocus(True)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.message = PlainLabel()
        self.message.setWordWrap(True)
        about = PlainLabel(_ABOUT)
        about.setObjectName("soft")
        about.setWordWrap(True)
        self.save_button, self.builtin_button = (
            QPushButton("Save and apply"),
            QPushButton("Use the built-in rules"),
        )
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.text)
        split.addWidget(self.table)
        split.setSizes([360, 560])
        foot = QHBoxLayout()
        foot.addWidget(self.message, 1)
        foot.addWidget(self.builtin_button)
        foot.addWidget(self.save_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(about)
        column.addWidget(split, 1)
        column.addLayout(foot)
        self.text.setPlainText(Rules.current_text())
        self.text.textChanged.connect(self._pause.start)
        self.table.chosen.connect(self._go_to_line)
        self.save_button.clicked.connect(self.save)
        self.builtin_button.clicked.connect(self.use_builtin)
        state.study_changed.connect(self._try_out)
        self._try_out()

    def save(self) -> None:
        """Keep the text as the user's own table, and compute the numbers again with it."""
        try:
            Rules.keep_text(self.text.toPlainText())
        except OSError as error:
            self.message.setText(visible(f"The rules cannot be written: {error.strerror or error}"))
            return
        self._apply()
        self._try_out()

    def use_builtin(self) -> None:
        """Put the built-in rules into the text; they hold when they are applied."""
        self.text.setPlainText(Rules.builtin_text())

    def end(self) -> None:
        """Drop what is still computed: the page closes."""
        self._pause.stop()
        self._worker.cancel()

    def _try_out(self) -> None:
        self._pause.stop()
        rules = Rules.parse(self.text.toPlainText(), "preview")
        study = self._state.study
        trace = study.trace if study is not None else None
        self._worker.start(lambda _: (rules, rule_use(trace, rules)), self._show)

    def _show(self, found: tuple[Rules, pd.DataFrame]) -> None:
        rules, frame = found
        self.table.set_frame(frame)
        errors = [f"line {error.line}: {error.problem}" for error in rules.errors[:_MOST_ERRORS]]
        if rules.errors:
            more = f" and {len(rules.errors) - _MOST_ERRORS} more" if len(rules.errors) > _MOST_ERRORS else ""
            text = f"Not understood, and left out: {'; '.join(errors)}{more}"
        elif self._state.study is None:
            text = "Open a trace to see what each rule takes of it."
        else:
            taken = int(frame["kernels"].iloc[:-1].sum())
            text = (
                f"{format_count(taken)} of {format_count(int(frame['kernels'].sum()))} kernels have a rule."
            )
        self.message.setText(visible(text))

    def _go_to_line(self, position: int) -> None:
        if line := int(self.table.frame_model.frame["line"].iloc[position]):
            cursor = self.text.textCursor()
            cursor.setPosition(self.text.document().findBlockByNumber(line - 1).position())
            self.text.setTextCursor(cursor)
            self.text.setFocus()
