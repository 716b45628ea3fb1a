"""What real files hold is read for what it is: the numbers of the job stay, and what was added is named."""

import pytest

from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.demo import DemoOptions
from viewer.demo.oddities import (
    ENVIRONMENT_RANK,
    FORMS,
    MESSAGES,
    METRICS,
    MIGRATED_BYTES,
    MIGRATIONS,
    MPI_CALLS,
)
from viewer.demo.options import ODDITIES
from viewer.readers import read
from viewer.trace import Kind

JOB = {"ranks": 2, "iterations": 4, "tensor": 1, "clean": True}


@pytest.fixture
def study(make):
    """A function from oddities to the study of the same small job."""
    return lambda *oddities, **more: Study(read(make(**JOB | more, oddities=oddities), cache=False))


def numbers(study):
    facts = report(study)
    return {key: facts[key] for key in ("gpus", "iterations", "marker", "steady", "window", "collectives")}


def test_tables_of_other_versions_give_the_same_numbers(study):
    plain, versioned = study(), study("versioned-tables")
    assert numbers(versioned) == numbers(plain)
    assert set(FORMS.values()) - {"TARGET_INFO_GPU_V2"} <= set(versioned.trace.counts)
    assert versioned.trace.unread == plain.trace.unread
    assert [f for f in versioned.diagnostics if f.severity != "info"] == []


def test_a_rank_in_quotes_is_the_rank(study):
    trace = study("environment-rank", ranks=1).trace
    assert [(p.rank, p.rank_from) for p in trace.processes] == [(ENVIRONMENT_RANK, "RANK")]
    assert trace.gpu_label(0) == f"Rank {ENVIRONMENT_RANK} GPU 0"


def test_ranks_of_mpi_are_not_the_order_of_pids(study):
    guessed, named = study().trace, study("mpi-ranks").trace
    assert [(p.rank, p.rank_from) for p in guessed.processes] == [(0, "pid order"), (1, "pid order")]
    assert [(p.rank, p.rank_from) for p in named.processes] == [(0, "MPI_RANKS"), (1, "MPI_RANKS")]
    assert [p.pid for p in named.processes] == [p.pid for p in guessed.processes][::-1]


def test_what_is_not_read_is_named(study):
    plain, more = study(), study("unread-tables")
    added = {name: rows for name, rows in more.trace.unread.items() if name not in plain.trace.unread}
    assert added == {"MPI_OTHER_EVENTS": MPI_CALLS, "GPU_METRICS": METRICS}
    assert numbers(more) == numbers(plain)


def test_migrations_mark_nothing_and_miss_no_launch(study):
    plain, paged = study(), study("migrations")
    assert paged.iterations().marker == plain.iterations().marker
    assert paged.iterations().starts.tolist() == plain.iterations().starts.tolist()
    copies = paged.trace.events[Kind.MEMCPY]
    moved = copies.migrations()
    assert (int(moved.sum()), set(copies.columns["bytes"][moved].tolist())) == (
        2 * MIGRATIONS,
        {MIGRATED_BYTES},
    )
    assert (paged.launches.api_of(Kind.MEMCPY)[moved] < 0).all()
    assert (paged.launches.api_of(Kind.MEMCPY)[~moved] >= 0).all()
    said = {f.title: f.meaning for f in paged.diagnostics}
    assert not any("no launch record" in title for title in said)
    (meaning,) = [m for t, m in said.items() if "page migrations of unified memory" in t]
    assert f"Coherence {2 * MIGRATIONS * 3 // 4:,}, Prefetch {2 * MIGRATIONS // 4:,}" in meaning


def test_messages_of_no_concern_are_one_line(study):
    before, found = study().diagnostics, study("nsys-messages").diagnostics
    assert [f.severity for f in found] == [f.severity for f in before]
    (folded,) = [f for f in found if "messages of nsys" in f.title]
    assert folded.title.startswith("4 messages")
    assert MESSAGES[0] in folded.meaning


def test_an_oddity_that_is_none():
    with pytest.raises(ValueError, match="no oddity 'odd'; there are versioned-tables"):
        DemoOptions(oddities=("odd",))
    assert len({DemoOptions(oddities=(one,)).key for one in ODDITIES}) == len(ODDITIES)
