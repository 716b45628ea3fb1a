"""The critical path as tables: pieces that fill the iteration, and sums that are those of the pieces."""

import numpy as np
import pytest

from viewer.analysis.replay.critical_path import SUMS
from viewer.drawing.critical_line import critical_line, gpus_on_path
from viewer.drawing.path_tables import BY, FILLS, SUM_OF, event_of_piece, path_frame, path_sums
from viewer.trace import GPU_KINDS, Kind


@pytest.fixture(scope="module")
def paths(demo_study):
    return demo_study.critical_paths()


@pytest.fixture(scope="module")
def frame(demo_study, paths):
    return path_frame(demo_study, paths[1])


def test_pieces_fill_the_iteration(demo_study, frame):
    iterations = demo_study.iterations()
    ends = frame["start_ns"] + frame["duration_ns"]
    assert frame["start_ns"].to_numpy()[1:].tolist() == ends.to_numpy()[:-1].tolist()
    assert int(frame["duration_ns"].sum()) == iterations.end_ns(1) - iterations.start_ns(1)
    assert (frame["duration_ns"] > 0).all()


@pytest.mark.parametrize("by", BY)
def test_sums_are_those_of_the_pieces(frame, by):
    sums = path_sums(frame, by)
    of_path = frame["duration_ns"].sum()
    assert sums["duration_ns"].is_monotonic_decreasing
    assert np.allclose(sums["share"], sums["duration_ns"] / of_path)
    if by == "kernel":
        is_kernel = frame["kind"].isin(("compute", "transfer", "communication"))
        assert sums["duration_ns"].sum() == frame["duration_ns"][is_kernel].sum()
        return
    assert sums["duration_ns"].sum() == of_path
    assert sums["count"].sum() == len(frame)


def test_every_kind_of_piece_has_a_sum_and_a_colour():
    assert set(SUM_OF.values()) == set(FILLS)
    # As the report sums them, under other names.
    names = [{SUM_OF[kind] for kind in kinds} for kinds in SUMS.values()]
    assert all(len(name) == 1 for name in names)
    assert len(set().union(*names)) == len(SUMS)


def test_an_event_on_the_path_covers_its_piece(demo_study, frame):
    events = demo_study.trace.events
    for position in np.flatnonzero(frame["kind"].isin(("compute", "copy", "launch call"))).tolist():
        event = event_of_piece(frame, position)
        start = int(frame["start_ns"].iat[position])
        assert events[event.kind].start_ns[event.index] <= start
        assert start + frame["duration_ns"].iat[position] <= events[event.kind].end_ns[event.index]


def test_pieces_lie_on_the_gpu_of_their_operation_or_process(demo_study, paths):
    trace, path = demo_study.trace, paths[1]
    operations = demo_study.dependencies.operations
    gpus = gpus_on_path(demo_study, path)
    for piece in range(len(path)):
        if path.operation[piece] >= 0:
            assert gpus[piece] == trace.streams[operations.stream[path.operation[piece]]].gpu
        elif path.call[piece] >= 0:
            process = trace.threads[trace.api.owner_of(int(path.call[piece]))].process
            assert trace.gpus[gpus[piece]].process == process


def test_the_line_is_as_long_as_the_iterations(demo_study):
    line, iterations = critical_line(demo_study), demo_study.iterations()
    spent = line.spent_ns(
        iterations.start_ns(0), iterations.end_ns(iterations.count - 1), len(demo_study.trace.gpus)
    )
    assert int(spent.sum()) == sum(iterations.duration_ns.tolist())


def test_an_event_of_a_piece_is_of_the_kind_it_was_put_in(frame):
    kinds = {event_of_piece(frame, p).kind for p in range(len(frame)) if event_of_piece(frame, p) is not None}
    assert kinds <= {*GPU_KINDS, Kind.API}
