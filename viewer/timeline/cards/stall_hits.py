"""The stall of a GPU under the pointer, and the texts of its card."""

from __future__ import annotations

from viewer.analysis.collectives.match import Collectives
from viewer.analysis.dependencies.stall_producers import StallProducers
from viewer.analysis.dependencies.stall_words import LATE, reason_facts
from viewer.analysis.stalls.stall_details import stall_facts
from viewer.analysis.stalls.stalls import Stalls
from viewer.analysis.study import Study
from viewer.drawing.format import format_ns
from viewer.drawing.hit import HitResult
from viewer.timeline.paint.paint_rows import gpu_of

MIN_PX = 2
STALL_TITLES = {"idle": "Idle", "copy_only": "Copy only", "exposed_comm": "Exposed communication"}
_OVERLAY_OF = {"idle": "idle", "copy_only": "idle", "exposed_comm": "exposed"}
_IN_HEADING = ("Stall", "GPU", "Iteration")
_MOST_LINES = 12
_MOST_REASONS = 3

Lines = tuple[tuple[str, str], ...]


def stall_at(
    study: Study, stalls: Stalls, hit: HitResult | None, overlays: frozenset[str], ns_per_px: float
) -> int | None:
    """Return the stall under the pointer: on a GPU's own rows, elsewhere where its overlay is seen.

    None over events, and where the stall is too short to be seen.
    """
    if hit is None or hit.event is not None or hit.column is not None:
        return None
    gpu = hit.gpu if hit.gpu is not None else gpu_of(study.trace, hit.row)
    number = stalls.at(gpu, hit.time_ns) if gpu is not None else None
    if number is None:
        return None
    row = stalls.table.iloc[number]
    on_own_row = hit.gpu is not None or hit.row.gpu is not None
    seen = on_own_row or _OVERLAY_OF[str(row["kind"])] in overlays
    return number if seen and int(row["duration_ns"]) >= MIN_PX * ns_per_px else None


def stall_heading(stalls: Stalls, number: int) -> tuple[str, str]:
    """Return the title and the subtitle of a stall: what it is and how long, on which GPU and where."""
    row = stalls.table.iloc[number]
    words = stalls.words(number)
    place = str(words["place"])
    if words["iteration"]:
        place = (
            f"{place} {words['iteration']}"
            if place.startswith("between")
            else f"iteration {words['iteration']}"
        )
    title = f"{STALL_TITLES[str(row['kind'])]}  {format_ns(int(row['duration_ns']))}"
    return title, " · ".join(t for t in (stalls.trace.gpu_label(int(row["gpu"])), place) if t)


def stall_lines(stalls: Stalls, number: int, producers: StallProducers | None = None) -> Lines:
    """Return the facts about a stall that are not in its heading, label and value; a repeated label is ""."""
    lines: list[tuple[str, str]] = []
    last = ""
    for label, value in (*_reasons(producers, number), *stall_facts(stalls, number)):
        if label not in _IN_HEADING and len(lines) < _MOST_LINES:
            lines.append(("" if label == last else label, value))
            last = label
    return tuple(lines)


def _reasons(producers: StallProducers | None, number: int) -> Lines:
    """Return the split of a stall and what it waited for; nothing before that is computed."""
    return () if producers is None else tuple(reason_facts(producers, number)[:_MOST_REASONS])


def stall_about(
    stalls: Stalls,
    number: int,
    collectives: Collectives | None = None,
    producers: StallProducers | None = None,
) -> Lines:
    """Return the lines for the card of a selection that is a stall: as few as will do."""
    title, where = stall_heading(stalls, number)
    facts: dict[str, list[str]] = {}
    for label, value in stall_facts(stalls, number):
        facts.setdefault(label, []).append(value)
    lines = [(title.split("  ")[0], where), *_reasons(producers, number)]
    # Where the reasons name the kernel of the last arrival, its rank alone says nothing more.
    last = "" if LATE in dict(lines) else _last_to_arrive(stalls, number, collectives)
    for labels, between in (
        (("Cause",), ""),
        (("Of which",), " · "),
        (("Copies",), ""),
        (("Inside",), ""),
        (("Blocking call",), ""),
        (("Before", "After"), " → "),
        (("Launched by",), ""),
    ):
        values = [value for label in labels for value in facts.get(label, ())]
        if values:
            lines.append((", ".join(labels).capitalize(), between.join(values)))
        if labels == ("Cause",) and last:
            lines.append(("Last to arrive", last))
    return tuple(lines)


def _last_to_arrive(stalls: Stalls, number: int, collectives: Collectives | None) -> str:
    """Return which GPU came last to the collective of a stall, "" where none is known."""
    row = stalls.table.iloc[number]
    last, kernel, gpu = int(row["waits_for"]), int(row["collective"]), int(row["gpu"])
    if last < 0 and collectives is not None and kernel >= 0 and int(collectives.wait_ns[kernel]) >= 0:
        last = int(collectives.last_gpu[kernel])
    if last < 0:
        return ""
    label = stalls.trace.gpu_label(last)
    return f"{label}, this GPU itself" if last == gpu else label
