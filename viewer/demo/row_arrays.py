"""Columns of a table's rows, and functions that flatten (step, rank) arrays into them, rank after rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from viewer.demo.ids import global_tids
from viewer.demo.program import Do, Step
from viewer.demo.simulation import SimulatedIteration

Int64 = npt.NDArray[np.int64]
_Value = TypeVar("_Value", bound=np.generic)
Column = Int64 | Sequence[str] | Sequence[int] | Sequence[str | int | None] | int
Rows = Mapping[str, Column]
"""Columns of some rows of one table: a value per row, or one value for all; an absent column is NULL."""


def pick(steps: Sequence[Step], *kinds: Do) -> Int64:
    """Return the indices of the steps of these kinds."""
    return np.array([i for i, s in enumerate(steps) if s.do in kinds], np.int64)


def flat(values: npt.NDArray[_Value], which: Int64) -> npt.NDArray[_Value]:
    """Return the rows `which` of an array of shape (steps, ranks) as one column, rank after rank."""
    # All columns of a table must use this order: `np.repeat` over ranks and `np.tile` over steps match it.
    return np.ascontiguousarray(values[which].T).ravel()


def kept(rows: Rows, is_kept: npt.NDArray[np.bool_]) -> Rows:
    """Return the rows for which a mask is true."""
    return {name: _kept(column, is_kept) for name, column in rows.items()}


def _kept(column: Column, is_kept: npt.NDArray[np.bool_]) -> Column:
    # Constants are columns too: the others have a value per row.
    if isinstance(column, int):
        return column
    if isinstance(column, np.ndarray):
        return column[is_kept]
    return [value for value, there in zip(column, is_kept.tolist(), strict=True) if there]


def threads_of(iteration: SimulatedIteration, which: Int64) -> Int64:
    """Return the global thread ids of some steps as one column, rank after rank."""
    ranks = iteration.call_start_ns.shape[1]
    main, autograd = global_tids(ranks, "main"), global_tids(ranks, "autograd")
    on_main = np.array([iteration.program.steps[i].thread == "main" for i in which], bool)
    return np.where(on_main[None, :], main[:, None], autograd[:, None]).ravel()
