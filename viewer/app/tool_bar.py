"""The tool bar: calm buttons, the selected iteration, the overlays as pills, the row filter."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QWidget,
)

from viewer.analysis.time.time_breakdown import IDLE
from viewer.app.icons import SWATCH, more, swatch
from viewer.drawing.format import format_ns
from viewer.drawing.palette import EXPOSED
from viewer.drawing.theme import Theme
from viewer.panels.iterations_panel import candidate_text, marker_tip
from viewer.state import ViewState
from viewer.state.marker_choice import MarkerChoice
from viewer.state.navigation import current_iteration
from viewer.timeline.paint.paint_rows import stripes
from viewer.timeline.plain_text import tip, without_key

TYPING_PAUSE_MS = 80
_MOST_MARKERS, _LONGEST_MARKER = 12, 110
_FILTER, _LEAST_FILTER, _FILTER_PADDING = 220, 110, 28
_SHORT_HINT = "Filter rows"
_HINT = f"{_SHORT_HINT}   Ctrl+Shift+F"


class FilterBox(QLineEdit):
    """The row filter; Esc clears it and leaves.

    Signals
    -------
    left()
        The user left the field.
    """

    left = Signal()

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.setPlaceholderText(_HINT)
        self.setAccessibleName("Filter the rows by text")
        self.setClearButtonEnabled(True)
        self.setMinimumWidth(_LEAST_FILTER)
        self.setMaximumWidth(_FILTER)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(TYPING_PAUSE_MS)
        self._pause.timeout.connect(self.apply)
        self.textChanged.connect(self._pause.start)
        self.returnPressed.connect(self.left)
        state.leaving.connect(self._keep)
        state.study_changed.connect(self.clear)
        state.rows.changed.connect(self._follow)

    def _keep(self) -> None:
        """Apply pending text before the trace closes, or before more of it replaces it."""
        if self._pause.isActive():
            self.apply()

    def _follow(self) -> None:
        """Show the filter from a session or a bookmark, unless the user is typing one."""
        if not self._pause.isActive() and self.text().strip() != self.state.rows.filter_text:
            self.setText(self.state.rows.filter_text)
            self._pause.stop()

    def apply(self) -> None:
        """Filter the rows by the text in the box."""
        self._pause.stop()
        self.state.rows.set_filter(self.text())

    def sizeHint(self) -> QSize:
        """Return the width where there is room; in a narrow window the tool bar gives less."""
        return QSize(_FILTER, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.width() - _FILTER_PADDING
        has_room = self.fontMetrics().horizontalAdvance(_HINT) <= room
        self.setPlaceholderText(_HINT if has_room else _SHORT_HINT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.clear()
            self.apply()
            self.left.emit()
        else:
            super().keyPressEvent(event)


class IterationBox(QFrame):
    """The selected iteration, with a step to either side."""

    def __init__(self, state: ViewState, actions: dict[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.setObjectName("iteration")
        self._middle = _button(actions["fit-iteration"])
        self._middle.setMinimumWidth(118)
        row = QHBoxLayout(self)
        row.setContentsMargins(1, 0, 1, 0)
        row.setSpacing(0)
        row.addWidget(_button(actions["previous-iteration"]))
        row.addWidget(self._middle)
        row.addWidget(_button(actions["next-iteration"]))
        self.doubt = MarkerButton(state)
        row.addWidget(self.doubt)
        self._actions = actions

    def refresh(self) -> None:
        """Show the selected iteration and how many there are, or how many alone."""
        iterations, iteration = self.state.iterations, current_iteration(self.state)
        fit = self._actions["fit-iteration"]
        self.doubt.refresh()
        if iterations is None:
            study = self.state.study
            text, reason = "No iterations", "No iterations were found" if study else ""
            if study is not None and not study.loading.is_complete:
                text, reason = "Iterations follow", "Iterations are known when all is read and counted"
                if study.loading.is_cancelled:
                    text = f"Iterations not {'counted' if study.loading.has_all_rows else 'read'}"
                    reason = "Opening was cancelled; open the trace again to read the rest"
            fit.setIconText(text)
            fit.setToolTip(reason)
            return
        numbers = f"0–{iterations.count - 1}" if iterations.count > 1 else "0"
        number, called = iterations.count_text, iterations.called(iteration or 0)
        of_all = f"{called[:1].upper()}{called[1:]} ({(iteration or 0) + 1} of {iterations.count})"
        fit.setIconText(without_key(number if iteration is None else of_all))
        fit.setToolTip(tip(f"{number}, numbered {numbers}; none is selected"))
        if iteration is not None:
            length = format_ns(iterations.end_ns(iteration) - iterations.start_ns(iteration))
            fit.setToolTip(tip(f"{iterations.names[iteration]}, {length}: fit it  (\\)"))


class MarkerButton(QToolButton):
    """Says that the iterations are derived, guessed or unsure, and offers the other markers."""

    def __init__(self, state: ViewState) -> None:
        super().__init__()
        self.state = state
        self._choice = MarkerChoice(state, self)
        self.setObjectName("doubt")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        menu = QMenu(self)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)
        self.hide()

    def refresh(self) -> None:
        """Show why the iterations are in doubt; nothing where they are not."""
        iterations = self.state.iterations
        messages = [] if iterations is None else [iterations.doubt_text, *iterations.warnings]
        messages = [text for text in messages if text]
        self.setVisible(bool(messages))
        if iterations is not None and messages:
            self.setText(iterations.doubt or "unsure")
            self.setAccessibleName(f"Iterations {self.text()}: choose what marks them")
            self.setToolTip(tip("\n".join([*messages, "Click to choose what marks the iterations."])))

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        menu.setToolTipsVisible(True)
        for place, candidate in enumerate(self.state.candidates[:_MOST_MARKERS]):
            text = candidate_text(candidate)
            shown = text if len(text) <= _LONGEST_MARKER else f"{text[: _LONGEST_MARKER - 1]}…"
            action = menu.addAction(without_key(shown))
            action.setCheckable(True)
            action.setChecked(place == self.state.marker)
            action.setToolTip(tip(f"{text}\n{marker_tip(candidate)}".rstrip()))
            action.triggered.connect(lambda _=False, place=place: self._choice.choose(place))


class ToolBar(QToolBar):
    """The one tool bar of the window."""

    def __init__(self, state: ViewState, actions: dict[str, QAction], parent: QWidget) -> None:
        super().__init__("Tool bar", parent)
        self.setObjectName("tool-bar")
        self.setMovable(False)
        self.setIconSize(SWATCH)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._actions = actions
        self.state = state
        self.addWidget(_space(0))
        for name in ("open", "fit"):
            self.addWidget(_button(actions[name]))
        for name in ("back", "forward"):
            self.addWidget(_button(actions[name], "step"))
        self.addWidget(_space(6))
        self.iteration = IterationBox(state, actions)
        self.addWidget(self.iteration)
        self.addWidget(_space(6))
        for name in ("overlay-idle", "overlay-exposed", "overlay-waiting", "overlay-path"):
            self.addWidget(_button(actions[name], "pill"))
        self._filter = self.addWidget(_button(actions["filter-none"], "filter"))
        stretch = QWidget()
        stretch.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(stretch)
        self.filter_box = FilterBox(state)
        self.addWidget(self.filter_box)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours of the overlays."""
        idle, exposed = theme.parts[IDLE], theme.parts[EXPOSED]
        lines = stripes(theme.text_soft, 1.0, thin=True)
        self._actions["overlay-idle"].setIcon(swatch(idle, lines, theme.text_soft))
        self._actions["overlay-exposed"].setIcon(swatch(exposed))
        self._actions["overlay-waiting"].setIcon(swatch(exposed, stripes(theme.waiting, 1.0)))
        self._actions["overlay-path"].setIcon(swatch(theme.event))
        # Qt's own button for what has no room; the style's picture is black in the dark theme too.
        rest = self.findChild(QToolButton, "qt_toolbar_ext_button")
        if rest is not None:
            rest.setIcon(more(theme.text))

    def refresh(self) -> None:
        """Show the current state."""
        self.iteration.refresh()
        scope = self.state.filter
        self._filter.setVisible(scope is not None)
        if scope is not None:
            self._actions["filter-none"].setIconText(without_key(f"Filtered to {scope.what}  \u00d7"))


def _button(action: QAction, name: str = "") -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(action)
    button.setObjectName(name)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    # A click leaves the focus where it is: on the canvas, most often.
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.text())
    return button


def _space(width: int) -> QWidget:
    space = QWidget()
    space.setFixedWidth(width)
    return space
