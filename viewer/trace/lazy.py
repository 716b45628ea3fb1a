"""What is computed when first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 -- it stands where that of functools would
    """`functools.cached_property` without its lock.

    In Python 3.11 one lock serves all instances: while a thread computes a value for one trace, the window
    would wait for it to read another that is known. Here two threads may compute the same value; the one
    that ends last is kept.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> T | Self:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
