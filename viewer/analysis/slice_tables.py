"""Slices in words, summed by cause, and gathered where they are alike (definitions, section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.launched import Indices
from viewer.analysis.slice_kinds import COMM_CAUSES, COMM_COLUMNS
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers, short_name, strip_arguments

if TYPE_CHECKING:
    from viewer.analysis.slices import Slices

ALIKE = 1.25
"""Slices of a group are at most this many times as long as its shortest."""

KIND_TEXT = {"idle": "idle", "copy_only": "copy only", "exposed_comm": "exposed communication"}
PLACE_TEXT = {
    "inside": "inside iterations",
    "between": "between iterations",
    "outside": "outside all iterations",
    "": "",
}
_FIGURES_OF = {
    "synchronise": ("blocking_ns",),
    "slow CUDA call": ("other_call_ns",),
    "waiting": ("off_cpu_ns",),
    "host code": ("host_ns",),
    "unknown": ("unknown_ns",),
    "launch-bound": ("other_call_ns", "host_ns", "launch_to_start_ns", "unknown_ns"),
    "GPU side": ("gpu_side_ns", "launch_to_start_ns"),
    **{cause: (column,) for cause, column in zip(COMM_CAUSES, COMM_COLUMNS, strict=True)},
}

Texts = npt.NDArray[np.object_]


def shown(slices: Slices) -> pd.DataFrame:
    """Return the slices in words, in the same order.

    Returns
    -------
    DataFrame
        `kind`, `gpu`, `start_ns`, `duration_ns`, `place`, `iteration` ("7", or "7 → 8"), `cause`, `share` (of
        the slice's length, what speaks for the cause), `inside`, `drained_by`, `call` (the longest of the
        kind that the cause names; of the GPU side the wait for an event), `before`, `after`,
        `copies`, `waits_for`.
    """
    table, trace = slices.table, slices.study.trace
    labels = np.array([trace.gpu_label(g.index) for g in trace.gpus] + [""], object)
    return pd.DataFrame(
        {
            "kind": _spelled(table["kind"], KIND_TEXT),
            "gpu": labels[table["gpu"].to_numpy()],
            "start_ns": table["start_ns"],
            "duration_ns": table["duration_ns"],
            "place": _spelled(table["place"], PLACE_TEXT),
            "iteration": _iterations(table),
            "cause": _spelled(table["cause"]),
            "share": _shares(table),
            "inside": names_of(trace, Kind.NVTX, table["inside"].to_numpy()),
            "drained_by": names_of(trace, Kind.API, table["drained_by"].to_numpy()),
            "call": _calls(trace, table),
            "before": _operations(trace, table, "before"),
            "after": _operations(trace, table, "after"),
            "copies": _copies(trace, table),
            "waits_for": labels[table["waits_for"].to_numpy()],
        }
    )


def totals(table: pd.DataFrame) -> pd.DataFrame:
    """Return the time of some slices by kind and cause, most first.

    Returns
    -------
    DataFrame
        `kind`, `cause`, `count`, `total_ns`, `share` (of all these slices of that kind).
    """
    lengths = table.groupby(["kind", "cause"], observed=True)["duration_ns"]
    grouped = lengths.agg(["count", "sum"]).reset_index()
    grouped.columns = pd.Index(["kind", "cause", "count", "total_ns"])
    whole = grouped.groupby("kind", observed=True)["total_ns"].transform("sum")
    grouped["share"] = grouped["total_ns"] / whole.astype(np.int64)
    grouped = grouped.astype({"kind": object, "cause": object})
    return grouped.sort_values("total_ns", ascending=False, kind="stable", ignore_index=True)


def groups(slices: Slices, rows: Indices) -> pd.DataFrame:
    """Gather slices of the same kind, place, cause and surrounding range, and of similar length.

    Returns
    -------
    DataFrame
        `kind`, `place`, `cause`, `inside` (numbers as ``#``), `count`, `mean_ns`, `spread` (half the range of
        lengths over the mean), `total_ns`, `gpus` (how many), `first_ns`, `text`, `rows` (their numbers);
        most time first.
    """
    table = slices.table.iloc[rows]
    inside = _ranges(slices.study.trace, table["inside"].to_numpy())
    texts, where = np.unique(inside.astype(str), return_inverse=True)
    code = where.astype(np.int64)
    length = table["duration_ns"].to_numpy()
    keys = np.zeros(len(rows), np.int64)
    for values, count in (
        (table["kind"].cat.codes, len(table["kind"].cat.categories)),
        (table["place"].cat.codes, len(table["place"].cat.categories)),
        (table["cause"].cat.codes, len(table["cause"].cat.categories)),
        (pd.Series(code), len(texts)),
    ):
        keys = keys * (count + 1) + values.to_numpy(np.int64) + 1
    order = np.lexsort((length, keys))
    found = [
        _group(slices, table, texts, code, length, order[low:high], rows)
        for low, high in _alike(keys[order], length[order])
    ]
    frame = pd.DataFrame(found, columns=_GROUP_COLUMNS)
    return frame.sort_values("total_ns", ascending=False, kind="stable", ignore_index=True)


_GROUP_COLUMNS = [
    "kind", "place", "cause", "inside", "count", "mean_ns", "spread", "total_ns", "gpus", "first_ns", "text",
    "rows",
]  # fmt: skip


def _alike(keys: Int64, length: Int64) -> list[tuple[int, int]]:
    """Return runs of equal keys whose lengths, rising, differ by no more than `ALIKE`."""
    found, low = [], 0
    ends = np.append(np.flatnonzero(np.diff(keys)) + 1, len(keys))
    for end in ends.tolist():
        while low < end:
            high = low + int(np.searchsorted(length[low:end], int(length[low] * ALIKE), side="right"))
            found.append((low, high))
            low = high
    return found


def _group(
    slices: Slices,
    table: pd.DataFrame,
    texts: npt.NDArray[np.str_],
    code: Indices,
    length: Int64,
    held: Indices,
    rows: Indices,
) -> tuple[object, ...]:
    one = table.iloc[held[0]]
    count, total = len(held), int(length[held].sum())
    low, high = int(length[held[0]]), int(length[held[-1]])
    mean = total / count
    spread = (high - low) / 2 / mean
    inside = str(texts[code[held[0]]])
    numbers = np.sort(rows[held])
    gpus = len(np.unique(table["gpu"].to_numpy()[held]))
    said = [
        f"{count:,} {KIND_TEXT[one['kind']]} slice{'s' if count > 1 else ''} of {mean / 1e6:,.4g} ms"
        + (f" ± {spread:.0%}" if spread >= 0.005 else ""),
        PLACE_TEXT[one["place"]],
    ]
    place = [f"inside {inside}"] * bool(inside)
    text = ", ".join([" ".join(t for t in said if t), str(one["cause"]), *place])
    first = int(slices.table["start_ns"].iloc[numbers[0]])
    return (
        one["kind"], one["place"], one["cause"], inside, count, round(mean), spread, total, gpus, first, text,
        numbers,
    )  # fmt: skip


def names_of(trace: Trace, kind: Kind, index: Indices) -> Texts:
    """Return the names of events of one table, "" for an index of -1."""
    out = np.full(len(index), "", object)
    known = index >= 0
    if known.any():
        ids, code = np.unique(trace.events[kind].name_id[index[known]], return_inverse=True)
        out[known] = np.array(trace.names.take(ids), object)[code]
    return out


def _ranges(trace: Trace, index: Indices) -> Texts:
    out = np.full(len(index), "", object)
    known = index >= 0
    if known.any():
        ids, code = np.unique(trace.nvtx.name_id[index[known]], return_inverse=True)
        texts = [normalise_numbers(strip_arguments(text)) for text in trace.names.take(ids)]
        out[known] = np.array([*texts, ""], object)[:-1][code]
    return out


def _spelled(column: pd.Series, text_of: Mapping[str, str] | None = None) -> Texts:
    """Return a column of categories as texts; pandas takes its time, in which no other thread can run."""
    words = [text_of[word] if text_of else word for word in column.cat.categories]
    return np.array([*words, ""], object)[column.cat.codes.to_numpy()]


def _iterations(table: pd.DataFrame) -> Texts:
    pairs = table["lap"].to_numpy(), table["lap_after"].to_numpy()
    out = np.full(len(table), "", object)
    # As one number each: rows of two are sorted while no other thread can run.
    kinds, code = np.unique((pairs[0].astype(np.int64) << 32) + pairs[1], return_inverse=True)
    texts = []
    for both in kinds.tolist():
        other = (both + 2**31) % 2**32 - 2**31
        one = (both - other) >> 32
        held = [str(lap) for lap in ((one,) if one == other else (one, other)) if lap >= 0]
        texts.append(" → ".join(held))
    if len(table):
        out[:] = np.array([*texts, ""], object)[:-1][code.ravel()]
    return out


def _shares(table: pd.DataFrame) -> npt.NDArray[np.float64]:
    held = np.zeros(len(table), np.int64)
    cause = table["cause"].astype(object).to_numpy()
    for name, columns in _FIGURES_OF.items():
        mine = cause == name
        for column in columns:
            held[mine] += table[column].to_numpy()[mine]
    held[cause == "copy"] = table["duration_ns"].to_numpy()[cause == "copy"]
    return np.asarray(held / np.maximum(table["duration_ns"].to_numpy(), 1), np.float64)


def _calls(trace: Trace, table: pd.DataFrame) -> Texts:
    cause = table["cause"].astype(object).to_numpy()
    out = np.full(len(table), "", object)
    for name, column, kind in (
        ("synchronise", "blocking_call", Kind.API),
        ("slow CUDA call", "other_call", Kind.API),
        ("launch-bound", "launch", Kind.API),
        ("waiting", "os_call", Kind.OSRT),
        ("GPU side", "awaited", Kind.API),
    ):
        mine = cause == name
        out[mine] = names_of(trace, kind, table[column].to_numpy()[mine])
    return out


def _operations(trace: Trace, table: pd.DataFrame, which: str) -> Texts:
    kinds, index = table[f"{which}_kind"].to_numpy(), table[f"{which}_index"].to_numpy()
    out = np.full(len(table), "", object)
    for position, kind in enumerate(GPU_KINDS):
        mine = kinds == position
        ids, code = np.unique(trace.events[kind].name_id[index[mine]], return_inverse=True)
        texts = trace.names.take(ids)
        short = [short_name(text) if kind is Kind.KERNEL else text for text in texts]
        out[mine] = np.array([*short, ""], object)[:-1][code]
    return out


def _copies(trace: Trace, table: pd.DataFrame) -> Texts:
    out = np.full(len(table), "", object)
    rows = np.flatnonzero(table["copies"].to_numpy() > 0)
    kinds, index = table["copy_kind"].to_numpy(), table["copy_index"].to_numpy()
    size, rate = table["bytes"].to_numpy(), table["throughput_gb_s"].to_numpy()
    pageable, front = table["pageable"].to_numpy(), table["in_front"].to_numpy()
    for row in rows.tolist():
        kind = GPU_KINDS[kinds[row]]
        held = trace.events[kind]
        name = trace.names[int(held.name_id[index[row]])].removeprefix("Memcpy ")
        stream = trace.streams[int(np.searchsorted(held.offsets, index[row], side="right")) - 1]
        said = [f"{name} {size[row] / 1e6:,.4g} MB at {rate[row]:,.4g} GB/s on stream {stream.stream_id}"]
        said += ["pageable"] * bool(pageable[row]) + ["in front of the iteration"] * bool(front[row])
        out[row] = ", ".join(said)
    return out
