"""Lazy results: computed on first use by one thread, then stored."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from threading import RLock
from typing import Any, Generic, Self, TypeVar, overload

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class OncePerKey(Generic[K, T]):
    """Results by key, each computed once, even if several threads request it at the same time.

    Each key has its own lock, so a known result never waits while another is computed. Results may depend
    on each other, but not in a cycle: two threads would wait for each other.

    Parameters
    ----------
    known : mapping, optional
        Results that are already known.
    """

    def __init__(self, known: Mapping[K, T] | None = None) -> None:
        self._results: dict[K, T] = dict(known or {})
        self._locks: dict[K, RLock] = {}

    def get(self, key: K, compute: Callable[[], T]) -> T:
        """Return the result of a key; compute it if it is not known."""
        if key in self._results:
            return self._results[key]
        # setdefault is atomic: all threads get the same lock.
        with self._locks.setdefault(key, RLock()):
            if key not in self._results:
                self._results[key] = compute()
            return self._results[key]


class cached_property(Generic[T]):  # noqa: N801 -- named like the one of functools
    """`functools.cached_property` with a lock per object and property, computed once by one thread.

    In Python 3.11 the lock of `functools` serves all objects: while a thread computes a value for one trace,
    the window would wait for the known value of another. Python reads a known value from the object's
    `__dict__` without a call of `__get__`, so without the lock.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._lock_name = f"_lock_of_{name}"

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> T | Self:
        if instance is None:
            return self
        values = instance.__dict__
        with values.setdefault(self._lock_name, RLock()):
            if self._name not in values:
                values[self._name] = self._compute(instance)
            value: T = values[self._name]
            return value
