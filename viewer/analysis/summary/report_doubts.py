"""What the report's numbers are not sure of, and why: the key `unreliable`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.summary.dependency_metrics import unknown_waits
from viewer.analysis.summary.metric import MetricValue
from viewer.analysis.summary.report_locations import gpu_fact
from viewer.analysis.summary.sections import DEPENDENCIES, ITERATIONS, PHASES, RANKS
from viewer.analysis.summary.summary import Summary
from viewer.trace.model import GUESSED_RANK

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_NO_ITERATIONS = "No iterations were found."
_RANKS = "Nothing in the file names the ranks: they follow the order of pids."
_UNKNOWN = "It cannot be known for this time."
_NO_WHOLE = "No iteration that has it lies wholly in this time."
_OF_ITERATIONS = ("marker", "iterations", "steady", "phases")
_ALL = ("gpus", "iterations", "phases", "collectives", "summary", "kernels", "stalls")
_ERRORS = {"shifted-clock": "clocks"}
"""What an error is about; all others are about the GPU."""
_WARNINGS = {
    "clock-apart": ("clocks", ("collectives", "late_ranks", "stalls")),
    "contradicting-clock": ("clocks", ("collectives", "stalls")),
    "unknown-launches": ("launches", ("gpus.launches", "phases", "stalls")),
    "whole-graphs": ("classes", ("gpus.exposed_comm_ns", "gpus.hidden_comm_ns", "gpus.classes", "kernels")),
    "shared-gpu": ("gpu", ("gpus.idle_ns",)),
    "far-outside": ("gpu", ("window",)),
    "impossible-rows": ("gpu", ("gpus", "iterations", "phases", "stalls", "kernels")),
    "profiler-overhead": ("gpu", ("gpus.idle_ns", "stalls")),
}
"""What a warning is about, and the keys that it concerns."""
_SPOILED_BY = {PHASES: "unknown-launches", RANKS: "contradicting-clock"}
"""The warning that makes all numbers of a section doubtful."""
_BY_ENDS = ("rank_wait", "exposed_wait")
"""Waits, which clocks that are some microseconds apart make doubtful."""
_SUBJECT = {ITERATIONS: "iterations", PHASES: "launches", DEPENDENCIES: "launches", RANKS: "late ranks"}
"""What a number of a section is about, in the terms of `unreliable`; of all others it is the GPU."""


def doubt(study: Study, summary: Summary, number: MetricValue) -> str:
    """Return why a number of the summary is not sure, "" where it is."""
    if summary.doubts:
        return summary.doubts[0].text
    # From what spoils everything down to what concerns this number: a reader needs the gravest reason alone.
    kind = _SPOILED_BY.get(number.section)
    if number.key in _BY_ENDS and any(diagnostic.kind == "clock-apart" for diagnostic in study.diagnostics):
        kind = "clock-apart"
    if diagnostic := next((diagnostic for diagnostic in study.diagnostics if diagnostic.kind == kind), None):
        return diagnostic.text
    if number.section.needs_iterations and (iterations := study.iterations()) and iterations.guess:
        return iterations.doubt_text
    if number.value is None and not number.result.doubt:
        return _NO_WHOLE if number.section.needs_iterations else _UNKNOWN
    return number.result.doubt


def cautions(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return those that make some numbers unsure; those that make all wrong are `Summary.doubts`."""
    return [
        diagnostic
        for diagnostic in diagnostics
        if diagnostic.severity != "error" and diagnostic.kind in _WARNINGS
    ]


def unreliable(study: Study, summary: Summary | None) -> list[dict[str, Any]]:
    """Return what is not sure: `what` it is about, the GPU concerned, the report's `keys`, and `why`.

    A key of the summary is written "summary.idle". Without doubts: [].
    """
    errors = [diagnostic for diagnostic in study.diagnostics if diagnostic.severity == "error"]
    lines = [_of_diagnostic(study, diagnostic) for diagnostic in (*errors, *cautions(study.diagnostics))]
    # One line for each reason, however many keys it concerns.
    keys: dict[tuple[str, str], list[str]] = {}
    for subject, why, concerned in _of_trace(study):
        keys[subject, why] = [*concerned]
    if summary is not None and (why := summary.late_ranks.why_unsure):
        keys["late ranks", why] = ["late_ranks"]
    if summary is not None and not summary.doubts:
        for number in summary.numbers:
            if why := doubt(study, summary, number):
                of_marker = study.iterations()
                is_marker = of_marker is not None and why == of_marker.doubt_text
                subject = "iterations" if is_marker else _SUBJECT.get(number.section, "gpu")
                keys.setdefault((subject, why), []).append(f"summary.{number.key}")
    return lines + [
        {"what": subject, "pid": None, "device": None, "keys": concerned, "why": why}
        for (subject, why), concerned in keys.items()
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _of_diagnostic(study: Study, diagnostic: Diagnostic) -> dict[str, Any]:
    what, keys = _WARNINGS.get(diagnostic.kind, (_ERRORS.get(diagnostic.kind, "gpu"), _ALL))
    concerned = gpu_fact(study, diagnostic.gpu, diagnostic.process)
    return {"what": what, **concerned, "keys": list(keys), "why": diagnostic.text}


def _of_trace(study: Study) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the doubts about ranks, iterations and collectives: what, why, and the keys concerned."""
    if any(process.rank_from == GUESSED_RANK for process in study.trace.processes):
        yield "gpu", _RANKS, ("gpus.rank",)
    if study.trace.gpus:
        iterations = study.iterations()
        if iterations is None:
            yield "iterations", _NO_ITERATIONS, _OF_ITERATIONS
        elif iterations.guess:
            yield "iterations", iterations.doubt_text, _OF_ITERATIONS
        if iterations is not None:
            if iterations.steady is None:
                yield "iterations", f"{_sentence(iterations.not_steady)}.", ("steady",)
            for note in iterations.warnings:
                yield "iterations", f"{_sentence(note)}.", _OF_ITERATIONS
    if why := unknown_waits(study.dependencies):
        yield "launches", why, ("edges", "stall_reasons", "overlap_reasons")
    for note in study.collectives.notes:
        yield "collectives", note, ("collectives",)
