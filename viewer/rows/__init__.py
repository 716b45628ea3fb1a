"""The tree of rows, its percentages, and which events each row holds."""

from viewer.rows.model import EventRef, Row, RowEvents, RowKind

__all__ = ["EventRef", "Row", "RowEvents", "RowKind"]
