"""Steps: commands that go from one thing to the next, and say in the status bar where they have led."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewer.drawing.format import format_count, format_ns
from viewer.state import navigation
from viewer.state.view_state import CardForm

if TYPE_CHECKING:
    from viewer.app.action_target import ActionTarget

_STALLS = {"idle": "idle stall", "exposed_comm": "exposed communication"}
CARD_FORMS: dict[CardForm, str] = {
    "full": "in full",
    "short": "in short; C shows one in full",
    "key": "by the key alone: C shows one",
}
_BESIDE = {1: "later", -1: "earlier"}


def stall(part: str, direction: int) -> Callable[[ActionTarget], None]:
    """Return the step to the next (1) or previous (-1) stall of a part ("idle", "exposed_comm")."""

    def step(w: ActionTarget) -> None:
        if (stop := navigation.step_stall(w.state, part, direction)) is None:
            w.status.say(f"No {_BESIDE[direction]} {_STALLS[part]} that would be seen at this zoom")
            return
        where = f" on {stop.gpus} GPUs at once" if stop.gpus > 1 else ""
        along = f" of {stop.row.path()[0].label}" if stop.row is not None else ""
        w.status.say(
            f"{_STALLS[part].capitalize()} {format_count(stop.number)} of {format_count(stop.count)}{along}: "
            f"{format_ns(stop.length_ns)}{where}  ·  shorter than {format_ns(stop.least_ns)} left out"
        )

    return step


def event(direction: int) -> Callable[[ActionTarget], None]:
    """Return the step to the next or previous event of the current row."""

    def step(w: ActionTarget) -> None:
        if navigation.step_event(w.state, row := w.current_row(), direction):
            return
        row_of_chosen = w.state.rows.row(w.state.chosen.row_key) if w.state.chosen else None
        if (row_of_chosen or row) is None:
            w.status.say("Point at the row whose events you want to walk along")
        else:
            w.status.say(f"No {_BESIDE[direction]} event in {(row_of_chosen or row).text_path}")

    return step


def iteration(direction: int) -> Callable[[ActionTarget], None]:
    """Return the step to the next or previous iteration."""
    return lambda w: navigation.step_iteration(w.state, direction)


def next_card(w: ActionTarget) -> None:
    """Show the cards in the next form, and say which."""
    forms = tuple(CARD_FORMS)
    form = forms[(forms.index(w.state.card) + 1) % len(forms)]
    w.state.set_card(form)
    w.status.say(f"Cards: {CARD_FORMS[form]}")
