"""The ranges that were measured and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from viewer.printable import visible, visible_lines
from viewer.state.history import Edited
from viewer.state.time_axis import Window


@dataclass(frozen=True, slots=True)
class Measurement:
    """A kept range [start, end) in ns from the trace's zero.

    What would not be seen in its texts, or be obeyed, is spelled out. `extra` holds what a session of
    another version says of it.
    """

    start_ns: int
    end_ns: int
    name: str
    colour: str = "#2563eb"
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", visible(self.name))
        object.__setattr__(self, "note", visible_lines(self.note))

    @property
    def length_ns(self) -> int:
        """The range's length."""
        return self.end_ns - self.start_ns


class Measurements(Edited):
    """Owner of the kept measurements."""

    items: tuple[Measurement, ...]

    def keep(self, start_ns: int, end_ns: int, name: str = "") -> None:
        """Keep a range; without a name it is "Range 3"."""
        name = name or f"Range {len(self.items) + 1}"
        self._edit((*self.items, Measurement(start_ns, end_ns, name)))

    def keep_all(self, ranges: Sequence[Window]) -> None:
        """Keep several ranges as one edit, "Range 3", "Range 4" and so on."""
        first = len(self.items) + 1
        kept = (Measurement(*window, f"Range {number}") for number, window in enumerate(ranges, first))
        self._edit((*self.items, *kept))

    def change(self, position: int, **fields: str) -> None:
        """Change name, colour or note of one measurement."""
        self._replace(position, replace(self.items[position], **fields))  # type: ignore[arg-type]
