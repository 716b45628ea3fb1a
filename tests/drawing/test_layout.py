from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study
from viewer.drawing import place, row_height, shown_rows
from viewer.drawing.bands import MAX_LANES, EventBand, StateBand, hidden_lanes
from viewer.drawing.lane_sizes import LEAST, MOST, USUAL
from viewer.drawing.layout import fitted_sizes, row_bands
from viewer.rows import RowKind, build_rows


def state(roots, expanded=(), hidden=(), filter_text=""):
    return SimpleNamespace(roots=roots, expanded=set(expanded), hidden=set(hidden), filter_text=filter_text)


@pytest.fixture(scope="module")
def roots():
    made = TraceMaker()
    for rank in range(8):
        made.range(0, 1000, "forward", process=rank).call(10, 20, process=rank)
        made.kernel(20, 900, process=rank).kernel(30, 800, "ncclAllReduce", stream=20, process=rank)
    for depth in range(12):
        made.range(depth, 1000 - depth, f"deep {depth}", domain="deep")
    return build_rows(Study(made.trace()))


def test_eight_folded_ranks_are_eight_lanes_of_two_bands(roots):
    placed = place(shown_rows(state(roots)))
    assert [p.row.label for p in placed] == [f"Rank {r}" for r in range(8)]
    assert len({p.height for p in placed}) == 1
    ranges, states = placed[0].bands
    assert isinstance(ranges, EventBand)
    assert isinstance(states, StateBand)
    assert ranges.y + ranges.height <= states.y
    assert states.y + states.height <= placed[0].height


@pytest.mark.parametrize("room", [216, 263, 300, 491, 671, 900])
def test_eight_folded_ranks_fill_the_height_and_show_their_state_more_than_their_ranges(roots, room):
    shown = shown_rows(state(roots))
    sizes = fitted_sizes(shown, roots, room)
    placed = place(shown, sizes=sizes)
    used = placed[-1].y + placed[-1].height
    # What is left is less than a pixel for each rank.
    assert room - len(roots) < used <= room
    for p in placed:
        ranges, states = p.bands
        assert states.height >= ranges.height


def test_lanes_grow_no_further_than_they_are_of_use(roots):
    (shown,) = shown_rows(state(roots[:1]))
    sizes = fitted_sizes([shown], roots[:1], 2000)
    assert sizes == MOST
    assert row_height(*shown, sizes) < 260


def test_unfolding_one_rank_leaves_the_lanes_of_the_others(roots):
    folded = fitted_sizes(shown_rows(state(roots)), roots, 300)
    unfolded = state(roots, [r.key for r in roots[0].walk()])
    assert fitted_sizes(shown_rows(unfolded), roots, 300) == folded
    # Where lanes were larger than usual they become as usual: rows that scroll take no more than that.
    unfolded = state(roots, [r.key for root in roots for r in root.walk()])
    assert fitted_sizes(shown_rows(unfolded), roots, 600) == USUAL
    assert fitted_sizes(shown_rows(state(roots)), roots, 600).step > USUAL.step


def test_too_many_ranks_are_as_small_as_can_be_read(roots):
    assert fitted_sizes(shown_rows(state(roots)), roots, 100) == LEAST


def test_an_unfolded_rank_of_one_gpu_shows_the_state_itself(roots):
    (band,) = row_bands(roots[0], expanded=True)
    assert isinstance(band, StateBand)
    gpu = roots[0].children[0]
    assert gpu.is_merged
    shown = [row for row, _ in shown_rows(state(roots[:1], [roots[0].key]))]
    assert shown[:2] == [roots[0], gpu.children[0]]
    assert row_height(roots[0], True) < row_height(roots[0], False)


def test_gpus_of_one_process_have_rows_of_their_own():
    (root,) = build_rows(
        Study(TraceMaker().kernel(0, 10).kernel(0, 10, device=1).range(0, 9, "load").trace())
    )
    (band,) = row_bands(root, expanded=True)
    assert isinstance(band, EventBand)
    shown = [row for row, _ in shown_rows(state([root], [root.key]))]
    assert [row.kind for row in shown[:3]] == [RowKind.PROCESS, RowKind.GPU, RowKind.GPU]
    assert isinstance(row_bands(shown[1], expanded=True)[0], StateBand)
    assert [type(band) for band in row_bands(root, expanded=False)] == [EventBand, StateBand, StateBand]


def test_rows_are_stacked_without_gaps(roots):
    every = [row.key for root in roots for row in root.walk()]
    placed = place(shown_rows(state(roots, every)), top=-50)
    assert placed[0].y == -50
    for above, below in pairwise(placed):
        assert above.y + above.height == below.y
    assert all(p.height >= 13 for p in placed)
    for p in placed:
        for band in row_bands(p.row, p.expanded):
            assert 0 <= band.y < band.y + band.height <= p.height


def test_deep_nesting_is_cut_and_says_so(roots):
    deep = next(r for r in roots[0].walk() if r.kind is RowKind.NVTX and r.detail == "deep")
    assert len(row_bands(deep, False)) == MAX_LANES
    assert hidden_lanes(deep) == 12 - MAX_LANES


def test_a_folded_thread_shows_what_is_in_it(roots):
    thread = next(r for r in roots[1].walk() if r.kind is RowKind.THREAD)
    shown = row_bands(thread, expanded=False)
    assert [band.row.kind for band in shown] == [RowKind.NVTX, RowKind.API]
    assert row_bands(thread, expanded=True) == ()


def test_hidden_rows_go_with_what_is_under_them(roots):
    rank, gpu = roots[0], roots[0].children[0]
    shown = shown_rows(state(roots[:1], [rank.key, gpu.key], [gpu.key]))
    assert [row.label for row, _ in shown] == ["Rank 0", "Threads"]


def test_a_filter_keeps_the_matches_and_their_ancestors(roots):
    every = [row.key for root in roots for row in root.walk()]
    shown = shown_rows(state(roots, every, filter_text="rank 3 NCCL"))
    labels = [row.label for row, _ in shown]
    assert labels[0] == "Rank 3"
    assert "Stream 20" in labels
    assert "Stream 7" not in labels
    assert "Rank 4" not in labels


def test_a_process_without_ranges_shows_its_state_alone():
    (root,) = build_rows(Study(TraceMaker().kernel(0, 10).trace()))
    (band,) = row_bands(root, expanded=False)
    assert isinstance(band, StateBand)
    assert row_height(root, False) >= 22
