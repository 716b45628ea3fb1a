"""Whether one copy could hide behind kernels, and did (docs/definitions.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewer.analysis.launches.blocking_calls import is_pageable
from viewer.trace import Kind

if TYPE_CHECKING:
    from viewer.analysis.study import Study


@dataclass(frozen=True, slots=True)
class CopyStory:
    """What became of a copy or a set.

    Attributes
    ----------
    hidden_ns, copy_only_ns : int
        Beside a kernel, and beside none; they sum to its duration.
    queues_with_kernels : bool
        Whether its stream also runs compute kernels: then it cannot hide behind them.
    pageable : bool
        Whether its host side is pageable memory: then the call waits for it.
    """

    hidden_ns: int
    copy_only_ns: int
    queues_with_kernels: bool
    pageable: bool

    @property
    def text(self) -> str:
        """Say it in a line."""
        whole = self.hidden_ns + self.copy_only_ns
        if whole and self.hidden_ns == whole:
            return "hidden behind kernels"
        part = f"{self.hidden_ns / whole:.0%} hidden behind kernels" if self.hidden_ns else "not hidden"
        if self.queues_with_kernels:
            return f"{part}: its stream runs kernels too, so that it queues with them"
        return f"{part}, though on a stream of its own" + (" (pageable memory)" if self.pageable else "")


def copy_story(study: Study, kind: Kind, index: int) -> CopyStory:
    """Return what became of a copy or a set: an index into its table."""
    trace, events = study.trace, study.trace.events[kind]
    start, end = int(events.start_ns[index]), int(events.end_ns[index])
    stream = trace.streams[events.owner_of(index)]
    covered = study.coverage(stream.gpu)
    hidden = int((covered.compute | covered.communication).covered(start, end))
    kernels = trace.kernels.name_id[trace.kernels.of(stream.index)]
    return CopyStory(
        hidden,
        end - start - hidden,
        bool((~study.classes.is_comm(kernels)).any()),
        kind is Kind.MEMCPY and bool(is_pageable(events)[index]),
    )
