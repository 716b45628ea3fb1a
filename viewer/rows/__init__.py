"""The tree of rows, its percentages, and which events each row holds."""

from viewer.rows.kinds import RowKind
from viewer.rows.presets import PRESETS
from viewer.rows.row import EventRef, Row, RowEvents
from viewer.rows.tree import build_rows

__all__ = ["PRESETS", "EventRef", "Row", "RowEvents", "RowKind", "build_rows"]
