"""The sets of a group: which kernels of its members are one collective, whatever some members lack.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.pairs import KernelSequence, nearest_of
from viewer.trace.events import Events, Int64

MISSING = -1
_MIN_OVERLAPPING = 0.95


def sets_of(kernels: Events, members: tuple[KernelSequence, ...], least: float = _MIN_OVERLAPPING) -> Int64:
    """Return which kernel of each member belongs to which set.

    Parameters
    ----------
    least : float
        Members with as many kernels each are matched by order if in this share of the sets all overlap. With
        a root they need not.

    Returns
    -------
    ndarray of int64, shape (members, sets)
        Indices into `kernels`, `MISSING` where a member lacks its kernel; sets by the first of their starts.
        Every kernel of the members is in one set.
    """
    rows = [member.rows for member in members]
    if len({len(r) for r in rows}) == 1:
        # As many kernels each: the k-th ones, unless they do not meet (one lacks the first, one the last).
        by_order = np.stack(rows)
        starts, ends = kernels.start_ns[by_order], kernels.end_ns[by_order]
        if (starts.max(axis=0) < ends.min(axis=0)).mean() >= least:
            return by_order
    return _by_time(kernels, rows)


def _by_time(kernels: Events, rows: list[Int64]) -> Int64:
    """Return the sets by when the kernels end, shape (members, sets)."""
    left, pieces = list(rows), []
    while any(len(r) for r in left):
        # The member with most kernels names the sets; what it lacks itself is left for the next round.
        reference = max(range(len(left)), key=lambda m: len(left[m]))
        own = left[reference]
        sets = np.full((len(rows), len(own)), MISSING, np.int64)
        sets[reference] = own
        for member, of_member in enumerate(left):
            if member != reference and len(of_member):
                at = _partners(kernels, own, of_member)
                sets[member, at[at >= 0]] = of_member[at >= 0]
                left[member] = of_member[at < 0]
        left[reference] = own[:0]
        pieces.append(sets)
    sets = np.concatenate(pieces, axis=1)
    # A missing member must not decide when its set begins.
    starts = np.where(sets >= 0, kernels.start_ns[sets], np.iinfo(np.int64).max)
    return np.asarray(sets[:, np.argsort(starts.min(axis=0), kind="stable")])


def _partners(kernels: Events, own: Int64, other: Int64) -> npt.NDArray[np.int64]:
    """Return for each of `other` the position in `own` of its partner, -1 for none.

    Partners end next to one another, seen from both, and overlap.
    """
    own_end, other_end = kernels.end_ns[own], kernels.end_ns[other]
    # Clocks may differ by a constant, and with it all differences: the commonest one is taken out.
    apart = other_end - own_end[nearest_of(own_end, other_end)]
    shifted = other_end - int(np.median(apart))
    at = nearest_of(own_end, shifted)
    # Seen from one side alone, two kernels could have one partner.
    mutual = nearest_of(shifted, own_end[at]) == np.arange(len(other))
    overlap = np.maximum(kernels.start_ns[own[at]], kernels.start_ns[other]) < np.minimum(
        own_end[at], other_end
    )
    return np.where(mutual & overlap, at, -1)


def spread_of_ends(kernels: Events, sets: Int64) -> Int64:
    """Return how far apart the members of each set end, less what always lies between them, ns, (sets,).

    Sets of a single kernel: 0.
    """
    is_there = sets >= 0
    ends = kernels.end_ns[sets]
    # How far each member ends from the first member that is there; its usual distance is no spread.
    reference = np.take_along_axis(ends, is_there.argmax(axis=0)[None, :], axis=0)
    apart = np.where(is_there, ends - reference, 0).astype(np.float64)
    known = np.where(is_there, apart, np.nan)
    # A constant distance is a clock's or a topology's: it is no spread.
    usual = np.array([np.median(a[~np.isnan(a)]) if not np.isnan(a).all() else 0.0 for a in known])
    rest = np.where(is_there, apart - usual[:, None], np.nan)
    return np.asarray(np.nanmax(rest, axis=0) - np.nanmin(rest, axis=0)).astype(np.int64)
