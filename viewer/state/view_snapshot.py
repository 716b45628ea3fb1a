"""ViewSnapshot: what the user did to a view of a trace, carried over to a fuller view of it."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.rows import EventRef
from viewer.state.navigation import event_window
from viewer.state.session import Session, apply_session, carried_over, find_event, take_session
from viewer.state.time_axis import Steps, Window
from viewer.state.view_state import ViewState


@dataclass(frozen=True, slots=True)
class ViewSnapshot:
    """What the user looks at and has selected, with what a session keeps.

    Attributes
    ----------
    session : Session
    event, span : EventRef and Window, or None
        The selected event and its times.
    filter, filter_name : Window or None, str
        The range that is looked at as if it were the whole.
    """

    session: Session
    selection: Window | None
    event: EventRef | None
    span: Window | None
    filter: Window | None
    filter_name: str
    listed_key: str
    steps: Steps


def take_snapshot(state: ViewState) -> ViewSnapshot:
    """Return the snapshot of a view before its trace is shown anew."""
    event, scope = state.chosen, state.filter
    return ViewSnapshot(
        take_session(state),
        state.selection,
        event,
        event_window(state, event) if event is not None else None,
        scope.hull if scope is not None else None,
        scope.what if scope is not None else "",
        state.listed_key,
        state.axis.steps,
    )


def restore_onto(state: ViewState, begun: Session, left: ViewSnapshot) -> None:
    """Repeat on this view what the user did to another one since it was as in `begun`."""
    if state.study is None:
        return
    apply_session(state, carried_over(take_session(state), begun, left.session))
    window = state.axis.window
    if left.filter is not None:
        state.set_filter(state.study.range_scope(*left.filter, left.filter_name))
    state.axis.reset(state.axis.limits, window, left.steps)
    state.select(left.selection)
    if left.event is not None and left.span is not None:
        state.select_event(find_event(state, left.event, left.span))
