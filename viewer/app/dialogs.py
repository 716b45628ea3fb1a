"""The dialog that asks for the time to go to."""

from __future__ import annotations

from PySide6.QtWidgets import QInputDialog, QWidget

from viewer.drawing.format import format_instant
from viewer.drawing.times import TimeError, parse_iteration, parse_ns, parse_range
from viewer.state import ViewState
from viewer.state.navigation import go_to_iteration
from viewer.timeline.plain_text import tip


def go_to(state: ViewState, text: str) -> None:
    """Go to the time in a text: "2.1s" becomes the middle, "2.1s..2.35s" and "iteration 7" fill it.

    Raises
    ------
    TimeError
        If it is none of these, or lies outside the trace's window.
    """
    if (iteration := parse_iteration(text)) is not None:
        if state.study is not None and not state.study.loading.is_complete:
            raise TimeError(
                "the iterations were not read"
                if state.study.loading.is_cancelled
                else "iterations are known when all is read and counted"
            )
        if state.iterations is None or iteration >= state.iterations.count:
            raise TimeError(f"there is no iteration {iteration}")
        go_to_iteration(state, iteration)
    elif ".." in text:
        low, high = parse_range(text, state.axis.limits)
        _check(state, low, high)
        state.axis.go(low, high)
    else:
        time_ns = parse_ns(text)
        _check(state, time_ns, time_ns)
        start, end = state.axis.window
        state.axis.go(time_ns - (end - start) // 2, time_ns - (end - start) // 2 + end - start)


def _check(state: ViewState, start_ns: int, end_ns: int) -> None:
    low, high = state.axis.limits
    if end_ns < low or start_ns > high:
        ends = (format_instant(t, (high - low) / 1000) for t in (low, high))
        raise TimeError(f"there is nothing at that time, only {' to '.join(ends)}")


def ask_where(state: ViewState, parent: QWidget) -> None:
    """Ask until the answer is a time, and go there."""
    label = "A time (2.1s, 812ms), a range (2.1s..2.35s) or an iteration (iteration 7):"
    text = ""
    while True:
        text, is_given = QInputDialog.getText(parent, "Go to", label, text=text)
        if not is_given:
            return
        try:
            go_to(state, text)
        except TimeError as error:
            label = tip(f"{error}:")
        else:
            return
