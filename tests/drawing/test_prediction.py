"""A prediction against the recording: untouched it is the recording, changed it is what the replay says."""

import numpy as np
import pytest

from viewer.analysis.replay.changes import ChangeError, CloseIdle, FlattenRanks, FreeLaunches, Scale
from viewer.analysis.study import Study
from viewer.drawing.format import MINUS
from viewer.drawing.prediction import predict
from viewer.drawing.scale import Scale as TimeScale
from viewer.readers import read
from viewer.trace import GPU_KINDS


@pytest.fixture(scope="module")
def flattened(demo_study):
    return predict(demo_study, (FlattenRanks(),), 0)


def test_a_change_of_nothing_is_the_recording_to_the_nanosecond(demo_study):
    same = predict(demo_study, (_nothing(demo_study),), 0)
    for kind in GPU_KINDS:
        recorded, predicted = demo_study.trace.events[kind], same.study.trace.events[kind]
        assert np.array_equal(recorded.start_ns, predicted.start_ns)
        assert np.array_equal(recorded.end_ns, predicted.end_ns)
    for gpu in range(len(demo_study.trace.gpus)):
        assert np.array_equal(
            demo_study.collectives.waits(gpu).start_ns, same.states.collectives.waits(gpu).start_ns
        )
    assert same.answer.saving_ns == 0
    assert same.shift_ns(1) == 0


def _nothing(study):
    """A change that matches kernels and changes none."""
    name = study.trace.names[int(study.trace.kernels.name_id[0])]
    return Scale(name, 1.0)


def test_lengths_and_their_words_are_those_of_the_replay(flattened, demo_study):
    iterations = demo_study.iterations()
    recorded, predicted = flattened.lengths_ns(1)
    assert recorded == iterations.end_ns(1) - iterations.start_ns(1)
    assert predicted == flattened.answer.iterations[1].predicted_ns
    assert predicted < recorded
    first, arrow, last = flattened.lengths_text(1).partition(" → ")
    assert arrow
    assert last.endswith("ms")
    assert not first.endswith("ms")
    assert flattened.saving_text.startswith(MINUS)
    assert flattened.sure_text.startswith("replayed")
    assert flattened.title == "ranks flattened"
    assert all(text in flattened.text for text in (flattened.title, flattened.range_text))


def test_a_saving_in_doubt_says_so(shared):
    path = shared / "cases" / "y_hostlate.sqlite"
    if not path.is_file():
        pytest.skip("no such case here")
    prediction = predict(Study(read(path, cache=False)), [CloseIdle()], 0)
    assert prediction.sure_text.startswith("replayed, in doubt · ")


def test_lanes_hold_as_much_compute_as_the_predicted_kernels(flattened):
    whole = TimeScale(*flattened.study.trace.window_ns, 400)
    for gpu, parts in enumerate(flattened.study.parts):
        shares = flattened.states.columns(gpu, whole)
        expected = parts.totals(whole.start_ns, whole.end_ns) / whole.length_ns
        assert np.allclose(shares.mean(axis=1), expected, atol=2e-3)


def test_the_iteration_begins_where_it_was_recorded(flattened):
    for number in range(flattened.iterations.count):
        begun = int(flattened.answer.edges_ns[number]) + flattened.shift_ns(number)
        assert begun == flattened.iterations.start_ns(number)


def test_several_changes_add_up(demo_study, flattened):
    both = predict(demo_study, (FlattenRanks(), FreeLaunches()), 0)
    assert both.title == "ranks flattened, launches free"
    assert both.answer.saving_ns >= flattened.answer.saving_ns


def test_waits_of_a_prediction_are_the_latest_start_less_the_own_one(flattened):
    kernels, graph = flattened.study.trace.kernels, flattened.answer.replay.inputs.graph
    wait = flattened.states.collectives.wait_ns
    rng = np.random.default_rng(3)
    for number in rng.choice(len(graph.sets), min(200, len(graph.sets)), replace=False).tolist():
        if graph.sets.root[number] >= 0:
            continue
        members = graph.sets.of(number)
        members = members[wait[members] >= 0]
        latest = kernels.start_ns[graph.sets.of(number)].max()
        for kernel in members.tolist():
            length = int(kernels.end_ns[kernel] - kernels.start_ns[kernel])
            assert wait[kernel] == min(max(int(latest - kernels.start_ns[kernel]), 0), length)


def test_what_matches_nothing_is_refused(demo_study):
    with pytest.raises(ChangeError):
        predict(demo_study, (Scale("no such kernel", 0.5),), 0)
    with pytest.raises(ChangeError):
        predict(demo_study, (CloseIdle(99),), 0)
