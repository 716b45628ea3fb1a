"""Tables on a narrow terminal: every number is there whole, and no line is wider than the terminal."""

import re

import pytest

from viewer.cli import main
from viewer.readers import read

WIDTH = 80


def numbers(text):
    return re.findall(r"[\d,.]*\d (?:ns|µs|ms|s|%|GB/s|[KMGT]iB)(?!\w)", text)


@pytest.mark.parametrize(
    "words",
    [["events", "--row", "rank 3/Stream 7", "--limit", "3"], ["report"], ["doctor"], ["compare"]],
    ids=lambda words: words[0],
)
def test_narrow_tables_say_what_wide_ones_say(words, demo_path, capsys, monkeypatch):
    traces = [str(demo_path)] * (2 if words[0] == "compare" else 1)
    command = [words[0], *traces, *words[1:]]
    assert main(command) == 0
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert main(command) == 0
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= WIDTH
    if words[0] != "doctor":
        assert set(numbers(wide)) == set(numbers(narrow)) != set()
    # A text that is cut in the table stands whole below it.
    for before in wide.split("…")[:-1]:
        assert wide.count(before[-12:]) > wide.count(f"{before[-12:]}…")


def test_kernels_have_their_short_names(demo_path, capsys):
    names = {str(n) for n in read(demo_path).names.array.to_pylist()}
    assert any("::" in name for name in names)
    assert main(["events", str(demo_path), "--row", "rank 3/Stream 7"]) == 0
    assert "::" not in capsys.readouterr().out
