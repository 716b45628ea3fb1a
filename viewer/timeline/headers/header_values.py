"""Numbers of row headers: the percentage at the right, the value at the cursor, the tooltip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from viewer.analysis.collectives.stream_uses import StreamUse
from viewer.analysis.core.intervals import Intervals, window
from viewer.analysis.study import Study
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import CATEGORIES, IDLE
from viewer.drawing.bands import hidden_lanes
from viewer.drawing.format import format_share, format_tick, format_value
from viewer.printable import counted
from viewer.rows import Row, RowKind
from viewer.rows.row import Role
from viewer.rows.shares import coverage, shares_below
from viewer.rows.streams import COMMUNICATION_DETAIL
from viewer.state import ViewState, Window
from viewer.state.places import gpus_of
from viewer.timeline.headers.path_values import HEADS, MOSTLY, path_share, path_window
from viewer.trace.model import GUESSED_RANK

EXPOSED = CATEGORIES.index("exposed_comm")

_STREAM = "Stream"

_shares: WeakKeyDictionary[Scope, dict[str, dict[str, float]]] = WeakKeyDictionary()
"""Shares inside a filter, by the key of the row above: headers are painted often, and they rarely change."""


def busy_and_exposed(
    study: Study, row: Row, seen: Window, scope: Scope | None = None
) -> tuple[float, float] | None:
    """Return 1 - idle and the exposed share of a GPU's row, of a process over its GPUs; None for other rows.

    Both in [0, 1], counted over the window in view as far as it was recorded, and there over what the
    filter holds.
    """
    idle = exposed = total = 0
    for gpu in gpus_of(row):
        within = (scope.of(gpu) if scope else window(*seen)).clip(*seen).clip(*study.trace.span_ns)
        spent_ns = study.parts[gpu].totals(within.start_ns, within.end_ns)
        idle += int(spent_ns[..., IDLE].sum())
        exposed += int(spent_ns[..., EXPOSED].sum())
        total += within.total()
    return (1 - idle / total, exposed / total) if total else None


def share(row: Row, scope: Scope | None) -> float | None:
    """Return the row's share of the durations of its siblings, inside the filter."""
    if scope is None or row.share is None or row.parent is None:
        return row.share
    known = _shares.setdefault(scope, {})
    if row.parent.key not in known:
        known[row.parent.key] = shares_below(row.parent, scope.of(row.gpu))
    return known[row.parent.key].get(row.key)


def figures(state: ViewState, row: Row) -> tuple[str, ...]:
    """Return what stands at the right of a row's header in the window."""
    on_path = path_share(state.study, row, state.path.shown, path_window(state))
    return figures_in(state.study, row, state.axis.window, state.filter, on_path)


def figure_style(state: ViewState, row: Row) -> dict[str, Any]:
    """Return the figures at the right of a row's header as arguments of a `HeaderStyle`."""
    on_path = path_share(state.study, row, state.path.shown, path_window(state))
    return {"figures": figures(state, row), "is_on_path": on_path is not None and on_path > MOSTLY}


def figures_in(
    study: Study | None, row: Row, seen: Window, scope: Scope | None = None, on_path: float | None = None
) -> tuple[str, ...]:
    """Return what stands at the right of a header, in the columns `HEADS` from the left.

    Of a GPU how much of the window it is busy, and how much of it communication is exposed; of other rows
    their share, alone; () for rows without one.

    Parameters
    ----------
    on_path : float, optional
        The share of the critical path (`path_share`): it stands in place of busy.
    """
    if study is not None and (parts := busy_and_exposed(study, row, seen, scope)) is not None:
        bounds, gpus = study.known_bounds, frozenset(gpus_of(row))
        # Idle is an upper bound where rows were lost, so that busy is a lower one.
        is_bound = (bool(bounds.idle & gpus), bool(bounds.exposed & gpus))
        texts = tuple(f"{'≥ ' if b else ''}{format_share(p)}" for p, b in zip(parts, is_bound, strict=True))
        return texts if on_path is None else (format_share(on_path) if on_path else "–", *texts[1:])
    part = share(row, scope)
    return () if part is None else (format_share(part),)


def spoken(row: Row, shown: tuple[str, ...], above: tuple[str, ...] = HEADS) -> str:
    """Return the figures of a header with what they say: "80.4 % busy, 11.1 % exposed"."""
    if row.kind in (RowKind.GPU, RowKind.PROCESS):
        return ", ".join(f"{text} {head}" for text, head in zip(shown, above, strict=False))
    return ", ".join(shown)


def stream_names(row: Row, uses: Mapping[int, StreamUse]) -> tuple[str, str]:
    """Return what a stream does, and which it is: ("TP?", "stream 20 · ranks 0, 1"); empty for other rows.

    Parameters
    ----------
    uses : mapping of int to StreamUse
        What streams communicate for, once that is known; names are guesses, and have a question mark.
    """
    if row.kind is not RowKind.STREAM or row.role is None or not row.label.startswith(_STREAM):
        return "", ""
    which, use = f"stream{row.label.removeprefix(_STREAM)}", uses.get(row.stream or 0)
    if row.role is not Role.COMMUNICATION:
        return row.role.value, " · ".join(t for t in (which, row.detail) if t)
    if use is None:
        return COMMUNICATION_DETAIL, " · ".join(t for t in (which, _own_name(row)) if t)
    does = f"{use.name}?" if use.name else COMMUNICATION_DETAIL
    return does, " · ".join(t for t in (which, _own_name(row), use.ranks) if t)


def stream_tip(row: Row, uses: Mapping[int, StreamUse]) -> str:
    """Return why a stream is called TP, DP, PP or EP, "" where it is not."""
    use = uses.get(row.stream) if row.kind is RowKind.STREAM and row.stream is not None else None
    return f"{use.name} is a guess, by which ranks meet on the stream, and how" if use and use.name else ""


def _own_name(row: Row) -> str:
    """Return what the user called a stream that communicates, "" for nothing."""
    return row.detail.removeprefix(COMMUNICATION_DETAIL).strip()


def cursor_value(state: ViewState, row: Row) -> str:
    """Return what a counter row shows at the cursor, "" without one and for other rows."""
    counter = row.kind.traits.counter
    if counter is None or state.hover is None or row.samples is None:
        return ""
    return format_value(row.samples.at(state.hover.time_ns), counter.unit)


def shares_basis(scope: Scope | None) -> str:
    """Return what the shares of rows below a GPU are counted over, for the head of their column."""
    over = "whole trace" if scope is None else scope.what
    return f"below: shares, {over}"


def row_tip(state: ViewState, row: Row) -> str:
    """Return the tooltip of a header: full path, share among the siblings, coverage."""
    lines, study, scope = [row.text_path], state.study, state.filter
    if study is None:
        return lines[0]
    if row.kind in (RowKind.GPU, RowKind.PROCESS):
        lines += [
            "on the path: the part of the critical path that is on this rank, of the iteration in view"
            if state.path.shown is not None
            else "busy: the part of the time in view in which anything runs on the GPU, on any stream",
            "exposed: the part in which it communicates and computes nothing",
        ]
    if row.process is not None and study.trace.processes[row.process].rank_from == GUESSED_RANK:
        lines.append("The rank is a guess, by the order of pids: nothing in the file names it")
    if (part := share(row, scope)) is not None:
        lines.append(f"{format_share(part)} of the time summed over its siblings, as nsys-ui counts it")
    if (covered := coverage(row, _time(study, row, scope))) is not None:
        events = counted(len(row.events or ()), "event")
        time = "whole time" if scope is None else f"time of the filter ({scope.what})"
        lines.append(f"{format_share(covered)} of the {time} is covered by its {events}")
    if (counter := row.kind.traits.counter) is not None and row.scale is not None:
        low, high = (format_tick(value, counter.unit) for value in (row.scale.low, row.scale.high))
        steps = ", logarithmic" if row.scale.is_log else ""
        lines += [counter.meaning, f"drawn from {low} to {high}{steps}"]
    if deeper := hidden_lanes(row):
        lines.append(f"+{deeper} deeper, not drawn")
    return "\n".join(lines)


def _time(study: Study, row: Row, scope: Scope | None) -> Intervals:
    return scope.of(row.gpu) if scope is not None else window(*study.trace.window_ns)
