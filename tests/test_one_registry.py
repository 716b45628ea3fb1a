"""A metric is one entry: whoever adds it finds it in the dock, the text, the page, `compare` and JSON."""

import json
import sys

import pytest

from tests.panels.make import looking_at
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.summary import registry, sections
from viewer.analysis.summary.metric import Metric, Section, sum_of
from viewer.analysis.summary.sections import SECTIONS
from viewer.analysis.summary.summary import summary
from viewer.cli import main
from viewer.drawing.format import format_count
from viewer.drawing.number_tables import TIME_COLUMNS
from viewer.export import html
from viewer.export.report_page import html_report, report_facts
from viewer.panels.spec_table_view import SpecTableView
from viewer.panels.summary_panel import SummaryPanel
from viewer.state.jobs import join_all
from viewer.trace import Kind


def kernels_twice(inputs):
    return sum_of([2 * of_gpu.computed for of_gpu in inputs.small_kernels])


@pytest.fixture
def added(monkeypatch):
    """The entries that a registry has more than the program's own: one in each section."""
    metrics = [
        Metric(f"new_{at}", section, f"new number {at}", "count", "Twice the kernels.", kernels_twice)
        for at, section in enumerate(SECTIONS)
    ]
    monkeypatch.setattr(registry, "METRICS", (*registry.METRICS, *metrics))
    return metrics


@pytest.fixture(scope="module")
def value(demo_study):
    """What they come to, counted without them."""
    kernels, count = demo_study.trace.kernels, 0
    for gpu, within in enumerate(demo_study.default_scope(demo_study.iterations()).within):
        rows = rows_of_gpu(demo_study.trace, Kind.KERNEL, gpu)
        rows = rows[~demo_study.classes.is_comm(kernels.name_id[rows])]
        count += int((within.covered(kernels.start_ns[rows], kernels.end_ns[rows]) > 0).sum())
    assert count
    return 2 * count


def test_json_has_it(added, value, demo_path, capsys):
    assert main(["report", str(demo_path), "--json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)["summary"]}
    for metric in added:
        row = rows[metric.key]
        assert (row["section"], row["title"], row["unit"]) == (metric.section.key, metric.title, "count")
        assert (row["value"], sum(row["per_gpu"]), row["reliable"]) == (value, value, True)


def test_the_text_has_it(added, value, demo_path, capsys):
    assert main(["report", str(demo_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for metric in added:
        (line,) = [line for line in lines if metric.title in line]
        assert format_count(value) in line


def test_compare_has_it(added, demo_path, capsys):
    assert main(["compare", str(demo_path), str(demo_path), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["numbers"]}
    for metric in added:
        row = rows[metric.title]
        assert row["section"] == metric.section.key
        assert row["first"] == row["second"] > 0


def test_the_page_has_it(added, value, demo_study, qapp):
    page = html_report(report_facts(demo_study))
    for metric in added:
        assert f'<td>{metric.title}</td><td class="n v">{format_count(value)}</td>' in page
        assert f"<dt>{metric.title}</dt>" in page


def test_the_dock_has_it(added, value, demo_study, qtbot):
    panel = SummaryPanel(looking_at(demo_study))
    qtbot.addWidget(panel)
    panel.show()
    qtbot.waitUntil(lambda: panel.summary is not None and not panel._worker.is_busy, timeout=20_000)
    for page, metric in enumerate(added):
        panel.sections.setCurrentRow(page)
        tables = panel.pages.currentWidget().widget().findChildren(SpecTableView)
        rows = [row for table in tables for row in table.spec.rows]
        (row,) = [row for row in rows if row[0].text == metric.title]
        assert row[1].text == format_count(value)
    join_all()


def test_every_metric_stands_in_a_section_under_a_key_of_its_own():
    assert {metric.section for metric in registry.METRICS} <= set(SECTIONS)
    keys = [metric.key for metric in registry.METRICS]
    assert len(keys) == len(set(keys))


@pytest.fixture
def new_section(monkeypatch):
    """A section that the program does not have, with one metric; nobody may list the sections by hand."""
    section = Section("invented")
    longer = (*sections.SECTIONS, section)
    for module in [module for name, module in sys.modules.items() if name.startswith("viewer.")]:
        if getattr(module, "SECTIONS", None) is sections.SECTIONS and module is not sections:
            monkeypatch.setattr(module, "SECTIONS", longer)
    monkeypatch.setattr(sections, "SECTIONS", longer)
    metric = Metric("invented", section, "invented number", "count", "Twice the kernels.", kernels_twice)
    monkeypatch.setattr(registry, "METRICS", (*registry.METRICS, metric))
    return metric


def places_of(study, path, capsys, qtbot):
    """Return what the text, the page, JSON, `compare` and the dock's cells and heads show."""
    shown = {}
    for place, words in (("text", []), ("json", ["--json"])):
        assert main(["report", str(path), *words]) == 0
        shown[place] = capsys.readouterr().out
    assert main(["compare", str(path), str(path), "--json"]) == 0
    shown["compare"] = capsys.readouterr().out
    shown["page"] = html_report(report_facts(study))
    panel = SummaryPanel(looking_at(study))
    qtbot.addWidget(panel)
    panel.show()
    qtbot.waitUntil(lambda: panel.summary is not None and not panel._worker.is_busy, timeout=20_000)
    cells = []
    for page in range(panel.sections.count()):
        panel.sections.setCurrentRow(page)
        for table in panel.pages.currentWidget().widget().findChildren(SpecTableView):
            cells += [row[0].text.strip() for row in table.spec.rows] + [
                head.key for head in table.spec.heads
            ]
    join_all()
    return shown | {"dock": cells}


def test_a_new_section_is_in_all_five(new_section, value, demo_study, demo_path, capsys, qtbot, qapp):
    shown = places_of(demo_study, demo_path, capsys, qtbot)
    assert new_section.title in shown["dock"]
    assert f"\n{new_section.section.title}\n" in shown["text"]
    assert new_section.title in shown["text"]
    assert f"<h3>{new_section.section.title}</h3>" in shown["page"]
    assert {"invented"} <= {row["section"] for row in json.loads(shown["json"])["summary"]}
    assert {"invented"} <= {row["section"] for row in json.loads(shown["compare"])["numbers"]}


def test_every_number_of_every_metric_is_in_all_five(demo_study, demo_path, capsys, qtbot, qapp):
    shown = places_of(demo_study, demo_path, capsys, qtbot)
    numbers = summary(demo_study, demo_study.iterations()).numbers
    absent = {metric.key for metric in registry.METRICS} - {number.metric.key for number in numbers}
    of_other_traces = {"own_launches_in_backward", "hidden_by_spinning", "spinning", "physical_idle"}
    of_other_traces |= {"after_last", "blocked_by_compute", "overlap_tax_unknown"}
    assert absent == of_other_traces, "the demo has all others"
    assert [row["key"] for row in json.loads(shown["json"])["summary"]] == [n.key for n in numbers]
    assert [row["key"] for row in json.loads(shown["compare"])["numbers"]] == [n.key for n in numbers]
    text = shown["text"].casefold()
    for number in numbers:
        assert f">{html.escaped(number.title)}<" in shown["page"], number.key
        # A share of the time has a column of its own in the table of each GPU's time.
        assert number.title in shown["dock"] or number.key in shown["dock"], number.key
        # Late ranks are a table, whose heading begins with a capital.
        assert number.title.casefold() in text or TIME_COLUMNS.get(number.key, number.title) in text
