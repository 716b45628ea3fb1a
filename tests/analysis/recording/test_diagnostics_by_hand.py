"""Diagnostics at the edges of their rules, in their order and in their words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.recording.diagnostics import lost_gpus
from viewer.analysis.study import Study
from viewer.trace import Kind
from viewer.trace.model import GUESSED_RANK

MS = 1_000_000
S = 1_000_000_000


def found(trace, kind):
    return [f for f in Study(trace, Rules.builtin()).diagnostics if f.kind == kind]


def one(trace, kind):
    (diagnostic,) = found(trace, kind)
    return diagnostic


@pytest.mark.parametrize(
    ("start", "end", "count"),
    [
        (-S, 10, 0),
        (-S - 1, 10, 1),
        (2 * S, 3 * S, 0),
        (2 * S, 3 * S + 1, 1),
    ],
)
def test_more_than_a_second_outside_the_session_is_far(start, end, count):
    trace = TraceMaker(session_ns=2 * S).kernel(0, 10).kernel(start, end, stream=8).trace()
    assert len(found(trace, "far-outside")) == count
    if count:
        diagnostic = one(trace, "far-outside")
        assert diagnostic.title == "1 kernel event far outside the session"
        assert (diagnostic.severity, diagnostic.time_ns) == ("warning", start)


def test_without_a_session_nothing_is_outside():
    assert not found(TraceMaker().kernel(0, 10).kernel(9 * S, 10 * S).trace(), "far-outside")


@pytest.mark.parametrize(("taken", "says"), [(10, False), (11, True)])
def test_more_than_one_per_cent_of_the_profiler_itself_is_said(taken, says):
    maker = TraceMaker().kernel(0, 1000 * MS)
    maker.add(Kind.OVERHEAD, maker.thread(0, 1), 5 * MS, (5 + taken) * MS, "flush")
    # The same time on two threads is taken once.
    maker.add(Kind.OVERHEAD, maker.thread(0, 2), 5 * MS, (5 + taken) * MS, "flush")
    trace = maker.trace()
    assert bool(found(trace, "profiler-overhead")) == says
    if says:
        assert (
            one(trace, "profiler-overhead").title == "The profiler itself took 11.0 ms, 1.1 % of the window"
        )


class Causes:
    """A source that knows why pages migrated."""

    def column(self, kind, name, file_rows):
        return np.array([1, 2, 2, 9]) if (kind, name) == (Kind.MEMCPY, "migrationCause") else None


def test_migrations_are_counted_with_their_reasons_the_commonest_first():
    maker = TraceMaker().kernel(0, 10)
    for number in range(4):
        maker.copy(100 * number, 100 * number + 9, bytes=MS, copy_kind=11 + number % 2)
    trace = maker.trace()
    diagnostic = one(trace, "page-migrations")
    assert diagnostic.title == "4 page migrations of unified memory, 4.0 MB"
    assert "reasons" not in diagnostic.meaning
    known = one(replace(trace, source=Causes()), "page-migrations").meaning
    reasons = known[known.index("Their reasons: ") :].removeprefix("Their reasons: ").rstrip(".").split(", ")
    assert [reason.rsplit(" ", 1)[1] for reason in reasons] == ["2", "1", "1"]
    assert "unknown 1" in reasons


@pytest.mark.parametrize(
    ("graphs", "title"),
    [
        (1, "1 CUDA graph is recorded as one piece each"),
        (2, "2 CUDA graphs are recorded as one piece each"),
    ],
)
def test_whole_graphs_are_counted(graphs, title):
    maker = TraceMaker()
    for number in range(graphs):
        maker.graph(100 * number, 100 * number + 50)
    assert one(maker.trace(), "whole-graphs").title == title


@pytest.mark.parametrize(("unknown", "says"), [(1, False), (2, True)])
def test_more_than_one_in_twenty_without_a_launch_record_is_said(unknown, says):
    maker = TraceMaker()
    for number in range(20):
        correlation = number + 1 if number >= unknown else 0
        maker.call(10 * number, 10 * number + 1, correlation=number + 1)
        maker.kernel(1000 + 10 * number, 1005 + 10 * number, correlation=correlation)
    trace = maker.trace()
    assert bool(found(trace, "unknown-launches")) == says
    if says:
        assert (
            one(trace, "unknown-launches").title == "Rank 0 GPU 0: 2 of 20 operations have no launch record"
        )


@pytest.mark.parametrize(
    ("kernel", "returned", "title", "by"),
    [
        # It starts 3 ms before its launch, and ends 9 ms before the synchronisation returns.
        ((2 * MS, 4 * MS), 13 * MS, "early by at least 3.00 ms", "by +6.000 ms"),
        # It starts 9 ms after its launch, and ends 5 ms after the synchronisation has returned.
        ((14 * MS, 16 * MS), 11 * MS, "late by at least 5.00 ms", "by -7.000 ms"),
    ],
)
def test_a_shifted_clock_is_off_by_the_nearer_bound_at_least(kernel, returned, title, by):
    maker = TraceMaker().call(5 * MS, 6 * MS, correlation=1).kernel(*kernel, correlation=1)
    maker.sync(7 * MS, returned, "cudaDeviceSynchronize", stream=0)
    diagnostic = one(maker.trace(), "shifted-clock")
    assert diagnostic.title.endswith(title)
    assert by in diagnostic.meaning


def test_an_aligned_clock_is_said_with_its_sign():
    trace = TraceMaker().kernel(0, 10).kernel(0, 10, process=1).trace()
    trace = replace(trace, gpus=(trace.gpus[0], replace(trace.gpus[1], aligned_ns=-1_500_000)))
    diagnostic = one(trace, "aligned")
    assert diagnostic.title.endswith("its times are moved by -1.500 ms")
    assert diagnostic.gpu == 1


def test_the_worst_come_first_and_others_keep_their_order():
    maker = TraceMaker().graph(0, 100 * MS)
    for number in range(8):
        maker.call(10 * number, 10 * number + 1, correlation=100 + number)
    trace = maker.trace()
    # The second note is worse than the first.
    trace = replace(trace, notes=("a row", "a table has no column start"))
    severities = [f.severity for f in Study(trace, Rules.builtin()).diagnostics]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert set(severities) == {"error", "warning", "info"}


def test_the_gpus_of_a_process_that_lost_rows_are_known():
    maker = TraceMaker().kernel(0, 10).kernel(0, 10, device=1).kernel(0, 10, process=1)
    for number in range(8):
        maker.call(10 * number, 10 * number + 1, process=0, correlation=100 + number)
    study = Study(maker.trace(), Rules.builtin())
    assert one(study.trace, "lost-rows").process == 0
    assert lost_gpus(study.trace, study.diagnostics) == {0, 1}


def diagnostics(*messages):
    rows = [(time, severity, "", text, 0) for time, severity, text in messages]
    return pd.DataFrame(rows, columns=["time_ns", "severity", "source", "text", "pid"])


def test_messages_of_nsys_that_are_equal_are_one_with_how_often():
    trace = replace(
        TraceMaker().kernel(0, 10).trace(),
        diagnostics=diagnostics(
            (5, "warning", "Buffers were full."),
            (3, "warning", "Buffers were full."),
            (9, "error", "It broke"),
            (1, "info", "All is well"),
        ),
    )
    titles = [(f.severity, f.title, f.time_ns) for f in found(trace, "reported-by-nsys")]
    assert titles == [("error", "It broke", 9), ("warning", "Buffers were full (2 times)", 5)]


@pytest.mark.parametrize(
    ("unread", "title", "meaning"),
    [
        ({"A": 1}, "1 table of this file is not read", "A (1 row)."),
        ({"A": 2, "B": 1}, "2 tables of this file are not read", "A (2 rows), B (1 row)."),
        (
            {"A": 2, "ENUM_X": 3},
            "2 tables of this file are not read",
            "A (2 rows), 1 table that only name codes (ENUM_*).",
        ),
    ],
)
def test_unread_tables_are_counted(unread, title, meaning):
    diagnostic = one(replace(TraceMaker().kernel(0, 10).trace(), unread=unread), "unread-tables")
    assert (diagnostic.title, diagnostic.meaning) == (title, meaning)


@pytest.mark.parametrize(
    ("processes", "title"),
    [(1, "The rank of 1 process is a guess"), (2, "The ranks of 2 processes are a guess")],
)
def test_guessed_ranks_are_counted(processes, title):
    maker = TraceMaker()
    for process in range(processes):
        maker.kernel(0, 10, process=process)
    trace = maker.trace()
    guessed = tuple(replace(process, rank_from=GUESSED_RANK) for process in trace.processes)
    assert one(replace(trace, processes=guessed), "guessed-ranks").title == title
    assert not found(trace, "guessed-ranks")


@pytest.mark.parametrize(
    ("notes", "unread", "meanings"),
    [
        (("a row",), {}, ["Nothing else is left out."]),
        (("a row", "another"), {}, ["", ""]),
        (("a row",), {"OTHER_TABLE": 3}, [""]),
    ],
)
def test_a_note_says_that_it_is_the_only_one(notes, unread, meanings):
    trace = replace(TraceMaker().kernel(0, 10).trace(), notes=notes, unread=unread)
    assert [diagnostic.meaning for diagnostic in found(trace, "reader-note")] == meanings
