"""Traces that are large in one direction: a report of them takes as much more as they are larger."""

import sys
import threading

import pytest

from tests.benchmarks.sizes import KINDS, write
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.readers import read
from viewer.rows import build_rows

SMALL = 60


def lines_run(work):
    """How many lines of the program Python runs, those of loops each time around, in all threads."""
    counts = {}

    def trace(frame, event, _):
        if "/viewer/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            me = threading.get_ident()
            counts[me] = counts.get(me, 0) + 1
        return trace

    before = sys.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(None)
    return sum(counts.values())


@pytest.mark.parametrize("kind", KINDS)
def test_work_grows_with_the_size_and_not_with_its_square(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "cache"))

    def work(size):
        path = write(tmp_path / f"{size}.sqlite", kind, size)

        def all_of_it():
            study = Study(read(path))
            report(study)
            assert study.findings
            assert len(study.stalls().table.columns)
            assert build_rows(study)

        return lines_run(all_of_it)

    once, twice, four = (work(SMALL * times) for times in (1, 2, 4))
    # Twice the size twice: a line doubles what is added, a square makes it four times as much.
    assert four - twice < 2.6 * max(twice - once, SMALL)
