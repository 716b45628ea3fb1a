"""The critical path as a line: what is drawn at every zoom, against the pieces that it is made of."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.drawing.critical_line import (
    APART_PX,
    FEWEST,
    CriticalLine,
    Stretches,
    lane_middles,
    line_segments,
    widened,
)
from viewer.drawing.scale import Scale

MIDDLES = {0: 10, 1: 30, 2: 50}


def line_of(*pieces):
    gpu, start, end = (np.array(column) for column in zip(*pieces, strict=True))
    return CriticalLine.of(gpu.astype(np.int32), start.astype(np.int64), end.astype(np.int64))


def line_rects(stretches, scale, middles, height, width):
    return widened(line_segments(stretches, scale, middles, height), width)


def picture(rects, width, height):
    """The pixels that rectangles cover, by painting them one by one."""
    pixels = np.zeros((height, width), bool)
    for left, top, wide, high in rects.tolist():
        pixels[max(top, 0) : max(top + high, 0), max(left, 0) : max(left + wide, 0)] = True
    return pixels


def test_pieces_of_one_lane_are_one_stretch_and_a_step_joins_two_lanes():
    line = line_of((0, 0, 40), (0, 40, 100), (2, 100, 200))
    assert line.exact.gpu.tolist() == [0, 2]
    rects = line_rects(line.exact, Scale(0, 200, 200), MIDDLES, 60, 2)
    assert rects.tolist() == [[-1, 9, 102, 2], [99, 49, 102, 2], [99, 9, 2, 42]]


def test_a_gap_between_two_iterations_has_no_step():
    rects = line_rects(line_of((0, 0, 40), (1, 60, 90)).exact, Scale(0, 100, 100), MIDDLES, 60, 2)
    assert len(rects) == 2


@pytest.mark.parametrize(("seen", "edge"), [({1: 30, 2: 50}, "above"), ({0: 10, 1: 30}, "below")])
def test_a_lane_that_is_scrolled_away_leaves_the_area_on_its_side(seen, edge):
    line = line_of((1, 0, 50), (0 if edge == "above" else 2, 50, 100))
    pixels = picture(line_rects(line.exact, Scale(0, 100, 100), seen, 60, 2), 100, 60)
    assert pixels[0 if edge == "above" else 59, 50]
    # Nothing of the lane itself is drawn: there is none.
    assert not pixels[[0, 59]][:, 60:].any()


def test_a_hidden_lane_is_left_out():
    line = line_of((0, 0, 50), (1, 50, 70), (2, 70, 100))
    rects = line_rects(line.exact, Scale(0, 100, 100), {0: 10, 2: 50}, 60, 2)
    assert rects.tolist() == [[-1, 9, 52, 2], [69, 49, 32, 2]]


def test_a_window_far_from_the_path_shows_nothing():
    line = line_of((0, 0, 100))
    assert not len(line_rects(line.exact, Scale(10**9, 10**9 + 100, 100), MIDDLES, 60, 2))
    assert not len(line_rects(line.exact, Scale(0, 100, 100), {}, 60, 2))


def test_the_first_lane_of_a_gpu_counts():
    assert lane_middles([(3, 10, 20), (3, 40, 50), (4, 60, 70)]) == {3: 15, 4: 65}


@st.composite
def tiled(draw):
    """Pieces that tile a range of time, on three GPUs."""
    lengths = draw(st.lists(st.integers(0, 40), min_size=1, max_size=80))
    gpus = draw(st.lists(st.integers(0, 2), min_size=len(lengths), max_size=len(lengths)))
    ends = np.cumsum(lengths)
    return [(g, int(e) - n, int(e)) for g, n, e in zip(gpus, lengths, ends, strict=True)]


@given(tiled(), st.integers(0, 800), st.integers(0, 800))
def test_time_on_each_gpu_equals_the_sum_nanosecond_by_nanosecond(pieces, one, other):
    line = line_of(*pieces)
    low, high = min(one, other), max(one, other)
    spent = line.spent_ns(low, high, 3)
    seen = [g for g, start, end in pieces for t in range(start, end) if low <= t < high]
    assert spent.tolist() == [seen.count(g) for g in range(3)]
    assert line.changes(low, high) == sum(a != b for a, b in pairwise(seen))


@given(tiled(), st.sampled_from([1, 2, 8, 64, 512]))
def test_coarse_stretches_tile_the_same_time_on_the_gpu_with_most_of_it(pieces, bucket):
    exact = line_of(*pieces).exact
    if not len(exact):
        return
    coarse = exact.coarse(bucket)
    assert coarse.start_ns[0] == exact.start_ns[0]
    assert coarse.end_ns[-1] == exact.end_ns[-1]
    assert coarse.start_ns[1:].tolist() == coarse.end_ns[:-1].tolist()
    # A stretch as long as a bucket is never lost, whatever stands beside it.
    for gpu, start, end in zip(exact.gpu, exact.start_ns, exact.end_ns, strict=True):
        if end - start >= bucket:
            at = np.searchsorted(coarse.end_ns, start, "right")
            assert coarse.gpu[at] == gpu
            assert coarse.start_ns[at] <= start
            assert coarse.end_ns[at] >= end


@given(tiled(), st.sampled_from([8, 64, 512]))
def test_what_is_joined_is_drawn_on_the_gpu_with_most_of_its_time(pieces, bucket):
    exact = line_of(*pieces).exact
    if not len(exact):
        return
    coarse = exact.coarse(bucket)
    drawn = np.repeat(coarse.gpu, coarse.end_ns - coarse.start_ns)
    is_right = drawn == np.repeat(exact.gpu, exact.end_ns - exact.start_ns)
    # Of three GPUs the one with most has a third at least, of each that is joined and so of all.
    assert 3 * int(is_right.sum()) >= len(drawn)


@settings(max_examples=20)
@given(st.integers(0, 2**20), st.integers(1, 2000))
def test_steps_never_crowd(start, ns_per_px):
    rng = np.random.default_rng(start)
    lengths = rng.integers(1, 200, 20 * FEWEST)
    ends = np.cumsum(lengths).astype(np.int64)
    line = CriticalLine.of(rng.integers(0, 8, len(ends)).astype(np.int32), ends - lengths, ends)
    drawn = line.at(ns_per_px)
    if len(drawn) > FEWEST:
        # In each such stretch of the screen one may end, one lie and one begin.
        begun = np.bincount(drawn.start_ns // (APART_PX * ns_per_px // 2 + 1))
        assert begun.max() <= 3
    assert int((drawn.end_ns - drawn.start_ns).sum()) == int(lengths.sum())


def test_levels_know_their_zoom():
    lengths = np.full(4 * FEWEST, 10, np.int64)
    ends = np.cumsum(lengths)
    gpu = (np.arange(len(ends)) % 2).astype(np.int32)
    line = CriticalLine.of(gpu, ends - lengths, ends)
    assert line.at(0.1) is line.exact
    assert len(line.at(1000)) <= FEWEST
    assert isinstance(line.at(1000), Stretches)
