"""Tests a guess: what comes less often than the guessed iterations shows that they are parts of one.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from viewer.analysis.iterations.periodicity import HOST_TO_DEVICE, SET, copy_of
from viewer.analysis.launches.attribution import Indices
from viewer.trace.events import Int64

_EVEN = 0.8
_COVERED = 0.5
_LEAST_TIME = 0.01
"""Kernels that come every k-th time count where they have so much of the time: a log's few do not."""
_BATCH_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Slower:
    """An operation that comes in every k-th of the guessed iterations alone.

    `positions` are its first ones in each of those, among the operations of the GPU.
    """

    key: int
    every: int
    positions: Indices


def less_often(keys: Int64, lengths_ns: Int64, begins: Indices) -> Slower | None:
    """Return what shows that several of the guessed iterations make one, None where nothing does.

    Of the operations that come in every k-th of them alone the longest k counts, for which a copy of a batch
    to the GPU, or kernels with one per cent of the time, speak; of those the first one begins the iteration,
    a copy before a kernel.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        See `keys_of`.
    lengths_ns : ndarray of int64, shape (n,)
    begins : ndarray of int64, shape (iterations,)
        Where the guessed iterations begin.
    """
    # What comes before the first one stands for the end of one before it: a batch is copied ahead of the
    # first layer.
    count = len(begins) + 1
    guessed = np.searchsorted(begins, np.arange(len(keys)), side="right")
    rows = np.flatnonzero(keys != SET)
    order = rows[np.argsort(keys[rows], kind="stable")]
    found: dict[int, list[tuple[Slower, int]]] = defaultdict(list)
    for of_key in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        # Positions rise, so the first of each guessed iteration is where its number changes.
        first = of_key[np.flatnonzero(np.diff(guessed[of_key], prepend=-1))]
        every = _every(guessed[first], count)
        if every > 1:
            slower = Slower(int(keys[first[0]]), every, first)
            found[every].append((slower, int(lengths_ns[of_key].sum())))
    enough = _LEAST_TIME * int(lengths_ns[rows].sum())
    # Together by period: the kernels of one optimizer step have the same k, and only their sum is large.
    speaking = [every for every, of_every in found.items() if _speaks(of_every, enough)]
    if not speaking:
        return None
    return min((slower for slower, _ in found[max(speaking)]), key=_order)


def _every(guessed: Indices, count: int) -> int:
    """Return k if an operation comes in every k-th of the guessed iterations, 1 if in most or in no order."""
    # In more than every second one it is a part of each, with gaps: no evidence of a longer iteration.
    if len(guessed) < 2:
        return 1
    distances = np.diff(guessed)
    every = int(np.median(distances))
    is_even = (distances == every).mean() >= _EVEN
    # Twice is seldom: it counts only where many lie between.
    often = len(guessed) >= 3 or every >= 4
    return every if is_even and often and len(guessed) * every >= _COVERED * count else 1


def _speaks(found: list[tuple[Slower, int]], enough_ns: float) -> bool:
    kernels_ns = sum(time for slower, time in found if slower.key >= 0)
    return kernels_ns >= enough_ns or any(_is_batch(slower.key) for slower, _ in found)


def _is_batch(key: int) -> bool:
    if key >= 0:
        return False
    size, kind = copy_of(key)
    return kind == HOST_TO_DEVICE and size >= _BATCH_BYTES


def _order(slower: Slower) -> tuple[bool, int]:
    return not _is_batch(slower.key), int(slower.positions[0])
