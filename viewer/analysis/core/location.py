"""Where something can be seen in a trace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """Where a number can be seen: a time range in ns, on one GPU or on all (None)."""

    start_ns: int
    end_ns: int
    gpu: int | None = None
