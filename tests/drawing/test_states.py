import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.drawing import LIGHT, Scale
from viewer.drawing import states as states_module
from viewer.drawing.palette import COMPUTE, EXPOSED, HIDDEN, HIDDEN_EDGE, SPINNING, WAITING
from viewer.drawing.states import (
    PIECES,
    CoarseBreakdown,
    covered_shares,
    hatch,
    overlay_tile,
    stacked,
    state_columns,
    state_layer,
)


def parts(stretch=1):
    """Ten kernels of 100 ns every 1000 ns, a tenth of each thousand exposed, a copy at the end."""
    made = TraceMaker()
    for at in range(0, 10_000 * stretch, 1000 * stretch):
        made.kernel(at, at + 500 * stretch)
        made.kernel(at + 400 * stretch, at + 600 * stretch, "ncclAllReduce", stream=20)
    made.copy(9_600 * stretch, 9_900 * stretch)
    return Study(made.trace()).parts[0]


def test_shares_of_a_column_are_the_parts_and_sum_to_one():
    shares = state_columns(parts(), Scale(0, 10_000, 10))
    assert shares.shape == (5, 10)
    assert shares.sum(axis=0) == pytest.approx(1)
    assert shares[:, 0] == pytest.approx([0.4, 0.1, 0.1, 0, 0.4])
    assert shares[:, 9] == pytest.approx([0.4, 0.1, 0.1, 0.3, 0.1])


def test_below_a_nanosecond_a_column_shows_the_one_that_holds_it():
    shares = state_columns(parts(), Scale(595, 615, 100))
    assert shares.sum(axis=0) == pytest.approx(1)
    assert shares[2, :25].tolist() == [1] * 25
    assert shares[4, 25:].tolist() == [1] * 75


fractions = st.lists(
    st.lists(st.integers(0, 50), min_size=5, max_size=5).filter(any).map(lambda w: [x / sum(w) for x in w]),
    min_size=1,
    max_size=30,
)


@given(fractions, st.integers(1, 40))
def test_each_part_of_a_column_is_as_high_as_its_share_to_a_pixel(found, height):
    shares = np.array(found, np.float32).T
    edges = np.array([3], np.int32), np.array([3 + height], np.int32)
    rect, colour = state_layer([shares[:4]], *edges, colours=range(4))
    # The upper pixel of hidden communication that meets the ground is its edge.
    colour = np.where(colour == HIDDEN_EDGE, 1, colour)
    drawn = np.full((height + 6, shares.shape[1]), -1)
    for (x, y, w, h), part in zip(rect.astype(int), colour, strict=True):
        assert (drawn[y : y + h, x : x + w] == -1).all()
        drawn[y : y + h, x : x + w] = part
    assert (drawn[:3] == -1).all()
    assert (drawn[3 + height :] == -1).all()
    for column in range(shares.shape[1]):
        for part in range(4):
            assert abs((drawn[:, column] == part).sum() - shares[part, column] * height) <= 1.001
        busy = shares[:4, column].sum()
        assert ((drawn[:, column] >= 0).sum() >= 1) == (busy > 0)
        # Compute at the bottom, idle on top.
        seen = drawn[3 : 3 + height, column][::-1]
        seen = seen[seen >= 0]
        assert (np.diff(seen) >= 0).all()


def test_the_table_for_whole_traces_agrees_with_the_search(monkeypatch):
    monkeypatch.setattr(states_module, "COARSE_FROM_INTERVALS", 1)
    monkeypatch.setattr(states_module, "COARSE_BITS", 12)
    held = parts()
    coarse = CoarseBreakdown.of(held)
    for scale in (Scale(0, 9_900, 20), Scale(-3000, 14_000, 17)):
        assert coarse.serves(scale)
        found, exact = coarse.columns(scale), state_columns(held, scale)
        assert found.sum(axis=0) == pytest.approx(1, abs=1e-6)
        assert np.abs(found - exact).max() < 2 / 32
    assert not coarse.serves(Scale(0, 100, 100))


@pytest.mark.parametrize("stretch", [1, 1 << 25, 1 << 40])
def test_the_table_holds_for_traces_of_any_length(monkeypatch, stretch):
    monkeypatch.setattr(states_module, "COARSE_FROM_INTERVALS", 1)
    monkeypatch.setattr(states_module, "COARSE_BITS", 12)
    held = parts(stretch)
    coarse, scale = CoarseBreakdown.of(held), Scale(0, 9_900 * stretch, 20)
    assert coarse.serves(scale)
    assert np.abs(coarse.columns(scale) - state_columns(held, scale)).max() < 2 / 32


def test_few_intervals_need_no_table():
    assert CoarseBreakdown.of(parts()) is None


def test_the_overlay_is_as_strong_as_the_share_of_the_column():
    scale = Scale(0, 10_000, 40)
    tile = overlay_tile(parts(), scale, LIGHT, {"idle", "exposed"})
    assert tile.shape == (8, 40, 4)
    assert tile.dtype == np.uint8
    assert (tile[:, :, :3] <= tile[:, :, 3:]).all()
    shares = state_columns(parts(), scale)
    exposed = overlay_tile(parts(), scale, LIGHT, {"exposed"})
    assert (exposed == exposed[:1]).all()
    assert exposed[0, :, 3] == pytest.approx(255 * 0.20 * shares[2], abs=0.51)
    idle = overlay_tile(parts(), scale, LIGHT, {"idle"})[:, :36]
    assert idle[:, :, 3].max(axis=0) == pytest.approx(255 * 0.4 * shares[4, :36], abs=0.51)
    assert ((idle[:, :, 3] > 0).mean(axis=0)[shares[4, :36] > 0] == 0.125).all()


def test_without_overlays_the_tile_is_empty():
    assert not overlay_tile(parts(), Scale(0, 100, 10), LIGHT, ()).any()


def test_hatches_are_as_wide_apart_on_finer_screens():
    for dpr, tile in ((1.0, 8), (1.25, 10), (1.5, 12), (2.0, 16)):
        lines = hatch(tile * 3, dpr)
        assert lines.shape == (tile, tile * 3)
        assert (lines[:, :tile] == lines[:, tile : 2 * tile]).all()
        assert (lines.sum(axis=1) == 3 * int(dpr)).all()


def test_waiting_is_hatched_across_the_hatch_of_idle():
    scale = Scale(0, 10_000, 40)
    waiting = np.zeros(40, np.float32)
    waiting[10:20] = 0.5
    tile = overlay_tile(parts(), scale, LIGHT, {"waiting"}, waiting)
    assert not tile[:, :10].any()
    assert not tile[:, 20:].any()
    assert tile[:, 10:20, 3].max() == round(255 * 0.5 * 0.5)
    lines = tile[:, 10:20, 3] > 0
    assert (lines[:-1, :-1] == lines[1:, 1:]).all()


def test_spinning_stands_on_the_compute_that_it_is_part_of():
    made = (
        TraceMaker()
        .kernel(0, 500, "spin_kernel(long)")
        .kernel(500, 600)
        .kernel(700, 800, "spin_kernel(long)")
    )
    breakdown = Study(made.trace(), Rules.builtin()).parts[0]
    scale = Scale(0, 800, 80)
    shares, spinning = state_columns(breakdown, scale), covered_shares(breakdown.spinning, scale)
    assert spinning.tolist() == [1] * 50 + [0] * 20 + [1] * 10
    pieces = stacked(shares, spinning=spinning)
    assert pieces.sum(axis=0) == pytest.approx(shares[:4].sum(axis=0))
    assert pieces[PIECES.index(SPINNING)].tolist() == spinning.tolist()
    rect, colour = state_layer([pieces], np.array([3], np.int32), np.array([13], np.int32))
    drawn = {(int(x), int(w)): int(c) for (x, _, w, _), c in zip(rect, colour, strict=True)}
    assert drawn == {(0, 50): SPINNING, (50, 10): COMPUTE, (70, 10): SPINNING}


def test_waiting_is_cut_from_what_is_exposed_and_never_more_than_that():
    shares = np.array([[0.2, 0.2], [0.1, 0.1], [0.5, 0.1], [0, 0.2], [0.2, 0.4]], np.float32)
    pieces = stacked(shares, waiting=np.array([0.2, 0.3], np.float32))
    assert pieces[PIECES.index(WAITING)] == pytest.approx([0.2, 0.1])
    assert pieces[PIECES.index(EXPOSED)] == pytest.approx([0.3, 0])
    assert pieces.sum(axis=0) == pytest.approx(shares[:4].sum(axis=0))


def test_hidden_communication_has_an_edge_where_it_meets_the_ground_only():
    shares = np.array([[0.2, 0.2, 0.2], [0.5, 0.5, 0], [0, 0.2, 0], [0, 0, 0], [0.3, 0.1, 0.8]], np.float32)
    rect, colour = state_layer([stacked(shares)], np.array([0], np.int32), np.array([10], np.int32))
    (edge,) = rect[colour == HIDDEN_EDGE].tolist()
    assert edge == [0, 3, 1, 1]
    assert sorted(rect[colour == HIDDEN].tolist()) == [[0, 4, 1, 4], [1, 3, 1, 5]]
