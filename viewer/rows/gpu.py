"""The rows of a GPU: kernels by family and name, memory by kind, streams, projected ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.launches.projection import Projection
from viewer.analysis.study import Study
from viewer.rows.counters import CounterTable, counter_rows
from viewer.rows.kinds import RowKind
from viewer.rows.named import Named
from viewer.rows.nesting import lanes
from viewer.rows.row import Row, RowEvents
from viewer.rows.row_events import of_several
from viewer.rows.streams import StreamSums, stream_rows
from viewer.trace import Gpu, Kind

Indices = npt.NDArray[np.int32]

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


def gpu_row(
    study: Study,
    gpu: Gpu,
    parent: Row,
    counters: Sequence[CounterTable],
    streams: StreamSums,
    with_projection: bool,
) -> Row:
    """Return the row of a GPU with all that is under it."""
    key = f"{parent.key}/gpu{gpu.device}"
    row = Row(key, RowKind.GPU, f"GPU {gpu.device}", gpu_detail(gpu), parent, gpu.index, gpu.process)
    kernels = _groups(study, gpu.index, _COMPUTE)
    copies = _groups(study, gpu.index, _COPIES)
    # The shares of Kernels and Memory are of both together, as nsys-ui prints them: they sum to 100 % though
    # the two overlap in time.
    total = _total(kernels) + _total(copies)
    # A GPU that only copies has no empty row of kernels.
    if kernels:
        row.children.append(_kernels_row(study, row, kernels, total))
    if copies:
        row.children.append(_memory_row(study, row, copies, total))
    # Rows in the order in which a reader narrows down: what ran, where it ran, what it did to the GPU, and
    # for what part of the program.
    row.children.extend(stream_rows(study, streams, gpu.index, row))
    row.children.extend(counter_rows(counters, row))
    if with_projection:
        row.children.extend(projection_rows(study, row, gpu.process))
    return row


def gpu_detail(gpu: Gpu) -> str:
    """Return what a GPU is: "H200", with the number of the physical GPU where the process's differs."""
    name = gpu.name.removeprefix("NVIDIA ")
    if gpu.physical is None or gpu.physical == gpu.device:
        return name
    return f"{name} · physical GPU {gpu.physical}".removeprefix(" · ")


def projection_rows(study: Study, parent: Row, process: int) -> list[Row]:
    """Return the rows of NVTX ranges projected on the GPU, both ways (docs/definitions.md, section 5)."""
    projections: tuple[tuple[Projection, str], ...] = (("process", "all threads"), ("thread", "own thread"))
    return [
        Row(
            f"{parent.key}/projection/{mode}",
            RowKind.PROJECTION,
            "NVTX (GPU projection)",
            detail,
            parent,
            parent.gpu,
            process,
            load=partial(_projected, study, mode, process),
        )
        for mode, detail in projections
    ]


def _projected(study: Study, mode: Projection, process: int) -> RowEvents:
    # Made when the row is first drawn: a projection goes over all launches of the trace, and most are never
    # unfolded.
    table = study.projection(mode)
    table = table[table["process"] == process]
    start, end = table["start_ns"].to_numpy(np.int64), table["end_ns"].to_numpy(np.int64)
    # Projected ranges come by track; one row shows all of them by (start, -end), and of equals the outer
    # first.
    order = np.lexsort((table["depth"].to_numpy(), -end, start))
    index = table["range"].to_numpy(np.int32)[order]
    start, end = start[order], end[order]
    argb = study.trace.nvtx.columns.get("argb")
    colours = np.asarray(argb[index], np.uint32) if argb is not None else None
    return RowEvents(
        start,
        end,
        Named(study.trace.events, Kind.NVTX, index),
        Kind.NVTX,
        index,
        lanes(start, end),
        # No array of zeros: without any colour of the user's own the drawing need not look at each event.
        colours if colours is not None and colours.any() else None,
    )


def _rows_of(study: Study, gpu: int, kind: Kind) -> Indices:
    # From the order of the GPU, which is kept anyway: rows of one kind come out by start, without a sort.
    order = study.order(gpu)
    return np.asarray(order.index[order.kind == _KIND_CODE[kind]])


def _groups(study: Study, gpu: int, kinds: tuple[Kind, ...]) -> list[_Group]:
    """Group a GPU's events by name, the longest sum first."""
    groups: list[_Group] = []
    for kind in kinds:
        events, index = study.trace.events[kind], _rows_of(study, gpu, kind)
        if not len(index):
            continue
        # Sums by code instead of one mask a name: a GPU has hundreds of names and a million events.
        ids, code = coded(events.name_id[index])
        sums = np.zeros(len(ids), np.int64)
        np.add.at(sums, code, events.end_ns[index] - events.start_ns[index])
        # Assigned from the last event to the first: what stands there in the end is the first of each name.
        first = np.zeros(len(ids), np.int32)
        first[code[::-1]] = index[::-1]
        family = events.columns["short_id"][first] if "short_id" in events.columns else ids
        for name_id, family_id, sum_ns in zip(ids.tolist(), family.tolist(), sums.tolist(), strict=True):
            groups.append(_Group(gpu, kind, name_id, family_id, sum_ns))
    # The id of the name breaks ties, so that rows do not change places between two openings of a trace.
    return sorted(groups, key=lambda g: (-g.sum_ns, g.name_id))


def _total(groups: list[_Group]) -> int:
    return sum(group.sum_ns for group in groups)


def _share(part_ns: int, total_ns: int) -> float | None:
    return part_ns / total_ns if total_ns else None


def _load(study: Study, groups: list[_Group]) -> RowEvents:
    """Gather the events of some groups of one GPU; events of equal times come in the order of the groups."""
    parts = []
    for kind in dict.fromkeys(group.kind for group in groups):
        ids = [group.name_id for group in groups if group.kind is kind]
        # The position of each name among the groups; `len(ids)` for names that are in none of them.
        position = np.full(len(study.trace.names), len(ids), np.min_scalar_type(len(ids)))
        # One look-up for each event says which group it is in, however many groups there are.
        position[ids] = np.arange(len(ids))
        index = _rows_of(study, groups[0].gpu, kind)
        group = position[study.trace.events[kind].name_id[index]]
        mask = group < len(ids)
        parts.append((kind, index[mask][np.argsort(group[mask], kind="stable")]))
    return of_several(study.trace, parts)


def _kernels_row(study: Study, parent: Row, groups: list[_Group], siblings_ns: int) -> Row:
    total = _total(groups)
    row = _under(study, parent, RowKind.KERNELS, "kernels", "Kernels", groups, _share(total, siblings_ns))
    # With the kind in the key: a graph and a kernel may be called the same, and are not one family.
    families: dict[tuple[Kind, int], list[_Group]] = {}
    for group in groups:
        families.setdefault((group.kind, group.family), []).append(group)
    names = study.trace.names
    for (_, family), members in sorted(families.items(), key=lambda item: -_total(item[1])):
        family_ns = _total(members)
        # Some exports leave the short name empty; a row without a label could not be told from its
        # neighbours.
        label = names[family] or names[members[0].name_id]
        below = _under(study, row, RowKind.FAMILY, label, label, members, _share(family_ns, total))
        for group in members:
            name, share = names[group.name_id], _share(group.sum_ns, family_ns)
            below.children.append(_under(study, below, RowKind.KERNEL_NAME, name, name, [group], share))
        row.children.append(below)
    return row


def _memory_row(study: Study, parent: Row, groups: list[_Group], siblings_ns: int) -> Row:
    total = _total(groups)
    row = _under(study, parent, RowKind.MEMORY, "memory", "Memory", groups, _share(total, siblings_ns))
    for group in groups:
        label = study.trace.names[group.name_id].removeprefix("Memcpy ")
        share = _share(group.sum_ns, total)
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
