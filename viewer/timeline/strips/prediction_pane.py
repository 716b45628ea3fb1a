"""PredictionPane: the prediction under the rows, its numbers at the left and its lanes on the time axis."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from viewer.drawing.scene import Scene
from viewer.drawing.theme import Theme
from viewer.state import ViewState
from viewer.timeline.axis_place import AxisPlace
from viewer.timeline.strips.prediction import PREDICTION_PX, PredictionStrip
from viewer.timeline.strips.prediction_head import PredictionHead
from viewer.timeline.what_if_menu import fill_general


class PredictionPane:
    """Owns head and strip; the timeline places them."""

    def __init__(self, state: ViewState, place: AxisPlace, parent: QWidget) -> None:
        self._state = state
        self.head = PredictionHead(state, lambda menu: fill_general(menu, state), parent)
        self.strip = PredictionStrip(state, place, parent)

    @property
    def height(self) -> int:
        """How high it is now, logical pixels; 0 while nothing is tried."""
        return PREDICTION_PX if self._state.what_if.is_open else 0

    def set_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.head.set_theme(theme)
        self.strip.set_theme(theme)

    def set_scene(self, scene: Scene | None) -> None:
        """Take the colours of another trace."""
        self.strip.colours = scene.palette if scene is not None else None
