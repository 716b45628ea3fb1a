"""`lightbox compare`: two traces as a table and as JSON."""

import json

import pytest

from viewer.cli import main
from viewer.demo import DemoOptions, make_demo


@pytest.fixture(scope="module")
def clean_path(tmp_path_factory):
    options = DemoOptions(iterations=3, clean=True)
    return make_demo(tmp_path_factory.mktemp("clean") / "clean.sqlite", options)


def test_differences_as_json(demo_path, clean_path, capsys):
    assert main(["compare", str(demo_path), str(clean_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["first"]["path"] == str(demo_path)
    for row in facts["numbers"]:
        if row["difference"] is not None:
            assert row["difference"] == row["second"] - row["first"]
    idle = next(row for row in facts["numbers"] if row["name"] == "idle")
    assert idle["change"] < 0
    assert idle["how"] == "per iteration and GPU"


def test_a_table_for_people(demo_path, clean_path, capsys):
    assert main(["compare", str(demo_path), str(clean_path)]) == 0
    out = capsys.readouterr().out
    assert f"A  {demo_path.name}: " in out
    assert f"B  {clean_path.name}: " in out
    assert "exposed communication" in out
    assert "−" in out


def test_what_cannot_be_compared_is_one_line(demo_path, shared_trace, tmp_path, capsys):
    assert main(["compare", str(demo_path), str(tmp_path / "none.sqlite")]) == 1
    assert main(["compare", str(demo_path)]) == 2
    assert main(["compare", str(demo_path), str(shared_trace("no-version-no-events-2021"))]) == 1
    assert capsys.readouterr().err.count("\n") == 3


def test_markers_that_differ_are_said_first(demo_path, tmp_path, capsys):
    other = make_demo(tmp_path / "b.sqlite", DemoOptions(ranks=2, iterations=4, clean=True, marking="none"))
    assert main(["compare", str(demo_path), str(other)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("The iterations are marked differently, by “Iteration #” in A")
    assert "B: The iterations are a guess: cut after the kernels of the optimizer" in out
    assert out.index("marked differently") < out.index("exposed communication")
    assert main(["compare", str(demo_path), str(other), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert next(iter(facts)) == "warnings"
    assert len(facts["warnings"]) == 2
    assert facts["second"]["marker"]["kind"] == "guess"
    assert facts["first"]["marker"] == {"name": "Iteration #", "kind": "named", "why": ""}
    assert main(["compare", str(demo_path), str(demo_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
