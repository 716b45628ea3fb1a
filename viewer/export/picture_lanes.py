"""The rows of a picture with their marks: what every kind of picture shows of the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from PySide6.QtGui import QPainter

from viewer.drawing.colour import OPAQUE, Argb, contrast, luminance, mix
from viewer.drawing.format import format_ns
from viewer.drawing.labels import Label
from viewer.drawing.scale import Scale
from viewer.drawing.theme import Theme
from viewer.export.note_band import NoteBand
from viewer.export.paint_notes import paint_times
from viewer.export.picture_view import View
from viewer.state import Window
from viewer.timeline.paint import marks
from viewer.timeline.paint.paint_rows import Frame, paint_ground, paint_labels, paint_over, paint_rects

LEAST_CONTRAST = 4.5
"""Of text on its ground."""
_MIDDLE = 0.179
"""The luminance on which black and white have the same contrast."""


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
    paint_ground(painter, replace(frame, theme=ground))
    paint_rects(painter, frame.draw, frame.argb)
    paint_over(painter, replace(frame, labels=(), kept=()))
    marks.paint_measurements(painter, frame.scale, view.measurements, frame.height, frame.dpr)
    for selection in view.selections:
        if selection[1] >= frame.scale.start_ns and selection[0] <= frame.scale.end_ns:
            marks.paint_selection(painter, frame.scale, selection, frame.height, theme, frame.dpr)
    paint_times(painter, notes)
    over = [_is_over(label, frame.scale, view.selections) for label in frame.labels]
    for is_over, ink in ((False, frame.ink), (True, ink_over(frame.argb, frame.ink, theme.selection))):
        labels = tuple(
            label for label, selected in zip(frame.labels, over, strict=True) if selected is is_over
        )
        paint_labels(painter, replace(frame, labels=labels, ink=ink))
    for (_, top, bottom), kept in zip(frame.rows, frame.kept, strict=False):
        marks.paint_outside(painter, frame.scale, kept, top, bottom, theme.background)


def _is_over(label: Label, scale: Scale, selections: Sequence[Window]) -> bool:
    """Return whether any of a name lies in a selected range."""
    return any(scale.x(start) < label.x + label.width and label.x < scale.x(end) for start, end in selections)


def ink_over(argb: Argb, ink: Argb, tint: int) -> Argb:
    """Return the colours of text on bars under a translucent tint: their own where the contrast is enough.

    Parameters
    ----------
    argb, ink : ndarray of uint32, shape (n,)
        The bars' colours, and those of the texts on them.
    tint : int
        Translucent ARGB.
    """
    ground = mix(argb, tint, (tint >> 24) / 255)
    light = luminance(ground)
    # On black or on white the contrast is 4.58 at least: one of the two always serves.
    best = np.where(light > _MIDDLE, np.uint32(OPAQUE), np.uint32(0xFFFFFFFF))
    return np.where(contrast(ground, ink) < LEAST_CONTRAST, best, ink).astype(np.uint32)


def paint_lengths(
    painter: QPainter, scale: Scale, selections: Sequence[Window], top: float, theme: Theme, dpr: float
) -> None:
    """Paint the length of each selected range as a tag, below the tags of the iterations.

    Tags of ranges close together stand beside each other, in the order of the ranges.
    """
    edge, inks = 0.0, (theme.accent, theme.accent_text)
    for selection in sorted(selections):
        if selection[1] > scale.start_ns and selection[0] < scale.end_ns:
            left, right = (min(max(scale.x(t), 0.0), float(scale.width)) for t in selection)
            text = format_ns(selection[1] - selection[0])
            ends = edge, float(scale.width)
            tag = marks.paint_tag(painter, text, (left + right) / 2, top, ends, *inks, dpr, margin=9)
            edge = tag.right() + 3 * dpr
