"""The peers of sends and receives: whose start ends a wait.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.groups import FoundGroup, by_timing
from viewer.analysis.collectives.pairs import KernelSequence, PairFit, deviation
from viewer.analysis.collectives.sets import sets_of
from viewer.trace import Trace
from viewer.trace.events import Int64

MIN_EXPLAINED = 0.8
"""The share of a rank's waiting that its peers' starts have to explain; with less, its peers are unknown."""
MIN_WAITS = 3
MIN_NEIGHBOUR = 0.03
"""A peer explains at least this share of the waits."""
MAX_FROM_OUTSIDE, MIN_EXCHANGED = 0.05, 0.8
_TIMES_CLOSER, _IN_STEP_NS = 3, 1_000
_LAST_STARTS = 4
_WINDOW_NS, _WINDOW_SHARE = 5_000, 0.05
_LONG_TIMES, _LONG_NS = 2, 10_000
_MAX_LAG_TIMES, _MAX_LAG_NS = 10, 50_000
_ALIKE_NS = 500


@dataclass(frozen=True, eq=False)
class Peers:
    """Who sends to whom.

    Attributes
    ----------
    groups : tuple of FoundGroup
        Groups of which all members exchange with all, and the pairs of a pipeline. Of a pair the sets are the
        kernels of which one waits for the other.
    prompt : ndarray of int64
        Kernels of ranks with known peers that last no longer than a transfer: they wait for nobody.
    pipes : tuple of (int, int)
        The GPUs of each pair of a pipeline.
    """

    groups: tuple[FoundGroup, ...]
    prompt: Int64
    pipes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class _Waits:
    """What one GPU's starts explain of another one's waits, shape (waits,) each.

    `partner` is the kernel whose start ends the wait, -1 for none; `unsteady_ns` is how much the time from
    the start to the end of the wait varies.
    """

    gpu: int
    partner: Int64
    unsteady_ns: int

    @property
    def is_explained(self) -> npt.NDArray[np.bool_]:
        return self.partner >= 0


def find_peers(trace: Trace, sequences: Sequence[KernelSequence]) -> Peers:
    """Return the peers of the send and receive kernels of one name.

    Ranks of which all kernels end together, and at once when the last has come, exchange with one another:
    two ranks, or an all-to-all. Ranks that only run in step (the data-parallel twins of a pipeline stage) do
    not: both wait for a third one. In a pipeline a rank's peers are those whose start its waits end after, by
    one and the same time.
    """
    found = _exchanging(trace, sequences)
    joined = {id(s) for group in found for s in group.members}
    rest = [s for s in sequences if id(s) not in joined]
    pairs, prompt, pipes = _pipeline(trace, rest)
    if len({s.gpu for s in sequences}) > 2:
        pipes += tuple((g.members[0].gpu, g.members[1].gpu) for g in found if len(g.members) == 2)
    return Peers((*found, *pairs), prompt, tuple(sorted(set(pipes))))


def _exchanging(trace: Trace, sequences: Sequence[KernelSequence]) -> list[FoundGroup]:
    """Return the groups of which all members exchange with all."""
    gpus = {s.gpu for s in sequences}

    def with_one_another(fit: PairFit) -> bool:
        # With two ranks in all there is no third one to wait for.
        return len(gpus) == 2 or _exchange(trace, (sequences[fit.first], sequences[fit.second]))

    return by_timing(trace, list(sequences), with_one_another)


def _exchange(trace: Trace, pair: tuple[KernelSequence, KernelSequence]) -> bool:
    """Return whether two ranks wait for one another, not both for a third one, nor each for another one.

    Then they end together more closely than they start, and at once when the later one has come.
    """
    sets = sets_of(trace.kernels, pair)
    # Kernels without a partner say nothing of the pair; too many of them say that it is none.
    full = (sets >= 0).all(axis=0)
    if full.mean() < MIN_EXCHANGED:
        return False
    sets = sets[:, full]
    starts, ends = trace.kernels.start_ns[sets], trace.kernels.end_ns[sets]
    if deviation(starts[0] - starts[1]) < max(_TIMES_CLOSER * deviation(ends[0] - ends[1]), _IN_STEP_NS):
        return False
    # The later one of the two does not wait for the other: if it lasts long all the same, it waits for a
    # third.
    shortest = (ends - starts).min(axis=0)
    from_outside = shortest > 3 * np.percentile(shortest, 10) + 20_000
    return bool(from_outside.mean() <= MAX_FROM_OUTSIDE)


def _pipeline(
    trace: Trace, sequences: list[KernelSequence]
) -> tuple[list[FoundGroup], Int64, tuple[tuple[int, int], ...]]:
    """Return the pairs of a pipeline, the kernels that wait for nobody, and which GPUs the pairs join."""
    kernels = trace.kernels
    rows_of: dict[int, Int64] = {}
    for gpu in sorted({s.gpu for s in sequences}):
        rows = np.concatenate([s.rows for s in sequences if s.gpu == gpu])
        # All streams of a GPU together: sends and receives may run on streams of their own.
        rows_of[gpu] = rows[np.argsort(kernels.start_ns[rows], kind="stable")]
    if len(rows_of) < 3:
        return [], np.empty(0, np.int64), ()
    every = np.concatenate(list(rows_of.values()))
    # The fifth percentile: a single kernel that was cut off is no measure of a transfer.
    shortest = int(np.percentile(kernels.end_ns[every] - kernels.start_ns[every], 5))
    longest = _MAX_LAG_TIMES * shortest + _MAX_LAG_NS
    # Who waits at all lasts longer than the shortest; who waits long shows from whose start on.
    waits, is_long = {}, {}
    for gpu, rows in rows_of.items():
        length = kernels.end_ns[rows] - kernels.start_ns[rows]
        waits[gpu] = rows[length > shortest + _WINDOW_NS]
        is_long[gpu] = (kernels.end_ns - kernels.start_ns)[waits[gpu]] > _LONG_TIMES * shortest + _LONG_NS
    lags = {
        (gpu, other): _lags(trace, waits[gpu], rows, longest)
        for gpu in rows_of
        for other, rows in rows_of.items()
        if other != gpu
    }
    # From long waits alone: short ones end after anything by chance.
    window = _usual_lag([lag[is_long[gpu]] for (gpu, _), (lag, _) in lags.items()])
    choices: dict[int, list[list[_Waits]]] = {}
    for gpu in rows_of:
        others = [_explained(o, *lags[gpu, o], window) for o in rows_of if o != gpu]
        length = kernels.end_ns[waits[gpu]] - kernels.start_ns[waits[gpu]]
        choices[gpu] = _neighbours(np.where(is_long[gpu], length, 0), others)
    peers = _one_to_one(choices)
    sets: dict[tuple[int, int], list[Int64]] = defaultdict(list)
    prompt = [np.empty(0, np.int64)]
    for gpu, of_gpu in peers.items():
        if of_gpu:
            # Short ones that no peer's start explains have only transferred.
            prompt += [np.setdiff1d(rows_of[gpu], waits[gpu][is_long[gpu]], assume_unique=True)]
        for peer in of_gpu:
            pair = np.stack((waits[gpu], peer.partner))[:, peer.is_explained]
            sets[min(gpu, peer.gpu), max(gpu, peer.gpu)].append(pair if gpu < peer.gpu else pair[::-1])
    groups = [_pair_group(trace, sequences, pair, np.concatenate(s, axis=1)) for pair, s in sets.items()]
    return groups, np.concatenate(prompt), tuple(sets)


def _lags(trace: Trace, waits: Int64, rows: Int64, longest_ns: int) -> tuple[Int64, Int64]:
    """Return how long before each wait's end another GPU's last kernels start, and which kernels these are.

    Shape (waits, _LAST_STARTS) each; -1 for those that start more than `longest_ns` before.
    """
    kernels = trace.kernels
    starts, end = kernels.start_ns[rows], kernels.end_ns[waits]
    # A few of the last starts before the end: the one that ended the wait need not be the very last.
    last = np.searchsorted(starts, end, side="right")[:, None] - 1 - np.arange(_LAST_STARTS)
    lag = end[:, None] - starts[np.maximum(last, 0)]
    return np.where((last >= 0) & (lag <= longest_ns), lag, -1), rows[np.maximum(last, 0)]


def _usual_lag(lags: list[Int64]) -> tuple[int, int]:
    """Return the narrow range of lags that most waits have in common: that of a transfer."""
    known = np.sort(np.concatenate([lag[lag >= 0] for lag in lags] or [np.empty(0, np.int64)]))
    if not len(known):
        return 0, 0
    width = np.maximum(_WINDOW_NS, (known * _WINDOW_SHARE).astype(np.int64))
    # How many lags lie in a window from each of them on: the fullest window is the transfer's.
    inside = np.searchsorted(known, known + width, side="right") - np.arange(len(known))
    at = int(inside.argmax())
    return int(known[at]), int(known[at] + width[at])


def _explained(gpu: int, lag: Int64, kernel: Int64, window: tuple[int, int]) -> _Waits:
    """Return which waits end by a transfer after a start on another GPU."""
    hit = (lag >= max(window[0], 0)) & (lag <= window[1])
    first = hit.argmax(axis=1)
    rows = np.arange(len(lag))
    partner = np.where(hit.any(axis=1), kernel[rows, first], -1)
    chosen = lag[rows, first][partner >= 0]
    return _Waits(gpu, partner, deviation(chosen) if len(chosen) else 0)


def _neighbours(length_ns: Int64, others: list[_Waits]) -> list[list[_Waits]]:
    """Return a GPU's peers, each as the GPUs that explain its waits equally well; [] where unknown.

    The GPU that explains most of what no other explains comes first. `length_ns` is 0 for short waits, which
    say nothing of who the peers are.
    """
    is_long = length_ns > 0
    if is_long.sum() < MIN_WAITS:
        return []
    # What a peer explains is taken out before the next is looked for: neighbours on both sides each explain a
    # part.
    left = np.ones(len(length_ns), bool)
    found: list[list[_Waits]] = []
    while others:
        counts = [int((o.is_explained & left & is_long).sum()) for o in others]
        best = max(counts)
        if best < max(2, MIN_NEIGHBOUR * int(is_long.sum())):
            break
        # Twins explain the same waits, as many; the stages on both sides explain different ones.
        first = others[counts.index(best)].is_explained & left & is_long
        good = [
            o
            for o, c in zip(others, counts, strict=True)
            if c >= 0.98 * best and (o.is_explained & first).sum() >= 0.9 * best
        ]
        steadiest = min(o.unsteady_ns for o in good)
        alike = [o for o in good if o.unsteady_ns <= steadiest + _ALIKE_NS]
        found.append(
            [replace(o, partner=np.where(left, o.partner, -1)) for o in sorted(alike, key=lambda o: o.gpu)]
        )
        taken = {o.gpu for o in alike}
        for one in alike:
            left &= ~one.is_explained
        others = [o for o in others if o.gpu not in taken]
    # By time, not by number: long waits are what the peers have to answer for.
    explained = int(length_ns[~left].sum()) / max(int(length_ns.sum()), 1)
    return found if explained >= MIN_EXPLAINED else []


def _one_to_one(choices: dict[int, list[list[_Waits]]]) -> dict[int, list[_Waits]]:
    """Return each GPU's peers: of several that fit equally well, twins of a stage take one each, in order."""
    twins: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for gpu, of_gpu in choices.items():
        for alike in of_gpu:
            twins[tuple(o.gpu for o in alike)].append(gpu)
    return {
        gpu: [alike[sorted(twins[tuple(o.gpu for o in alike)]).index(gpu) % len(alike)] for alike in of_gpu]
        for gpu, of_gpu in choices.items()
    }


def _pair_group(
    trace: Trace, sequences: list[KernelSequence], pair: tuple[int, int], sets: Int64
) -> FoundGroup:
    by_time = np.argsort(trace.kernels.start_ns[sets].min(axis=0), kind="stable")
    members = tuple(_member(sequences, gpu) for gpu in pair)
    return FoundGroup(members, "timing", sets[:, by_time])


def _member(sequences: list[KernelSequence], gpu: int) -> KernelSequence:
    return next(s for s in sequences if s.gpu == gpu)
