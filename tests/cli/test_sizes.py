"""Traces that are large in one direction: a report of them takes as much more as they are larger."""

import sys
import threading
from collections import Counter

import pytest

from tests.benchmarks.sizes import KINDS, write
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.cli import report_tables
from viewer.readers import read
from viewer.rows import build_rows

SMALL = 60
MANY = 20
"""A line that runs more often than so many times for each item may be one that runs for each pair."""


def lines_run(work):
    """How often Python runs each line of the program, those of loops each time around, in all threads."""
    counts = Counter()

    def trace(frame, event, _):
        if "/viewer/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            counts[frame.f_code.co_filename, frame.f_lineno] += 1
        return trace

    before = sys.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(None)
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_work_grows_with_the_size_and_not_with_its_square(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "cache"))

    def work(size):
        path = write(tmp_path / f"{size}.sqlite", kind, size)

        def all_of_it():
            study = Study(read(path))
            report(study)
            assert study.diagnostics
            assert len(study.stalls().table.columns)
            assert build_rows(study)

        return lines_run(all_of_it)

    once, twice, four = (work(SMALL * times) for times in (1, 2, 4))
    # Twice the size twice: a line doubles what is added, a square makes it four times as much.
    added = {line: (twice[line] - once[line], four[line] - twice[line]) for line in four}
    often = (line for line in four if four[line] > MANY * 4 * SMALL)
    assert [line for line in often if added[line][1] > 3 * max(added[line][0], 1)] == []


def test_a_table_of_thousands_is_cut_and_says_so():
    rows = [[str(at), "x"] for at in range(5000)]
    shown = report_tables._cut(rows)
    assert len(shown) == report_tables.MOST_ROWS + 1
    assert (shown[0], shown[-1]) == (rows[0], rows[-1])
    assert shown[-2] == ["... 4,500 more; --json has them all", ""]
    assert report_tables._cut(rows[:500]) == rows[:500]
