"""Numbers of row headers: the percentage at the right, the value at the cursor, the tooltip."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from viewer.analysis.core.intervals import Intervals, window
from viewer.analysis.study import Study
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import IDLE
from viewer.drawing.bands import hidden_lanes
from viewer.drawing.format import format_share, format_tick, format_value
from viewer.printable import counted
from viewer.rows import Row, RowKind
from viewer.rows.shares import coverage, shares_below
from viewer.state import ViewState, Window
from viewer.trace.model import GUESSED_RANK

_shares: WeakKeyDictionary[Scope, dict[str, dict[str, float]]] = WeakKeyDictionary()
"""Shares inside a filter, by the key of the row above: headers are painted often, and they rarely change."""


def busy(study: Study, row: Row, seen: Window, scope: Scope | None = None) -> float | None:
    """Return 1 - idle of a GPU's row, of a process that of its GPUs, in [0, 1]; None for other rows.

    Counted over the window in view as far as it was recorded, and there over what the filter holds.
    """
    if row.kind is RowKind.GPU:
        gpus = [row.gpu]
    elif row.kind is RowKind.PROCESS:
        gpus = [child.gpu for child in row.children if child.kind is RowKind.GPU]
    else:
        return None
    idle = total = 0
    for gpu in gpus:
        if gpu is not None:
            within = (scope.of(gpu) if scope else window(*seen)).clip(*seen).clip(*study.trace.span_ns)
            idle += int(study.parts[gpu].totals(within.start_ns, within.end_ns)[..., IDLE].sum())
            total += within.total()
    return 1 - idle / total if total else None


def share(row: Row, scope: Scope | None) -> float | None:
    """Return the row's share of the durations of its siblings, inside the filter."""
    if scope is None or row.share is None or row.parent is None:
        return row.share
    known = _shares.setdefault(scope, {})
    if row.parent.key not in known:
        known[row.parent.key] = shares_below(row.parent, scope.of(row.gpu))
    return known[row.parent.key].get(row.key)


def figure(state: ViewState, row: Row) -> str:
    """Return what stands at the right of a row's header in the window."""
    return figure_in(state.study, row, state.axis.window, state.filter)


def figure_in(study: Study | None, row: Row, seen: Window, scope: Scope | None = None) -> str:
    """Return what stands at the right of a header: how busy a GPU is in the window, else the row's share."""
    if study is not None and (part := busy(study, row, seen, scope)) is not None:
        return f"{format_share(part)} busy"
    part = share(row, scope)
    return "" if part is None else format_share(part)


def cursor_value(state: ViewState, row: Row) -> str:
    """Return what a counter row shows at the cursor, "" without one and for other rows."""
    counter = row.kind.traits.counter
    if counter is None or state.hover is None or row.samples is None:
        return ""
    return format_value(row.samples.at(state.hover.time_ns), counter.unit)


def bases(scope: Scope | None) -> tuple[str, str]:
    """Return what the two kinds of percentages are counted over, for the head of their column."""
    over = "whole trace" if scope is None else scope.what
    return "busy: of the time in view", f"others: share of siblings, {over}"


def row_tip(state: ViewState, row: Row) -> str:
    """Return the tooltip of a header: full path, share among the siblings, coverage."""
    lines, study, scope = [row.text_path], state.study, state.filter
    if study is None:
        return lines[0]
    if row.kind in (RowKind.GPU, RowKind.PROCESS):
        lines.append("busy: the part of the time in view in which anything runs on the GPU, on any stream")
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
