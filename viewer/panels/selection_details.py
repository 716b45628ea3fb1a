"""SelectionDetails: everything known about the selection, in sections of labels and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from viewer.analysis.core.intervals import union
from viewer.analysis.dependencies.stall_reasons import ReasonSums
from viewer.analysis.kernels.name_stats import NameStats
from viewer.analysis.stalls.stall_details import call_chain
from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.format import (
    MINUS,
    format_count,
    format_instant,
    format_ns,
    format_share,
    iteration_share_text,
)
from viewer.rows import EventRef
from viewer.timeline.cards.card_text import CATEGORY_TITLES, event_facts, gpu_names
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.names import short_name

Line = tuple[str, str]
_PART_HEADS = ("compute", "hidden", "exposed", "copy", "idle")


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bar that fills its section's width, with the line below it."""

    fill: str
    text: str
    ns: int
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Something to do or to go to: its key, its text, and what stands at the right."""

    key: str
    text: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Badge:
    """How something is known ("proven"), and a few words beside it; "" for none."""

    text: str = ""
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a chain: two lines, and the event that a click goes to."""

    fill: str
    title: str
    about: str
    event: EventRef
    is_own: bool = False


@dataclass(frozen=True)
class DetailSection:
    """A heading ("" for the first), and what stands under it, in this order.

    Attributes
    ----------
    value, about : str
        At the right of the heading, and below it in small.
    bars : tuple of Bar
        One bar, split; a line for each part.
    badge : Badge
    lines : tuple of (str, str)
        Labels with values.
    grid : tuple of tuple of str
        A table with a header row.
    steps : tuple of Step
    links : tuple of Link
    """

    title: str
    lines: tuple[Line, ...] = ()
    grid: tuple[tuple[str, ...], ...] = ()
    value: str = ""
    about: str = ""
    bars: tuple[Bar, ...] = ()
    badge: Badge = Badge()
    steps: tuple[Step, ...] = ()
    links: tuple[Link, ...] = ()

    def told(self) -> Iterator[tuple[str, str]]:
        """Yield all but the grid as (label, value)."""
        if self.value:
            yield self.about, self.value
        yield from ((bar.text, format_ns(bar.ns)) for bar in self.bars)
        if self.badge.text:
            yield "known", " · ".join(filter(None, (self.badge.text, self.badge.beside)))
        yield from self.lines
        yield from ((step.title, step.about) for step in self.steps)
        yield from ((link.text, link.value) for link in self.links)


@dataclass(frozen=True)
class SelectionDetails:
    """Everything known about one event, one stall, or the selected ranges."""

    title: str
    subtitle: str
    sections: tuple[DetailSection, ...]

    @property
    def text(self) -> str:
        """All sections as plain text, with tabs between columns."""
        lines = [self.title, self.subtitle]
        for section in self.sections:
            lines += ["", section.title] if section.title else [""]
            lines += [f"{label}\t{value}" if label else value for label, value in section.told()]
            lines += ["\t".join(row) for row in section.grid]
        return "\n".join(lines)

    @property
    def frame(self) -> pd.DataFrame:
        """All sections as a table: `section`, `what`, `value`, as the dock shows them."""
        rows = [("", "name", self.title), ("", "what", self.subtitle)]
        for section in self.sections:
            rows += [(section.title, label, value) for label, value in section.told()]
            head, *below = section.grid or ((),)
            for first, *cells in below:
                rows += [
                    (section.title, f"{first} {of}", cell) for of, cell in zip(head[1:], cells, strict=True)
                ]
        return pd.DataFrame(rows, columns=["section", "what", "value"])


def details_of_event(study: Study, ref: EventRef) -> SelectionDetails:
    """Return everything known about an event; slow, so call it off the main thread."""
    facts = event_facts(study, ref)
    trace = study.trace
    events = trace.events[ref.kind]
    name_id = int(events.name_id[ref.index])
    name = trace.names[name_id]
    sections = [DetailSection("", tuple(facts.lines))]
    if ref.kind in GPU_KINDS:
        sections += _statistics(study, name_id, ref.kind)
    if ref.kind in (Kind.MEMCPY, Kind.MEMSET):
        sections.append(DetailSection("Could it hide?", tuple(_hiding(study, ref))))
    if ref.kind is Kind.NVTX:
        sections += _on_gpu(study, ref)
    if ref.kind is Kind.API and (chain := call_chain(study.trace, ref.index)):
        sections.append(DetailSection("Called from", tuple((str(i), frame) for i, frame in enumerate(chain))))
    title = short_name(name) if ref.kind is Kind.KERNEL else facts.title
    if title != name and name:
        sections.append(DetailSection("Full name", (("", name),)))
    return SelectionDetails(title, facts.subtitle, tuple(sections))


def details_of_ranges(
    study: Study, ranges: Sequence[tuple[int, int]], iterations: Iterations | None
) -> SelectionDetails:
    """Return the numbers of the selected ranges together, those of each GPU and those of all."""
    length = sum(end - start for start, end in ranges)
    title = f"{format_count(len(ranges))} ranges" if len(ranges) > 1 else "Range"
    subtitle = f"{format_ns(length)} together" if len(ranges) > 1 else format_ns(length)
    lines: list[Line] = [
        ("Begins", format_instant(min(start for start, _ in ranges))),
        ("Ends", format_instant(max(end for _, end in ranges))),
    ]
    try:
        numbers = study.measure_all(ranges, iterations)
    except ValueError:
        return SelectionDetails(
            title, subtitle, (DetailSection("", (*lines, ("", "Nothing was recorded then."))),)
        )
    if numbers.clipped:
        lines.append(("Recorded", f"{format_ns(numbers.length_ns)} of it; the numbers are of this part"))
    if numbers.iteration is not None:
        lines.append(("Share", iteration_share_text(numbers.iteration.share, "the iteration")))
    lines += [("Kernels", format_count(numbers.kernels)), ("Launches", format_count(numbers.launches))]
    gpus = max(len(numbers.parts_ns), 1)
    time = max(numbers.length_ns * gpus, 1)
    of_all = DetailSection(
        "All GPUs" if gpus > 1 else "GPU",
        tuple(
            (label, f"{format_ns(int(ns))}, {format_share(int(ns) / time)}")
            for label, ns in zip(CATEGORY_TITLES, numbers.all_ns, strict=True)
        ),
    )
    absent = _absent(study, numbers.windows)
    shown = [part for part, ns in enumerate(numbers.all_ns) if ns]
    rows = tuple(
        (name, *(format_share(int(parts[part]) / max(numbers.length_ns, 1)) for part in shown))
        for name, parts in zip(gpu_names(study.trace), numbers.parts_ns, strict=True)
    )
    by_gpu = DetailSection(
        "By GPU, of the range", grid=(("GPU", *(_PART_HEADS[part] for part in shown)), *rows)
    )
    return SelectionDetails(
        title,
        subtitle,
        (DetailSection("", tuple(lines)), of_all, *absent, *([by_gpu] if len(rows) > 1 else [])),
    )


def _absent(study: Study, ranges: Sequence[tuple[int, int]]) -> Iterator[DetailSection]:
    """Yield why no compute kernel runs in ranges, over all GPUs; nothing where one always does."""
    within = union(*np.array(ranges, np.int64).T)
    gpus = range(len(study.trace.gpus))
    sums = sum((study.stall_reasons.sums(gpu, within) for gpu in gpus), ReasonSums())
    communication = sums.by_communication_ns - sums.communication_wait_ns
    parts = (
        ("host", "launch-starved", sums.launch_starved_ns),
        ("waiting", "blocked by a collective that waits for a rank", sums.communication_wait_ns),
        ("exposed", "blocked by other communication", communication),
        ("copy", "blocked by copies", sums.by_copy_ns),
        ("compute", "blocked by another GPU's compute", sums.by_compute_ns),
        ("lag", "unresolved", sums.unresolved_ns),
        ("lag", "after the last compute kernel", sums.after_last_ns),
    )
    if sums.compute_absent_ns:
        bars = tuple(Bar(fill, text, ns) for fill, text, ns in parts if ns)
        yield DetailSection("Compute absent", value=format_ns(sums.compute_absent_ns), bars=bars)


def _hiding(study: Study, ref: EventRef) -> Iterator[Line]:
    story = study.copy_story(ref.kind, ref.index)
    yield "", story.text[:1].upper() + story.text[1:]
    yield "Beside kernels", format_ns(story.hidden_ns)
    yield "Alone", format_ns(story.copy_only_ns)
    if story.pageable:
        yield "Host memory", "pageable: its call waits for it; pinned memory would let it run beside"


def _statistics(study: Study, name_id: int, kind: Kind) -> Iterator[DetailSection]:
    stats = study.name_stats(name_id, kind)
    lines = [
        ("Count", format_count(stats.count)),
        ("Together", format_ns(stats.total_ns)),
        ("Mean", f"{format_ns(stats.mean_ns)}  ({format_ns(stats.min_ns)} to {format_ns(stats.max_ns)})"),
    ]
    if kind is Kind.KERNEL:
        lines += _beside(study, stats, name_id)
    yield DetailSection("All of this name", tuple(lines))
    if len(stats.per_gpu) > 1:
        rows = [
            (
                str(r["rank"]),
                format_count(r["count"]),
                *(format_ns(r[f"{c}_ns"]) for c in ("total", "mean", "max")),
            )
            for r in stats.per_gpu.to_dict("records")
        ]
        yield DetailSection("By GPU", grid=(("GPU", "count", "together", "mean", "longest"), *rows))


def _beside(study: Study, stats: NameStats, name_id: int) -> Iterator[Line]:
    is_comm = study.classes.class_name(name_id) == "communication"
    other = "compute" if is_comm else "communication"
    for what, durations in (
        ("Alone", stats.alone),
        (f"Beside {other}", stats.beside),
        (f"Partly beside {other}", stats.partly),
    ):
        if durations.count:
            yield what, f"{format_ns(durations.mean_ns)} on average  ({format_count(durations.count)})"
    if stats.price is not None:
        sign = "+" if stats.price >= 0 else MINUS
        yield "Price of overlap", f"{sign}{abs(stats.price) * 100:.1f} % longer beside {other} than alone"


def _on_gpu(study: Study, ref: EventRef) -> Iterator[DetailSection]:
    """Yield a range's GPU time by both projections, and the five categories inside the wider one."""
    for mode, what in (("thread", "GPU projection, own thread"), ("process", "GPU projection, all threads")):
        table = study.projection(mode)  # type: ignore[arg-type]
        rows = table[table["range"] == ref.index]
        if not len(rows):
            yield DetailSection(what, (("", "no operations"),))
            continue
        row = rows.iloc[0]
        start, end = int(row["start_ns"]), int(row["end_ns"])
        yield DetailSection(
            what,
            (
                ("From", f"{format_instant(start)} to {format_instant(end)}"),
                ("Length", format_ns(end - start)),
                ("Operations", f"{format_count(row['ops'])}, {format_ns(int(row['busy_ns']))} together"),
            ),
        )
        if mode == "process" and end > start:
            yield _parts(study, ref, start, end)


def _parts(study: Study, ref: EventRef, start: int, end: int) -> DetailSection:
    trace = study.trace
    process = trace.threads[trace.tracks[trace.nvtx.owner_of(ref.index)].thread].process
    rows = []
    for gpu in trace.gpus:
        if gpu.process == process:
            parts = study.parts[gpu.index].totals(start, end)
            shares = (f"{format_ns(int(ns))}, {format_share(int(ns) / (end - start))}" for ns in parts)
            rows += [(f"GPU {gpu.device}: {t}", s) for t, s in zip(CATEGORY_TITLES, shares, strict=True)]
    if len({r[0].split(":")[0] for r in rows}) == 1:
        rows = [(label.partition(": ")[2], value) for label, value in rows]
    assert len(CATEGORY_TITLES) == len(CATEGORIES)
    return DetailSection("Inside, on the GPU", tuple(rows))
