"""The stages of a pipeline: the GPUs as far along its chains of sends and receives.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from viewer.analysis.core.families import kernel_families
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.trace import Kind, Trace
from viewer.trace.events import Int64

Stages = tuple[tuple[int, ...], ...]
_TIMES_NEARER = 2
"""A GPU without a known peer is of the stage whose kernel counts its own are this much nearer to."""


def find_stages(trace: Trace, pipes: Iterable[tuple[int, int]], sending: set[int]) -> Stages:
    """Return the stages of a pipeline, the one with the first GPU first.

    () where the pairs are no chains, or where it is not known of which stage one of the GPUs is: with a part
    of its members a stage would be compared with ranks that do other work.

    Parameters
    ----------
    pipes : iterable of (int, int)
        The GPUs of each pair that sends to one another.
    sending : set of int
        All GPUs that send and receive. One whose peers are not known, since its clock is off, say, is of the
        stage that runs the same kernels.
    """
    beside: dict[int, set[int]] = defaultdict(set)
    for first, second in pipes:
        beside[first].add(second)
        beside[second].add(first)
    chains = list(_chains(beside))
    length = max(map(len, chains), default=0)
    # A shorter chain is a part of one that is broken at a GPU without known peers.
    chains = [chain for chain in chains if len(chain) == length]
    # More than half: what is left decides where the others belong.
    if 2 * length * len(chains) < len(sending | set(beside)) or not chains:
        return ()
    stages = [sorted(chain[k] for chain in chains) for k in range(length)]
    missing = sorted((sending | set(beside)) - {gpu for stage in stages for gpu in stage})
    if missing:
        counts = {gpu: _kernels_by_family(trace, gpu) for gpu in (*missing, *(g for s in stages for g in s))}
        for gpu, stage in [(gpu, _nearest(counts, gpu, stages)) for gpu in missing]:
            if stage is None:
                return ()
            stages[stage].append(gpu)
    if len({len(stage) for stage in stages}) > 1:
        return ()
    return tuple(tuple(sorted(stage)) for stage in stages)


def _nearest(counts: dict[int, Int64], gpu: int, stages: list[list[int]]) -> int | None:
    """Return the stage whose GPUs run the same kernels as often as one, None where two are as near."""
    apart = [min(int(np.abs(counts[gpu] - counts[member]).sum()) for member in stage) for stage in stages]
    nearest = int(np.argmin(apart))
    others = [far for stage, far in enumerate(apart) if stage != nearest]
    return nearest if all(far > _TIMES_NEARER * apart[nearest] for far in others) else None


def _kernels_by_family(trace: Trace, gpu: int) -> Int64:
    """Return how many kernels of each family a GPU runs, shape (names,)."""
    rows = rows_of_gpu(trace, Kind.KERNEL, gpu)
    family = kernel_families(trace, rows)
    return np.bincount(family.astype(np.int64), minlength=len(trace.names)).astype(np.int64)


def _chains(beside: dict[int, set[int]]) -> Iterator[list[int]]:
    """Yield the chains of a graph, each from the end with the smaller number."""
    seen: set[int] = set()
    for gpu in sorted(beside):
        if gpu in seen or len(beside[gpu]) != 1:
            continue
        chain = [gpu]
        while following := beside[chain[-1]] - set(chain):
            if len(following) > 1:
                return
            chain.append(following.pop())
        seen.update(chain)
        yield chain
