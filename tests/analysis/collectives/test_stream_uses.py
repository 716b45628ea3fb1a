"""What streams communicate for: a guess by which ranks meet on them, and how."""

import pytest

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, study_of
from viewer.analysis.collectives.stream_uses import stream_uses

KINDS = {
    "TP": (((0, 1), (2, 3)), "AllReduce"),
    "DP": (((0, 2), (1, 3)), "ReduceScatter"),
    "": (((0, 1, 2, 3),), "AllReduce"),
}


def job(groups, kind, stream, maker=None, sets=30):
    """Four ranks; each group does its collectives in step, its last member after the others."""
    maker = maker or TraceMaker(session_ns=(sets + 1) * 10 * MS)
    for k in range(sets):
        for number, ranks in enumerate(groups):
            end = k * 10 * MS + (6 + number) * MS + k * 977 % 1000 * 100
            for place, rank in enumerate(ranks):
                maker.kernel(
                    end - (3 - place % 2) * MS // 2, end, f"ncclDevKernel_{kind}", stream=stream, process=rank
                )
    return maker


def uses(maker):
    """The use of each stream by rank and number."""
    study = study_of(maker.trace())
    trace, found = study.trace, stream_uses(study.collectives)
    streams = {index: trace.streams[index] for index in found}
    rank_of = {gpu.index: trace.processes[gpu.process].rank for gpu in trace.gpus}
    return {(rank_of[streams[index].gpu], streams[index].stream_id): use for index, use in found.items()}


@pytest.mark.parametrize("name", KINDS)
def test_the_name_is_guessed_by_which_ranks_meet(name):
    groups, kind = KINDS[name]
    found = uses(job(groups, kind, 20))
    assert {use.name for use in found.values()} == {name}
    assert len(found) == 4
    said = {use.ranks for use in found.values()}
    listed = {f"ranks {', '.join(map(str, ranks))}" for ranks in groups}
    assert said == (listed if name else {"all ranks"})


def test_collectives_of_all_ranks_say_nothing_beside_others():
    maker = job(*KINDS["DP"], stream=24)
    for k in range(30):
        for rank in range(4):
            at = k * 10 * MS + 9 * MS
            maker.kernel(at + rank * 1000, at + MS // 2, "ncclDevKernel_AllGather", stream=24, process=rank)
    found = uses(maker)
    assert {use.name for use in found.values()} == {"DP"}
    assert found[0, 24].ranks == "ranks 0, 2 and all"


def test_two_ranks_have_no_parallelism_to_tell():
    found = uses(job(((0, 1),), "AllReduce", 20))
    assert {(use.name, use.ranks) for use in found.values()} == {("", "all ranks")}
