"""`lightbox whatif`: what changes would win, as a table and as JSON."""

import json

import pytest

from viewer.cli import main


def asked(demo_path, capsys, *options):
    assert main(["whatif", str(demo_path), *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_keys_of_the_json(demo_path, capsys):
    facts = asked(demo_path, capsys, "--flatten-ranks", "--scale", "flash:0.5")
    assert list(facts) == [
        "changes", "iterations", "saving_ns", "saving_range_ns", "replay_error_ns", "explained_share",
        "doubts",
    ]  # fmt: skip
    assert facts["changes"] == ["--flatten-ranks", "--scale flash:0.5"]
    assert facts["replay_error_ns"] == 0
    assert 0 <= facts["explained_share"] <= 1
    assert [one["index"] for one in facts["iterations"]] == list(range(len(facts["iterations"])))
    low, high = facts["saving_range_ns"]
    assert low <= facts["saving_ns"] <= high


def test_recorded_lengths_are_those_of_the_report(demo_path, capsys):
    facts = asked(demo_path, capsys, "--scale", "flash:1")
    assert main(["report", str(demo_path), "--json"]) == 0
    iterations = json.loads(capsys.readouterr().out)["iterations"]
    assert [one["recorded_ns"] for one in facts["iterations"]] == [one["duration_ns"] for one in iterations]
    assert all(one["predicted_ns"] == one["recorded_ns"] for one in facts["iterations"])
    assert facts["saving_ns"] == 0


def test_one_iteration_is_that_of_all(demo_path, capsys):
    all_of_them = asked(demo_path, capsys, "--scale", "flash:0.5")["iterations"]
    assert asked(demo_path, capsys, "--scale", "flash:0.5", "--iteration", "1")["iterations"] == [
        all_of_them[1]
    ]


def test_what_speaks_against_an_answer_is_said_in_both(shared, capsys):
    path = shared / "cases" / "y_hostlate.sqlite"
    if not path.is_file():
        pytest.skip("no such case here")
    doubts = asked(path, capsys, "--close-idle", "all")["doubts"]
    assert len(doubts) == 3
    assert main(["whatif", str(path), "--close-idle", "all"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert all(" ".join(doubt.split()) in out for doubt in doubts)


def test_a_table_for_people(demo_path, capsys):
    assert main(["whatif", str(demo_path), "--hide", "AllReduce"]) == 0
    out = capsys.readouterr().out
    assert "What if: AllReduce hidden" in out
    assert "Saving: " in out
    assert "New critical path" in out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 2, "no change is given"),
        (["--scale", "flash"], 2, "PATTERN:F"),
        (["--scale", "flash:-1"], 2, "PATTERN:F"),
        (["--scale", "flash:nan"], 2, "PATTERN:F"),
        (["--scale", "nothing:0.5"], 1, "the classes GEMM, attention"),
        (["--close-range", "nothing"], 1, "there are Iteration #, "),
        (["--close-idle", "9"], 1, "there are 0, 1, 2"),
        (["--close-idle", "some"], 2, "a rank or all"),
        (["--remove-call", "cudaMaloc"], 1, "there are cudaLaunchKernel"),
        (["--remove-copy", "PtoP"], 1, "there are DtoH, HtoD"),
        (["--hide", "SendRecv"], 1, "there are AllGather, AllReduce, ReduceScatter"),
        (["--no-wait", "SendRecv"], 1, "there are AllGather, AllReduce, ReduceScatter"),
        (["--no-wait", "AllReduce@nothing"], 1, "there are Iteration #, "),
        (["--free-launches", "--iteration", "99"], 1, "the trace has 0 to "),
        (["--free-launches", "--iteration", "0", "--steady"], 2, "cannot both be given"),
    ],
)
def test_what_matches_nothing_is_one_line_that_says_what_there_is(demo_path, capsys, options, code, said):
    assert main(["whatif", str(demo_path), *options]) == code
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.count("\n") == 1
    assert said in shown.err


def test_without_iterations_it_says_so(shared_trace, capsys):
    assert main(["whatif", str(shared_trace("jacobi-1process-2gpus")), "--free-launches"]) == 1
    assert "no iterations were found" in capsys.readouterr().err
