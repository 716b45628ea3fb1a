"""The dialog of the preferences: a list of pages; what is chosen there holds at once."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListWidget,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.app.preferences.look_page import LookPage
from viewer.app.preferences.rules_page import RulesPage
from viewer.app.preferences.store_page import StorePage
from viewer.app.preferences.units_page import UnitsPage
from viewer.app.settings import Settings
from viewer.app.theme_manager import ThemeManager
from viewer.state import ViewState

PAGES = ("Look", "Units", "Kernel classes", "Store")
_SIZE = (1120, 640)


class PreferencesDialog(QDialog):
    """Shows the pages; it is not modal, so that one sees what a choice does."""

    def __init__(
        self,
        state: ViewState,
        theme_manager: ThemeManager,
        settings: Settings,
        refresh: Callable[[], None],
        apply_rules: Callable[[], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.list, self.pages = QListWidget(), QStackedWidget()
        self.list.setObjectName("sections")
        self.list.setAccessibleName("Pages of the preferences")
        self.list.setFixedWidth(150)
        self.look = LookPage(state, theme_manager, settings)
        self.units = UnitsPage(settings, refresh)
        self.rules = RulesPage(state, apply_rules)
        self.store = StorePage()
        for title, page in zip(PAGES, (self.look, self.units, self.rules, self.store), strict=True):
            self.list.addItem(title)
            self.pages.addWidget(page)
        self.list.setSpacing(2)
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        columns = QHBoxLayout()
        columns.setSpacing(16)
        columns.addWidget(self.list)
        columns.addWidget(self.pages, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(12, 16, 20, 14)
        whole.addLayout(columns, 1)
        whole.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        self.list.currentRowChanged.connect(self.pages.setCurrentIndex)
        self.list.setCurrentRow(0)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)  # Enter in a field keeps what was typed, and presses nothing
        self.resize(*_SIZE)
        self.finished.connect(self.rules.end)

    def show_page(self, title: str) -> None:
        """Show a page of `PAGES`."""
        self.list.setCurrentRow(PAGES.index(title))
