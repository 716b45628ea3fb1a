"""The tables of `lightbox report` for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from rich.text import Text

from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.recording.bounds import AT_LEAST, AT_MOST, Bounds
from viewer.analysis.stalls.stall_kinds import WHOLE
from viewer.analysis.stalls.words import KIND_TEXT, cause_text
from viewer.analysis.study import Study
from viewer.analysis.summary.report_doubts import cautions
from viewer.analysis.summary.report_stalls import time_by_cause
from viewer.analysis.summary.sections import SECTIONS
from viewer.analysis.summary.summary import Summary
from viewer.analysis.time.scope import Scope
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.cli.console_tables import ConsoleColumn, FittedTable
from viewer.cli.critical_path_tables import critical_path_tables
from viewer.cli.finding_lines import finding_lines
from viewer.drawing.format import format_count, format_ns, format_share
from viewer.drawing.spec_table import Cell, SpecTable
from viewer.drawing.summary_tables import section_tables
from viewer.trace.model import GUESSED_RANK

Cut = TypeVar("Cut")
LONGEST_LIST = 60
MOST_ROWS = 500
"""How many rows of a table are printed; for traces of thousands of GPUs there is --json."""
CATEGORY_TITLES = {
    "compute_only": "compute",
    "hidden_comm": "hidden comm.",
    "exposed_comm": "exposed comm.",
    "copy_only": "copies",
    "idle": "idle",
}
_SIGNS = {"": "", AT_LEAST: "≥ ", AT_MOST: "≤ "}


def report_tables(
    study: Study, facts: dict[str, Any], measured: Summary | None, scope: Scope | None
) -> Iterable[Text | FittedTable]:
    """Yield the report, table by table.

    Parameters
    ----------
    facts : dict
        As `viewer.analysis.summary.report.trace_facts`.
    measured : Summary or None
        None without GPUs.
    scope : Scope or None
        What was asked for; None: the whole trace.
    """
    yield _head(facts)
    yield from finding_lines(study.findings())
    yield _gpus(facts["gpus"])
    if any(gpu["rank_from"] == GUESSED_RANK for gpu in facts["gpus"]):
        yield Text("Ranks are a guess: nothing in the file names them, they follow the order of pids.")
    window = facts["window"]
    length = window["end_ns"] - window["start_ns"]
    if facts["gpus"]:
        yield Text(f"\nWhere the time goes: {window['what']}, {format_ns(length)}", style="bold")
        yield from (Text(note, style="yellow") for note in facts["notes"])
        doubts = [_doubt(facts["recording"], gpu) for gpu in facts["gpus"]]
        yield _five_categories(facts, length, doubts, study.bounds)
        yield from (Text(text, style="yellow") for text in study.bounds.texts)
        yield from (
            Text(f"! {_name(gpu)}: {doubt}", style="yellow")
            for gpu, doubt in zip(facts["gpus"], doubts, strict=True)
            if doubt
        )
        yield _classes(facts["gpus"])
    yield from _iterations(facts, study.bounds)
    yield from critical_path_tables(study, scope)
    if measured is not None:
        yield from _summary_tables(study, measured)
        yield from _stalls(study, scope)
    yield _counts(facts["counts"], "Rows read")
    if facts["unread"]:
        yield _counts(facts["unread"], "Rows of tables that are not read")
    yield Text("\nWhat each number means: `lightbox definitions`, or `lightbox definitions NAME` for one.")


def _head(facts: dict[str, Any]) -> Text:
    trace = facts["trace"]
    recorded = f"nsys {trace['recorded_by']}" if trace["recorded_by"] else "an nsys that is not named"
    exported = f"; exported by nsys {trace['exported_by']}" if trace["exported_by"] else ""
    schema = f", schema {trace['schema_version']}" if trace["schema_version"] else ""
    duration = format_ns(trace["duration_ns"]) if trace["duration_ns"] is not None else "an unknown time"
    who = f"recorded by {recorded}{exported}{schema}; lasts {duration}"
    return Text.assemble((str(trace["path"]), "bold"), f"\n{who}")


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> FittedTable:
    return FittedTable(
        title, [ConsoleColumn(n, number=column >= left) for column, n in enumerate(names)], rows
    )


def _name(gpu: dict[str, Any]) -> str:
    who = f"Rank {gpu['rank']}" if gpu["rank"] is not None else f"pid {gpu['pid']}"
    return f"{who} GPU {gpu['device']}"


def _gpus(gpus: list[dict[str, Any]]) -> FittedTable | Text:
    if not gpus:
        return Text("\nNo GPU operation was recorded.")
    names = ("GPU", "model", "pid", "streams", "kernels", "copies", "sets", "graphs", "first", "last")
    rows = []
    for gpu in gpus:
        counts = (gpu[key] for key in ("streams", "kernels", "memcpys", "memsets", "graph_launches"))
        times = (format_ns(gpu[key]) if gpu[key] is not None else "" for key in ("first_op_ns", "last_op_ns"))
        rows.append([_name(gpu), gpu["name"], str(gpu["pid"]), *(format_count(c) for c in counts), *times])
    return _table("\nGPUs", names, _cut(rows), left=2)


def _doubt(recording: list[dict[str, Any]], gpu: dict[str, Any]) -> str:
    """Return which faults of the recording make a GPU's numbers wrong, "" if none does."""
    return "; ".join(
        diagnostic["title"]
        for diagnostic in recording
        if diagnostic["severity"] == "error"
        and diagnostic["pid"] == gpu["pid"]
        and diagnostic["device"] in (None, gpu["device"])
    )


def _five_categories(
    facts: dict[str, Any], length_ns: int, doubts: Sequence[str], bounds: Bounds
) -> FittedTable:
    """Return the table of times; a GPU with a doubt is marked "!", as its idle time may be lost rows.

    Bounds are marked "≥" and "≤". Below the GPUs stand the physical ones that several processes share.
    """
    spins = any(gpu["spinning_ns"] for gpu in facts["gpus"])
    rows = []
    for number, (gpu, doubt) in enumerate(zip(facts["gpus"], doubts, strict=True)):
        times = [
            f"{_SIGNS[bounds.of(category, number)]}{_length(gpu[f'{category}_ns'], length_ns)}"
            for category in (*CATEGORIES, "no_kernel")
        ]
        name = f"{_name(gpu)} !" if doubt else _name(gpu)
        spinning = [_length(gpu["spinning_ns"], length_ns)] * spins
        rows.append([name, times[0], *spinning, *times[1:], format_count(gpu["launches"])])
    for physical in facts["shared_boards"]:
        times = [_length(physical[f"{category}_ns"], length_ns) for category in CATEGORIES]
        no_kernel = _length(physical["copy_only_ns"] + physical["idle_ns"], length_ns)
        name = f"physical GPU {physical['physical']}, all processes"
        rows.append([name, times[0], *[""] * spins, *times[1:], no_kernel, ""])
    first, *rest = CATEGORY_TITLES.values()
    heads = ("GPU", first, *["of it spinning"] * spins, *rest, "no kernel running", "launches")
    return _table("", heads, _cut(rows))


def _length(ns: int, total_ns: int) -> str:
    return f"{format_ns(ns)} {format_share(ns / total_ns):>7}"


def _classes(gpus: list[dict[str, Any]]) -> FittedTable:
    totals: dict[str, list[int]] = {}
    for gpu in gpus:
        for name, numbers in gpu["classes"].items():
            total = totals.setdefault(name, [0, 0, 0])
            for position, key in enumerate(("kernels", "sum_ns", "union_ns")):
                total[position] += numbers[key]
    rows = [
        [CLASS_LABELS.get(name, name), format_count(kernels), format_ns(sum_ns), format_ns(union_ns)]
        for name, (kernels, sum_ns, union_ns) in sorted(totals.items(), key=lambda item: -item[1][1])
        if kernels
    ]
    return _table("\nKernel classes, all GPUs", ("class", "kernels", "sum of durations", "union"), rows)


def _iterations(facts: dict[str, Any], bounds: Bounds) -> Iterable[Text | FittedTable]:
    iterations = facts["iterations"]
    if not iterations:
        yield Text("\nNo iterations were found.")
        return
    marker, steady = facts["marker"], facts["steady"]
    rows = []
    for iteration in iterations[:LONGEST_LIST]:
        total = sum(gpu["end_ns"] - gpu["start_ns"] for gpu in iteration["gpus"]) or 1
        shares = (
            _SIGNS[bounds.of(part)]
            + format_share(sum(gpu[f"{part}_ns"] for gpu in iteration["gpus"]) / total)
            for part in ("exposed_comm", "copy_only", "idle")
        )
        name, flag = iteration["name"] or "", iteration["flag"] or ""
        rows.append([str(iteration["index"]), name, format_ns(iteration["duration_ns"]), *shares, flag])
    doubt = f" ({marker['kind']})" if marker["guess"] else ""
    yield FittedTable(f"\nIterations, by {marker['name']}{doubt}", _ITERATION_COLUMNS, rows)
    if marker["guess"]:
        yield Text(f"They are {marker['kind']}: {marker['why']}.", style="yellow")
    yield from (Text(note) for note in marker["notes"])
    if len(iterations) > LONGEST_LIST:
        yield Text(f"... and {len(iterations) - LONGEST_LIST:,} more; --json has them all")
    if steady is None:
        yield Text(marker["not_steady"])
    else:
        yield Text(f"Steady: {len(steady['indices'])} iterations, median {format_ns(steady['median_ns'])}")


_ITERATION_COLUMNS = (
    ConsoleColumn("no.", number=True),
    ConsoleColumn("marker"),
    *(ConsoleColumn(title, number=True) for title in ("length", "exposed comm.", "copies", "idle")),
    ConsoleColumn("flag"),
)


def _summary_tables(study: Study, measured: Summary) -> Iterable[Text | FittedTable]:
    """Yield what the Summary dock shows, section by section, from the same cells."""
    scope = measured.scope
    yield Text(f"\nSummary: {scope.what}{'' if scope.is_steady else ' (not steady)'}", style="bold")
    yield from (Text(note) for note in measured.notes if note not in scope.notes)
    yield from (Text(f"Unreliable: {doubt.text}", style="yellow") for doubt in measured.doubts)
    yield from (Text(f"Not sure: {caution.text}", style="yellow") for caution in cautions(study.diagnostics))
    for section in SECTIONS:
        for band in section_tables(measured, section, each=False):
            yield from map(_console_table, band)
        notes = dict.fromkeys(number.metric.note for number in measured.section(section))
        yield from (Text(note, style="dim") for note in notes if note)


def _stalls(study: Study, scope: Scope | None) -> Iterable[Text | FittedTable]:
    """Yield the stalls by main cause, as the Stalls dock and the page sum them, over what `--json` sums."""
    totals = time_by_cause(study, scope)
    if not len(totals):
        return
    rows = [
        [
            KIND_TEXT[row["kind"]],
            cause_text(row["cause"]),
            format_count(row["count"]),
            format_ns(row["total_ns"]),
            format_share(row["share"]),
        ]
        for row in totals.to_dict("records")
    ]
    yield _table(
        f"\nStalls by main cause: {scope.what if scope else 'the whole trace'}",
        ("kind", "main cause", "stalls", "time", "of its kind"),
        rows,
        left=2,
    )
    yield Text(f"Stalls shorter than {format_ns(study.stalls().min_ns)} are not listed. {WHOLE}", style="dim")


def _console_table(table: SpecTable) -> FittedTable:
    """Return a table for the terminal; unusual values are red, and carry "!" where there is no colour."""
    shown = [column for column in range(len(table.heads)) if any(row[column].text for row in table.rows)]
    heads = [table.heads[column] for column in shown]
    rows = [
        [_cell(row[column], head.number) for column, head in zip(shown, heads, strict=True)]
        for row in table.rows
    ]
    return FittedTable(
        f"\n{table.name}", [ConsoleColumn(head.title, head.number) for head in heads], _cut(rows)
    )


def _cut(rows: Sequence[Sequence[Cut]]) -> Sequence[Sequence[Cut | str]]:
    """Return the first rows and the last one of a long table, with a line that counts the omitted ones."""
    if len(rows) <= MOST_ROWS:
        return rows
    left_out = f"... {len(rows) - MOST_ROWS:,} more; --json has them all"
    return [*rows[: MOST_ROWS - 1], [left_out, *[""] * (len(rows[0]) - 1)], rows[-1]]


def _cell(cell: Cell, is_number: bool) -> Text:
    is_bad = cell.tone == "bad"
    text = f"{cell.text} !" if is_bad and is_number and cell.text else cell.text
    return Text(text, style={"bad": "red", "soft": "dim", "strong": "bold"}.get(cell.tone, ""))


def _counts(counts: dict[str, int], title: str) -> FittedTable:
    rows = [
        [name, format_count(rows)]
        for name, rows in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return _table(f"\n{title}", ("table", "rows"), rows)
