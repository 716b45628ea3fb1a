"""The answer to a what-if, ready to be shown under the recording: lengths in words, and state lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.replay.changes import Change
from viewer.analysis.replay.what_if import WhatIf
from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.drawing.format import MINUS, format_ns, format_share
from viewer.drawing.state_bands import StateBands
from viewer.trace import GPU_KINDS, Trace


@dataclass(frozen=True, eq=False)
class Prediction:
    """A trace as it would have been with some changes.

    Attributes
    ----------
    study : Study
        Of the operations at their predicted times.
    states : StateBands
        Its state lanes, with the waits for late ranks.
    iterations : Iterations
        Those of the recording.
    """

    changes: tuple[Change, ...]
    answer: WhatIf
    study: Study
    states: StateBands
    iterations: Iterations

    @property
    def title(self) -> str:
        """What is changed: "ranks flattened, launches free"."""
        return ", ".join(map(str, self.changes))

    def shift_ns(self, iteration: int) -> int:
        """Return what a predicted time is less than the place at which it is drawn, ns.

        The iteration begins where it was recorded to: what the ones before it have won is left out.
        """
        return self.iterations.start_ns(iteration) - int(self.answer.edges_ns[iteration])

    def lengths_ns(self, iteration: int) -> tuple[int, int]:
        """Return the length of an iteration, recorded and predicted."""
        edges = self.answer.edges_ns
        return int(self.iterations.duration_ns[iteration]), int(edges[iteration + 1] - edges[iteration])

    def lengths_text(self, iteration: int) -> str:
        """Return "138.3 → 133.9 ms"."""
        recorded, predicted = map(format_ns, self.lengths_ns(iteration))
        return f"{_without_unit(recorded, predicted)} → {predicted}"

    @property
    def saving_text(self) -> str:
        """The median of what the steady iterations win: "−4.420 ms, 3.2 %"."""
        median = int(np.median(self.iterations.duration_ns[list(self.iterations.basis)]))
        saving = self.answer.saving_ns
        return f"{saving_words(saving)}, {format_share(abs(saving) / max(median, 1))}"

    @property
    def range_text(self) -> str:
        """The least and the most of it: "range 4.410 to 4.460 ms"."""
        low, high = map(format_ns, self.answer.saving_range_ns)
        return f"range {_without_unit(low, high)} to {high}"

    @property
    def sure_text(self) -> str:
        """How far it is to be trusted: "replayed, in doubt · 99.6 % of the path explained"."""
        share = self.answer.explained_share
        path = "" if share is None else f" · {format_share(share)} of the path explained"
        return f"replayed{', in doubt' if self.answer.doubts else ''}{path}"

    @property
    def text(self) -> str:
        """All of it in a line, as it is kept."""
        return (
            f"What if {self.title}: {self.saving_text} of an iteration, {self.range_text}, {self.sure_text}"
        )


def _without_unit(first: str, second: str) -> str:
    """Return the first of two times without its unit where the second has the same."""
    number, _, unit = first.rpartition(" ")
    return number if unit == second.rpartition(" ")[2] else first


def saving_words(saving_ns: int) -> str:
    """Return what is saved as a change: "−4.400 ms", "+1.000 µs" where it takes longer, "0 ns"."""
    return f"{MINUS if saving_ns > 0 else '+' if saving_ns < 0 else ''}{format_ns(abs(saving_ns))}"


def predict(study: Study, changes: Sequence[Change], marker: int) -> Prediction:
    """Replay a trace with some changes; slow, so off the main thread.

    Raises
    ------
    ChangeError
        If there are no iterations, or a change matches nothing.
    """
    answer = study.what_if(changes, marker)
    iterations = study.iterations(marker)
    assert iterations is not None, "without iterations what_if has raised"
    predicted = Study(_at_predicted_times(study.trace, answer), study.rules)
    states = StateBands(predicted)
    states.collectives = _waits(study, predicted)
    states.prepare_all()
    # Followed now: the critical paths with the changes take as long as the replay.
    _ = answer.explained_share, answer.doubts
    return Prediction(tuple(changes), answer, predicted, states, iterations)


def _at_predicted_times(trace: Trace, answer: WhatIf) -> Trace:
    events = dict(trace.events)
    for kind in GPU_KINDS:
        start, end = answer.times_of(kind)
        events[kind] = replace(events[kind], start_ns=start, end_ns=end)
    return replace(trace, events=events)


def _waits(study: Study, predicted: Study) -> Collectives:
    """Return the collectives of the recording with the waits that the predicted starts give them."""
    sets, kernels = study.dependencies.sets, predicted.trace.kernels
    recorded = study.collectives
    wait = np.full(len(kernels), -1, np.int64)
    if len(sets):
        # Kernels are the first operations: a kernel's index is its number.
        members, size = sets.operations, np.diff(sets.offsets)
        start, length = kernels.start_ns[members], (kernels.end_ns - kernels.start_ns)[members]
        awaited = np.maximum.reduceat(start, sets.offsets[:-1])
        is_rooted = sets.root >= 0
        waits_for_root = is_rooted & ~sets.root_waits
        awaited[waits_for_root] = kernels.start_ns[sets.root[waits_for_root]]
        own = np.clip(np.repeat(awaited, size) - start, 0, length)
        only_root = np.repeat(is_rooted & sets.root_waits, size)
        own[only_root & (members != np.repeat(sets.root, size))] = 0
        wait[members] = own
    wait[recorded.wait_ns < 0] = -1
    return replace(recorded, trace=predicted.trace, parts=predicted.parts, wait_ns=wait)
