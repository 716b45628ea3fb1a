"""The rows of a picture with their marks: what every kind of picture shows of the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtGui import QPainter

from viewer.drawing.format import format_ns
from viewer.drawing.scale import Scale
from viewer.drawing.theme import Theme
from viewer.export.note_band import NoteBand
from viewer.export.paint_notes import paint_times
from viewer.export.picture_view import View
from viewer.state import Window
from viewer.timeline.paint import marks
from viewer.timeline.paint.paint_rows import Frame, paint_frame, paint_labels


def paint_lanes(painter: QPainter, frame: Frame, view: View, ground: Theme, notes: NoteBand) -> None:
    """Paint rows, measurements, selection and the times of notes in device pixels.

    The names in the bars come last, over tints and edges: in the window they can be read once the selection
    is gone, in a picture only like this.

    Parameters
    ----------
    ground : Theme
        Of what lies under the bars.
    """
    theme = view.theme
    paint_frame(painter, replace(frame, theme=ground, labels=(), kept=()))
    marks.paint_measurements(painter, frame.scale, view.measurements, frame.height, frame.dpr)
    for selection in view.selections:
        if selection[1] >= frame.scale.start_ns and selection[0] <= frame.scale.end_ns:
            marks.paint_selection(painter, frame.scale, selection, frame.height, theme, frame.dpr)
    paint_times(painter, notes)
    paint_labels(painter, frame)
    for (_, top, bottom), kept in zip(frame.rows, frame.kept, strict=False):
        marks.paint_outside(painter, frame.scale, kept, top, bottom, theme.background)


def paint_lengths(
    painter: QPainter, scale: Scale, selections: Sequence[Window], top: float, theme: Theme, dpr: float
) -> None:
    """Paint the length of each selected range as a tag, below the tags of the iterations."""
    ends, inks = (0.0, float(scale.width)), (theme.accent, theme.accent_text)
    for selection in selections:
        if selection[1] > scale.start_ns and selection[0] < scale.end_ns:
            left, right = (min(max(scale.x(t), 0.0), float(scale.width)) for t in selection)
            text = format_ns(selection[1] - selection[0])
            marks.paint_tag(painter, text, (left + right) / 2, top, ends, *inks, dpr, margin=9)
