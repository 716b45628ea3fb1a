"""What the streams that communicate are for: which ranks meet on them, and which parallelism that looks like.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

from viewer.analysis.collectives.match import CollectiveGroup, Collectives
from viewer.trace import Trace

ALL = "all"
_MOST_RANKS = 4


@dataclass(frozen=True, slots=True)
class StreamUse:
    """What a stream communicates for.

    Attributes
    ----------
    name : str
        "TP", "DP", "PP" or "EP", which is a guess; "" where nothing can be guessed.
    ranks : str
        Who meets on it: "ranks 0, 1", "0, 2, 4, 6 and all", "all ranks".
    """

    name: str
    ranks: str


def stream_uses(collectives: Collectives) -> Mapping[int, StreamUse]:
    """Return what the streams of matched collectives are for, by their index in the trace.

    The names are guessed: sends and receives between the stages of a pipeline are PP, exchanges of all with
    all EP; of the other collectives those between ranks that follow one another are TP, and those between
    ranks that are apart DP. Collectives of all ranks say nothing beside others.
    """
    trace = collectives.trace
    groups: dict[int, list[CollectiveGroup]] = defaultdict(list)
    for group in collectives.groups:
        for stream in group.streams:
            groups[stream].append(group)
    return {stream: StreamUse(_name(trace, met), _ranks(trace, met)) for stream, met in groups.items()}


def _name(trace: Trace, groups: list[CollectiveGroup]) -> str:
    everybody = len(trace.gpus)
    parts = [group for group in groups if len(group.gpus) < everybody]
    kinds = {group.kind for group in groups}
    if kinds == {"SendRecv"}:
        return "PP"
    if kinds == {"AllToAll"}:
        return "EP"
    if not parts:
        return ""
    steps = {b - a for group in parts for a, b in pairwise(_numbers(trace, group.gpus))}
    return "TP" if steps == {1} else "DP" if 1 not in steps else ""


def _ranks(trace: Trace, groups: list[CollectiveGroup]) -> str:
    met = sorted({_numbers(trace, group.gpus) for group in groups}, key=lambda ranks: (len(ranks), ranks))
    texts = [ALL if len(ranks) == len(trace.gpus) > 1 else _listed(ranks) for ranks in met]
    if texts == [ALL]:
        return "all ranks"
    return " and ".join([f"ranks {texts[0]}", *texts[1:2]]) + (" …" if len(texts) > 2 else "")


def _listed(ranks: Collection[int]) -> str:
    shown = [str(rank) for rank in ranks]
    if len(shown) > _MOST_RANKS:
        shown = [*shown[: _MOST_RANKS - 1], "…", shown[-1]]
    return ", ".join(shown)


def _numbers(trace: Trace, gpus: Collection[int]) -> tuple[int, ...]:
    """Return the ranks of GPUs in order; their own numbers where they have none."""
    ranks = [trace.processes[trace.gpus[gpu].process].rank for gpu in gpus]
    known = [rank for rank in ranks if rank is not None]
    return tuple(sorted(known)) if len(set(known)) == len(ranks) else tuple(sorted(gpus))
