"""The events of rows, made from the tables of a trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from viewer.rows.named import Named
from viewer.rows.nesting import lanes
from viewer.rows.row import RowEvents
from viewer.trace import Kind, Trace

_KINDS = tuple(Kind)


def of_slice(trace: Trace, kind: Kind, part: slice) -> RowEvents:
    """Return the events of one owner; the arrays are views of the table."""
    events = trace.events[kind]
    start, end = events.start_ns[part], events.end_ns[part]
    argb = events.columns.get("argb")
    colours = np.asarray(argb[part], np.uint32) if argb is not None else None
    return RowEvents(start, end, events.name_id[part], kind, part, lanes(start, end), colours)


def of_several(trace: Trace, parts: Sequence[tuple[Kind, npt.NDArray[np.int32]]]) -> RowEvents:
    """Return events of one or several tables, each given by indices in any order."""
    start = np.concatenate([trace.events[kind].start_ns[index] for kind, index in parts])
    end = np.concatenate([trace.events[kind].end_ns[index] for kind, index in parts])
    # A stable sort by start keeps the order of `parts` among equal ones; lanes need the longest first there.
    order = np.argsort(start, kind="stable")
    if (np.diff(start[order]) == 0).any():
        order = np.lexsort((-end, start))
    index = np.concatenate([index for _, index in parts])[order]
    kind: Kind | npt.NDArray[np.uint8] = parts[0][0]
    if len(parts) > 1:
        # One byte an event says its table; a row of one table keeps the kind itself and no array.
        codes = np.array([_KINDS.index(k) for k, _ in parts], np.uint8)
        kind = np.repeat(codes, [len(i) for _, i in parts])[order]
    start, end = start[order], end[order]
    return RowEvents(start, end, Named(trace.events, kind, index), kind, index, lanes(start, end))
