"""StallView: the stalls that pass a filter, by cause, grouped by similarity, and one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.dependencies.stall_producers import StallProducers
from viewer.analysis.dependencies.stall_words import producer_texts, reason_texts
from viewer.analysis.stalls.stalls import Stalls
from viewer.analysis.stalls.words import frame_of
from viewer.analysis.study import Study
from viewer.analysis.time.scope import Scope
from viewer.drawing.format import format_count, format_ns

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WantedStalls:
    """Which stalls to show; "" and None for all.

    Attributes
    ----------
    kind, cause, place : str
    gpu : int or None
    least_ns, most_ns : int
        Lengths, both inclusive.
    scope : Scope or None
        Only stalls that touch its time.
    group : ndarray of int64 or None
        Only these numbers: those of an opened group.
    """

    kind: str = ""
    cause: str = ""
    place: str = ""
    gpu: int | None = None
    least_ns: int = 0
    most_ns: int = int(np.iinfo(np.int64).max)
    scope: Scope | None = None
    group: Numbers | None = None


@dataclass(frozen=True)
class StallView:
    """The stalls that passed.

    Attributes
    ----------
    stalls : Stalls
    producers : StallProducers
        Of all of them.
    numbers : ndarray of int64
        Their numbers, by start.
    each : DataFrame
        The stalls in words, with their `number`, `reason` and `producer`.
    totals, groups : DataFrame
        `Stalls.totals` and `Stalls.groups` of them; `share` is of all stalls of that kind, shown or not.
    text : str
        "40 of 4,789 stalls, 148 ms over all GPUs, each wholly for its main cause; between kernels ...".
    """

    stalls: Stalls
    producers: StallProducers
    numbers: Numbers
    each: pd.DataFrame
    totals: pd.DataFrame
    groups: pd.DataFrame
    text: str


def stall_view(study: Study, marker: int, wanted: WantedStalls) -> StallView:
    """Filter the stalls of a trace and group them."""
    stalls = study.stalls(marker)
    every = np.arange(len(stalls), dtype=np.int64)
    if wanted.scope is not None:
        every = every[_inside(stalls, every, wanted.scope)]
    mask = np.zeros(len(stalls), bool)
    mask[every] = True
    passed = stalls.select(
        [wanted.kind] if wanted.kind else None,
        [wanted.cause] if wanted.cause else None,
        [wanted.place] if wanted.place else None,
        None if wanted.gpu is None else [wanted.gpu],
        wanted.least_ns,
    )
    passed = passed[mask[passed]]
    numbers = passed[stalls.table["duration_ns"].to_numpy()[passed] <= wanted.most_ns]
    if wanted.group is not None:
        numbers = np.intersect1d(numbers, wanted.group)
    producers = study.stall_producers(marker)
    each = frame_of(stalls, numbers).assign(
        number=numbers,
        reason=reason_texts(producers, numbers).series(),
        producer=producer_texts(producers, numbers).series(),
    )
    return StallView(
        stalls,
        producers,
        numbers,
        each,
        _totals(stalls, numbers, every),
        stalls.groups(numbers),
        _text(stalls, numbers, wanted),
    )


def _totals(stalls: Stalls, numbers: Numbers, every: Numbers) -> pd.DataFrame:
    totals = stalls.totals(numbers)
    whole = stalls.totals(every).groupby("kind")["total_ns"].sum()
    return totals.assign(share=totals["total_ns"] / totals["kind"].map(whole).astype(np.int64))


def _inside(stalls: Stalls, numbers: Numbers, scope: Scope) -> npt.NDArray[np.bool_]:
    gpu, start, end = (stalls.table[c].to_numpy()[numbers] for c in ("gpu", "start_ns", "end_ns"))
    # A scope differs from GPU to GPU (iterations start at other times), so ask it once per GPU.
    mask = np.zeros(len(numbers), bool)
    for number in np.unique(gpu).tolist():
        rows = gpu == number
        mask[rows] = scope.of(number).covered(start[rows], end[rows]) > 0
    return mask


def _text(stalls: Stalls, numbers: Numbers, wanted: WantedStalls) -> str:
    total = int(stalls.table["duration_ns"].to_numpy()[numbers].sum())
    of = f" of {format_count(len(stalls))}" if len(numbers) < len(stalls) else ""
    text = f"{format_count(len(numbers))}{of} stalls, {format_ns(total)} over all GPUs"
    text += ", each wholly for its main cause"
    short = stalls.short
    if wanted.kind:
        short = short[short["kind"] == wanted.kind]
    if wanted.gpu is not None:
        short = short[short["gpu"] == wanted.gpu]
    if len(short) and short["count"].sum() and wanted.scope is None and wanted.group is None:
        count, rest = int(short["count"].sum()), int(short["total_ns"].sum())
        text += f"; between kernels {format_count(count)} under {format_ns(stalls.min_ns)}, {format_ns(rest)}"
    return text
