"""The page of the units: how times and sizes are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtWidgets import QWidget

from viewer.app import settings as remembered
from viewer.app.preferences.fields import add_field, choice, form_of
from viewer.app.settings import Settings
from viewer.drawing import format as texts
from viewer.timeline.plain_text import PlainLabel

TIMES = {False: "Four digits and the unit that fits", True: "Whole nanoseconds"}
SIZES = {False: "Binary: KiB, MiB, GiB", True: "Decimal: kB, MB, GB"}
_NS, _BYTES = 16_900_123, 67_108_864


class UnitsPage(QWidget):
    """What is chosen holds at once, in the window and what it exports; files and JSON keep their units."""

    def __init__(self, settings: Settings, refresh: Callable[[], None]) -> None:
        super().__init__()
        self._settings, self._refresh = settings, refresh
        units = texts.units()
        self.times = choice("Times", TIMES, units.exact_times, self._choose_times)
        self.sizes = choice("Sizes", SIZES, units.decimal_sizes, self._choose_sizes)
        self.example = PlainLabel()
        self.example.setObjectName("soft")
        form = form_of(self)
        add_field(form, "Times", self.times, "Of durations. Tables that are saved hold ns in any case.")
        add_field(form, "Sizes", self.sizes, "Throughput is in GB/s, 10⁹ bytes a second, in any case.")
        form.addRow("So they read", self.example)
        self._show_example()

    def _choose_times(self, exact: bool) -> None:
        self._choose(replace(texts.units(), exact_times=exact))

    def _choose_sizes(self, decimal: bool) -> None:
        self._choose(replace(texts.units(), decimal_sizes=decimal))

    def _choose(self, units: texts.Units) -> None:
        self._settings.set(remembered.EXACT_TIMES, units.exact_times)
        self._settings.set(remembered.DECIMAL_SIZES, units.decimal_sizes)
        texts.set_units(units)
        self._show_example()
        self._refresh()

    def _show_example(self) -> None:
        self.example.setText(f"{texts.format_ns(_NS)}   ·   {texts.format_bytes(_BYTES)}")
