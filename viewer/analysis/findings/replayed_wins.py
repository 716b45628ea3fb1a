"""What proposals win together, by a replay of the iterations (docs/definitions.md, section 12)."""

from __future__ import annotations

import logging

import numpy as np
import numpy.typing as npt

from viewer.analysis.dependencies.graph import EXPLAINED_NS
from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.replay.changes import Change, ChangeError
from viewer.trace import GPU_KINDS
from viewer.trace.events import Events, Int64

MOST_OPERATIONS = 1_000_000
"""A trace with more GPU operations is not replayed: each of a dozen replays would take many seconds."""
MOST_UNEXPLAINED = 0.05
"""A replay says little where what nothing explains is more than this share of the time of all GPUs.

Such waits stay as they were recorded, and so does what could have been won behind them.
"""
QUICK = 100_000
"""With no more operations than this a replay takes a fraction of a second."""
LEAST_LAUNCHED = 0.01
"""A thread that launches less than this share of its process's operations need not be tied to the others."""
MOST_LONGER = 0.02
"""A replay is not believed that makes an iteration longer by more than this share."""

_LOG = logging.getLogger(__name__)


class ReplayedWins:
    """Replays the used iterations with changes.

    Attributes
    ----------
    recorded_ns : ndarray of int64, shape (used iterations,)
        Their lengths as they are.
    why_not : str
        Why nothing can be replayed, a sentence, "" where it can.
    """

    def __init__(self, inputs: FindingInputs) -> None:
        self._inputs = inputs
        self.why_not = _why_not(inputs)
        iterations, used = inputs.iterations, list(inputs.used)
        self.recorded_ns = iterations.duration_ns[used] if iterations is not None else np.empty(0, np.int64)

    @property
    def is_quick(self) -> bool:
        """Whether a replay takes a fraction of a second."""
        return _operations(self._inputs) <= QUICK

    def lengths_ns(self, changes: tuple[Change, ...]) -> Int64 | None:
        """Return the lengths of the used iterations with some changes, None where one cannot be made."""
        if self.why_not or not self._inputs.used:
            return None
        try:
            found = self._inputs.study.what_if(changes, self._inputs.candidate)
        except ChangeError as error:
            _LOG.debug("a finding is not replayed: %s", error)
            return None
        lengths = np.array([found.iterations[i].predicted_ns for i in self._inputs.used], np.int64)
        # Nothing that is taken away makes an iteration much longer: then something that moved with it is not
        # known to.
        if (lengths - self.recorded_ns).max() > MOST_LONGER * self._inputs.length_ns:
            _LOG.debug("a finding is not replayed: an iteration would be longer")
            return None
        return lengths


def _why_not(inputs: FindingInputs) -> str:
    trace, study = inputs.trace, inputs.study
    if not inputs.used:
        return ""
    if _operations(inputs) > MOST_OPERATIONS:
        return "Wins are ceilings: the recording is too long to be replayed in little time."
    if study.replay.error_ns:
        return "Wins are ceilings: the recording contradicts itself, so that it cannot be replayed."
    if _unexplained(inputs) > MOST_UNEXPLAINED:
        return "Wins are ceilings: operations wait long for something that was not recorded."
    if any(_has_loose_threads(inputs, process.index) for process in trace.processes):
        return "Wins are ceilings: how the threads that launch wait for one another is not known."
    return ""


def _operations(inputs: FindingInputs) -> int:
    return sum(len(inputs.trace.events[kind]) for kind in GPU_KINDS)


def _unexplained(inputs: FindingInputs) -> float:
    """Return how long operations start after all that is known to bind them, of the time of all GPUs."""
    graph, (start, end) = inputs.study.dependencies, inputs.trace.window_ns
    late = graph.lag_ns[graph.lag_ns > EXPLAINED_NS]
    return float(late.sum()) / max((end - start) * len(inputs.trace.gpus), 1)


def _has_loose_threads(inputs: FindingInputs, process: int) -> bool:
    """Return whether several threads of a process launch, and one of them waits for no other."""
    graph, api = inputs.study.dependencies, inputs.trace.api
    calls = graph.operations.call
    launched = np.bincount(_threads(api, calls[calls >= 0]), minlength=len(inputs.trace.threads))
    own = [thread.index for thread in inputs.trace.threads_of(process)]
    launching = [t for t in own if launched[t] > LEAST_LAUNCHED * launched[own].sum()]
    tied = np.union1d(_threads(api, graph.host_edges.target), _threads(api, graph.host_edges.source))
    return len(launching) > 1 and not np.isin(launching, tied).all()


def _threads(api: Events, calls: npt.NDArray[np.int32]) -> Int64:
    return np.searchsorted(api.offsets, calls, side="right") - 1
