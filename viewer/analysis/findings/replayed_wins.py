"""What proposals win together, by a replay of the iterations (docs/definitions.md, section 12)."""

from __future__ import annotations

import logging

import numpy as np

from viewer.analysis.findings.finding_inputs import FindingInputs
from viewer.analysis.replay.changes import Change, ChangeError
from viewer.analysis.replay.doubts import why_a_ceiling
from viewer.trace import GPU_KINDS
from viewer.trace.events import Int64

MOST_OPERATIONS = 1_000_000
"""A trace with more GPU operations is not replayed: each of a dozen replays would take many seconds."""
QUICK = 100_000
"""With no more operations than this a replay takes a fraction of a second."""
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
    study = inputs.study
    if not inputs.used:
        return ""
    if _operations(inputs) > MOST_OPERATIONS:
        return "Wins are ceilings: the recording is too long to be replayed in little time."
    if study.replay.error_ns:
        return "Wins are ceilings: the recording contradicts itself, so that it cannot be replayed."
    why = why_a_ceiling(study.replay)
    return f"Wins are ceilings: {why}." if why else ""


def _operations(inputs: FindingInputs) -> int:
    return sum(len(inputs.trace.events[kind]) for kind in GPU_KINDS)
