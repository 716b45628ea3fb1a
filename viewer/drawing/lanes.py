"""Lanes: disjoint events prepared for drawing, each with a coarse grid in absolute time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from viewer.rows.row import RowEvents
from viewer.trace.events import Int64
from viewer.trace.lazy import cached_property

COLOUR_BITS = 16
PER_BUCKET = 4
MIN_BUCKET_BITS = 4


@dataclass(frozen=True)
class CoarseIndex:
    """A coarse grid: buckets of ``2 ** bits`` ns, aligned to absolute time so that panning does not shimmer.

    Attributes
    ----------
    first_bucket : int
        ``time >> bits`` of bucket 0.
    first : ndarray of int32, shape (buckets + 1,)
        The first event that starts in each bucket, or later.
    busy_ns : ndarray of int64, shape (buckets + 1,)
        Busy time before each bucket.
    longest : ndarray of int64, shape (buckets,)
        The longest event that starts in each bucket, as duration and colour (`Lane.keys`); 0 for none.
    """

    bits: int
    first_bucket: int
    first: npt.NDArray[np.int32]
    busy_ns: Int64
    longest: Int64

    def __len__(self) -> int:
        return len(self.longest)


@dataclass(frozen=True)
class Lane:
    """Events that do not overlap, sorted by start.

    Attributes
    ----------
    start_ns, end_ns : ndarray of int64, shape (n,)
    colour : ndarray of uint16, shape (n,)
        Positions in the palette.
    position : ndarray of int32, shape (n,), or None
        Position of each event in its `RowEvents`; None where the two are the same.
    """

    start_ns: Int64
    end_ns: Int64
    colour: npt.NDArray[np.uint16]
    position: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    def busy_ns(self, low: int = 0, high: int | None = None) -> Int64:
        """Return the busy time from event `low` to each event of a run, shape (high - low + 1,)."""
        length = self.end_ns[low:high] - self.start_ns[low:high]
        out = np.zeros(len(length) + 1, np.int64)
        np.cumsum(length, out=out[1:])
        return out

    def event(self, number: int) -> int:
        """Return the position in the row's events of an event of this lane."""
        return number if self.position is None else int(self.position[number])

    def keys(self, low: int = 0, high: int | None = None) -> Int64:
        """Return duration << 16 | colour of a run of events: the maximum is the longest, with its colour.

        A zero-length event counts as 1 ns, so that no event's key is 0.
        """
        # Duration in the high bits: one maximum finds the longest event and its colour, without a second
        # look-up. 47 bits of duration are 39 hours.
        length = np.maximum(self.end_ns[low:high] - self.start_ns[low:high], 1)
        return np.asarray((length << COLOUR_BITS) | self.colour[low:high], np.int64)

    @cached_property
    def grid(self) -> CoarseIndex:
        """The coarse grid, about four events to a bucket that holds any."""
        bits = _bucket_bits(self.start_ns, int(self.end_ns[-1]))
        first_bucket = int(self.start_ns[0]) >> bits
        # An empty event at the very end starts where the one before it ends, in a bucket of its own.
        buckets = (max(int(self.end_ns[-1]), int(self.start_ns[-1])) >> bits) - first_bucket + 1
        counts = np.bincount((self.start_ns >> bits) - first_bucket, minlength=buckets)
        first = np.zeros(buckets + 1, np.int32)
        np.cumsum(counts, out=first[1:])
        edges = (np.arange(buckets + 1, dtype=np.int64) + first_bucket) << bits
        longest = np.zeros(buckets, np.int64)
        is_used = counts > 0
        # `reduceat` would give an empty bucket the first event of the next: it is asked for the used ones
        # alone.
        longest[is_used] = np.maximum.reduceat(self.keys(), first[:-1][is_used])
        # What the event before a bucket has of it, or of later ones, has not been busy before the bucket.
        before = np.maximum(first - 1, 0)
        over = np.where(first > 0, np.maximum(self.end_ns[before] - edges, 0), 0)
        return CoarseIndex(bits, first_bucket, first, self.busy_ns()[first] - over, longest)


def _bucket_bits(start_ns: Int64, last_end_ns: int) -> int:
    """Choose the bucket so that those that hold events hold about four, without too many that hold none.

    A trace is dense in places and empty in others: the mean alone would put hundreds into the dense ones.
    """
    count = len(start_ns)
    span = max(last_end_ns - int(start_ns[0]), 1)
    bits = max(int(span * PER_BUCKET / count).bit_length() - 1, MIN_BUCKET_BITS)
    while bits > MIN_BUCKET_BITS and (span >> (bits - 1)) <= count // 2:
        # Starts are sorted: a bucket is entered wherever the number changes.
        used = 1 + np.count_nonzero(np.diff(start_ns >> bits))
        if used * PER_BUCKET >= count:
            break
        bits -= 1
    return bits


def lanes_of(events: RowEvents, colour: npt.NDArray[np.uint16], limit: int) -> tuple[Lane, ...]:
    """Split the events of a row into its first `limit` lanes."""
    if events.depth is None:
        return (Lane(events.start_ns, events.end_ns, colour),) if len(events) else ()
    # Stable, so that each lane stays sorted by start; what lies deeper than the limit falls off the end.
    order = np.argsort(events.depth, kind="stable").astype(np.int32)
    bounds = np.searchsorted(events.depth[order], np.arange(limit + 1))
    return tuple(
        Lane(events.start_ns[position], events.end_ns[position], colour[position], position)
        for position in (order[low:high] for low, high in pairwise(bounds.tolist()))
        if len(position)
    )
