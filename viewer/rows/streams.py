"""The rows of a GPU's streams: what each does, in the same order on every GPU."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import numpy.typing as npt

from viewer.analysis.study import Study
from viewer.rows.kinds import RowKind
from viewer.rows.row import Role, Row, RowEvents
from viewer.rows.row_events import of_several, of_slice
from viewer.trace import GPU_KINDS, Kind, Stream
from viewer.trace.events import Int64
from viewer.trace.model import UNIFIED_NAME

COMMUNICATION_DETAIL = "NCCL"
_COPIES = (Kind.MEMCPY, Kind.MEMSET)
_ORDER = tuple(Role)
MAIN_STREAMS = 3
"""So many streams of a GPU that communicate are shown by themselves beside its compute stream."""


class StreamSums:
    """What the streams of all GPUs do.

    Attributes
    ----------
    total_ns, communication_ns : ndarray of int64, shape (streams,)
        The sum of the durations of a stream's operations, and of those that are communication.
    role : tuple of Role, one per stream
        What streams of this number mostly do over all GPUs, so that they stand in one order on each.
    main : frozenset of int
        The numbers of the streams that communicate most over all GPUs.
    """

    def __init__(self, study: Study) -> None:
        streams = study.trace.streams
        count = len(streams)
        self.total_ns, self.communication_ns = np.zeros(count, np.int64), np.zeros(count, np.int64)
        copies_ns = np.zeros(count, np.int64)
        for kind in GPU_KINDS:
            events = study.trace.events[kind]
            # Over the streams of all GPUs at once: thousands of streams cost no more than a few.
            length = events.end_ns - events.start_ns
            sums = _sums(length, events.offsets)
            self.total_ns += sums
            if kind in _COPIES:
                copies_ns += sums
            elif kind is Kind.KERNEL:
                # Zeroed, not left out: the offsets of the streams stay those of the table.
                length[~study.classes.is_comm(events.name_id)] = 0
                self.communication_ns += _sums(length, events.offsets)
        # By number over all GPUs: a stream that one rank hardly used still stands where it stands on the
        # others.
        ids, number = np.unique([stream.stream_id for stream in streams], return_inverse=True)
        by_number = np.zeros((3, len(ids)), np.int64)
        for row, ns in enumerate((self.total_ns, self.communication_ns, copies_ns)):
            np.add.at(by_number[row], number, ns)
        self.role = tuple(
            Role.COMMUNICATION
            if 2 * communication > total
            else Role.COPY
            if 2 * copies > total
            else Role.COMPUTE
            for total, communication, copies in by_number[:, number].T.tolist()
        )
        # Of equals the lower number: the same trace shows the same streams.
        most = np.argsort(-by_number[1], kind="stable")[:MAIN_STREAMS]
        self.main = frozenset(ids[most].tolist())


def _sums(length_ns: Int64, offsets: npt.NDArray[np.integer]) -> Int64:
    """Return the sum of the durations of each owner: its events lie together, between two offsets."""
    # Differences of running sums: a stream without events has a sum of 0, which `reduceat` would not give.
    running = np.concatenate(([0], np.cumsum(length_ns)))
    return np.asarray(np.diff(running[offsets]))


def stream_rows(study: Study, sums: StreamSums, gpu: int, parent: Row) -> list[Row]:
    """Return the rows of a GPU's streams, by what streams of their number do, then by the number."""
    trace = study.trace
    streams = trace.streams_of(gpu)
    total_ns = sum(int(sums.total_ns[s.index]) for s in streams)
    # CUDA numbers streams within a context. Two contexts on a GPU may both have a stream 7, which only then
    # are told apart, so that keys of usual traces stay as they were.
    ids = Counter(s.stream_id for s in streams)
    rows = []
    for stream in sorted(streams, key=lambda s: (_ORDER.index(sums.role[s.index]), s.stream_id, s.context)):
        tables = [(kind, trace.events[kind].of(stream.index)) for kind in GPU_KINDS]
        tables = [(kind, part) for kind, part in tables if part.stop > part.start]
        # Streams that were created and never used, of which frameworks make dozens, have no row.
        if not tables:
            continue
        shared = ids[stream.stream_id] > 1
        context = f"context {stream.context}" if shared else ""
        rows.append(
            Row(
                f"{parent.key}/stream{stream.stream_id}" + (f"/{stream.context}" if shared else ""),
                RowKind.STREAM,
                stream.name if stream.name == UNIFIED_NAME else f"Stream {stream.stream_id}",
                " ".join(t for t in (_detail(stream, sums), context) if t),
                parent,
                gpu,
                parent.process,
                stream.index,
                share=int(sums.total_ns[stream.index]) / total_ns if total_ns else None,
                load=partial(_load, study, tables),
                role=sums.role[stream.index],
            )
        )
    return rows + _others(study, sums, rows)


def _others(study: Study, sums: StreamSums, rows: list[Row]) -> list[Row]:
    """Return the row of all streams that communicate but the main ones, where there are any."""
    streams = study.trace.streams
    talking = [row for row in rows if row.role is Role.COMMUNICATION and row.stream is not None]
    rest = [row for row in talking if streams[row.stream or 0].stream_id not in sums.main]
    # So few streams fit on the screen; a row that stood for one of them alone would hide more than it saves.
    if len(talking) <= MAIN_STREAMS or not rest:
        return []
    parent = rest[0].parent
    assert parent is not None
    events = study.trace.events
    tables = [(kind, events[kind].of(row.stream or 0)) for row in rest for kind in GPU_KINDS]
    return [
        Row(
            f"{parent.key}/other-streams",
            RowKind.OTHER_STREAMS,
            f"{len(rest):,} more stream{'s' * (len(rest) > 1)}",
            "",
            parent,
            parent.gpu,
            parent.process,
            load=partial(_load, study, [(kind, part) for kind, part in tables if part.stop > part.start]),
            role=Role.COMMUNICATION,
            gathers=frozenset(row.key for row in rest),
        )
    ]


def _load(study: Study, tables: list[tuple[Kind, slice]]) -> RowEvents:
    # A slice of one table needs no copy and no sort, and most streams have kernels only.
    if len(tables) == 1:
        return of_slice(study.trace, *tables[0])
    parts = [(kind, np.arange(part.start, part.stop, dtype=np.int32)) for kind, part in tables]
    return of_several(study.trace, parts)


def _detail(stream: Stream, sums: StreamSums) -> str:
    if stream.name == UNIFIED_NAME:
        return "page migrations"
    if 2 * sums.communication_ns[stream.index] > sums.total_ns[stream.index]:
        named = COMMUNICATION_DETAIL.casefold() in stream.name.casefold()
        return stream.name if named else f"{COMMUNICATION_DETAIL} {stream.name}".strip()
    return stream.name or ("default" if stream.is_default else "")
