"""The page of the look: theme, size of text, scale, cards, motion."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QCheckBox, QWidget

from viewer.app import settings as remembered
from viewer.app.preferences.fields import add_field, choice, form_of
from viewer.app.settings import SCALES, TEXT_SIZES, Setting, Settings
from viewer.app.theme_manager import ThemeManager
from viewer.state import ViewState
from viewer.state.view_state import CardForm

T = TypeVar("T")
THEMES = {"system": "Like the system", "light": "Light", "dark": "Dark"}
CARDS: dict[CardForm, str] = {"full": "In full", "short": "In short", "key": "Only by the key C"}


class LookPage(QWidget):
    """What is chosen holds at once; the scale from the next start on."""

    def __init__(self, state: ViewState, theme_manager: ThemeManager, settings: Settings) -> None:
        super().__init__()
        self._settings, self._theme_manager, self._state = settings, theme_manager, state
        scale = settings.get(remembered.SCALE)
        self.theme = choice("Theme", THEMES, theme_manager.choice, self._choose_theme)
        sizes = {size: f"{size} px" for size in TEXT_SIZES}
        self.text = choice("Size of text", sizes, theme_manager.text_px, self._choose_text)
        scales = {percent: f"{percent} %" for percent in SCALES}
        self.scale = choice("Scale", scales, scale, lambda percent: settings.set(remembered.SCALE, percent))
        self.card = choice("Cards", CARDS, state.card, state.set_card)
        self.motion = QCheckBox("Reduce motion")
        self.motion.setChecked(theme_manager.is_still)
        self.motion.toggled.connect(self._reduce_motion)
        form = form_of(self)
        add_field(form, "Theme", self.theme)
        add_field(form, "Size of text", self.text, "In menus, docks and dialogs.")
        add_field(form, "Scale", self.scale, "Of everything, the timeline included. From the next start on.")
        add_field(form, "Cards", self.card, "Of what is under the pointer, and of the selection.")
        add_field(form, "Motion", self.motion, "Nothing slides, fades or blinks.")

    def _choose_theme(self, theme: str) -> None:
        self._keep(remembered.THEME, theme)
        self._theme_manager.choose(theme)

    def _choose_text(self, pixels: int) -> None:
        self._keep(remembered.TEXT_PX, pixels)
        self._theme_manager.set_text_px(pixels)

    def _reduce_motion(self, on: bool) -> None:
        self._keep(remembered.STILL, on)
        self._theme_manager.set_still(on)

    def _keep(self, setting: Setting[T], value: T) -> None:
        self._settings.set(setting, value)
