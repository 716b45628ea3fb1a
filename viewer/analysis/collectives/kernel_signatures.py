"""Signatures of compute kernels: kernels of one signature do the same work, so that their durations compare.

See docs/definitions.md, section 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.launches.attribution import Cover
from viewer.analysis.launches.innermost_ranges import innermost_names
from viewer.analysis.launches.launches import Launches
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.names import normalise_numbers

SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "dynamicSharedMemory")
"""The columns of the file that belong to a signature."""
RECURS = 3
"""A text that a thread opens as often as this names something that comes back, such as a layer: it keeps its
number. The number of one that is there once or twice counts steps, and no such text has kernels enough."""
_NO_RECORD, _NOT_LAUNCHED = -2, "(no launch record)"
_OF_CALL = re.compile(r",\s*(?:op_id|seq|input_op_ids)\s*=\s*(?:\[[^\]]*\]|[^,\s]*)")
"""What PyTorch writes into a range's text that differs in each call; the sizes of tensors are not of it."""

BEFORE = 3
"""So many kernels before one tell where in the program it is; what follows it would part the last of a phase
from its like, too."""

Code = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KernelSignatures:
    """The signatures of some compute kernels, and their places.

    A signature is the name, grid, block, dynamic shared memory and innermost NVTX range; ranks that do the
    same work share it. A place is a signature and the names of the three kernels before it on its stream,
    since what has one name and grid may have several depths, in one range too.

    Attributes
    ----------
    place : ndarray of int32, shape (kernels,)
        The place of each kernel of the trace; -1 for those that were not asked for.
    gpu : ndarray of int32, shape (kernels,)
        The GPU of each kernel.
    signature : ndarray of int64, shape (places,)
        The signature that each place belongs to.
    example : ndarray of int64, shape (places,)
        A kernel of each place.
    texts : tuple of str
        The text of the range of each place, "" without one.
    has_shapes : bool
        Whether the file told grid, block and shared memory.
    """

    place: Code
    gpu: Code
    signature: Int64
    example: Int64
    texts: tuple[str, ...]
    has_shapes: bool


def kernel_signatures(
    launches: Launches, is_compute: Mask, is_asked: Mask, groups: Sequence[Sequence[int]]
) -> KernelSignatures:
    """Return the signatures of some compute kernels.

    Parameters
    ----------
    is_compute : ndarray of bool, shape (kernels,)
        The compute kernels of the trace, which tell the places of one another.
    is_asked : ndarray of bool, shape (kernels,)
        Those of them whose signatures are asked for.
    groups : sequence of sequence of int
        The GPUs that do the same work; each GPU is in one of them.
    """
    trace = launches.trace
    kernels = trace.kernels
    gpu = np.empty(len(kernels), np.int32)
    group_of = np.zeros(len(trace.gpus), np.int64)
    for number, members in enumerate(groups):
        group_of[list(members)] = number
    for g in trace.gpus:
        gpu[rows_of_gpu(trace, Kind.KERNEL, g.index)] = g.index
    rows = np.flatnonzero(is_asked)
    code = _joined(group_of[gpu[rows]], kernels.name_id[rows])
    shapes = _shapes(trace, rows)
    for column in shapes:
        code = _joined(code, column)
    of_range = _ranges(launches)[rows]
    texts, text_of = _texts(trace, np.unique(of_range))
    # -1 and -2, without a range or a launch record, index the last two entries of the table.
    text = text_of[of_range]
    signature = _joined(code, text)
    place = signature
    for name in _before(trace, np.flatnonzero(is_compute)):
        place = _joined(place, name[is_asked[is_compute]])
    # Numbered from 0 on, so that the k-th first one is of the place k.
    first = np.unique(place, return_index=True)[1]
    of_kernel = np.full(len(kernels), -1, np.int32)
    of_kernel[rows] = place
    return KernelSignatures(
        of_kernel,
        gpu,
        signature[first],
        rows[first].astype(np.int64),
        tuple(texts[t] for t in text[first].tolist()),
        bool(shapes),
    )


def _before(trace: Trace, rows: Int64) -> list[Int64]:
    """Return the names of the compute kernels before each on its stream, the nearest first; -1 for none.

    `rows` are the compute kernels, increasing, so that those of a stream lie together; shape (rows,) each.
    """
    name = trace.kernels.name_id[rows].astype(np.int64)
    stream = np.searchsorted(trace.kernels.offsets, rows, side="right")
    result = []
    for step in range(1, BEFORE + 1):
        before = np.full(len(rows), -1, np.int64)
        is_same = stream[step:] == stream[:-step]
        before[step:] = np.where(is_same, name[:-step], -1)
        result.append(before)
    return result


def _joined(code: npt.ArrayLike, other: npt.ArrayLike) -> Int64:
    """Return one number, from 0 on, for each distinct pair of two numbers, shape (n,)."""
    # By hashing, column after column: a sort of eight columns together would take ten times as long.
    first, _ = pd.factorize(np.asarray(code))
    second, values = pd.factorize(np.asarray(other))
    return np.asarray(pd.factorize(first.astype(np.int64) * (len(values) + 1) + second)[0], np.int64)


def _shapes(trace: Trace, rows: Int64) -> list[npt.NDArray[np.int32]]:
    """Return the columns of `SHAPE` for some kernels; none where the file lacks one, or is gone."""
    if trace.source is None or not len(rows):
        return []
    found = trace.source.columns(Kind.KERNEL, SHAPE, trace.kernels.columns["file_row"][rows])
    return list(found.values()) if found is not None else []


def _ranges(launches: Launches) -> Int64:
    """Return the text around each kernel's launch, shape (kernels,); -1: no range, -2: no launch record."""
    trace = launches.trace
    result = np.full(len(trace.kernels), _NO_RECORD, np.int64)
    for process in sorted({g.process for g in trace.gpus}):
        cover = Cover(launches, process)
        is_kernel = cover.launched.kind == 0
        result[cover.launched.index[is_kernel]] = innermost_names(cover, process)[is_kernel]
    return result


def _texts(trace: Trace, used: Int64) -> tuple[list[str], Int64]:
    """Return texts, and a table from ids of names to them; it has two more entries at its end.

    Those are of kernels without launch record, and without range. `used` are the ids to fill in.
    """
    numbers: dict[str, int] = {"": 0, _NOT_LAUNCHED: 1}
    text_of = np.zeros(len(trace.names) + 2, np.int64)
    text_of[_NO_RECORD] = 1
    ids = used[used >= 0]
    recurring = set(_recurring(trace, ids).tolist())
    for name_id in ids.tolist():
        text = _OF_CALL.sub("", trace.names[name_id])
        text = text if name_id in recurring else normalise_numbers(text)
        text_of[name_id] = numbers.setdefault(text, len(numbers))
    return list(numbers), text_of


def _recurring(trace: Trace, ids: Int64) -> Int64:
    """Return those of some names whose ranges come back on one thread."""
    is_used = np.zeros(len(trace.names), bool)
    is_used[ids] = True
    rows = np.flatnonzero(is_used[trace.nvtx.name_id])
    owner = np.searchsorted(trace.nvtx.offsets, rows, side="right")
    code, keys = pd.factorize(owner * len(trace.names) + trace.nvtx.name_id[rows])
    return np.asarray(np.unique(keys[np.bincount(code, minlength=len(keys)) >= RECURS] % len(trace.names)))
