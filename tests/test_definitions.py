"""Everything that is shown stands in docs/definitions.md: metrics, diagnostics, and keys of the report."""

import ast
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from viewer import definitions
from viewer.analysis.summary.registry import METRICS
from viewer.analysis.summary.report import report
from viewer.analysis.summary.summary import summary
from viewer.rows import RowKind

ROOT = Path(__file__).resolve().parents[1]


def keys_of(value, path="report"):
    """Yield the path of every key of a report, once."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield f"{path}.{key}"
            yield from keys_of(below, f"{path}.{key}")
    elif isinstance(value, list):
        for below in value:
            yield from keys_of(below, path)


def kinds_of_diagnostics():
    """Yield the kind of each `Diagnostic` that the code makes, as it stands there."""
    for file in sorted((ROOT / "viewer").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Diagnostic":
                assert isinstance(node.args[0], ast.Constant), f"{file}:{node.lineno} names no kind"
                yield node.args[0].value


def test_every_metric_has_its_entry_and_its_usual_range_there():
    assert len(METRICS) > 30
    for metric in METRICS:
        entry = definitions.find(metric.key)
        assert entry, metric.key
        if metric.usual:
            assert metric.usual.text in re.search(r"Usual range:\*? ([^.]*)\.", entry.text)[1], metric.key


def test_every_number_of_a_summary_has_its_entry(demo_study):
    numbers = summary(demo_study, demo_study.iterations()).numbers
    assert not [number.key for number in numbers if definitions.find(number.key) is None]


def test_every_diagnostic_has_its_entry():
    kinds = set(kinds_of_diagnostics())
    assert len(kinds) > 15
    assert not [kind for kind in kinds if definitions.find(f"diagnostic.{kind}") is None]
    known = {key for e in definitions.entries() for key in e.keys if key.startswith("diagnostic.")}
    assert known == {f"diagnostic.{kind}" for kind in kinds}


def test_every_counter_row_has_its_entry():
    counters = [kind.traits.name for kind in RowKind if kind.traits.counter is not None]
    assert counters
    assert not [name for name in counters if definitions.find(f"row.{name}") is None]


def test_every_key_of_the_report_has_its_entry(demo_study):
    assert not [key for key in sorted(set(keys_of(report(demo_study)))) if definitions.find(key) is None]


@pytest.mark.parametrize("name", ["torchrun-2xh100-nccl", "pytorch-a100-nvtx", "jacobi-1process-2gpus"])
def test_every_key_of_a_real_report_has_its_entry(shared_trace, name):
    from viewer.analysis.study import Study
    from viewer.readers import read

    facts = report(Study(read(shared_trace(name))))
    assert not [key for key in sorted(set(keys_of(facts))) if definitions.find(key) is None]


def test_a_key_is_defined_once():
    counted = Counter(key for entry in definitions.entries() for key in entry.keys)
    assert not [key for key, count in counted.items() if count > 1]


def test_the_most_specific_entry_is_found():
    assert definitions.find("stalls.share") is not definitions.find("share")
    assert definitions.find("report.gpus.idle_ns") is definitions.find("idle")
    assert definitions.find("copy_memcpy_htod") is definitions.find("copy")
    assert definitions.find("classes.attention.sum_ns") is definitions.find("classes")
    assert definitions.find("nonsense") is None


def test_what_a_reader_types_is_found_by_key_and_by_title():
    assert [e.anchor for e in definitions.search("idle")] == ["def-idle"]
    assert "def-latency_ns" in [e.anchor for e in definitions.search("Launch latency")]
    assert definitions.search("nonsense") == ()


def test_the_page_has_every_anchor_once_and_closes_what_it_opens():
    opened, anchors = [], []

    class Page(HTMLParser):
        def handle_starttag(self, tag, attrs):
            opened.append(tag)
            anchors.extend(value for key, value in attrs if key == "id")

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Page().feed(definitions.html())
    assert not opened
    assert len(set(anchors)) == len(anchors)
    assert {entry.anchor for entry in definitions.entries()} <= set(anchors)


def test_sections_that_the_code_names_exist():
    numbers = set(re.findall(r"^## (\d+)\.", definitions.document(), re.MULTILINE))
    for file in (ROOT / "viewer").rglob("*.py"):
        for number in re.findall(r"definitions(?:\.md)?, sections? (\d+)", file.read_text("utf-8")):
            assert number in numbers, file
