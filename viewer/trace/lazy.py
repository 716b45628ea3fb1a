"""Results that are computed when first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from threading import RLock
from typing import Any, Generic, Self, TypeVar, overload

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class OncePerKey(Generic[K, T]):
    """Results by key, each computed once, also where several threads ask at the same time.

    There is one lock per key, so a known result never waits for another that is being computed. A result may
    need others, but none of them may need it in turn: two threads would wait for each other.

    Parameters
    ----------
    known : mapping, optional
        Results that are known already.
    """

    def __init__(self, known: Mapping[K, T] | None = None) -> None:
        self._results: dict[K, T] = dict(known or {})
        self._locks: dict[K, RLock] = {}

    def get(self, key: K, compute: Callable[[], T]) -> T:
        """Return the result of a key; compute it where it is not known."""
        if key in self._results:
            return self._results[key]
        # setdefault is atomic: all threads get the same lock.
        with self._locks.setdefault(key, RLock()):
            if key not in self._results:
                self._results[key] = compute()
            return self._results[key]


class cached_property(Generic[T]):  # noqa: N801 -- it stands where that of functools would
    """`functools.cached_property` with a lock per object and property, computed once by one thread.

    In Python 3.11 one lock serves all objects: while a thread computes a value for one trace, the window
    would wait for it to read another that is known. A known value is read from the object's `__dict__`,
    without this method and its lock.
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
