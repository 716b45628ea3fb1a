"""ViewSnapshot: what the user did to a view of a trace, carried over to a fuller view of it."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.time.scope import Scope
from viewer.rows import EventRef
from viewer.state.navigation import event_window
from viewer.state.session import Session, apply_session, carried_over, find_event, take_session
from viewer.state.time_axis import Steps, Window
from viewer.state.view_state import Listing, ViewState


@dataclass(frozen=True, slots=True)
class ViewSnapshot:
    """What the user looks at and has selected, with what a session keeps.

    Attributes
    ----------
    session : Session
    event, span : EventRef and Window, or None
        The selected event and its times.
    filter, filter_name : tuple of Window, str
        The ranges that are looked at as if they were the whole; () without a filter.
    """

    session: Session
    event: EventRef | None
    span: Window | None
    filter: tuple[Window, ...]
    filter_name: str
    listing: Listing | None
    steps: Steps


def take_snapshot(state: ViewState) -> ViewSnapshot:
    """Return the snapshot of a view before its trace is shown anew."""
    event, scope = state.chosen, state.filter
    return ViewSnapshot(
        take_session(state),
        event,
        event_window(state, event) if event is not None else None,
        _ranges_of(scope),
        scope.what if scope is not None else "",
        state.listing,
        state.axis.steps,
    )


def _ranges_of(scope: Scope | None) -> tuple[Window, ...]:
    """Return the ranges of a filter; of iterations, whose boundaries differ by GPU, the hull."""
    if scope is None:
        return ()
    if scope.iterations:
        return (scope.hull,)
    return tuple(zip(scope.time.start_ns.tolist(), scope.time.end_ns.tolist(), strict=True))


def restore_onto(state: ViewState, begun: Session, left: ViewSnapshot) -> None:
    """Repeat on this view what the user did to another one since it was as in `begun`."""
    if state.study is None:
        return
    apply_session(state, carried_over(take_session(state), begun, left.session))
    window = state.axis.window
    if left.filter:
        state.set_filter(state.study.ranges_scope(left.filter, left.filter_name))
    state.axis.reset(state.axis.limits, window, left.steps)
    if left.event is not None and left.span is not None:
        state.select_event(find_event(state, left.event, left.span))
