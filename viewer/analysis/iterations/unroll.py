"""Splits ranges that hold several iterations each: exact copies of one sequence of operations.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.analysis.iterations.periodicity import MIN_OPERATIONS
from viewer.analysis.launches.attribution import Indices, LaunchedOperations, Mask
from viewer.trace import GPU_KINDS, Kind

_HINT = re.compile(r"repeat\w*\s*[=:]\s*(\d+)", re.IGNORECASE)


def copies(
    ops: LaunchedOperations, instance: Indices, text: str, *, counted: bool = True
) -> tuple[int, Indices]:
    """Return how many copies of one sequence each instance of a marker has, and the copy of each operation.

    Parameters
    ----------
    ops : LaunchedOperations
    instance : ndarray of int64, shape (len(ops),)
        The instance that each operation was launched in, -1 for none.
    text : str
        The text of an instance; "repeat=5" in it counts where the operations agree.
    counted : bool
        False: without such a text an instance is one iteration, as it is where the text says which one.

    Returns
    -------
    int
        1 unless every instance is exactly that many copies.
    ndarray of int64, shape (len(ops),)
        ``instance * copies + copy``, -1 for none.
    """
    if not (counted or _HINT.search(text)):
        return 1, instance
    # With all operations first: where copies repeat too, they are evidence; where they do not, kernels
    # decide.
    for countable in (np.ones(len(ops), bool), ops.kind == GPU_KINDS.index(Kind.KERNEL)):
        runs = _runs(ops, instance, countable)
        count = _fitting(runs, ops, text)
        if count > 1:
            return count, _copy_of(instance, runs, count)
    return 1, instance


def times_repeated(sequence: npt.NDArray[Any]) -> int:
    """Return the largest k for which a sequence is exactly k copies of its beginning."""
    length = len(sequence)
    for period in range(1, length // 2 + 1):
        # Two cheap tests spare the comparison of whole arrays for nearly all periods.
        may_be = length % period == 0 and sequence[period] == sequence[0]
        if may_be and np.array_equal(sequence[period:], sequence[:-period]):
            return length // period
    return 1


def _runs(ops: LaunchedOperations, instance: Indices, countable: Mask) -> list[tuple[int, Indices, Indices]]:
    """Return (instance, its operations, those that count) for each launching thread, in order of launch."""
    result = []
    for rows in ops.threads.values():
        inside = rows.start + np.flatnonzero(instance[rows] >= 0)
        order = inside[np.argsort(instance[inside], kind="stable")]
        if not len(order):
            continue
        pieces = np.split(order, np.flatnonzero(np.diff(instance[order])) + 1)
        result += [(int(instance[piece[0]]), piece, piece[countable[piece]]) for piece in pieces]
    return result


def _fitting(runs: list[tuple[int, Indices, Indices]], ops: LaunchedOperations, text: str) -> int:
    """Return the number of copies that all instances are exactly, by the hint in the text if they agree."""
    counted = [rows for _, _, rows in runs if len(rows)]
    if not counted:
        return 1
    common = 0
    for rows in counted:
        common = math.gcd(common, times_repeated(ops.name_id[rows]))
        if common == 1:
            return 1
    # The hint chooses among what the operations allow: it can never split what is no repetition.
    hint = _HINT.search(text)
    if hint and int(hint[1]) > 1 and common % int(hint[1]) == 0:
        return int(hint[1])
    # Over all threads of an instance: each launches a part of the iteration only.
    per_instance: dict[int, int] = {}
    for instance, _, rows in runs:
        per_instance[instance] = per_instance.get(instance, 0) + len(rows)
    return common if min(per_instance.values()) // common >= MIN_OPERATIONS else 1


def _copy_of(instance: Indices, runs: list[tuple[int, Indices, Indices]], count: int) -> Indices:
    """Return ``instance * count + copy`` of each operation, -1 for none."""
    out = np.full(len(instance), -1, np.int64)
    for number, members, counted in runs:
        if not len(counted):
            continue
        # An operation that does not count belongs to the copy of the next one that does; each copy has
        # len(counted) / count of those.
        before = np.searchsorted(counted, members, side="left")
        out[members] = number * count + np.minimum(before * count // len(counted), count - 1)
    return out
