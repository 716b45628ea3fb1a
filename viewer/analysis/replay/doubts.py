"""Why an answer to a what-if is not to be trusted as it stands (docs/definitions.md, section 12)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from viewer.analysis.core.units import duration_text
from viewer.analysis.dependencies.graph import EXPLAINED_NS
from viewer.analysis.replay.inputs import Replay
from viewer.analysis.replay.iteration_times import starts_of
from viewer.analysis.replay.recurrence import Times
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.trace.events import Events, Int64

MOST_UNEXPLAINED = 0.05
"""A replay says little where what nothing explains is more than this share of the time of all GPUs.

Such waits stay as they were recorded, and so does what could have been won behind them.
"""
LEAST_LAUNCHED = 0.01
"""A thread that launches less than this share of its process's operations need not be tied to the others."""
MOST_APART = 0.05
"""By the first and by the last GPU that begins, a saving differs by no more than this share of it."""
MOST_UNEVEN = 0.5
"""So it does in every single iteration, as a share of the median saving."""
LEAST_OF_ALL = 0.8
"""At least this share of what the iterations that count save by the median is saved in all."""


def why_a_ceiling(replay: Replay) -> str:
    """Return why what a replay wins is only a ceiling, "" where it is not: the rest of a sentence."""
    if _unexplained(replay) > MOST_UNEXPLAINED:
        return "operations wait long for something that was not recorded"
    if any(_has_loose_threads(replay, process.index) for process in replay.inputs.trace.processes):
        return "how the threads that launch wait for one another is not known"
    return ""


def _unexplained(replay: Replay) -> float:
    """Return how long operations start after all that is known to bind them, of the time of all GPUs."""
    graph, trace = replay.inputs.graph, replay.inputs.trace
    start, end = trace.window_ns
    late = graph.lag_ns[graph.lag_ns > EXPLAINED_NS]
    return float(late.sum()) / max((end - start) * len(trace.gpus), 1)


def _has_loose_threads(replay: Replay, process: int) -> bool:
    """Return whether several threads of a process launch, and one of them waits for no other."""
    graph, trace = replay.inputs.graph, replay.inputs.trace
    api, calls = trace.api, graph.operations.call
    launched = np.bincount(_threads(api, calls[calls >= 0]), minlength=len(trace.threads))
    own = [thread.index for thread in trace.threads_of(process)]
    launching = [t for t in own if launched[t] > LEAST_LAUNCHED * launched[own].sum()]
    tied = np.union1d(_threads(api, graph.host_edges.target), _threads(api, graph.host_edges.source))
    return len(launching) > 1 and not np.isin(launching, tied).all()


def _threads(api: Events, calls: npt.NDArray[np.int32]) -> Int64:
    return np.searchsorted(api.offsets, calls, side="right") - 1


def doubts_of(
    replay: Replay, iterations: Iterations, times: Times, edges_ns: Int64, counted: Sequence[int]
) -> tuple[str, ...]:
    """Return what speaks against an answer, one sentence each; () where nothing does.

    Parameters
    ----------
    times : Times
        Those of the replay with changes.
    edges_ns : ndarray of int64, shape (iterations + 1,)
        Where its iterations begin and end.
    counted : sequence of int
        The iterations that the saving is the median of.
    """
    why = why_a_ceiling(replay)
    found = [
        f"The saving is a ceiling: {why}." if why else "",
        _apart(replay, iterations, times, edges_ns, counted),
        _given_back(iterations, edges_ns),
    ]
    return tuple(text for text in found if text)


def _apart(
    replay: Replay, iterations: Iterations, times: Times, edges_ns: Int64, counted: Sequence[int]
) -> str:
    """Say that one GPU begins far before the others, so that its start alone decides the lengths."""
    predicted, recorded = starts_of(replay, iterations, times), iterations.starts[iterations.has_own]
    by_first = (iterations.duration_ns - np.diff(edges_ns))[list(counted)]
    last_edges = (np.append(starts.max(axis=0), end) for starts, end in (
        (recorded[:, :-1], iterations.edges_ns[-1]), (predicted, edges_ns[-1])
    ))  # fmt: skip
    lengths, new_lengths = (np.diff(edges) for edges in last_edges)
    by_last = (lengths - new_lengths)[list(counted)]
    first, last = float(np.median(by_first)), float(np.median(by_last))
    size = max(abs(first), abs(last))
    is_close = abs(first - last) <= max(MOST_APART * size, EXPLAINED_NS)
    # Where the one ahead gains in one iteration and loses it in the next, the median hides it.
    is_even = np.abs(by_first - by_last).max() <= max(MOST_UNEVEN * size, EXPLAINED_NS)
    if is_close and is_even:
        return ""
    trace, gpus = replay.inputs.trace, np.flatnonzero(iterations.has_own)
    ahead = int(gpus[np.bincount(predicted[:, list(counted)].argmin(axis=0)).argmax()])
    rank = trace.processes[trace.gpus[ahead].process].rank
    who = f"rank {rank}" if rank is not None else f"GPU {trace.gpus[ahead].device}"
    return (
        f"{who[0].upper()}{who[1:]} begins iterations before the other GPUs can follow, and the first one "
        f"to begin decides their lengths. By the last one to begin the saving is {_signed(last)} (median), "
        f"{_signed(by_last.min())} to {_signed(by_last.max())}."
    )


def _given_back(iterations: Iterations, edges_ns: Int64) -> str:
    """Say that the recording as a whole saves far less than its iterations seem to."""
    saving, count = iterations.duration_ns - np.diff(edges_ns), len(iterations.basis)
    counted, in_all = count * float(np.median(saving[list(iterations.basis)])), int(saving.sum())
    if counted <= EXPLAINED_NS or in_all >= LEAST_OF_ALL * counted:
        return ""
    return (
        f"The saving is uncertain: the whole recording would be only {_signed(in_all)} shorter, and "
        f"{count} times this saving is {_signed(counted)}."
    )


def _signed(ns: float) -> str:
    return f"{'−' if ns < 0 else ''}{duration_text(round(abs(ns)))}"
