"""The rows of a GPU: kernels by family and name, memory by kind, streams, projected ranges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.launches.projection import Projection
from viewer.analysis.study import Study
from viewer.rows.named import Named
from viewer.rows.nesting import lanes
from viewer.rows.row import Row, RowEvents, RowKind
from viewer.rows.row_events import of_several, of_slice
from viewer.trace import GPU_KINDS, Gpu, Kind, Stream
from viewer.trace.events import Int64
from viewer.trace.model import UNIFIED_NAME

Indices = npt.NDArray[np.int32]

COMMUNICATION_DETAIL = "NCCL"
_COPIES = (Kind.MEMCPY, Kind.MEMSET)
_COMPUTE = (Kind.KERNEL, Kind.GRAPH)
_KIND_CODE = {kind: code for code, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True)
class _Group:
    """The events of one table on a GPU that share a name: the sum of their durations."""

    gpu: int
    kind: Kind
    name_id: int
    family: int
    sum_ns: int


def gpu_row(study: Study, gpu: Gpu, parent: Row, with_projection: bool) -> Row:
    """Return the row of a GPU with all that is under it."""
    key = f"{parent.key}/gpu{gpu.device}"
    row = Row(key, RowKind.GPU, f"GPU {gpu.device}", gpu_detail(gpu), parent, gpu.index, gpu.process)
    kernels = _groups(study, gpu.index, _COMPUTE)
    copies = _groups(study, gpu.index, _COPIES)
    total = _total(kernels) + _total(copies)
    if kernels:
        row.children.append(_kernels_row(study, row, kernels, total))
    if copies:
        row.children.append(_memory_row(study, row, copies, total))
    row.children.extend(_stream_rows(study, gpu.index, row))
    if row.children and len(study.trace.api):
        what = "Launch latency", "in the queue"
        row.children.append(Row(f"{key}/launches", RowKind.LAUNCHES, *what, row, gpu.index, gpu.process))
    if with_projection:
        row.children.extend(projection_rows(study, row, gpu.process))
    return row


def gpu_detail(gpu: Gpu) -> str:
    """Return what a GPU is: "H200", with the board's number where it is not the process's own."""
    name = gpu.name.removeprefix("NVIDIA ")
    if gpu.physical is None or gpu.physical == gpu.device:
        return name
    return f"{name} · board {gpu.physical}".removeprefix(" · ")


def projection_rows(study: Study, parent: Row, process: int) -> list[Row]:
    """Return the rows of NVTX ranges on the GPU, by both projections (docs/definitions.md, section 5)."""
    found: tuple[tuple[Projection, str], ...] = (("process", "whole process"), ("thread", "same thread"))
    return [
        Row(
            f"{parent.key}/projection/{mode}",
            RowKind.PROJECTION,
            "NVTX on the GPU",
            detail,
            parent,
            parent.gpu,
            process,
            load=partial(_projected, study, mode, process),
        )
        for mode, detail in found
    ]


def _projected(study: Study, mode: Projection, process: int) -> RowEvents:
    table = study.projection(mode)
    table = table[table["process"] == process]
    start, end = table["start_ns"].to_numpy(np.int64), table["end_ns"].to_numpy(np.int64)
    order = np.lexsort((table["depth"].to_numpy(), -end, start))
    index = table["range"].to_numpy(np.int32)[order]
    start, end = start[order], end[order]
    argb = study.trace.nvtx.columns.get("argb")
    own = np.asarray(argb[index], np.uint32) if argb is not None else None
    return RowEvents(
        start,
        end,
        Named(study.trace.events, Kind.NVTX, index),
        Kind.NVTX,
        index,
        lanes(start, end),
        own if own is not None and own.any() else None,
    )


def _rows_of(study: Study, gpu: int, kind: Kind) -> Indices:
    order = study.order(gpu)
    return np.asarray(order.index[order.kind == _KIND_CODE[kind]])


def _groups(study: Study, gpu: int, kinds: tuple[Kind, ...]) -> list[_Group]:
    """Group a GPU's events by name, the longest sum first."""
    out: list[_Group] = []
    for kind in kinds:
        events, index = study.trace.events[kind], _rows_of(study, gpu, kind)
        if not len(index):
            continue
        ids, code = coded(events.name_id[index])
        sums = np.zeros(len(ids), np.int64)
        np.add.at(sums, code, events.end_ns[index] - events.start_ns[index])
        first = np.zeros(len(ids), np.int32)
        first[code[::-1]] = index[::-1]
        family = events.columns["short_id"][first] if "short_id" in events.columns else ids
        for name_id, named, sum_ns in zip(ids.tolist(), family.tolist(), sums.tolist(), strict=True):
            out.append(_Group(gpu, kind, name_id, named, sum_ns))
    return sorted(out, key=lambda g: (-g.sum_ns, g.name_id))


def _total(groups: list[_Group]) -> int:
    return sum(group.sum_ns for group in groups)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _load(study: Study, groups: list[_Group]) -> RowEvents:
    """Gather the events of some groups of one GPU: of those that are alike, first that of the first group."""
    parts = []
    for kind in dict.fromkeys(group.kind for group in groups):
        ids = [group.name_id for group in groups if group.kind is kind]
        place = np.full(len(study.trace.names), len(ids), np.min_scalar_type(len(ids)))
        place[ids] = np.arange(len(ids))
        index = _rows_of(study, groups[0].gpu, kind)
        of = place[study.trace.events[kind].name_id[index]]
        held = of < len(ids)
        parts.append((kind, index[held][np.argsort(of[held], kind="stable")]))
    return of_several(study.trace, parts)


def _kernels_row(study: Study, parent: Row, groups: list[_Group], siblings_ns: int) -> Row:
    whole = _total(groups)
    row = _under(study, parent, RowKind.KERNELS, "kernels", "Kernels", groups, _share(whole, siblings_ns))
    families: dict[tuple[Kind, int], list[_Group]] = {}
    for group in groups:
        families.setdefault((group.kind, group.family), []).append(group)
    names = study.trace.names
    for (_, family), held in sorted(families.items(), key=lambda item: -_total(item[1])):
        mine = _total(held)
        label = names[family] or names[held[0].name_id]
        found = _under(study, row, RowKind.FAMILY, label, label, held, _share(mine, whole))
        for group in held:
            text = names[group.name_id]
            child = _under(study, found, RowKind.KERNEL_NAME, text, text, [group], _share(group.sum_ns, mine))
            found.children.append(child)
        row.children.append(found)
    return row


def _memory_row(study: Study, parent: Row, groups: list[_Group], siblings_ns: int) -> Row:
    whole = _total(groups)
    row = _under(study, parent, RowKind.MEMORY, "memory", "Memory", groups, _share(whole, siblings_ns))
    for group in groups:
        label = study.trace.names[group.name_id].removeprefix("Memcpy ")
        share = _share(group.sum_ns, whole)
        row.children.append(_under(study, row, RowKind.MEMORY_KIND, label, label, [group], share))
    return row


def _under(
    study: Study,
    parent: Row,
    kind: RowKind,
    key: str,
    label: str,
    groups: list[_Group],
    share: float | None,
) -> Row:
    return Row(
        f"{parent.key}/{key}",
        kind,
        label,
        parent=parent,
        gpu=parent.gpu,
        process=parent.process,
        share=share,
        load=partial(_load, study, groups),
    )


def _stream_rows(study: Study, gpu: int, parent: Row) -> list[Row]:
    trace = study.trace
    streams = trace.streams_of(gpu)
    sums = dict(zip([s.index for s in streams], _stream_sums(study, gpu), strict=True))
    whole = sum(total for total, _ in sums.values())
    ids = Counter(s.stream_id for s in streams)
    rows = []
    for stream in sorted(streams, key=lambda s: (-sums[s.index][0], s.stream_id)):
        held = [(k, trace.events[k].of(stream.index)) for k in GPU_KINDS]
        held = [(k, rows_of) for k, rows_of in held if rows_of.stop > rows_of.start]
        if not held:
            continue
        total, communication = sums[stream.index]
        shared = ids[stream.stream_id] > 1
        context = f"context {stream.context}" if shared else ""
        rows.append(
            Row(
                f"{parent.key}/stream{stream.stream_id}" + (f"/{stream.context}" if shared else ""),
                RowKind.STREAM,
                stream.name if stream.name == UNIFIED_NAME else f"Stream {stream.stream_id}",
                " ".join(t for t in (_stream_detail(stream, total, communication), context) if t),
                parent,
                gpu,
                parent.process,
                stream.index,
                share=_share(total, whole),
                load=partial(_load_stream, study, held),
            )
        )
    return rows


def _load_stream(study: Study, held: list[tuple[Kind, slice]]) -> RowEvents:
    if len(held) == 1:
        return of_slice(study.trace, *held[0])
    parts = [(kind, np.arange(rows.start, rows.stop, dtype=np.int32)) for kind, rows in held]
    return of_several(study.trace, parts)


def _stream_sums(study: Study, gpu: int) -> list[tuple[int, int]]:
    """Return the sum of durations of each stream's operations, and of those that are communication."""
    streams = [s.index for s in study.trace.streams_of(gpu)]
    sums = np.zeros((len(streams), 2), np.int64)
    for kind in GPU_KINDS:
        events = study.trace.events[kind]
        rows, edges = events.rows_of(streams), np.append(0, np.cumsum(events.counts(streams)))
        length: Int64 = events.end_ns[rows] - events.start_ns[rows]
        sums[:, 0] += np.diff(np.append(0, np.cumsum(length))[edges])
        if kind is Kind.KERNEL:
            length[~study.classes.is_comm(events.name_id[rows])] = 0
            sums[:, 1] += np.diff(np.append(0, np.cumsum(length))[edges])
    return [(total, communication) for total, communication in sums.tolist()]


def _stream_detail(stream: Stream, total_ns: int, communication_ns: int) -> str:
    if stream.name == UNIFIED_NAME:
        return "page migrations"
    if 2 * communication_ns > total_ns:
        named = COMMUNICATION_DETAIL.casefold() in stream.name.casefold()
        return stream.name if named else f"{COMMUNICATION_DETAIL} {stream.name}".strip()
    return stream.name or ("default" if stream.is_default else "")
