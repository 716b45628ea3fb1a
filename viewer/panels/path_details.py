"""Slack, what-ifs and the critical path of an event's iteration, as sections of the Details dock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from viewer.analysis.replay.changes import Change, ChangeError
from viewer.analysis.study import Study
from viewer.drawing.change_proposals import Proposal
from viewer.drawing.format import format_ns
from viewer.drawing.path_tables import FILLS, path_frame, path_sums
from viewer.drawing.prediction import saving_words
from viewer.panels.selection_details import Bar, DetailSection, Line, Link
from viewer.rows import EventRef
from viewer.trace import GPU_KINDS, Kind

MOST_OPERATIONS = 200_000
"""In a larger trace a replay takes seconds: what a change wins is computed once it is asked for."""
SLACK = "Slack"
_SLACK_MEANS = "may last that much longer before the iteration does"


@dataclass(frozen=True)
class PathDetails:
    """What the critical path says of an event.

    Attributes
    ----------
    slack_ns : int or None
        None where it is not known.
    called : str
        Its iteration: "iteration 3"; "" outside of all.
    sums : DataFrame
        The critical path of that iteration by kind, see `path_sums`.
    """

    slack_ns: int | None
    called: str
    sums: pd.DataFrame


def path_details(study: Study, ref: EventRef, marker: int) -> PathDetails | None:
    """Return what the critical path says of an event, None without iterations; slow."""
    iterations = study.iterations(marker)
    if iterations is None or ref.kind not in (*GPU_KINDS, Kind.API):
        return None
    number = iterations.iteration_at(int(study.trace.events[ref.kind].start_ns[ref.index]))
    if number is None:
        return None
    path = study.critical_paths(marker)[number]
    sums = path_sums(path_frame(study, path, marker), "kind")
    return PathDetails(study.slack(ref.kind, ref.index, marker), iterations.called(number), sums)


def savings(study: Study, marker: int, changes: Iterable[Change]) -> dict[Change, int]:
    """Return what each change alone would win of an iteration, ns; of large traces nothing. Slow."""
    if len(study.dependencies.operations) > MOST_OPERATIONS:
        return {}
    found = {}
    for change in changes:
        try:
            found[change] = study.what_if((change,), marker).saving_ns
        except ChangeError:
            continue
    return found


def slack_lines(details: PathDetails | None) -> tuple[Line, ...]:
    """Return the lines on slack; none where it is not known."""
    if details is None or details.slack_ns is None:
        return ()
    return ((SLACK, format_ns(details.slack_ns)), ("", _SLACK_MEANS))


def what_if_section(proposals: Sequence[Proposal], saved: dict[Change, int]) -> DetailSection:
    """Return the changes that can be tried, with what each would win where that is known."""
    links = []
    for number, proposal in enumerate(proposals):
        ns = saved.get(proposal.change)
        value = "" if ns is None else saving_words(ns)
        links.append(Link(f"try/{number}", proposal.text, value))
    return DetailSection("What if", links=tuple(links))


def path_section(details: PathDetails) -> DetailSection:
    """Return the critical path of the event's iteration, split by kind."""
    by_kind = details.sums.set_index("what")
    bars = tuple(
        Bar(fill, what, int(by_kind["duration_ns"][what]), float(by_kind["share"][what]))
        for what, fill in FILLS.items()
        if what in by_kind.index
    )
    length = format_ns(sum(bar.ns for bar in bars))
    return DetailSection(f"Critical path of {details.called}", value=length, bars=bars)
