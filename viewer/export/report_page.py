"""The report: one self-contained HTML page of everything known about a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from viewer import __version__, definitions
from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.findings.finding import Findings
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.stalls.stall_kinds import WHOLE
from viewer.analysis.stalls.stalls import COPY_ONLY, EXPOSED, IDLE, Stalls
from viewer.analysis.stalls.words import cause_text
from viewer.analysis.study import Study
from viewer.analysis.summary.metric import MetricValue, Section
from viewer.analysis.summary.report_doubts import cautions
from viewer.analysis.summary.sections import SECTIONS
from viewer.analysis.summary.summary import Summary, summary
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.format import format_ns, format_share, format_value
from viewer.export import html
from viewer.export.findings_section import findings_section
from viewer.export.first_view import first_view
from viewer.export.picture import picture, png_bytes
from viewer.export.picture_view import PictureError, View
from viewer.printable import counted, visible
from viewer.state import Measurement, Note, Window
from viewer.state.measurement_table import measurement_frame
from viewer.timeline.cards.card_text import gpu_names

PICTURE_WIDTH, PICTURE_SCALE = 1400, 1.5
MOST_ITERATIONS, MOST_GROUPS, MOST_GPUS = 200, 25, 64
OVERLAYS = frozenset({"idle", "exposed", "waiting"})
_HOMES = re.compile(r"(/(?:home|Users)/|[A-Za-z]:\\Users\\)[^/\\\s'\":;,]+")
_ADDRESS = re.compile(r"\b[\w.-]+@[\w.-]+\b")
_KINDS = {IDLE: "idle", COPY_ONLY: "copy only", EXPOSED: "exposed communication"}
_BY_CAUSE = {"cause": "main cause", "total_ns": "whole stalls"}
_CLASS_TITLES = {f"{name}_ns": label for name, label in CLASS_LABELS.items()}
_WHY_EXPOSED = "why exposed"
_REASON_TITLES = {
    "text": "what held the next compute kernel",
    "per_iteration_ns": "per iteration",
    "exposed_ns": "exposed",
    "starts_after": "held their start",
}
_NOT_SHOWN = ("name_id", "start_ns", "end_ns", "union_ns", "group", "on_compute_stream", "top_kernels")


@dataclass(frozen=True)
class ReportFacts:
    """The numbers of a report, which may take seconds to compute and need no window.

    Attributes
    ----------
    scope : Scope
        The time that the metrics are taken over.
    summary : Summary or None
        None without GPUs.
    stalls : Stalls or None
        None without GPUs.
    """

    study: Study
    iterations: Iterations | None
    scope: Scope
    summary: Summary | None
    stalls: Stalls | None
    diagnostics: tuple[Diagnostic, ...]
    findings: Findings
    measurements: tuple[Measurement, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def scope_notes(self) -> tuple[str, ...]:
        """The warnings about the scope, a line each."""
        return self.summary.notes if self.summary else self.scope.notes


def report_facts(
    study: Study,
    marker: int = 0,
    scope: Scope | None = None,
    measurements: Sequence[Measurement] = (),
    notes: Sequence[Note] = (),
) -> ReportFacts:
    """Compute the numbers of a report.

    Parameters
    ----------
    marker : int
        The position of the candidate that marks the iterations.
    scope : Scope, optional
        The time that the metrics are taken over; by default the steady state.
    """
    iterations = study.iterations(marker)
    has_gpus = bool(study.trace.gpus)
    return ReportFacts(
        study,
        iterations,
        scope or study.default_scope(iterations),
        summary(study, iterations, scope=scope) if has_gpus else None,
        study.stalls(marker) if has_gpus else None,
        study.diagnostics,
        study.findings(marker),
        tuple(measurements),
        tuple(notes),
    )


def html_report(facts: ReportFacts) -> str:
    """Return the page; needs a QGuiApplication for its pictures.

    The same trace gives the same page. The page reveals nothing of the recording's environment: no
    variables, no users, no machines, no folders.
    """
    name = visible(facts.study.trace.path.name)
    sections = [
        section
        for section in (
            findings_section(facts.findings, [without_people(text) for text in facts.findings.doubts]),
            _attention(facts),
            _time(facts),
            _pictures(facts),
            _summary(facts),
            _measured(facts),
            _stalls(facts),
            _iterations(facts),
            _lists(facts),
            _diagnostics(facts),
            _definitions(facts),
        )
        if section
    ]
    titles = [re.search(r'<h2 id="([^"]+)">([^<]*)<', section) for section in sections]
    links = "".join(f'<a href="#{t[1]}">{t[2]}</a>' for t in titles if t)
    return html.page(f"{name} — Lightbox report", [*_head(facts, name), f"<nav>{links}</nav>", *sections])


def without_people(text: str) -> str:
    """Return a message of the profiler without home folders and addresses of people and machines."""
    return _ADDRESS.sub("…", _HOMES.sub(r"\1…", text))


def _head(facts: ReportFacts, name: str) -> Iterator[str]:
    trace, rules = facts.study.trace, facts.study.rules
    session = trace.session
    by = f"nsys {session.recorded_version}" if session.recorded_version else "an nsys that is not named"
    by += f", exported by nsys {session.nsys_version}" if session.nsys_version else ""
    length = f", lasts {format_ns(session.duration_ns)}" if session.duration_ns is not None else ""
    operations = sum(trace.counts.values())
    yield f"<header><h1>{html.escaped(name)}</h1>"
    yield (
        f'<p class="soft">Recorded by {html.escaped(by)}{length}; '
        f"{counted(len(trace.gpus), 'GPU')} in {counted(len(trace.processes), 'process', 'processes')}, "
        f"{counted(operations, 'row')}. "
        f"Numbers are over <b>{html.escaped(facts.scope.what)}</b> unless said otherwise. Kernel classes by "
        f"rules {html.escaped(rules.hash)}. Made by Lightbox {html.escaped(__version__)}.</p></header>"
    )


def _attention(facts: ReportFacts) -> str:
    """Return the section on what the numbers omit, what makes them wrong, and which are unusual."""
    wrong = [*(f for f in facts.diagnostics if f.severity == "error"), *cautions(facts.diagnostics)]
    unusual = facts.summary.headline if facts.summary else ()
    lines = [f"<p>{html.escaped(note)}</p>" for note in facts.scope_notes]
    lines += [_diagnostic(f) for f in wrong]
    if unusual:
        frame = pd.DataFrame(
            {
                "metric": [v.title for v in unusual],
                "value": [format_value(v.value, v.unit) for v in unusual],
                "of the time": [format_share(v.share) if v.share is not None else "" for v in unusual],
                "usual": [v.usual for v in unusual],
            }
        )
        lines.append(html.table(frame))
    return html.section("What stands out", "attention", *lines)


def _time(facts: ReportFacts) -> str:
    study = facts.study
    if not study.trace.gpus:
        return html.section("Where the time goes", "time", "<p>No GPU operation was recorded.</p>")
    parts = facts.scope.parts(study.parts)
    rows = []
    for gpu, of_gpu in zip(study.trace.gpus, parts.tolist(), strict=True):
        total = sum(of_gpu) or 1
        cells = "".join(
            f'<td class="n">{format_ns(ns)}</td><td class="n soft">{format_share(ns / total)}</td>'
            for ns in of_gpu
        )
        label = html.escaped(study.trace.gpu_label(gpu.index))
        rows.append(f"<tr><td>{label}</td><td>{html.bar(of_gpu)}</td>{cells}</tr>")
    heads = "".join(f'<th class="n" colspan="2">{html.TITLES[f"{part}_ns"]}</th>' for part in CATEGORIES)
    table = f'<div class="scroll"><table><tr><th>GPU</th><th></th>{heads}</tr>{"".join(rows)}</table></div>'
    return html.section("Where the time goes", "time", html.bar_key(), table)


def _pictures(facts: ReportFacts) -> str:
    study, iterations = facts.study, facts.iterations
    shown: list[tuple[str, Window, int | None]] = [("The whole trace", study.trace.window_ns, None)]
    if iterations is not None and iterations.basis:
        iteration = iterations.basis[len(iterations.basis) // 2]
        called = iterations.called(iteration)
        what = "a steady iteration" if iterations.steady else "an iteration after the warm-up"
        shown.append(
            (
                f"{called[:1].upper()}{called[1:]}{iterations.in_doubt}, {what}",
                (iterations.start_ns(iteration), iterations.end_ns(iteration)),
                iteration,
            )
        )
    view = first_view(study, overlays=OVERLAYS)
    view = replace(view, iterations=iterations, measurements=facts.measurements, notes=facts.notes)
    view = replace(view, extras=replace(view.extras, table=False, card=False))
    figures = [
        _picture(replace(view, window_ns=window, iteration=iteration), title)
        for title, window, iteration in shown
    ]
    return html.section("Pictures", "pictures", *figures)


def _picture(view: View, title: str) -> str:
    try:
        content = png_bytes(picture(view, PICTURE_WIDTH, PICTURE_SCALE))
    except PictureError as error:
        return f"<p>{html.escaped(title)}: {html.escaped(error)}</p>"
    start, end = view.window_ns
    text = f"{title}: {counted(len(view.rows), 'row')} from {start:,} to {end:,} ns"
    return html.image(content, text, f"{title}, {format_ns(end - start)}")


def _summary(facts: ReportFacts) -> str:
    if facts.summary is None:
        return ""
    steady = (
        "" if facts.scope.is_steady or not facts.iterations else '<p class="soft">Not a steady state.</p>'
    )
    return html.section(
        "Summary",
        "summary",
        steady,
        *(_metric_table(facts.summary, section, gpu_names(facts.study.trace)) for section in SECTIONS),
    )


def _metric_table(summary: Summary, section: Section, gpus: Sequence[str]) -> str:
    numbers = summary.section(section)
    if not numbers:
        return ""
    each = any(number.per_gpu for number in numbers) and 1 < len(gpus) <= MOST_GPUS
    rows = []
    for number in numbers:
        share = format_share(number.share) if number.share is not None else ""
        cells = [
            f"<td>{'&emsp;' * number.metric.depth}{_linked(number)}</td>",
            f'<td class="n v">{html.escaped(format_value(number.value, number.unit))}</td>',
            f'<td class="n">{share}</td><td class="soft">{html.escaped(number.usual)}</td>',
        ]
        if each:
            values = number.per_gpu or ("",) * len(gpus)
            cells += [f'<td class="n">{html.escaped(format_value(v, number.unit))}</td>' for v in values]
        mark = ' class="bad"' if number.is_usual is False else ""
        rows.append(f"<tr{mark}>{''.join(cells)}</tr>")
    heads = '<th>metric</th><th class="n">value</th><th class="n">of the time</th><th>usual</th>'
    if each:
        heads += "".join(f'<th class="n">{html.escaped(label)}</th>' for label in gpus)
    table = f'<div class="scroll"><table><tr>{heads}</tr>{"".join(rows)}</table></div>'
    return f"<h3>{html.escaped(section.title)}</h3>{table}"


def _measured(facts: ReportFacts) -> str:
    frame = measurement_frame(facts.study, facts.measurements, facts.iterations).drop(columns="colour")
    note = '<p class="soft">The categories are means over the GPUs.</p>' if len(frame) else ""
    return html.section("Measurements", "measurements", note, html.table(frame))


def _stalls(facts: ReportFacts) -> str:
    if facts.stalls is None or not len(facts.stalls):
        return ""
    totals, groups = facts.stalls.totals(), facts.stalls.groups()
    more = f", the largest {MOST_GROUPS} of {len(groups):,}" if len(groups) > MOST_GROUPS else ""
    columns = ["text", "total_ns", "count", "mean_ns", "gpus"]
    return html.section(
        "Idle, copies and exposed communication by cause",
        "stalls",
        f'<p class="soft">Over the whole trace; stalls shorter than {format_ns(facts.stalls.min_ns)} are not '
        f"listed. Shares are of the time of their kind. {WHOLE}</p>",
        html.table(
            totals.assign(kind=totals["kind"].astype(str).map(_KINDS), cause=totals["cause"].map(cause_text)),
            titles=html.TITLES | _BY_CAUSE,
        ),
        f"<h3>Similar stalls{more}</h3>",
        html.table(groups[columns].head(MOST_GROUPS), titles=html.TITLES | {"text": "what"}),
    )


def _iterations(facts: ReportFacts) -> str:
    iterations, study = facts.iterations, facts.study
    if iterations is None:
        return html.section("Iterations", "iterations", "<p>No iterations were found.</p>")
    frame = pd.DataFrame(
        {
            "lap": np.arange(iterations.count),
            "marker": iterations.names,
            "start_ns": iterations.edges_ns[:-1],
            "length_ns": iterations.duration_ns,
            "skew_ns": iterations.skew_ns,
            **iterations.mean_parts(study.parts),
            "flag": [flag or "" for flag in iterations.flags],
        }
    ).head(MOST_ITERATIONS)
    more = (
        f" The first {MOST_ITERATIONS} of {iterations.count:,}." if iterations.count > MOST_ITERATIONS else ""
    )
    sentences = [
        f"Marked by {iterations.marker}.",
        iterations.doubt_text,
        *(f"{n}." for n in iterations.notes),
    ]
    by = " ".join([*(text for text in sentences if text), f"The categories are means over the GPUs.{more}"])
    return html.section(
        "Iterations", "iterations", f'<p class="soft">{html.escaped(by)}</p>', html.table(frame)
    )


def _lists(facts: ReportFacts) -> str:
    if facts.summary is None:
        return ""
    parts = []
    for name, frame in facts.summary.tables.items():
        if len(frame):
            shown = frame.drop(columns=[c for c in _NOT_SHOWN if c in frame])
            if name == _WHY_EXPOSED:
                shown = _why_exposed(frame)
            if name in ("classes", "top kernels") and "gpu" in shown:
                shown = shown.drop(columns="gpu")
            if "class" in shown:
                shown = shown.assign(**{"class": shown["class"].replace(CLASS_LABELS)})
            table = html.table(shown, facts.summary.gpus, html.TITLES | _CLASS_TITLES | _REASON_TITLES)
            parts.append(f"<h3>{html.escaped(name.capitalize())}</h3>{table}")
    return html.section("Lists", "lists", *parts)


def _why_exposed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lines that matter, of the columns that the window shows too."""
    has_iterations = bool((frame["per_iteration_ns"] >= 0).all())
    columns = ["text", *["per_iteration_ns"] * has_iterations, "exposed_ns", "share", "starts_after"]
    return frame[columns].head(MOST_GROUPS)


def _diagnostics(facts: ReportFacts) -> str:
    return html.section("Diagnostics", "diagnostics", *(_diagnostic(f) for f in facts.diagnostics))


def _diagnostic(diagnostic: Diagnostic) -> str:
    title = html.escaped(without_people(diagnostic.title))
    meaning = html.escaped(without_people(diagnostic.meaning))
    text = f'<b>{title}</b><br><span class="soft">{meaning}</span>'
    return f'<div class="diagnostic {diagnostic.severity}">{text}</div>'


def _definitions(facts: ReportFacts) -> str:
    if facts.summary is None:
        return ""
    terms = "".join(
        f"<dt>{_linked(number)}</dt><dd>{html.escaped(number.definition)}</dd>"
        for number in facts.summary.numbers
    )
    return html.section("Definitions", "definitions", f"<dl>{terms}</dl>", definitions.html(below=2))


def _linked(number: MetricValue) -> str:
    """Return the title of a metric, as a link to its entry in the definitions at the page's end."""
    entry, title = definitions.find(number.key), html.escaped(number.title)
    return f'<a href="#{html.escaped(entry.anchor)}">{title}</a>' if entry else title
