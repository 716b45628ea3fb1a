"""How regularly the operations of a GPU come back.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from viewer.analysis.core.gpu_order import GpuOrder
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import Int64
from viewer.trace.names import short_name

MIN_OPERATIONS = 10
MIN_EVEN_SHARE = 0.8
MAX_DEVIATION = 0.02
SET = -1
"""The key of all sets: they mark nothing."""
DRIVERS = int(np.iinfo(np.int64).min)
"""The key of the driver's migrations of unified memory."""
HOST_TO_DEVICE = 1


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How regularly one kind of operation comes back.

    Attributes
    ----------
    key : int
        See `keys_of`.
    count, first, spacing : int
        How often it runs, its first position among the operations, and the median number of operations apart.
    even_share : float
        Of the distances, those within 2 % of the median.
    span : float
        The share of all operations between its first and its last one.
    """

    key: int
    count: int
    first: int
    spacing: int
    even_share: float
    span: float


def keys_of(trace: Trace, order: GpuOrder) -> Int64:
    """Return a key for each operation of a GPU, in order of start: equal operations have equal keys.

    A kernel or graph has its name (0 and up), a copy its kind and size (below -1), a set no key (-1), a
    migration of unified memory `DRIVERS`.
    """
    keys = np.full(len(order), SET, np.int64)
    for position, kind in enumerate(GPU_KINDS):
        of_kind = np.flatnonzero(order.kind == position)
        events, index = trace.events[kind], order.index[of_kind]
        if not len(of_kind) or kind is Kind.MEMSET:
            continue
        if kind is Kind.MEMCPY:
            sizes = events.columns["bytes"][index].astype(np.int64)
            # Copy kinds are below 16, so size and kind share one number; `copy_of` takes them apart.
            keys[of_kind] = -2 - (sizes * 16 + events.columns["copy_kind"][index].astype(np.int64))
            keys[of_kind[events.migrations()[index]]] = DRIVERS
        else:
            keys[of_kind] = events.name_id[index]
    return keys


def copy_of(key: int) -> tuple[int, int]:
    """Return the size in bytes and the kind of a copy by its key."""
    return divmod(-2 - key, 16)


def rhythms(keys: Int64) -> list[Rhythm]:
    """Return the kinds of operation that come back at even distances, over half of all operations or more.

    Distances are numbers of operations: unlike times they do not depend on waiting.
    """
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    # A stable sort groups equal keys and leaves their positions rising.
    regular = []
    for positions in np.split(order, cuts):
        if len(positions) < 3 or keys[positions[0]] == SET:
            continue
        # The median, not the mean: a checkpoint or an evaluation now and then must not move it.
        spacings = np.diff(positions)
        spacing = int(np.median(spacings))
        even = float((np.abs(spacings - spacing) <= MAX_DEVIATION * spacing).mean())
        span = (int(positions[-1]) - int(positions[0])) / len(keys)
        # All three: a layer comes back evenly too, but after few operations; a benchmark at the end does not
        # span the recording.
        if spacing >= MIN_OPERATIONS and even >= MIN_EVEN_SHARE and span >= 0.5:
            key = int(keys[positions[0]])
            regular.append(Rhythm(key, len(positions), int(positions[0]), spacing, even, span))
    return regular


def commonest_count(regular: list[Rhythm]) -> int:
    """Return the smallest count that at least half as many share as share the commonest one."""
    # Operations inside a loop in the iteration come several times as often: the smaller count is the
    # iteration's.
    counts, shared = np.unique([r.count for r in regular], return_counts=True)
    return int(counts[shared * 2 >= shared.max()][0])


def named(trace: Trace, key: int) -> tuple[str, Literal["kernel", "copy"]]:
    """Return the name of the operation of a key, and what it is."""
    if key >= 0:
        return short_name(trace.names[key]), "kernel"
    size, kind = copy_of(key)
    kinds = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
    return f"copy {kinds.get(kind, '')} of {size:,} bytes".replace("  ", " "), "copy"
