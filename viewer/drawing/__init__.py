"""What to draw for a window: scale, draw list, coarse grid, ticks, palette, layout of rows."""

from viewer.drawing.drawlist import DrawList
from viewer.drawing.hit import ColumnFacts, HitResult
from viewer.drawing.labels import Label
from viewer.drawing.layout import PlacedRow, place, row_height, shown_rows
from viewer.drawing.palette import Palette
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.drawing.theme import DARK, LIGHT, Theme

__all__ = [
    "DARK",
    "LIGHT",
    "ColumnFacts",
    "DrawList",
    "HitResult",
    "Label",
    "Palette",
    "PlacedRow",
    "Scale",
    "Scene",
    "Theme",
    "place",
    "row_height",
    "shown_rows",
]
