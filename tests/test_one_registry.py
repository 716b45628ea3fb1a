"""A metric is one entry: whoever adds it finds it in the dock, the text, the page, `compare` and JSON."""

import json

import pytest

from tests.panels.make import looking_at
from viewer.analysis.core.gpu_order import rows_of_gpu
from viewer.analysis.summary import registry
from viewer.analysis.summary.metric import Metric, sum_of
from viewer.analysis.summary.sections import SECTIONS
from viewer.cli import main
from viewer.drawing.format import format_count
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
