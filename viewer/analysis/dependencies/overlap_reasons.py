"""Why exposed collectives are not hidden: what held their starts, and the compute kernels after them.

See docs/definitions.md, section 11.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.core.overlaps import overlaps
from viewer.analysis.dependencies.graph import DependencyGraph, EdgeKind, Rows
from viewer.analysis.dependencies.operation_words import Speller
from viewer.analysis.dependencies.pieces import Pieces
from viewer.analysis.dependencies.stall_reasons import StallReasons
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.stalls.causes import SHARES, host_shares
from viewer.analysis.stalls.stall_details import SHARE_TEXT
from viewer.trace import Kind
from viewer.trace.events import Int64

EVENT, STREAM, LAUNCH_ORDER, NOT_LAUNCHED, OTHER, UNRESOLVED, NONE_FOLLOWS = (
    "event",
    "same stream",
    "launch order",
    "not launched",
    "another operation",
    "unresolved",
    "none follows",
)
HELD_NEXT = (EVENT, STREAM, LAUNCH_ORDER, NOT_LAUNCHED, OTHER, UNRESOLVED, NONE_FOLLOWS)
"""What held the next compute kernel while a collective was exposed."""
LAUNCHED, GRAPH, DEFAULT_STREAM = "launch", "CUDA graph", "default stream"
_HELD_START = {
    int(EdgeKind.LAUNCH): LAUNCHED,
    int(EdgeKind.STREAM): STREAM,
    int(EdgeKind.EVENT): EVENT,
    int(EdgeKind.QUEUE): LAUNCH_ORDER,
    int(EdgeKind.GRAPH): GRAPH,
    int(EdgeKind.DEFAULT_STREAM): DEFAULT_STREAM,
}
"""What held the start of a collective itself, by the edge that binds it; of all else `UNRESOLVED`."""
_BY_EDGE = {
    int(EdgeKind.EVENT): HELD_NEXT.index(EVENT),
    int(EdgeKind.STREAM): HELD_NEXT.index(STREAM),
    int(EdgeKind.QUEUE): HELD_NEXT.index(LAUNCH_ORDER),
}
_KEYS = ["name", "stream", "held_next", "next", "by"]
_START = ["held_start", "after"]
OVERLAP_COLUMNS = (
    "text", "exposed_ns", "per_iteration_ns", "share", "count", "gpus", "starts_after", "name", "stream",
    "held_next", "next", "by", "held_start", "after", "gpu", "kernel", "start_ns", "end_ns",
)  # fmt: skip


def overlap_reasons(
    reasons: StallReasons, within: Sequence[Intervals], iterations: int | None
) -> pd.DataFrame:
    """Return why exposed collectives are not hidden, alike ones as one line, most time first.

    Each instant of exposed communication counts for the collective that began first, and each collective
    wholly for what held the next compute kernel in its longest exposed stretch.

    Parameters
    ----------
    within : sequence of Intervals, one per GPU
        Where to look.
    iterations : int or None
        How many iterations that is.

    Returns
    -------
    DataFrame
        `OVERLAP_COLUMNS`: `exposed_ns` sums to the exposed communication within; `per_iteration_ns` is its
        mean over iterations and GPUs, -1 where there are none; `share` is of all exposed communication;
        `name` the collective and `stream` its number; `held_next` one of `HELD_NEXT`, `next` the class of the
        next compute kernel, `by` the other operation, or what the host did; `held_start` and `after` what
        held the collective's own start, in most of the time; `gpu`, `kernel` (into ``trace.kernels``),
        `start_ns`, `end_ns` the longest stretch.
    """
    found = [_of_gpu(reasons, gpu, time) for gpu, time in enumerate(within)]
    each = pd.concat([f for f in found if len(f)]) if any(map(len, found)) else pd.DataFrame()
    if not len(each):
        return pd.DataFrame(columns=list(OVERLAP_COLUMNS))
    # By length, so that the first of each group is its longest one.
    each = each.sort_values("longest_ns", ascending=False, kind="stable")
    grouped = each.groupby(_KEYS, sort=False)
    lines = grouped.agg(
        exposed_ns=("exposed_ns", "sum"), count=("exposed_ns", "size"), gpus=("gpu", "nunique"),
        gpu=("gpu", "first"), kernel=("kernel", "first"), start_ns=("start_ns", "first"),
        end_ns=("end_ns", "first"),
    ).reset_index()  # fmt: skip
    # How they started differs within a line: of a run of collectives the first follows compute, the others
    # follow one another. The one with most time is named.
    starts = each.groupby(_KEYS + _START, sort=False)["exposed_ns"].sum().reset_index(name="started_ns")
    starts = starts.sort_values("started_ns", ascending=False, kind="stable").drop_duplicates(_KEYS)
    lines = lines.merge(starts, on=_KEYS, how="left", validate="one_to_one")
    runs = (iterations or 0) * len(within)
    lines["per_iteration_ns"] = lines["exposed_ns"] // runs if runs else -1
    lines["share"] = lines["exposed_ns"] / int(lines["exposed_ns"].sum())
    lines["text"] = [_text(line) for line in lines.to_dict("records")]
    lines["starts_after"] = [_start_text(line) for line in lines.to_dict("records")]
    return lines.sort_values("exposed_ns", ascending=False, kind="stable", ignore_index=True)[
        list(OVERLAP_COLUMNS)
    ]


def _of_gpu(reasons: StallReasons, gpu: int, within: Intervals) -> pd.DataFrame:
    """Return one row for each collective of a GPU that is exposed within."""
    trace, graph = reasons.trace, reasons.graph
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    rows = rows[reasons.classes.is_comm(kernels.name_id[rows])]
    exposed = reasons.exposed(gpu) & within
    if not len(rows) or not len(exposed):
        return pd.DataFrame()
    rows = rows[np.lexsort((kernels.end_ns[rows], kernels.start_ns[rows]))]
    # Of collectives that run at once each has the time that no earlier one has: what is left is disjoint.
    end = np.maximum.accumulate(kernels.end_ns[rows])
    begin = np.maximum(kernels.start_ns[rows], np.concatenate((kernels.start_ns[rows[:1]], end[:-1])))
    shared = overlaps(begin, end, exposed.start_ns, exposed.end_ns)
    own, of = shared.stall_at, shared.event_at
    start, stop = np.maximum(begin[own], exposed.start_ns[of]), np.minimum(end[own], exposed.end_ns[of])
    pieces = reasons.pieces(gpu)
    code, piece = _held_next(graph, pieces, rows[own], start, stop)
    total = np.zeros(len(rows), np.int64)
    np.add.at(total, own, stop - start)
    # The last to write stays: the longest stretch of each collective, which speaks for it.
    longest = np.full(len(rows), -1, np.int64)
    by_length = np.argsort(stop - start, kind="stable")
    longest[own[by_length]] = by_length
    there = np.flatnonzero(longest >= 0)
    pair = longest[there]
    described = _described(reasons, rows[there], code[pair], pieces, piece[pair])
    late = np.flatnonzero(code[pair] == HELD_NEXT.index(NOT_LAUNCHED))
    stretch = pair[late]
    host = _host(reasons, gpu, pieces.at(piece[stretch]), start[stretch], stop[stretch])
    described.loc[late, "by"] = host
    return described.assign(
        exposed_ns=total[there], gpu=gpu, start_ns=start[pair], end_ns=stop[pair],
        longest_ns=(stop - start)[pair],
    )  # fmt: skip


def _host(reasons: StallReasons, gpu: int, pieces: Pieces, start: Int64, stop: Int64) -> list[str]:
    """Return what the launching thread did in most of the launch-starved part of each stretch."""
    low, high = np.maximum(pieces.start_ns, start), np.minimum(pieces.launched_ns, stop)
    calls = reasons.graph.operations.call[pieces.following].astype(np.int64)
    shares = host_shares(reasons.hosts, reasons.trace.gpus[gpu].process, low, high, calls)
    return [SHARE_TEXT[SHARES[share]] for share in shares.argmax(axis=0).tolist()]


def _held_next(
    graph: DependencyGraph, pieces: Pieces, kernel: Rows, start: Int64, stop: Int64
) -> tuple[npt.NDArray[np.int64], Indices]:
    """Return what held the next compute kernel in most of each stretch, a position in `HELD_NEXT`.

    And the piece that each stretch lies in, -1 after the last.
    """
    code = np.full(len(start), HELD_NEXT.index(NONE_FOLLOWS), np.int64)
    piece = np.searchsorted(pieces.start_ns, start, side="right") - 1
    inside = (piece >= 0) & (start < pieces.end_ns[np.maximum(piece, 0)]) if len(pieces) else piece > 0
    piece = np.where(inside, piece, -1)
    own, kernel, start, stop = pieces.at(piece[inside]), kernel[inside], start[inside], stop[inside]
    parts = np.stack(
        [
            np.minimum(b, stop) - np.maximum(a, start)
            for a, b in (
                (own.start_ns, own.launched_ns),
                (own.launched_ns, own.freed_ns),
                (own.freed_ns, own.end_ns),
            )
        ]
    )
    largest = parts.argmax(axis=0)
    operations = graph.operations
    # An event recorded later on the collective's stream stands for the collective too.
    is_own = (own.binder == kernel) | (
        (own.binder >= 0)
        & (operations.stream[own.binder] == operations.stream[kernel])
        & (operations.start_ns[own.binder] >= operations.start_ns[kernel])
    )
    by_edge = np.full(256, HELD_NEXT.index(OTHER), np.int64)
    by_edge[list(_BY_EDGE)] = list(_BY_EDGE.values())
    blocked = np.where(is_own, by_edge[own.edge], HELD_NEXT.index(OTHER))
    code[inside] = np.select(
        [largest == 0, largest == 1], [HELD_NEXT.index(NOT_LAUNCHED), blocked], HELD_NEXT.index(UNRESOLVED)
    )
    return code, piece


def _described(
    reasons: StallReasons, rows: Rows, code: npt.NDArray[np.int64], pieces: Pieces, piece: Indices
) -> pd.DataFrame:
    """Return some collectives in words: the columns of `_KEYS` and `_START`, and `kernel`."""
    graph, speller = reasons.graph, Speller(reasons)
    none = np.full(len(rows), -1, np.int64)
    has_next = piece >= 0
    following, binder = none.copy(), none.copy()
    following[has_next], binder[has_next] = pieces.following[piece[has_next]], pieces.binder[piece[has_next]]
    edge = graph.binding[rows]
    before = np.where(edge == EdgeKind.LAUNCH, none, graph.binder[rows])
    # Who else is waited for matters only where it is not the collective.
    by = np.where(code == HELD_NEXT.index(OTHER), binder, none)
    return pd.DataFrame(
        {
            "kernel": rows,
            "name": speller.texts(rows, speller.what),
            "stream": speller.texts(rows, speller.stream),
            "held_next": np.array(HELD_NEXT, object)[code],
            "next": speller.texts(following, speller.what),
            "by": speller.texts(by, speller.placed),
            "held_start": [_HELD_START.get(kind, UNRESOLVED) for kind in edge.tolist()],
            "after": speller.texts(before, speller.placed),
        }
    )


def _text(line: dict[Hashable, Any]) -> str:
    """Return "48 ReduceScatter: the next GEMM waits for an event recorded after them on stream 20"."""
    them, their = ("it", "its") if line["count"] == 1 else ("them", "their")
    following = f"the next {line['next']}"
    held = {
        EVENT: f"{following} waits for an event recorded after {them} on stream {line['stream']}",
        STREAM: f"{following} is on {their} stream {line['stream']}",
        LAUNCH_ORDER: f"{following} was launched after {them} into one hardware queue",
        NOT_LAUNCHED: f"{following} is not launched yet (host {line['by']})",
        OTHER: f"{following} waits for {line['by']}",
        UNRESOLVED: f"what holds {following} is not known",
        NONE_FOLLOWS: "no compute kernel follows",
    }
    return f"{line['count']:,} {line['name']}: {held[line['held_next']]}"


def _start_text(line: dict[Hashable, Any]) -> str:
    """Return what held the start of the collectives of a line: "an event after GEMM on stream 7"."""
    mostly = "mostly " if line["started_ns"] < line["exposed_ns"] else ""
    text = {
        LAUNCHED: "the launch",
        STREAM: f"{line['after']}, before it",
        EVENT: f"an event after {line['after']}",
        LAUNCH_ORDER: f"{line['after']}, launched before it",
        GRAPH: f"{line['after']}, same CUDA graph",
        DEFAULT_STREAM: f"{line['after']}, default stream",
    }.get(line["held_start"], "not known")
    return f"{mostly}{text}"
