"""Fields of a preferences page: a label, a choice, and a line about what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QFormLayout, QVBoxLayout, QWidget

from viewer.timeline.plain_text import PlainLabel

T = TypeVar("T")
FIELD_WIDTH = 260


def choice(name: str, options: Mapping[T, str], chosen: T, choose: Callable[[T], object]) -> QComboBox:
    """Return a box that offers some values by their titles, and calls `choose` with the one that is taken."""
    box = QComboBox()
    box.setAccessibleName(name)
    values = list(options)
    box.addItems(list(options.values()))
    box.setCurrentIndex(values.index(chosen) if chosen in values else 0)
    box.activated.connect(lambda at: choose(values[at]))
    return box


def add_field(form: QFormLayout, label: str, field: QWidget, about: str = "") -> None:
    """Add a field to a form, with a soft line below it."""
    if isinstance(field, QComboBox | QAbstractSpinBox):
        field.setFixedWidth(FIELD_WIDTH)
    cell, note = QWidget(), PlainLabel(about)
    note.setObjectName("soft")
    column = QVBoxLayout(cell)
    column.setContentsMargins(0, 0, 0, 8)
    column.setSpacing(4)
    column.addWidget(field, 0, Qt.AlignmentFlag.AlignLeft)
    if about:
        column.addWidget(note)
    title = PlainLabel(label)
    title.setBuddy(field)
    title.setFixedHeight(field.sizeHint().height())
    form.addRow(title, cell)


def form_of(page: QWidget) -> QFormLayout:
    """Return the form that a page is laid out as."""
    form = QFormLayout(page)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
    form.setHorizontalSpacing(18)
    form.setVerticalSpacing(12)
    return form
