"""What makes some numbers unsure is said in JSON, text, page and dock alike."""

import html
import json

import pytest

from tests.panels.make import looking_at
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.cli import main
from viewer.demo import DemoOptions, make_demo
from viewer.export.report_page import html_report, report_facts
from viewer.panels.summary_panel import SummaryPanel
from viewer.readers import read
from viewer.state.jobs import join_all


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """A job in which the clock of rank 3 is 30 µs off, which makes waits doubtful and nothing wrong."""
    path = tmp_path_factory.mktemp("shifted") / "demo.sqlite"
    make_demo(path, DemoOptions(iterations=4, shift={3: 30_000}))
    return path


def test_a_warning_that_concerns_numbers_stands_in_all_places(shifted, capsys, qtbot):
    assert main(["report", str(shifted), "--json"]) == 0
    (why,) = [
        line["why"] for line in json.loads(capsys.readouterr().out)["unreliable"] if line["what"] == "clocks"
    ]
    assert main(["report", str(shifted)]) == 0
    assert f"Not sure: {why}" in " ".join(capsys.readouterr().out.split())

    study = Study(read(shifted, cache=False), Rules.builtin())
    attention = html_report(report_facts(study)).split('id="attention"')[1].split("</section>")[0]
    title, _, rest = why.partition(". ")
    assert title.split(": ")[1] in html.unescape(attention)
    assert rest in html.unescape(attention)

    panel = SummaryPanel(looking_at(study))
    qtbot.addWidget(panel)
    panel.show()
    qtbot.waitUntil(lambda: panel.summary is not None and not panel._worker.is_busy, timeout=20_000)
    assert "its clock is" in panel.doubts.text()
    assert panel.doubts.isVisible()
    join_all()
