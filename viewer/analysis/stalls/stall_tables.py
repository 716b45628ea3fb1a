"""Stalls summed by cause, and similar stalls as one line each (docs/definitions.md, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.core.units import duration_text
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.stalls.words import KIND_TEXT, PLACE_TEXT, cause_text
from viewer.trace import Trace
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers, strip_arguments

if TYPE_CHECKING:
    from viewer.analysis.stalls.stalls import Stalls

SIMILAR = 1.25
"""Stalls of a group are at most this many times as long as its shortest."""
_GROUPED_BY = ["kind", "place", "cause", "inside", "duration_ns", "gpu"]


def totals(table: pd.DataFrame) -> pd.DataFrame:
    """Return the time of some stalls by kind and cause, most first.

    Returns
    -------
    DataFrame
        `kind`, `cause`, `count`, `total_ns`, `share` (of all these stalls of that kind).
    """
    # Whole stalls, each for its one cause: sums by cause add up to the time of the kind.
    lengths = table.groupby(["kind", "cause"], observed=True)["duration_ns"]
    grouped = lengths.agg(["count", "sum"]).reset_index()
    grouped.columns = pd.Index(["kind", "cause", "count", "total_ns"])
    whole = grouped.groupby("kind", observed=True)["total_ns"].transform("sum")
    grouped["share"] = grouped["total_ns"] / whole.astype(np.int64)
    grouped = grouped.astype({"kind": object, "cause": object})
    return grouped.sort_values("total_ns", ascending=False, kind="stable", ignore_index=True)


def groups(stalls: Stalls, rows: Indices) -> pd.DataFrame:
    """Gather stalls of the same kind, place, cause and surrounding range, and of similar length.

    Returns
    -------
    DataFrame
        `kind`, `place`, `cause`, `inside` (numbers as ``#``), `count`, `mean_ns`, `spread` (half the range of
        lengths over the mean), `total_ns`, `gpus` (how many), `first_ns`, `text`, `rows` (their numbers);
        most time first.
    """
    table = stalls.table[_GROUPED_BY].iloc[rows]
    texts, code = _ranges(stalls.trace, table["inside"].to_numpy())
    length = table["duration_ns"].to_numpy()
    # One integer per stall that is equal where kind, place, cause and range are: a number in mixed bases.
    # Codes may be -1, so each is moved up by one.
    keys = np.zeros(len(rows), np.int64)
    for values, count in (
        (table["kind"].cat.codes, len(table["kind"].cat.categories)),
        (table["place"].cat.codes, len(table["place"].cat.categories)),
        (table["cause"].cat.codes, len(table["cause"].cat.categories)),
        (pd.Series(code), len(texts)),
    ):
        keys = keys * (count + 1) + values.to_numpy(np.int64) + 1
    # By length within: a group is then a run, and its shortest stall comes first.
    order = np.lexsort((length, keys))
    found = [
        _group(stalls, table, texts, code, length, order[low:high], rows)
        for low, high in _alike(keys[order], length[order])
    ]
    frame = pd.DataFrame(found, columns=_GROUP_COLUMNS)
    return frame.sort_values("total_ns", ascending=False, kind="stable", ignore_index=True)


_GROUP_COLUMNS = [
    "kind", "place", "cause", "inside", "count", "mean_ns", "spread", "total_ns", "gpus", "first_ns", "text",
    "rows",
]  # fmt: skip


def _alike(keys: Int64, length: Int64) -> list[tuple[int, int]]:
    """Return runs of equal keys whose lengths, rising, differ by no more than `SIMILAR`."""
    found, low = [], 0
    ends = np.append(np.flatnonzero(np.diff(keys)) + 1, len(keys))
    for end in ends.tolist():
        while low < end:
            # A new group starts with the first one that is too long: each stall is in exactly one.
            high = low + int(np.searchsorted(length[low:end], int(length[low] * SIMILAR), side="right"))
            found.append((low, high))
            low = high
    return found


def _group(
    stalls: Stalls,
    table: pd.DataFrame,
    texts: list[str],
    code: Indices,
    length: Int64,
    members: Indices,
    rows: Indices,
) -> tuple[object, ...]:
    """Return the row of one group; `members` are its positions in `table`, the shortest stall first."""
    first = table.iloc[members[0]]
    count, total = len(members), int(length[members].sum())
    low, high = int(length[members[0]]), int(length[members[-1]])
    mean = total / count
    spread = (high - low) / 2 / mean
    inside = texts[code[members[0]]]
    # By number, which is by time: a click leads from the first to the last of them.
    numbers = np.sort(rows[members])
    gpus = int(np.count_nonzero(np.bincount(table["gpu"].to_numpy()[members])))
    what = [
        f"{count:,} {KIND_TEXT[first['kind']]} stall{'s' if count > 1 else ''} of {duration_text(mean)}"
        + (f" ± {100 * spread:.0f} %" if spread >= 0.005 else ""),
        PLACE_TEXT[first["place"]],
    ]
    place = [f"inside {inside}"] * bool(inside)
    text = ", ".join([" ".join(part for part in what if part), cause_text(str(first["cause"])), *place])
    begins = int(stalls.table["start_ns"].iloc[numbers[0]])
    return (
        first["kind"], first["place"], first["cause"], inside, count, round(mean), spread, total, gpus,
        begins, text, numbers,
    )  # fmt: skip


def _ranges(trace: Trace, index: Indices) -> tuple[list[str], Indices]:
    """Return the texts of some ranges with their numbers as ``#``, sorted, and which each one has."""
    ids = np.zeros(len(index), np.uint32)
    known = index >= 0
    ids[known] = trace.nvtx.name_id[index[known]]
    used, code = coded(ids)
    normalised = [normalise_numbers(strip_arguments(text)) for text in trace.names.take(used)]
    texts = sorted(set(normalised))
    place = {text: number for number, text in enumerate(texts)}
    return texts, np.array([place[text] for text in normalised], np.int64)[code]
