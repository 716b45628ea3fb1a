"""TraceIndex: the iterations, rows and kernels of the open trace, for the command palette."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.drawing.format import format_ns
from viewer.rows import Row
from viewer.rows.matching import Word, words_of
from viewer.state import ALL_ROWS, ViewState
from viewer.state.navigation import go_to_iteration
from viewer.trace import Kind
from viewer.trace.names import base_name

MOST = 12
"""How many of a kind are offered."""


@dataclass(frozen=True, slots=True)
class Found:
    """A thing of the trace: its name, what it is, and what choosing it does."""

    title: str
    place: str
    act: Callable[[ViewState], object]


@dataclass(frozen=True)
class TraceIndex:
    """The names of one trace, in the order in which they are offered.

    Attributes
    ----------
    rows : tuple of Row
        In the order of the tree, without those of single kernels and families.
    kernels : tuple of (str, str)
        Full name and class, those with most time first.
    """

    study: Study
    roots: tuple[Row, ...]
    iterations: Iterations | None
    rows: tuple[Row, ...]
    kernels: tuple[tuple[str, str], ...]

    def find(self, text: str) -> list[Found]:
        """Return what holds every word of a text, numbers whole, in any case; nothing for no text."""
        words = words_of(text)
        if not words:
            return []
        return [
            *islice(self._iterations(words), MOST),
            *islice(self._rows(words), MOST),
            *islice(self._kernels(words), MOST),
        ]

    def _iterations(self, words: list[Word]) -> Iterator[Found]:
        if self.iterations is None:
            return
        for number, flag in enumerate(self.iterations.flags):
            title = f"Iteration {number}" + f", {flag}" * bool(flag)
            if all(word.search(title) for word in words):
                length = format_ns(int(self.iterations.duration_ns[number]))
                yield Found(f"{title}  ·  {length}", "Iteration", partial(go_to_iteration, iteration=number))

    def _rows(self, words: list[Word]) -> Iterator[Found]:
        # First the rows whose own name holds all words, then those that share them with the rows above. A row
        # under a match is no match itself: its own name has to hold one of the words.
        by_path = []
        for row in self.rows:
            own = [bool(word.search(f"{row.label} {row.detail}")) for word in words]
            if all(own):
                yield _found_row(row)
            elif any(own) and all(word.search(row.text_path) for word in words):
                by_path.append(row)
        yield from map(_found_row, by_path)

    def _kernels(self, words: list[Word]) -> Iterator[Found]:
        for name, kernel_class in self.kernels:
            if all(word.search(name) for word in words):
                act = partial(ViewState.list_events, key=ALL_ROWS, kind=Kind.KERNEL, name=name)
                yield Found(base_name(name), f"Kernel  ·  {kernel_class}", act)


def _found_row(row: Row) -> Found:
    return Found(row.text_path, "Row", partial(ViewState.reveal, key=row.key))


def index_trace(study: Study, roots: tuple[Row, ...], iterations: Iterations | None) -> TraceIndex:
    """Return the index of a trace; slow with many rows, so call it off the main thread."""
    rows = tuple(row for root in roots for row in root.walk() if not row.kind.traits.is_kernel)
    for row in rows:
        _ = row.text_path
    return TraceIndex(study, roots, iterations, rows, tuple(_kernels_by_time(study)))


def _kernels_by_time(study: Study) -> Iterator[tuple[str, str]]:
    kernels, names = study.trace.kernels, study.trace.names
    # Only an order: a float sum of ns is exact enough for it.
    total = np.bincount(kernels.name_id, weights=kernels.end_ns - kernels.start_ns, minlength=len(names))
    used = np.flatnonzero(np.bincount(kernels.name_id, minlength=len(names)))
    used = used[np.argsort(-total[used], kind="stable")]
    for name_id, name in zip(used.tolist(), names.take(used), strict=True):
        kernel_class = study.classes.class_name(name_id)
        yield name, CLASS_LABELS.get(kernel_class, kernel_class)
