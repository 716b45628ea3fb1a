"""The critical path in `lightbox report`: the key `critical_path`, and a table for people."""

import json
from itertools import pairwise

from viewer.cli import main

SUMS = ("compute_ns", "communication_ns", "copy_ns", "host_ns", "gap_ns")


def report(demo_path, capsys, *options):
    assert main(["report", str(demo_path), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_each_iteration_has_its_path(demo_path, capsys):
    facts = report(demo_path, capsys)
    assert [path["iteration"] for path in facts["critical_path"]] == [i["index"] for i in facts["iterations"]]
    for path, iteration in zip(facts["critical_path"], facts["iterations"], strict=True):
        assert list(path) == ["iteration", "length_ns", *SUMS, "by_rank"]
        assert path["length_ns"] == iteration["duration_ns"] == sum(path[key] for key in SUMS)
        assert sum(path["by_rank"].values()) == path["length_ns"]
        assert set(path["by_rank"]) <= {str(rank) for rank in range(8)}


def test_pieces_fill_the_iteration(demo_path, capsys):
    facts = report(demo_path, capsys, "--pieces", "--iteration", "1")
    (path,) = facts["critical_path"]
    pieces = path["pieces"]
    assert list(pieces[0]) == ["rank", "where", "kind", "name", "start_ns", "end_ns"]
    assert pieces[0]["start_ns"] == facts["window"]["start_ns"]
    assert pieces[-1]["end_ns"] == facts["window"]["end_ns"]
    assert all(a["end_ns"] == b["start_ns"] for a, b in pairwise(pieces))
    for key, kinds in {
        "compute_ns": {"compute"},
        "communication_ns": {"transfer", "communication"},
        "copy_ns": {"copy"},
        "host_ns": {"launch call", "other call", "blocking call", "host code"},
        "gap_ns": {"lag", "unexplained"},
    }.items():
        of_kinds = [piece for piece in pieces if piece["kind"] in kinds]
        assert sum(piece["end_ns"] - piece["start_ns"] for piece in of_kinds) == path[key]
    on_gpu = [piece for piece in pieces if piece["kind"] in ("compute", "transfer", "copy", "lag")]
    assert all(piece["where"].startswith("Stream ") and piece["name"] for piece in on_gpu)


def test_a_range_has_the_iterations_inside(demo_path, capsys):
    second = report(demo_path, capsys)["iterations"][1]
    low, high = second["start_ns"] - 1_000, second["end_ns"] + 1_000
    facts = report(demo_path, capsys, "--range", f"{low}ns..{high}ns")
    assert [path["iteration"] for path in facts["critical_path"]] == [1]


def test_pieces_need_json(demo_path, capsys):
    assert main(["report", str(demo_path), "--pieces"]) == 2
    assert "--pieces needs --json" in capsys.readouterr().err


def test_a_table_for_people(demo_path, capsys):
    assert main(["report", str(demo_path), "--iteration", "1"]) == 0
    out = capsys.readouterr().out
    assert "Critical path: 1 iteration, median " in out
    assert "By rank: Rank 5 " in out


def test_without_iterations_there_is_none(shared_trace, capsys):
    assert report(shared_trace("jacobi-1process-2gpus"), capsys)["critical_path"] == []
