"""Tables of the kernels inside a scope, by class and by name; small kernels and their bursts.

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
    """Return the kernels of a GPU that touch a scope, by start: indices into ``trace.kernels``."""
    kernels = trace.kernels
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu).astype(np.int64)
    # What only touches the scope with its edge has no time in it, and neither has a kernel of length zero.
    rows = rows[within.covered(kernels.start_ns[rows], kernels.end_ns[rows]) > 0]
    return rows[np.argsort(kernels.start_ns[rows], kind="stable")]


def class_table(
    trace: Trace, classes: KernelClasses, scope: Scope, rows: tuple[Rows, ...] | None = None
) -> pd.DataFrame:
    """Return a table of the kernels of all GPUs by class.

    Parameters
    ----------
    rows : tuple of ndarray, one per GPU, optional
        The kernels to count; by default all that touch the scope.

    Returns
    -------
    DataFrame
        One row for each of `CLASSES`: `class`, `kernels` (how many), `sum_ns` (durations inside the scope),
        `union_ns` (sum of each GPU's union), `share` (of all durations), and `gpu`, `start_ns`, `end_ns` of
        the longest kernel, -1 without any.
    """
    kernels = trace.kernels
    count = np.zeros(len(CLASSES), np.int64)
    sums, unions, longest = count.copy(), count.copy(), count.copy()
    spots = np.full((len(CLASSES), 3), -1, np.int64)
    for gpu, within in enumerate(scope.within):
        of_gpu = kernels_in(trace, gpu, within) if rows is None else rows[gpu]
        class_of = classes.class_of[kernels.name_id[of_gpu]]
        # Sorted by class, and by start within: each class is one run, without a mask for every class.
        by_class = of_gpu[np.argsort(class_of, kind="stable")]
        edges = np.append(0, np.cumsum(np.bincount(class_of, minlength=len(CLASSES))))
        for position in np.flatnonzero(np.diff(edges)).tolist():
            in_class = by_class[edges[position] : edges[position + 1]]
            start, end = kernels.start_ns[in_class], kernels.end_ns[in_class]
            lengths = within.covered(start, end)
            count[position] += int((lengths > 0).sum())
            sums[position] += int(lengths.sum())
            unions[position] += (union(start, end) & within).total()
            # Strictly longer: of equals the first GPU stays, and the table leads to the same place every
            # time.
            if lengths.max() > longest[position]:
                most = int(lengths.argmax())
                longest[position] = lengths[most]
                spots[position] = gpu, start[most], end[most]
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
    """Return a table of the kernel names that take most time over all GPUs, at most `count`.

    Parameters
    ----------
    rows : tuple of ndarray, one per GPU, optional
        The kernels to count; by default all that touch the scope.

    Returns
    -------
    DataFrame
        Most time first: `name_id`, `name`, `class`, `kernels` (how many), `sum_ns` (inside the scope),
        `mean_ns`, `share` (of all kernels' durations), and `gpu`, `start_ns`, `end_ns` of the longest one.
    """
    kernels = trace.kernels
    of_gpus = [
        kernels_in(trace, gpu, within) if rows is None else rows[gpu]
        for gpu, within in enumerate(scope.within)
    ]
    # The kernels of all GPUs one after the other, shape (n,): GPU, index, and duration inside the scope.
    gpu = np.repeat(np.arange(len(of_gpus)), [len(of_gpu) for of_gpu in of_gpus])
    index = np.concatenate([np.empty(0, np.int64), *of_gpus]).astype(np.int64)
    lengths = np.concatenate(
        [np.empty(0, np.int64)]
        + [
            within.covered(kernels.start_ns[of_gpu], kernels.end_ns[of_gpu])
            for within, of_gpu in zip(scope.within, of_gpus, strict=True)
        ]
    )
    counted = np.flatnonzero(lengths > 0)
    # Codes without gaps: arrays by name are as long as there are names here, not as the trace has.
    ids, code = coded(kernels.name_id[index[counted]])
    # By name, shape (names,): sum, longest duration, and the first kernel that lasts so long. Writing
    # backwards lets the first one of equals stay.
    sum_ns, longest_ns, longest = (np.zeros(len(ids), np.int64) for _ in range(3))
    np.add.at(sum_ns, code, lengths[counted])
    np.maximum.at(longest_ns, code, lengths[counted])
    is_longest = np.flatnonzero(lengths[counted] == longest_ns[code])[::-1]
    longest[code[is_longest]] = counted[is_longest]
    kernels_of = np.bincount(code, minlength=len(ids))
    by_name = pd.DataFrame({"size": kernels_of, "sum": sum_ns, "longest": longest}, ids)
    total = max(int(sum_ns.sum()), 1)
    # A float share would make equals of close sums: the order is decided by whole nanoseconds.
    best = by_name.sort_values("sum", ascending=False).head(count)
    shown = best["longest"].to_numpy()
    names = best.index.to_numpy(np.uint32)
    return pd.DataFrame(
        {
            "name_id": names,
            "name": trace.names.take(names),
            "class": [classes.class_name(int(name_id)) for name_id in names],
            "kernels": best["size"].to_numpy(),
            "sum_ns": best["sum"].to_numpy(),
            "mean_ns": (best["sum"] // best["size"]).to_numpy(),
            "share": (best["sum"] / total).to_numpy(),
            "gpu": gpu[shown],
            "start_ns": kernels.start_ns[index[shown]],
            "end_ns": kernels.end_ns[index[shown]],
        }
    )


def compute_only(kernels: Events, classes: KernelClasses, rows: Rows) -> Rows:
    """Return those of some kernels that are not communication."""
    return rows[~classes.is_comm(kernels.name_id[rows])]


def small_in(kernels: Events, rows: Rows) -> int:
    """Return how many of some kernels last under 10 µs."""
    return int((kernels.end_ns[rows] - kernels.start_ns[rows] < SMALL_NS).sum())


def bursts_in(kernels: Events, classes: KernelClasses, rows: Rows) -> SmallKernelBursts:
    """Return the small-kernel bursts among some kernels of a GPU, without its communication."""
    compute = compute_only(kernels, classes, rows)
    return find_small_kernel_bursts(kernels.start_ns[compute], kernels.end_ns[compute])
