"""`lightbox events`: the rows asked for, in the order asked for, every number as the trace has it."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from viewer.cli import main
from viewer.rows.kinds import RowKind
from viewer.rows.matching import topmost
from viewer.rows.tree import build_rows

KERNELS = (RowKind.FAMILY, RowKind.KERNEL_NAME)


def events(demo_path, capsys, *words):
    assert main(["events", str(demo_path), *words]) == 0
    return capsys.readouterr().out


def table(demo_path, capsys, *words):
    return pd.read_csv(io.StringIO(events(demo_path, capsys, *words, "--csv")))


def test_all_events_of_a_row_as_csv(demo_path, demo_study, capsys):
    frame = table(demo_path, capsys, "--row", "rank 3/Stream 7")
    row = topmost(build_rows(demo_study), "rank 3/Stream 7")[0]
    assert frame["start_ns"].tolist() == row.events.start_ns.tolist()
    assert frame["duration_ns"].tolist() == (row.events.end_ns - row.events.start_ns).tolist()
    assert frame["latency_ns"].min() > -(10**12)


def test_longest_first_and_no_more_than_asked_for(demo_path, demo_study, capsys):
    frame = table(demo_path, capsys, "--row", "Rank 0/NCCL", "--sort", "duration", "--limit", "3")
    lengths = frame["duration_ns"].to_numpy()
    assert (np.diff(lengths[:3]) <= 0).all()
    assert frame["row"].nunique() == len(topmost(build_rows(demo_study), "Rank 0/NCCL"))
    assert (frame.groupby("row").size() <= 3).all()
    assert frame["duration_ns"].dtype == np.int64
    assert not events(demo_path, capsys, "--row", "Rank 0/NCCL", "--csv").count(".0,")


def test_filters_by_name_duration_and_iteration(demo_path, demo_study, capsys):
    iterations = demo_study.iterations()
    words = ("--row", "rank 3/Stream 7", "--iteration", "1", "--name", "flash", "--duration", ">100us")
    frame = table(demo_path, capsys, *words)
    assert len(frame)
    assert frame["name"].str.contains("flash").all()
    assert (frame["duration_ns"] > 100_000).all()
    low, high = iterations.starts[3, 1], iterations.starts[3, 2]
    assert ((frame["start_ns"] + frame["duration_ns"] > low) & (frame["start_ns"] < high)).all()


def test_a_table_for_people(demo_path, capsys):
    out = events(demo_path, capsys, "--row", "rank 3/Stream 7", "--limit", "2")
    assert "events, the first 2" in out
    assert "Latency" in out
    assert out.count("µs") >= 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--row", "no such row"], 1),
        (["--row", "rank 3", "--sort", "nonsense"], 1),
        (["--row", "rank 3", "--iteration", "99"], 1),
        (["--row", "rank 3", "--duration", "soon"], 2),
        (["--row", "rank 3", "--limit", "0"], 2),
        ([], 2),
    ],
    ids=str,
)
def test_what_cannot_be_listed_is_one_line(words, code, demo_path, capsys):
    assert main(["events", str(demo_path), *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


def test_a_row_that_is_not_there_lists_those_that_are(demo_path, demo_study, capsys, tmp_path):
    assert main(["events", str(demo_path), "--row", "Rank 0", "--row", "Strem 7"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(
        "lightbox: no row is called 'Strem 7'; the trace has Rank 0, 1, 2, 3, 4, 5, 6, 7; "
    )
    assert error.count("\n") == 1
    listed = re.split("; |, ", error.replace("the trace has ", ""))
    for label in {
        row.label for root in build_rows(demo_study) for row in root.walk() if row.kind not in KERNELS
    }:
        assert label in listed or label.rsplit(" ", 1)[-1] in listed, label
    assert len(error) < 500
    assert main(["shot", str(demo_path), "-o", str(tmp_path / "x.png"), "--rows", "Strem 7"]) == 1
    assert capsys.readouterr().err == error
