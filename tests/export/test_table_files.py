"""Tables as files: what is read back is what was written, whole or not at all."""

import numpy as np
import pandas as pd
import pytest

from viewer.export.atomic import write_atomic
from viewer.export.table_files import MOST_MARKDOWN_ROWS, TableError, markdown, write_table


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "name": ["a|b", "漢字\nnext"],
            "length_ns": np.array([2**60, -1]),
            "value": pd.Series([1, "text"], dtype=object),
            "share": [0.5, np.nan],
        }
    )


def test_csv_and_tsv_and_parquet_hold_every_number(frame, tmp_path):
    for suffix, read in ((".csv", pd.read_csv), (".tsv", pd.read_table), (".parquet", pd.read_parquet)):
        path = tmp_path / f"t{suffix}"
        write_table(frame, path)
        back = read(path)
        assert back["length_ns"].tolist() == frame["length_ns"].tolist()
        assert back["name"].tolist() == frame["name"].tolist()
        assert [str(v) for v in back["value"]] == ["1", "text"]
    write_table(frame, tmp_path / "t.txt")
    assert (tmp_path / "t.txt").read_bytes() == (tmp_path / "t.csv").read_bytes()


def test_markdown_is_one_line_a_row(frame):
    lines = markdown(frame).splitlines()
    assert lines[0] == "| name | length_ns | value | share |"
    assert lines[1] == "| --- | ---: | --- | ---: |"
    assert lines[2] == "| a\\|b | 1152921504606846976 | 1 | 0.5 |"
    assert lines[3] == "| 漢字 next | -1 | text |  |"


def test_what_is_long_is_no_markdown(tmp_path):
    with pytest.raises(TableError, match="too many"):
        write_table(pd.DataFrame({"a": range(MOST_MARKDOWN_ROWS + 1)}), tmp_path / "x.md")
    assert list(tmp_path.glob("x*")) == []


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_bytes(b"old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["x.csv"]


def test_categories_are_written_as_the_texts_they_stand_for(tmp_path):
    texts = pd.Series(["b", "a", "b", ""])
    for suffix in (".csv", ".tsv", ".md", ".parquet"):
        write_table(pd.DataFrame({"cause": texts}), tmp_path / f"plain{suffix}")
        write_table(pd.DataFrame({"cause": texts.astype("category")}), tmp_path / f"coded{suffix}")
        plain, coded = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("plain", "coded"))
        assert plain == coded, suffix
