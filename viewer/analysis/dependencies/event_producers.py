"""What events stand for: the operations that a wait waits for, over streams that only relay.

See docs/definitions.md, section 11. An event stands for the last operation launched on its stream before the
record, and for what the stream waits called between the two stand for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.dependencies.event_calls import EventCalls, EventUse
from viewer.analysis.dependencies.event_joins import join, overlap
from viewer.analysis.dependencies.graph import Codes, Grade, Mask, Operations, Rows
from viewer.analysis.dependencies.stream_order import StreamOrder, last_below
from viewer.trace import Events
from viewer.trace.events import Int64

_GRADE_BITS = 2


@dataclass(frozen=True, eq=False)
class Producers:
    """What some waits wait for, as `StreamWaits` has it.

    Attributes
    ----------
    grade : ndarray of uint8, shape (waits,)
    wait, operation : ndarray of int32, shape (pairs,)
        By wait.
    pair_grade : ndarray of uint8, shape (pairs,)
    """

    grade: Codes
    wait: Rows
    operation: Rows
    pair_grade: Codes


@dataclass(frozen=True, eq=False)
class _Direct:
    """What each wait stands for by itself, shape (waits,) each.

    `code` is the last operation on the event's stream, as `_coded`, 0 for none; `relay` the last wait of that
    stream between that operation and the record, -1 for none, and `relay_grade` how sure it lies there.
    """

    grade: Codes
    code: Int64
    lane: Rows
    relay: Int64
    relay_grade: Codes


def find_producers(
    use: EventUse, waits: EventCalls, operations: Operations, order: StreamOrder, api: Events
) -> tuple[Producers, Int64, Codes]:
    """Return the operations that waits wait for.

    Parameters
    ----------
    waits : EventCalls
        Those of streams, by lane and time, then those of threads: lane -1 comes last here.

    Returns
    -------
    Producers
    gap : ndarray of int64, shape (waits,)
        The place in `order` of the last operation launched on the waiting stream before the wait; -1: none.
    gap_grade : ndarray of uint8, shape (waits,)
        How sure it lies between that operation and the next.
    """
    gap = order.last_before(waits.lane, waits.start_ns)
    gap_grade = _place_grade(waits, gap, operations, order, api)
    direct = _direct(use, waits, gap, operations, order, api)
    grade, wait, code = _followed(direct, waits, gap, gap_grade)
    place = (code >> _GRADE_BITS) - 1
    operation = _last_of_call(operations)[order.order[place]]
    pair_grade = (code & ((1 << _GRADE_BITS) - 1)).astype(np.uint8)
    return Producers(grade, wait, operation, pair_grade), gap, gap_grade


def _place_grade(
    calls: EventCalls, place: Int64, operations: Operations, order: StreamOrder, api: Events
) -> Codes:
    """Return how sure calls come between the operation at a place of their stream's order and the next one.

    By timing where a neighbour was launched by a call of another thread that overlaps, or by an unknown call.
    """
    is_sure = np.ones(len(calls), bool)
    in_lane = (calls.lane >= 0) & (calls.lane < len(order.offsets) - 1)
    lane = np.where(in_lane, calls.lane, 0)
    # Before the first operation of the stream there is none; the next is then the first.
    following = np.where(place >= 0, place + 1, order.offsets[lane])
    has_next = in_lane & (following < order.offsets[lane + 1]) if len(order.offsets) > 1 else in_lane
    for at, exists in ((place, in_lane & (place >= 0)), (following, has_next)):
        rows = np.flatnonzero(exists)
        call = operations.call[order.order[at[rows]]]
        thread = np.searchsorted(api.offsets, call, side="right") - 1
        overlaps = (thread != calls.thread[rows]) & (api.start_ns[call] < calls.end_ns[rows])
        overlaps &= calls.start_ns[rows] < api.end_ns[call]
        is_sure[rows] &= (call >= 0) & ~overlaps
    return np.where(is_sure, Grade.PROVEN, Grade.TIMING).astype(np.uint8)


def _direct(
    use: EventUse,
    waits: EventCalls,
    gap: Int64,
    operations: Operations,
    order: StreamOrder,
    api: Events,
) -> _Direct:
    record, grade = join(use, waits)
    rows = np.flatnonzero(record >= 0)
    # An event of the waiting stream itself stands for nothing: the stream keeps its order anyway.
    rows = rows[use.records.lane[record[rows]] != waits.lane[rows]]
    records = use.records.take(record[rows])
    place = order.last_before(records.lane, records.start_ns)
    known = np.minimum(grade[rows], _place_grade(records, place, operations, order, api))
    direct = _Direct(
        grade,
        np.zeros(len(waits), np.int64),
        np.full(len(waits), -1, np.int32),
        np.full(len(waits), -1, np.int64),
        np.full(len(waits), Grade.PROVEN, np.uint8),
    )
    direct.code[rows] = np.where(place >= 0, _coded(place, known), 0)
    direct.lane[rows] = records.lane
    direct.grade[rows] = known
    # The last wait of the recording stream before the record, if it comes after that operation too.
    streams = int((waits.lane >= 0).sum())
    offsets = np.searchsorted(waits.lane[:streams], np.arange(use.lanes + 1))
    relay = last_below(offsets, waits.start_ns[:streams], records.lane, records.start_ns)
    is_relay = (relay >= 0) & (gap[relay] == place) if len(relay) else relay >= 0
    direct.relay[rows] = np.where(is_relay, relay, -1)
    direct.relay_grade[rows] = np.where(is_relay, grade[rows], Grade.PROVEN)
    # The wait before the record or the one after it may have been on the other side of it.
    following = np.where(relay >= 0, relay + 1, offsets[records.lane])
    has_next = following < offsets[records.lane + 1]
    for at, exists in ((relay, relay >= 0), (following, has_next)):
        unsure = np.flatnonzero(exists)
        unsure = unsure[gap[at[unsure]] == place[unsure]]
        unsure = unsure[overlap(waits, at[unsure], records, unsure)]
        for known_as in (direct.grade, direct.relay_grade):
            known_as[rows[unsure]] = np.minimum(known_as[rows[unsure]], Grade.TIMING)
    return direct


def _followed(direct: _Direct, waits: EventCalls, gap: Int64, gap_grade: Codes) -> tuple[Codes, Rows, Int64]:
    """Return the grade of every wait, and (wait, code) of all that it waits for, by wait.

    A wait that is relayed also waits for all that the relaying stream had waited for since its last
    operation. That is followed until nothing changes: one round for each relay behind another.
    """
    # Only waits that are relayed, or are behind the same operation as one that is, are followed.
    segment = _segments(waits, gap)
    is_needed = np.zeros(int(segment.max(initial=0)) + 1, bool)
    has_relay = direct.relay >= 0
    is_needed[segment[direct.relay[has_relay]]] = True
    rows = np.flatnonzero(is_needed[segment] | has_relay) if has_relay.any() else np.empty(0, np.int64)
    grade = direct.grade.copy()
    plain = np.ones(len(waits), bool)
    plain[rows] = False
    alone = np.flatnonzero(plain & (direct.code > 0))
    wait, code = [alone], [direct.code[alone]]
    # Process by process, so that the columns below are the streams of one.
    for process in np.unique(waits.process[rows]).tolist():
        own = rows[waits.process[rows] == process]
        of_own, own_wait, own_code = _relayed(direct, own, segment[own], gap_grade[own])
        grade[own] = of_own
        wait.append(own[own_wait])
        code.append(own_code)
    waits_of, codes = np.concatenate(wait), np.concatenate(code)
    by_wait = np.argsort(waits_of, kind="stable")
    return grade, waits_of[by_wait].astype(np.int32), codes[by_wait]


def _segments(waits: EventCalls, gap: Int64) -> Int64:
    """Return a number for each run of waits on one stream with no operation between, increasing."""
    if not len(waits):
        return np.empty(0, np.int64)
    starts = (waits.lane[1:] != waits.lane[:-1]) | (gap[1:] != gap[:-1]) | (waits.lane[1:] < 0)
    return np.concatenate(([0], np.cumsum(starts)))


def _relayed(direct: _Direct, rows: Int64, segment: Int64, gap_grade: Codes) -> tuple[Codes, Int64, Int64]:
    """Return grades and (position in `rows`, code) of some waits, with what they are relayed from.

    Of each stream the last operation is kept; the earlier ones are implied by the stream's order.
    """
    lanes, column = np.unique(direct.lane[rows], return_inverse=True)
    relay = np.full(len(rows), -1, np.int64)
    has_relay = direct.relay[rows] >= 0
    relay[has_relay] = np.searchsorted(rows, direct.relay[rows[has_relay]])
    # (waits, streams): codes, and in a last column how much short of proven a wait is, so that the largest
    # counts in all of them.
    first = np.zeros((len(rows), len(lanes) + 1), np.int64)
    first[np.arange(len(rows)), column] = direct.code[rows]
    first[:, -1] = Grade.PROVEN - direct.grade[rows].astype(np.int64)
    values = first.copy()
    # A chain of relays is at most as long as there are waits.
    for _ in range(len(rows)):
        behind = _so_far(_capped(values, gap_grade), segment)[relay[has_relay]]
        behind = _capped(behind, direct.relay_grade[rows[has_relay]])
        new = first.copy()
        new[has_relay] = np.maximum(new[has_relay], behind)
        if (new == values).all():
            break
        values = new
    position, at = np.nonzero(values[:, :-1])
    grade = (Grade.PROVEN - values[:, -1]).astype(np.uint8)
    return grade, position, values[position, at]


def _capped(values: Int64, grade: Codes) -> Int64:
    """Return codes (all columns but the last) with grades no better than that of their row."""
    limit = grade.astype(np.int64)[:, None]
    result = values.copy()
    codes = result[:, :-1]
    low = codes & ((1 << _GRADE_BITS) - 1)
    codes -= low - np.minimum(low, limit)
    result[:, -1] = np.maximum(result[:, -1], Grade.PROVEN - limit[:, 0])
    return result


def _so_far(values: Int64, segment: Int64) -> Int64:
    """Return the largest of each column so far, anew in each segment."""
    # Segments increase: with their number above all codes, the running largest never reaches over one.
    above = segment << np.int64(40)
    result = np.empty_like(values)
    for column in range(values.shape[1]):
        result[:, column] = np.maximum.accumulate(values[:, column] + above) - above
    return result


def _coded(place: Int64, grade: Codes) -> Int64:
    """Return places and grades as one number, larger for a later place; 0 is none."""
    return ((place + 1) << _GRADE_BITS) | grade


def _last_of_call(operations: Operations) -> Rows:
    """Return for each operation the one of its call that ends last: a graph is over with its last node."""
    last = np.arange(len(operations), dtype=np.int32)
    launched = np.flatnonzero(operations.call >= 0)
    call = operations.call[launched]
    shared: Mask = (np.bincount(call) > 1)[call] if len(call) else np.empty(0, bool)
    several = launched[shared]
    if len(several):
        order = several[np.lexsort((operations.end_ns[several], operations.call[several]))]
        of = operations.call[order]
        ends = np.flatnonzero(np.append(of[1:] != of[:-1], True))
        last[order] = np.repeat(order[ends], np.diff(np.concatenate(([-1], ends))))
    return last
