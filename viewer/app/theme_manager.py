"""ThemeManager: the light and dark theme, their palette and the style sheet of the window's frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from viewer.assets import asset
from viewer.drawing.colour import mix
from viewer.drawing.theme import DARK, LIGHT, Theme
from viewer.timeline.paint.fonts import font

TEXT_PX = 13
_EFFECTS = (
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
    Qt.UIEffect.UI_AnimateToolBox,
)


class ThemeManager(QObject):
    """Owns the theme, the user's choice or the system's, the size of texts, and whether anything moves.

    Attributes
    ----------
    text_px : int
        The size of texts in menus, docks and dialogs.
    is_still : bool
        Whether nothing slides, fades or blinks.

    Signals
    -------
    changed(Theme)
        The theme, the size of texts or the choice of motion changed.
    """

    changed = Signal(object)

    def __init__(self, app: QApplication, choice: str) -> None:
        super().__init__(app)
        self._app = app
        self.choice = choice
        self.text_px, self.is_still = TEXT_PX, False
        self._blink_ms = app.cursorFlashTime()
        self._applied: tuple[Theme, int, bool] | None = None
        app.setStyle("Fusion")
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._apply)
        self._apply()

    @property
    def theme(self) -> Theme:
        """The present theme."""
        system_is_dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return DARK if self.choice == "dark" or (self.choice == "system" and system_is_dark) else LIGHT

    def choose(self, choice: str) -> None:
        """Follow the system, or stay light or dark."""
        self.choice = choice
        self._apply()

    def set_text_px(self, pixels: int) -> None:
        """Write texts in menus, docks and dialogs in this size."""
        self.text_px = pixels
        self._apply()

    def set_still(self, still: bool) -> None:
        """Let nothing slide, fade or blink, or let it again."""
        self.is_still = still
        self._apply()

    def _apply(self) -> None:
        """Apply what is chosen, unless it is applied already: that restyles all widgets."""
        theme, wanted = self.theme, (self.theme, self.text_px, self.is_still)
        if wanted == self._applied:
            return
        self._applied = wanted
        self._app.setFont(font(self.text_px))
        self._app.setCursorFlashTime(0 if self.is_still else self._blink_ms)
        for effect in _EFFECTS:
            self._app.setEffectEnabled(effect, not self.is_still)
        self._app.setPalette(palette(theme))
        self._app.setStyleSheet(style_sheet(theme, self.text_px) + (_STILL if self.is_still else ""))
        self.changed.emit(theme)


_STILL = "* { widget-animation-duration: 0; }"


def palette(theme: Theme) -> QPalette:
    """Return Qt's palette in the theme's colours."""
    roles = QPalette.ColorRole
    colours = {
        roles.Window: theme.panel,
        roles.WindowText: theme.text,
        roles.Base: theme.background,
        roles.AlternateBase: theme.background_alternate,
        roles.Text: theme.text,
        roles.Button: theme.control,
        roles.ButtonText: theme.text,
        roles.BrightText: theme.error,
        roles.ToolTipBase: theme.panel,
        roles.ToolTipText: theme.text,
        roles.PlaceholderText: theme.text_faint,
        roles.Highlight: theme.accent,
        roles.HighlightedText: theme.accent_text,
        roles.Link: theme.accent,
        roles.LinkVisited: theme.accent,
        roles.Light: theme.background,
        roles.Midlight: theme.line_soft,
        roles.Mid: theme.line,
        roles.Dark: theme.text_faint,
        roles.Shadow: theme.line,
    }
    made = QPalette()
    for role, argb in colours.items():
        made.setColor(role, QColor.fromRgba(argb))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor.fromRgba(theme.text_faint))
    return made


def css(argb: int) -> str:
    """Return an opaque ARGB colour as a style sheet writes it."""
    return f"#{argb & 0xFFFFFF:06x}"


def style_sheet(theme: Theme, text_px: int = TEXT_PX) -> str:
    """Return the style sheet of the frame: calm buttons, pills that can be on, tabs that are underlined."""
    panel, line, text = css(theme.panel), css(theme.line), css(theme.text)
    soft, faint, accent = css(theme.text_soft), css(theme.text_faint), css(theme.accent)
    hover, pressed, control = css(theme.background_alternate), css(theme.line_soft), css(theme.control)

    def tint(argb: int) -> str:
        return css(int(mix(np.array([theme.panel], np.uint32), argb, 0.14)[0]))

    on = tint(theme.accent)
    check = Path(str(asset("icons/check.svg"))).as_posix()
    down, up = (Path(str(asset(f"icons/arrow-{side}.svg"))).as_posix() for side in ("down", "up"))
    return f"""
    QMainWindow, QMainWindow::separator {{ background: {panel}; }}
    QMainWindow::separator {{ height: 5px; width: 5px; }}
    QMainWindow::separator:horizontal {{ border-top: 1px solid {line}; }}
    QMainWindow::separator:vertical {{ border-left: 1px solid {line}; }}
    QMainWindow::separator:hover {{ background: {line}; }}
    QMenuBar {{ background: {panel}; padding: 1px 2px 0 2px; max-height: {text_px + 12}px; }}
    QMenuBar::item {{ background: transparent; padding: 3px 9px; border-radius: 4px; }}
    QMenuBar::item:selected {{ background: {pressed}; }}
    QMenu {{ background: {panel}; border: 1px solid {line}; padding: 5px; }}
    QMenu::item {{ padding: 5px 26px 5px 26px; border-radius: 4px; }}
    QMenu::item:selected {{ background: {on}; color: {text}; }}
    QMenu::item:disabled {{ color: {faint}; }}
    QMenu::separator {{ height: 1px; background: {line}; margin: 5px 8px; }}
    QMenu::indicator {{ width: 14px; height: 14px; left: 6px; }}
    QToolTip {{ background: {panel}; color: {text}; border: 1px solid {line}; padding: 4px; }}
    QToolBar {{
        background: {panel}; border: 0; border-bottom: 1px solid {line}; padding: 4px; spacing: 6px;
    }}
    QToolBar QLabel {{ color: {soft}; padding: 0 4px 0 8px; }}
    QToolBar QToolButton, QPushButton, QToolButton#plain {{
        background: {control}; color: {text}; border: 1px solid {line}; border-radius: 5px;
        padding: 2px 11px; min-height: 20px;
    }}
    QToolBar QToolButton:hover, QPushButton:hover, QToolButton#plain:hover {{
        background: {hover}; border-color: {faint};
    }}
    QToolBar QToolButton:pressed, QPushButton:pressed, QToolButton#plain:pressed {{ background: {pressed}; }}
    QToolBar QToolButton:disabled, QPushButton:disabled, QToolButton#plain:disabled {{ color: {faint}; }}
    QToolBar QToolButton:focus, QPushButton:focus, QToolButton#plain:focus {{ border-color: {accent}; }}
    QToolBar QToolButton#step {{ padding: 2px 8px; }}
    QToolBar QToolButton#qt_toolbar_ext_button {{ padding: 0; border: 0; min-width: 16px; }}
    QToolBar QToolButton#pill:checked, QPushButton:checked {{ background: {on}; border-color: {accent}; }}
    QToolBar QToolButton#filter {{
        background: {accent}; border-color: {accent}; color: {css(theme.accent_text)};
    }}
    QPushButton:default {{ background: {accent}; border-color: {accent}; color: {css(theme.accent_text)}; }}
    QToolBar #iteration {{ border: 1px solid {line}; border-radius: 5px; background: {control}; }}
    QToolBar #iteration QToolButton {{ border: 0; background: transparent; padding: 2px 7px; }}
    QToolBar #iteration QToolButton:hover {{ background: {pressed}; }}
    QToolBar #iteration QToolButton#doubt {{ color: {css(theme.warning)}; padding: 2px 20px 2px 7px; }}
    QToolButton#doubt::menu-indicator {{
        subcontrol-position: right center; subcontrol-origin: padding; right: 6px;
    }}
    QLineEdit {{
        background: {control}; border: 1px solid {line}; border-radius: 5px;
        padding: 0 8px; min-height: 24px; selection-background-color: {accent};
    }}
    QComboBox, QAbstractSpinBox {{
        background: {control}; border: 1px solid {line}; border-radius: 5px;
        padding: 2px 4px 2px 8px; min-height: 20px; selection-background-color: {accent};
    }}
    QComboBox:hover, QAbstractSpinBox:hover {{ background: {hover}; border-color: {faint}; }}
    QComboBox:focus, QAbstractSpinBox:focus {{ border-color: {accent}; }}
    QComboBox:disabled, QAbstractSpinBox:disabled {{ color: {faint}; }}
    QComboBox::drop-down, QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{
        border: 0; background: transparent; width: 18px;
    }}
    QComboBox::down-arrow, QAbstractSpinBox::down-arrow {{ image: url("{down}"); width: 9px; height: 9px; }}
    QAbstractSpinBox::up-arrow {{ image: url("{up}"); width: 9px; height: 9px; }}
    QComboBox QAbstractItemView {{
        background: {panel}; border: 1px solid {line};
        selection-background-color: {on}; selection-color: {text};
    }}
    QToolBar QLineEdit QToolButton {{ border: 0; background: transparent; padding: 0; min-height: 0; }}
    QLineEdit:focus {{ border-color: {accent}; }}
    QMainWindow > QTabBar::tab {{ border: 0; padding: 7px 13px 6px 13px; }}
    QHeaderView::section {{
        background: {panel}; color: {soft}; border: 0; border-bottom: 1px solid {line}; padding: 4px 8px;
    }}
    QTableView {{
        border: 1px solid transparent; background: {css(theme.background)};
        selection-background-color: {on}; selection-color: {text}; outline: 0;
    }}
    QTableView::item {{ padding: 0 5px; }}
    QTableView:focus, QTextBrowser:focus, QScrollArea:focus {{ border: 1px solid {accent}; }}
    QCheckBox::indicator {{
        width: 14px; height: 14px; border: 1px solid {faint}; border-radius: 4px; background: {control};
    }}
    QCheckBox::indicator:checked {{ background: {accent}; border-color: {accent}; image: url("{check}"); }}
    QCheckBox::indicator:disabled {{ border-color: {line}; background: {panel}; }}
    QCheckBox::indicator:checked:disabled {{ background: {faint}; border-color: {faint}; }}
    QCheckBox:focus, QSpinBox:focus, QDoubleSpinBox:focus {{ color: {accent}; }}
    QToolBar QToolButton#pill:focus {{ border: 2px solid {accent}; padding: 1px 10px; }}
    QToolBar #iteration QToolButton:focus, #dockTitle QToolButton:focus, #notice QToolButton:focus,
    QToolButton#link:focus {{ background: {on}; color: {accent}; border-radius: 4px; }}
    QScrollBar {{ background: {panel}; border: 0; }}
    QScrollBar:vertical {{ width: 11px; }}
    QScrollBar:horizontal {{ height: 11px; }}
    QScrollBar::handle {{ background: {line}; border-radius: 3px; margin: 2px; }}
    QScrollBar::handle:vertical {{ min-height: 28px; }}
    QScrollBar::handle:horizontal {{ min-width: 28px; }}
    QScrollBar::handle:hover {{ background: {faint}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    QProgressBar {{ background: {pressed}; border: 0; border-radius: 3px; max-height: 6px; }}
    QProgressBar::chunk {{ background: {accent}; border-radius: 3px; }}
    #notice {{ background: {on}; border-bottom: 1px solid {line}; }}
    #dockTitle QLabel {{ font-weight: 600; }}
    #dockTitle QToolButton {{ border: 0; background: transparent; padding: 3px 6px; color: {soft}; }}
    #dockTitle QToolButton:hover {{ color: {text}; }}
    #notice[severity="warning"] {{ background: {tint(theme.warning)}; }}
    #notice[severity="warning"] QLabel {{ color: {css(theme.warning)}; }}
    #notice[severity="error"] {{ background: {tint(theme.error)}; }}
    #notice[severity="error"] QLabel {{ color: {css(theme.error)}; }}
    #notice QToolButton {{ border: 0; background: transparent; padding: 3px 6px; }}
    #soft {{ color: {soft}; }}
    QStatusBar {{ background: {panel}; border-top: 1px solid {line}; }}
    QStatusBar::item {{ border: 0; }}
    QStatusBar QLabel {{ padding: 0 10px 0 4px; }}
    QStatusBar #link {{ border: 0; color: {accent}; padding: 1px 8px; }}
    QStatusBar #link:hover {{ text-decoration: underline; }}
    #warning {{ color: {css(theme.warning)}; padding: 0 12px; }}
    #sections {{ background: {panel}; border: 0; border-right: 1px solid {line}; outline: 0; }}
    #sections::item {{ padding: 2px 4px 2px 10px; border-radius: 4px; margin: 0 4px; color: {soft}; }}
    #sections::item:hover {{ background: {hover}; color: {text}; }}
    #sections::item:selected {{ background: {on}; color: {text}; }}
    #sections:focus {{ border: 1px solid {accent}; }}
    #emptyState {{ color: {soft}; }}
    #dropHint {{
        background: {on}; color: {text}; border: 2px dashed {accent}; border-radius: 8px; font-weight: 600;
    }}
    """
