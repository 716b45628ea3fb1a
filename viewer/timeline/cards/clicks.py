"""What a click on a strip selects: an iteration, a stall, or a bar of a state lane."""

from __future__ import annotations

from PySide6.QtCore import QPointF

from viewer.analysis.stalls.stalls import Stalls
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.bands import StateBand
from viewer.drawing.scale import Scale
from viewer.state import ViewState, Window
from viewer.timeline.strip import TimeStrip


def select_clicked(
    state: ViewState,
    strip: TimeStrip,
    pos: QPointF,
    scale: Scale,
    stalls: Stalls | None,
    number: int | None,
    add: bool,
) -> None:
    """Select the range that was clicked; where there is none, leave what is selected.

    Parameters
    ----------
    number : int or None
        The stall under the pointer, in `stalls`.
    add : bool
        Beside what is selected; what is selected already is taken away.
    """
    window: Window | None = None
    clicked: int | None = None
    if (iteration := strip.iteration_at(pos)) is not None and state.iterations is not None:
        state.set_iteration(iteration)
        window = state.iterations.start_ns(iteration), state.iterations.end_ns(iteration)
    elif stalls is not None and number is not None:
        row, clicked = stalls.table.iloc[number], number
        window = int(row["start_ns"]), int(row["end_ns"])
    else:
        window = _bar(state, strip, pos, scale)
    if window is not None and add:
        state.selections.toggle(window)
    elif window is not None:
        state.select(window)
    if clicked is not None and window == state.selection:
        # After its range: a stall is selected as long as that is.
        state.choose_stall(clicked)


def _bar(state: ViewState, strip: TimeStrip, pos: QPointF, scale: Scale) -> Window | None:
    """Return the bar of a state lane that shows most in the pixel column at a point, None elsewhere."""
    hit, study = strip.hit(pos), state.study
    if study is None or hit is None or hit.gpu is None or hit.part is None:
        return None
    if not isinstance(hit.band, StateBand):
        return None
    column = int(strip.place.pixels.device_x(pos.x()))
    low, high = scale.to_ns(column), scale.to_ns(column + 1)
    breakdown, span = study.parts[hit.gpu], study.trace.span_ns
    return breakdown.interval_in(CATEGORIES[hit.part], low, max(high, low + 1), span)
