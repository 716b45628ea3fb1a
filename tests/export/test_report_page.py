"""The HTML report: complete, one file, nothing from elsewhere, nobody's name."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from viewer.analysis.stalls.stall_kinds import WHOLE
from viewer.analysis.study import Study
from viewer.cli import main
from viewer.drawing.format import format_ns
from viewer.export import html
from viewer.export.report_page import html_report, report_facts, without_people
from viewer.readers import read
from viewer.state import Measurement

SECTIONS = {
    "findings", "attention", "time", "pictures", "summary", "measurements", "stalls", "iterations", "lists",
    "diagnostics", "definitions",
}  # fmt: skip


class Reader(HTMLParser):
    """Collects what a browser would load, ids, and the text; complains about tags that do not match."""

    def __init__(self):
        super().__init__()
        self.loads, self.ids, self.text, self.open = [], set(), [], []

    def handle_starttag(self, tag, attributes):
        held = dict(attributes)
        self.loads += [held[key] for key in ("src", "href", "data", "poster", "action") if key in held]
        self.ids |= {held["id"]} if "id" in held else set()
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read_page(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def page(demo_study, qapp):
    kept = Measurement(100_000_000, 130_000_000, "the <hole> & more", note="why?")
    return html_report(report_facts(demo_study, measurements=[kept]))


def test_it_has_everything_and_loads_nothing(page):
    reader = read_page(page)
    assert {i for i in reader.ids if not i.startswith("def-")} == SECTIONS
    assert all(load.startswith(("data:image/png;base64,", "#")) for load in reader.loads)
    assert sum(load.startswith("data:") for load in reader.loads) == 2
    links = {load[1:] for load in reader.loads if load.startswith("#")}
    assert SECTIONS <= links <= reader.ids
    assert "the <hole> & more" in " ".join(reader.text)
    assert "url(" not in page
    assert "<script" not in page


def test_its_numbers_are_those_of_the_json_report(demo_path, demo_study, page, capsys):
    assert main(["report", str(demo_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    text = " ".join(read_page(page).text)
    for iteration in facts["iterations"]:
        assert format_ns(iteration["duration_ns"]) in text
    scope = report_facts(demo_study).scope
    for of_gpu in scope.parts(demo_study.parts).tolist():
        assert all(format_ns(ns) in text for ns in of_gpu)


def test_the_same_trace_gives_the_same_page(demo_path, page, tmp_path, qapp):
    for name in ("a", "b"):
        assert main(["report", str(demo_path), "--html", str(tmp_path / f"{name}.html")]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_every_metric_links_to_its_definition_on_the_page(page):
    links = re.findall(r'<td><a href="#(def-[^"]+)">', page)
    anchors = set(re.findall(r'id="(def-[^"]+)"', page))
    assert len(links) > 25
    assert set(links) <= anchors


def test_nobody_is_named(demo_path, tmp_path, qapp):
    path = tmp_path / "named" / "x.sqlite"
    path.parent.mkdir()
    shutil.copy(demo_path, path)
    with sqlite3.connect(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'DIAGNOSTIC%'")]
        assert names
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({names[0]})")]
        db.execute(f"UPDATE {names[0]} SET text = 'alice@host7 cannot write /home/alice/x'") if (
            "text" in columns
        ) else None
        db.execute("CREATE TABLE IF NOT EXISTS TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
    db.close()
    page = html_report(report_facts(Study(read(path, cache=False))))
    for secret in ("alice", "host7", str(path.parent), os.environ.get("HOSTNAME") or "no-such-host-name"):
        assert secret not in page
    assert without_people("C:\\Users\\bob\\x and /Users/bob/y by bob@box.lan") == (
        "C:\\Users\\…\\x and /Users/…/y by …"
    )


def test_a_range_an_iteration_and_wrong_usage(demo_path, tmp_path, capsys, qapp):
    out = tmp_path / "x.html"
    assert main(["report", str(demo_path), "--html", str(out), "--iteration", "1"]) == 0
    assert "iteration 1" in out.read_text()
    capsys.readouterr()
    assert main(["report", str(demo_path), "--html", str(out), "--json"]) == 2
    assert main(["report", str(demo_path), "--html", str(tmp_path / "no" / "x.html")]) == 1
    assert capsys.readouterr().err.count("\n") == 2


def test_a_trace_without_gpus_has_a_report_too(shared_trace, qapp):
    for name in ("all-tables-empty", "nothing-recorded-2026", "cupti-events-missing"):
        page = html_report(report_facts(Study(read(shared_trace(name), cache=False))))
        assert "time" in read_page(page).ids


def test_a_file_s_name_is_only_text(demo_trace, qapp):
    trace = replace(demo_trace, path=demo_trace.path.with_name("<img src=x>\udcff.sqlite"))
    reader = read_page(html_report(report_facts(Study(trace))))
    assert "x" not in reader.loads
    assert any("<img src=x>\\udcff.sqlite" in text for text in reader.text)


def test_cells_say_what_their_column_holds():
    frame = pd.DataFrame(
        {"gpu": [0], "sum_ns": [1_500_000], "share": [0.5], "count": [1234], "name": ["a<b"]}
    )
    made = html.table(frame, ["Rank 0"])
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", made)
    assert cells == ["Rank 0", "1.500 ms", "50.0 %", "1,234", "a&lt;b"]


def browse(browser, page, folder):
    """Show a page in a browser: what it made of it, and what the page asked for elsewhere."""
    folder.mkdir()
    file, log = folder / "page.html", folder / "net.json"
    file.write_text(page)
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=3000",
         f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    started = re.findall(r'"initiator":"([^"]*)".*?"url":"(\w+://[^"]*)"', log.read_text())
    return done.stdout, {
        url for initiator, url in started if initiator != "not an origin" and url != file.as_uri()
    }


def test_a_browser_shows_it_and_asks_for_nothing(page, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    _, asked = browse(browser, '<img src="http://elsewhere.invalid/x.png">', tmp_path / "control")
    assert asked == {"http://elsewhere.invalid/x.png"}
    shown, asked = browse(browser, page, tmp_path / "report")
    assert read_page(shown).ids == SECTIONS
    assert asked == set()


def test_columns_are_called_what_they_hold_and_sums_by_cause_say_how_they_count(page):
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", page)
    assert "metric" in heads
    assert "main cause" in heads
    assert "whole stalls" in heads
    assert "<tr><th>number</th>" not in page
    assert WHOLE in page
