"""Search over everything that has a name: in the names, which are few, then for the events that use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewer.trace import Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

SEARCHED = {
    Kind.KERNEL: "kernels",
    Kind.GRAPH: "CUDA graphs",
    Kind.MEMCPY: "copies",
    Kind.MEMSET: "sets",
    Kind.NVTX: "NVTX",
    Kind.API: "CUDA calls",
    Kind.OSRT: "OS calls",
}
ROWS = "rows"
_CHUNK = 1 << 20

Cancelled = Callable[[], bool]


class BadPatternError(ValueError):
    """A regular expression that cannot be read; the text of the error says why, in a line."""


class FindCancelledError(Exception):
    """The search was cancelled."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One event that was found."""

    kind: Kind
    index: int
    start_ns: int


@dataclass(frozen=True, eq=False)
class Hits:
    """The hits in one table, by start.

    Attributes
    ----------
    starts_ns : ndarray of int64, shape (n,)
    index : ndarray of int32, shape (n,)
        Index into the table.
    """

    kind: Kind
    starts_ns: Int64
    index: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search.

    Attributes
    ----------
    hits : tuple of Hits
        Tables with hits.
    rows : tuple of str
        Keys of the timeline's rows whose text matches.
    """

    text: str
    hits: tuple[Hits, ...]
    rows: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many events were found."""
        return sum(len(h) for h in self.hits)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind, and of rows; kinds without hits are left out."""
        counts = {SEARCHED[h.kind]: len(h) for h in self.hits}
        return counts | ({ROWS: len(self.rows)} if self.rows else {})

    def next(self, time_ns: int, direction: int) -> Hit | None:
        """Return the first hit that starts after an instant, or (direction -1) the last before it."""
        best: Hit | None = None
        for hits in self.hits:
            # Strictly after and strictly before: from a hit the same key leads on, never to itself.
            if direction > 0:
                position = int(np.searchsorted(hits.starts_ns, time_ns, side="right"))
            else:
                position = int(np.searchsorted(hits.starts_ns, time_ns, side="left")) - 1
            if 0 <= position < len(hits):
                start = int(hits.starts_ns[position])
                if best is None or (start < best.start_ns if direction > 0 else start > best.start_ns):
                    best = Hit(hits.kind, int(hits.index[position]), start)
        return best

    def position(self, time_ns: int) -> int:
        """Return how many hits start before an instant."""
        return sum(int(np.searchsorted(h.starts_ns, time_ns, side="left")) for h in self.hits)

    def bins(self, start_ns: int, end_ns: int, width: int) -> Int64:
        """Return how many hits start in each of `width` equal bins of [start, end), shape (width,)."""
        edges = start_ns + (end_ns - start_ns) * np.arange(width + 1, dtype=np.int64) // width
        counts = np.zeros(width, np.int64)
        for hits in self.hits:
            counts += np.diff(np.searchsorted(hits.starts_ns, edges, side="left"))
        return counts


class Finder:
    """Searches one trace; finds once which names its tables use."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def find(
        self,
        text: str,
        *,
        regex: bool = False,
        rows: Sequence[tuple[str, str]] = (),
        cancelled: Cancelled | None = None,
    ) -> SearchResult:
        """Find every event and row whose name holds a text, whatever the case.

        Parameters
        ----------
        text : str
            What to look for; an empty one finds nothing.
        regex : bool
            Whether it is a regular expression (RE2 syntax).
        rows : sequence of (key, text)
            The timeline's rows.
        cancelled : callable, optional
            Called between the steps; the search ends when it returns True.

        Raises
        ------
        BadPatternError
            If the regular expression cannot be read.
        FindCancelledError
            If `cancelled` returned True.
        """
        if not text:
            return SearchResult(text, (), ())
        # The text is looked for in the names, which are few; events then only look up whether theirs is
        # wanted.
        wanted = np.zeros(len(self._trace.names), bool)
        wanted[self._used] = self._matching(text, regex, cancelled)
        hits = []
        for kind in SEARCHED:
            _check(cancelled)
            of_kind = self._hits(kind, wanted, cancelled)
            if len(of_kind):
                hits.append(of_kind)
        keys = [key for key, _ in rows]
        shown = _match(pa.array([label for _, label in rows], pa.large_string()), text, regex)
        return SearchResult(text, tuple(hits), tuple(keys[i] for i in np.flatnonzero(shown).tolist()))

    @cached_property
    def _used(self) -> npt.NDArray[np.uint32]:
        """The ids of the names that the searched tables use."""
        used = np.zeros(len(self._trace.names), bool)
        for kind in SEARCHED:
            used[self._trace.events[kind].name_id] = True
        return np.flatnonzero(used).astype(np.uint32)

    def _matching(self, text: str, regex: bool, cancelled: Cancelled | None) -> npt.NDArray[np.bool_]:
        """Return which of the used names hold the text."""
        pieces = [np.empty(0, bool)]
        for low in range(0, len(self._used), _CHUNK):
            _check(cancelled)
            texts = self._trace.names.array.take(pa.array(self._used[low : low + _CHUNK]))
            pieces.append(_match(texts, text, regex))
        return np.concatenate(pieces)

    def _hits(self, kind: Kind, wanted: npt.NDArray[np.bool_], cancelled: Cancelled | None) -> Hits:
        """Return the events of one table whose names are wanted; `wanted` has shape (names,)."""
        events = self._trace.events[kind]
        pieces = [np.empty(0, np.int32)]
        for low in range(0, len(events), _CHUNK):
            _check(cancelled)
            # In chunks, so that a search can be cancelled and needs no mask of the whole table.
            rows = np.flatnonzero(wanted[events.name_id[low : low + _CHUNK]])
            pieces.append((rows + low).astype(np.int32))
        index = np.concatenate(pieces)
        starts = events.start_ns[index]
        _check(cancelled)
        # Tables are sorted within each owner: over all owners the hits are not.
        order = np.argsort(starts, kind="stable")
        return Hits(kind, starts[order], index[order])


def find(
    trace: Trace,
    text: str,
    *,
    regex: bool = False,
    rows: Sequence[tuple[str, str]] = (),
    cancelled: Cancelled | None = None,
) -> SearchResult:
    """Find every event and row whose name holds a text, see `Finder.find`; `Study.finder` is quicker."""
    return Finder(trace).find(text, regex=regex, rows=rows, cancelled=cancelled)


def _match(texts: pa.Array, text: str, regex: bool) -> npt.NDArray[np.bool_]:
    find_in = pc.match_substring_regex if regex else pc.match_substring
    try:
        matches = find_in(texts, text, ignore_case=True)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0].removeprefix("Invalid regular expression: ")
        raise BadPatternError(f"no regular expression: {reason}") from error
    return np.asarray(matches.fill_null(False).to_numpy(False), bool)


def _check(cancelled: Cancelled | None) -> None:
    if cancelled is not None and cancelled():
        raise FindCancelledError
