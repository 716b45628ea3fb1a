"""Kernels inside a scope: by class, by name, small ones and small-kernel bursts.

See docs/definitions.md, sections 3 and 4.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from viewer.analysis.core.classify import CLASSES, KernelClasses
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.core.intervals import Intervals, union
from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.kernels.small_kernel_bursts import SMALL_NS, SmallKernelBursts, find_small_kernel_bursts
from viewer.analysis.launches.attribution import Rows
from viewer.analysis.time.scope import Scope
from viewer.trace import Events, Kind, Trace


def kernels_in(trace: Trace, gpu: int, within: Intervals) -> Rows:
    """Return the kernels of a GPU that touch a scope, by start; indices into ``trace.kernels``."""
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu).astype(np.int64)
    rows = rows[within.covered(kernels.start_ns[rows], kernels.end_ns[rows]) > 0]
    return rows[np.argsort(kernels.start_ns[rows], kind="stable")]


def class_table(
    trace: Trace, classes: KernelClasses, scope: Scope, rows: tuple[Rows, ...] | None = None
) -> pd.DataFrame:
    """Return the kernels by class, over all GPUs.

    Parameters
    ----------
    rows : tuple of ndarray, one per GPU, optional
        The kernels to count; by default all that touch the scope.

    Returns
    -------
    DataFrame
        `class`, `kernels`, `sum_ns` (durations inside the scope), `union_ns` (sum over the GPUs), `share` (of
        all durations), and where the longest one is: `gpu`, `start_ns`, `end_ns`; -1 without any.
    """
    kernels = trace.kernels
    count = np.zeros(len(CLASSES), np.int64)
    sums, unions, longest = count.copy(), count.copy(), count.copy()
    spots = np.full((len(CLASSES), 3), -1, np.int64)
    for gpu, within in enumerate(scope.within):
        mine = kernels_in(trace, gpu, within) if rows is None else rows[gpu]
        of = classes.class_of[kernels.name_id[mine]]
        mine = mine[np.argsort(of, kind="stable")]
        edges = np.append(0, np.cumsum(np.bincount(of, minlength=len(CLASSES))))
        for position in np.flatnonzero(np.diff(edges)).tolist():
            held = mine[edges[position] : edges[position + 1]]
            start, end = kernels.start_ns[held], kernels.end_ns[held]
            lengths = within.covered(start, end)
            count[position] += int((lengths > 0).sum())
            sums[position] += int(lengths.sum())
            unions[position] += (union(start, end) & within).total()
            if lengths.max() > longest[position]:
                at = int(lengths.argmax())
                longest[position] = lengths[at]
                spots[position] = gpu, start[at], end[at]
    total = max(int(sums.sum()), 1)
    table = {"class": CLASSES, "kernels": count, "sum_ns": sums, "union_ns": unions, "share": sums / total}
    where = dict(zip(("gpu", "start_ns", "end_ns"), spots.T, strict=True))
    return pd.DataFrame({**table, **where})


def top_kernels(
    trace: Trace,
    classes: KernelClasses,
    scope: Scope,
    rows: tuple[Rows, ...] | None = None,
    count: int = 10,
) -> pd.DataFrame:
    """Return the kernel names that take most time over all GPUs.

    Returns
    -------
    DataFrame
        `name_id`, `name`, `class`, `kernels`, `sum_ns` (inside the scope), `mean_ns`, `share` (of all
        kernels' durations), and where the longest one is: `gpu`, `start_ns`, `end_ns`.
    """
    kernels = trace.kernels
    pieces = [kernels_in(trace, g, w) if rows is None else rows[g] for g, w in enumerate(scope.within)]
    lengths = np.concatenate(
        [np.empty(0, np.int64)]
        + [
            w.covered(kernels.start_ns[p], kernels.end_ns[p])
            for w, p in zip(scope.within, pieces, strict=True)
        ]
    )
    gpu = np.repeat(np.arange(len(pieces)), [len(p) for p in pieces])
    index = np.concatenate([np.empty(0, np.int64), *pieces]).astype(np.int64)
    counted = np.flatnonzero(lengths > 0)
    ids, code = coded(kernels.name_id[index[counted]])
    of_name, most, first = (np.zeros(len(ids), np.int64) for _ in range(3))
    np.add.at(of_name, code, lengths[counted])
    np.maximum.at(most, code, lengths[counted])
    longest = np.flatnonzero(lengths[counted] == most[code])[::-1]
    first[code[longest]] = counted[longest]
    sums = pd.DataFrame({"size": np.bincount(code, minlength=len(ids)), "sum": of_name, "first": first}, ids)
    sums = sums.sort_values("sum", ascending=False)
    total = max(int(sums["sum"].sum()), 1)
    best = sums.head(count)
    at = best["first"].to_numpy()
    names = best.index.to_numpy(np.uint32)
    return pd.DataFrame(
        {
            "name_id": names,
            "name": trace.names.take(names),
            "class": [classes.class_name(int(n)) for n in names],
            "kernels": best["size"].to_numpy(),
            "sum_ns": best["sum"].to_numpy(),
            "mean_ns": (best["sum"] // best["size"]).to_numpy(),
            "share": (best["sum"] / total).to_numpy(),
            "gpu": gpu[at],
            "start_ns": kernels.start_ns[index[at]],
            "end_ns": kernels.end_ns[index[at]],
        }
    )


def compute_only(kernels: Events, classes: KernelClasses, rows: Rows) -> Rows:
    """Return those of some kernels that are no communication."""
    return rows[~classes.is_comm(kernels.name_id[rows])]


def small_in(kernels: Events, rows: Rows) -> int:
    """Return how many of some kernels last under 10 µs."""
    return int((kernels.end_ns[rows] - kernels.start_ns[rows] < SMALL_NS).sum())


def bursts_in(kernels: Events, classes: KernelClasses, rows: Rows) -> SmallKernelBursts:
    """Return the small-kernel bursts among some kernels of a GPU, communication left out."""
    held = compute_only(kernels, classes, rows)
    return find_small_kernel_bursts(kernels.start_ns[held], kernels.end_ns[held])
