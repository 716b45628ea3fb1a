"""Who waits for whom in a collective with a root: broadcast and reduce.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

import numpy as np

from viewer.analysis.collectives.collective_kinds import CollectiveKind
from viewer.trace.events import Int64

UNKNOWN = -1
_CERTAIN_NS, _CERTAIN_SHARE = 5_000, 0.1
"""A root is told from the others where its transfers are alike to within this, and no other member's are."""


def root_waits(starts: Int64, ends: Int64, kind: CollectiveKind) -> tuple[Int64, Int64]:
    """Return the root of each set and the wait time of its members.

    In a broadcast each member waits for the root alone, in a reduce only the root waits, for all. The root is
    the member with which the transfers that remain are equally long on all members.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (members, sets)
        The kernels of complete sets, ns.
    kind : {"Broadcast", "Reduce"}

    Returns
    -------
    root : ndarray of int64, shape (sets,)
        A member, `UNKNOWN` where several fit.
    wait : ndarray of int64, shape (members, sets)
        ns; of sets without a known root 0 where no root would make a member wait, else -1.
    """
    members, length = len(starts), ends - starts
    # Shape (roots, members, sets): the wait time of each member with each of them as the root.
    waits = np.zeros((members, *starts.shape), np.int64)
    for root in range(members):
        if kind == "Broadcast":
            waits[root] = np.clip(starts[root] - starts, 0, length)
        else:
            waits[root, root] = np.clip(starts.max(axis=0) - starts[root], 0, length[root])
    # With the right root every member transfers equally long: any other leaves some with too much.
    transfers = length - waits
    unlike = transfers.max(axis=1) - transfers.min(axis=1)
    best = unlike.argmin(axis=0)
    at_best = unlike[best, np.arange(starts.shape[1])]
    certain = np.maximum(_CERTAIN_NS, (transfers.min(axis=(0, 1)) * _CERTAIN_SHARE).astype(np.int64))
    # The best one is moved out of reach, so that the minimum is that of the next best.
    others = unlike + np.where(np.arange(members)[:, None] == best, np.iinfo(np.int64).max // 2, 0)
    known = (at_best <= certain) & (others.min(axis=0) > at_best + certain)
    # Where all start together nobody waits, whoever the root is.
    nobody = waits.max(axis=(0, 1)) <= certain
    wait = np.where(known, waits[best, :, np.arange(starts.shape[1])].T, np.where(nobody, 0, -1))
    return np.where(known, best, UNKNOWN), wait
