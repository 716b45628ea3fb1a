"""Calculations for several GPUs or processes, two at once: NumPy releases the GIL while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_THREADS = 2

A = TypeVar("A")
B = TypeVar("B")


def each(work: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """Return the results of `work` in the order of the items.

    Raises
    ------
    Exception
        The first one that `work` raises.
    """
    with ThreadPoolExecutor(_THREADS, "lightbox-analysis") as pool:
        return list(pool.map(work, items))
