"""Iterations that are derived or guessed are called so wherever they are shown or used."""

import json
import re

import pytest

from tests.export.test_picture_parts import texts
from viewer.analysis.stalls.stalls import find_stalls
from viewer.analysis.study import Study
from viewer.cli import main
from viewer.demo import DemoOptions, make_demo
from viewer.export.first_view import first_view
from viewer.export.report_page import html_report, report_facts
from viewer.export.vector import svg_bytes
from viewer.readers import read

WORDS = {"phases": "derived", "none": "guess"}


@pytest.fixture(scope="module", params=WORDS)
def job(request, tmp_path_factory):
    """A small job under a marking: its file, its study, the word, and why."""
    options = DemoOptions(ranks=2, iterations=6, clean=True, marking=request.param)
    path = make_demo(tmp_path_factory.mktemp("doubt") / "demo.sqlite", options)
    study = Study(read(path, cache=False))
    return path, study, WORDS[request.param], study.iterations().by.why


def test_json_says_so(job, capsys):
    path, study, word, why = job
    assert main(["report", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    marker = facts["marker"]
    assert (marker["kind"], marker["guess"], marker["why"], marker["unit"]) == (word, True, why, "iteration")
    assert facts["scope"]["what"] == f"steady state: 6 of 6 iterations ({word})"
    (doubt,) = [line for line in facts["unreliable"] if why in line["why"] and "iterations" in line["keys"]]
    assert doubt["what"] == "iterations"
    assert {"marker", "steady", "phases"} <= set(doubt["keys"])
    unsure = {number["key"] for number in facts["summary"] if number["reliable"] is False}
    assert {"iteration", "skew", "idle_between"} <= unsure
    assert study.iterations().doubt_text in " ".join(line["why"] for line in facts["unreliable"])


def test_the_text_report_says_so(job, capsys):
    path, study, word, why = job
    assert main(["report", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"Iterations, by {study.iterations().marker} ({word})" in out
    assert f"They are {word}: {why}." in out
    assert f"Summary: steady state: 6 of 6 iterations ({word})" in out
    assert study.iterations().doubt_text in out


def test_the_page_says_so(job, qapp):
    _, study, word, _ = job
    page = re.sub(r"<[^>]+>", "", html_report(report_facts(study)))
    assert f"steady state: 6 of 6 iterations ({word})" in page
    assert page.count(study.iterations().doubt_text) >= 2
    assert re.search(rf"Iteration \d \({word}\), a steady iteration", page)


def test_pictures_say_so_on_the_ruler_and_at_the_foot(job, qapp):
    _, study, word, why = job
    held = texts(svg_bytes(first_view(study, iteration=1), 1600).decode())
    assert any(text.startswith(f"Iteration 1 ({word})") for text in held)
    foot = " ".join(held)
    assert f"steady state: 6 of 6 iterations ({word})" in foot
    assert f"({word})" in foot
    assert " ".join(why.split()[:6]) in foot
    # Where there is room for numbers alone, they carry a mark.
    narrow = texts(svg_bytes(first_view(study), 420).decode())
    assert "2?" in narrow
    assert "2" not in narrow


def test_stalls_carry_a_mark(job):
    _, study, _, _ = job
    shown = [str(study.stalls().words(number)["iteration"]) for number in range(9)]
    assert any(text.endswith("?") for text in shown)
    assert not find_stalls(study.stall_inputs, None).in_doubt


def test_nothing_of_it_where_a_name_marks_them(demo_path, capsys):
    assert main(["report", str(demo_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["marker"]["kind"], facts["marker"]["guess"], facts["marker"]["why"]) == ("named", False, "")
    assert "iterations" not in {line["what"] for line in facts["unreliable"] if "marker" in line["keys"]}
