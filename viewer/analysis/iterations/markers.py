"""Finds what may mark the iterations, and which of it does best.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.core.parallel import each
from viewer.analysis.iterations.candidate import MAX_OFFERED, NONE, Candidate, disagreement
from viewer.analysis.iterations.derived import derived
from viewer.analysis.iterations.guess import guesses
from viewer.analysis.iterations.launch_times import launch_times
from viewer.analysis.iterations.mark import mark
from viewer.analysis.iterations.marker_texts import BENCHMARK, EVALUATION, TRAINING, WARM_UP, part_of_run
from viewer.analysis.iterations.optimizer_steps import OptimizerFinder, OptimizerSteps
from viewer.analysis.iterations.repeated_ranges import RepeatedRange, repeated_ranges
from viewer.analysis.launches.launches import Launches
from viewer.trace import Trace
from viewer.trace.events import Int64

_FEW, _SEVERAL = 0.75, 1.5
"""Steps of the optimizer for each instance: with fewer, several instances make one iteration; with more, one
instance holds several iterations."""
_RANKS = (
    (True, TRAINING), (True, BENCHMARK), (False, TRAINING), (False, BENCHMARK), (True, EVALUATION),
    (False, EVALUATION), (True, WARM_UP), (False, WARM_UP),
)  # fmt: skip
"""Which of the ranges that qualify comes first: whether it is a numbered step, and what it is a part of."""
_NO_OPTIMIZER = "no optimizer tells how many make one"


@dataclass(frozen=True, eq=False)
class _Found:
    """A candidate by ranges, and what the optimizer says of it.

    `steps_each` is how many of the optimizer's steps begin in one instance on average, None without any on
    its processes. `owns` says whether its own threads launch anything inside it.
    """

    candidate: Candidate
    numbered: bool
    part: bool
    steps_each: float | None
    owns: bool

    @property
    def is_micro(self) -> bool:
        """Whether several of them make one step of the optimizer."""
        return self.steps_each is not None and 0 < self.steps_each < _FEW

    @property
    def holds_several(self) -> bool:
        """Whether one of them holds several steps of the optimizer."""
        return self.steps_each is not None and self.steps_each >= _SEVERAL

    @property
    def is_marker(self) -> bool:
        """Whether it names iterations: no part of one, or numbered steps whatever the optimizer says."""
        return self.candidate.qualifies and not self.part and (self.numbered or not self.is_micro)


def candidates(
    launches: Launches,
    order_of: Callable[[int], GpuOrder],
    classes: KernelClasses,
    projected: pd.DataFrame,
) -> tuple[Candidate, ...]:
    """Return what may mark the iterations, best first.

    A range that names them, else what is derived from the optimizer, else a guess, or a part of an iteration.

    Parameters
    ----------
    order_of : callable
        Gives a GPU's operations by start; called only where there is something to guess.
    projected : DataFrame
        The NVTX ranges on the GPU with the launches of all threads, see `project`.
    """
    trace = launches.trace
    launches.prepare()
    working = sorted({gpu.process for gpu in trace.gpus})
    times = dict(zip(working, each(partial(launch_times, launches), working), strict=True))
    # A process whose GPU rows are migrations alone launched nothing: no range of it can qualify.
    times = {process: of_process for process, of_process in times.items() if len(of_process.time_ns)}
    finder = OptimizerFinder(launches, classes, projected)
    steps = {p: s for p in times if (s := finder.steps(p, times[p])) is not None and len(s) > 1}
    ranges = list(repeated_ranges(trace, projected, times))
    found = _merged(trace, ranges, steps)
    markers = sorted((f for f in found if f.is_marker), key=partial(_rank, len(working)))
    parts = sorted(
        (f for f in found if f.candidate.qualifies and not f.is_marker), key=lambda f: -f.candidate.cpu_ns
    )
    others = sorted(
        (_judged(f) for f in found if not f.candidate.qualifies and f.candidate.gpu_share > 0),
        key=lambda c: (-c.gpu_share, -c.cpu_ns),
    )
    lead = _lead(launches, markers, derived(trace, steps, times, _part_starts(ranges)))
    of_parts = [_judged(f) for f in parts]
    if not markers:
        guessed = [_compared(c, found) for c in guesses(trace, order_of, classes)]
        # A guess that nothing tested stands behind ranges that name parts: those are at least a text of the
        # user.
        slower = [c for c in guessed if c.tested or any(_makes_one_of(c, part) for part in of_parts)]
        if lead:
            # What is cut at the optimizer's launches needs no cut at its kernels.
            slower = [c for c in slower if c.count != lead[0].count]
        rest = [c for c in guessed if not c.tested and c not in slower]
        lead = [*lead, *slower, *of_parts, *rest]
    else:
        lead = [*lead, *of_parts]
    if not lead and others:
        lead = [NONE]
    return (*lead, *others)[:MAX_OFFERED]


def _lead(launches: Launches, markers: list[_Found], cut: Candidate | None) -> list[Candidate]:
    """Return the markers and what is derived from the optimizer, best first.

    A range around several steps of the optimizer (an epoch) marks no iteration, unless there are several
    that are numbered steps, or it is exactly so many copies of one sequence of kernels. Nor does one around
    none of them, as in an evaluation, nor a warm-up where there are more of them.
    """
    if cut is None:
        return [_judged(marker) for marker in markers]
    behind = [m for m in markers if not _is_of_training(launches, m, cut.count)]
    before = [_judged(marker) for marker in markers if marker not in behind]
    return [*before, cut, *(_judged(marker) for marker in behind)]


def _is_of_training(launches: Launches, found: _Found, steps: int) -> bool:
    """Return whether a marker is one of a run of which the optimizer's steps are known, and how many."""
    part = part_of_run(found.candidate.name)
    # Steps that lie between two evaluations would count for the first of them.
    if found.steps_each == 0 or part == EVALUATION:
        return False
    if part == WARM_UP and steps > found.candidate.count:
        return False
    is_counted = found.numbered and found.candidate.count > 1
    return is_counted or not found.holds_several or _is_copies(launches, found)


def _is_copies(launches: Launches, found: _Found) -> bool:
    process, instances = next(iter(found.candidate.instances.items()))
    return mark(launches, process, instances).copies == round(found.steps_each or 0)


def _rank(working: int, found: _Found) -> tuple[float, ...]:
    candidate = found.candidate
    # After the name: a numbered step counts even where the optimizer runs every k-th time.
    fits = found.steps_each is None or _FEW <= found.steps_each < _SEVERAL
    return (
        2 * len(candidate.processes) < working,
        not found.owns,
        _RANKS.index((found.numbered, part_of_run(candidate.name))),
        not fits,
        -len(candidate.processes),
        -candidate.cpu_ns,
    )


def _merged(
    trace: Trace, ranges: Sequence[RepeatedRange], steps: Mapping[int, OptimizerSteps]
) -> list[_Found]:
    """Put the processes' ranges of one name together: each with the thread that spends most time inside."""
    by_name: dict[tuple[str, str], dict[int, RepeatedRange]] = defaultdict(dict)
    for of_track in ranges:
        of_name = by_name[of_track.name, of_track.domain]
        other = of_name.get(of_track.process)
        if other is None or of_track.cpu_ns > other.cpu_ns:
            of_name[of_track.process] = of_track
    merged = []
    for (name, domain), best in by_name.items():
        # Ranks on which it does not qualify are left out, and `disagreement` names them; where none qualifies
        # all are kept, to be offered by hand.
        good = {process: r for process, r in best.items() if r.qualifies}
        used = dict(sorted((good or best).items()))
        counts = {process: len(r.instances) for process, r in used.items()}
        one = next(iter(used.values()))
        candidate = Candidate(
            name=name,
            domain=domain,
            what="range",
            count=min(counts.values()),
            gpu_share=min(r.gpu_share for r in used.values()),
            even_share=min(r.even_share for r in used.values()),
            cpu_ns=sum(r.cpu_ns for r in used.values()),
            qualifies=bool(good),
            processes=tuple(counts),
            disagreement=disagreement(trace, counts),
            instances={process: r.instances for process, r in used.items()},
        )
        each_holds = [_steps_each(r, steps[process]) for process, r in used.items() if process in steps]
        steps_each = float(np.median(each_holds)) if each_holds else None
        owns = any(r.owns for r in used.values())
        merged.append(_Found(candidate, one.numbered, one.part, steps_each, owns))
    return merged


def _steps_each(of_track: RepeatedRange, steps: OptimizerSteps) -> float:
    """Return how many of the optimizer's steps there are for each instance, 0.0 where none runs meanwhile."""
    # By where steps begin: one that runs over the end of an instance still belongs to it.
    begin = of_track.instances.start_ns
    # The step of the last instance may begin after its end, as that of a forward pass does.
    until = int(of_track.instances.end_ns[-1]) + int(np.diff(begin).max(initial=0))
    meanwhile = steps.start_ns[(steps.start_ns >= begin[0]) & (steps.start_ns < until)]
    if not len(meanwhile) or len(meanwhile) >= len(begin):
        return len(meanwhile) / len(begin)
    # Of several for each step, those between two steps count: the first and the last ones may be incomplete.
    between = int(((begin >= meanwhile[0]) & (begin < meanwhile[-1])).sum())
    return max(len(meanwhile) - 1, 1) / (between or len(begin))


def _judged(found: _Found) -> Candidate:
    """Return a candidate with what its name and the optimizer say of it."""
    candidate, each_holds = found.candidate, found.steps_each or 0.0
    if found.is_micro:
        frequency = f"the optimizer runs once in every {1 / each_holds:.3g} of them"
    elif found.holds_several:
        frequency = f"the optimizer runs {each_holds:.3g} times in each of them"
    else:
        frequency = ""
    if not found.part and (found.numbered or not found.is_micro):
        return replace(candidate, warning=frequency)
    if not found.part:
        return replace(candidate, kind="guess", unit="micro-batch", why=f"{frequency}: they are parts of one")
    because = frequency or ("the optimizer runs once in each" if each_holds else _NO_OPTIMIZER)
    unit = candidate.name.replace("#", "").strip() or candidate.name
    return replace(
        candidate, kind="guess", unit=unit, why=f"{candidate.name} is a part of an iteration, and {because}"
    )


def _makes_one_of(guessed: Candidate, part: Candidate) -> bool:
    """Return whether several parts lie in each of the guessed iterations, as layers do in a step."""
    return part.count > guessed.count and part.count % guessed.count == 0


def _compared(guessed: Candidate, found: Sequence[_Found]) -> Candidate:
    """Say of a guess that it comes as often as ranges that name a part of an iteration."""
    for part in (f.candidate for f in found if f.part and not guessed.tested):
        if abs(part.count - guessed.count) <= 1:
            return replace(guessed, why=f"{guessed.why}, as {part.name} does, which comes as often")
    return guessed


def _part_starts(ranges: Sequence[RepeatedRange]) -> dict[int, Int64]:
    """Return per process when the ranges begin that name a part of an iteration and launch something."""
    starts: dict[int, list[Int64]] = defaultdict(list)
    for of_track in ranges:
        if of_track.part:
            starts[of_track.process].append(of_track.instances.start_ns[of_track.ops > 0])
    return {process: np.sort(np.concatenate(of_process)) for process, of_process in starts.items()}
