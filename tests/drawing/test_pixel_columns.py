import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.drawing.lanes import Lane
from viewer.drawing.pixel_columns import columns
from viewer.drawing.scale import Scale


def lane(pairs, colours=None):
    start, end = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    colour = np.arange(len(pairs)) % 7 if colours is None else colours
    return Lane(start, end, np.asarray(colour, np.uint16))


@st.composite
def disjoint(draw):
    steps = draw(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 90)), min_size=1, max_size=60))
    at = draw(st.integers(-500, 10**12))
    pairs = []
    for gap, length in steps:
        pairs.append((at + gap, at + gap + length))
        at += gap + length
    return lane(pairs)


@st.composite
def a_window_on(draw, held):
    low = int(held.start_ns[0]) + draw(st.integers(-300, 300))
    return Scale(low, low + draw(st.integers(20, 6000)), draw(st.integers(1, 90)))


def checked(held, scale):
    """Compare what is drawn with the events, one column after another."""
    found, bars = columns([held], scale)
    edges = found.edges_ns[0]
    # A column of the grid moves each of its edges by half a bucket, a bucket is a quarter of a pixel at most.
    assert (np.abs(edges - scale.edges()) <= scale.ns_per_px / 8 + 1).all()
    as_bar = np.zeros(len(held), bool)
    as_bar[bars.at] = True
    length = held.end_ns - held.start_ns
    assert not (as_bar & (length < int(scale.ns_per_px))).any()
    seen = (held.start_ns < edges[-1]) & (held.end_ns > edges[0])
    # A bar of which less than half a pixel is in view rounds to nothing, as its end does anywhere else.
    inside = np.minimum(held.end_ns, scale.end_ns) - np.maximum(held.start_ns, scale.start_ns)
    cut = (held.start_ns < scale.start_ns) | (held.end_ns > scale.end_ns)
    dropped = seen & ~as_bar & cut & (length >= scale.ns_per_px) & (inside <= scale.ns_per_px / 2 + 1)
    assert not (seen & ~as_bar & ~dropped & (length > 1.25 * scale.ns_per_px + 2)).any()
    narrow = ~as_bar & ~dropped
    for column in range(scale.width):
        low, high = edges[column], edges[column + 1]
        covered = (np.minimum(held.end_ns, high) - np.maximum(held.start_ns, low)).clip(0)[narrow].sum()
        under = ((bars.x0 <= column) & (column < bars.x1)).any()
        starts = narrow & (held.start_ns >= low) & (held.start_ns < high)
        colour = found.colour[0, column]
        if under:
            assert colour == -1
        elif covered > 0:
            assert found.busy[0, column] == pytest.approx(covered / (high - low))
            touching = narrow & (held.start_ns < high) & (held.end_ns > low)
            assert colour in held.colour[touching]
        elif starts.any():
            assert found.busy[0, column] == 0
            assert colour in held.colour[starts]
        elif high > low:
            assert colour == -1
    assert (bars.x1 > bars.x0).all()


@given(st.data())
@settings(max_examples=300)
def test_columns_and_bars_hold_exactly_the_time_of_the_events(data):
    held = data.draw(disjoint())
    checked(held, data.draw(a_window_on(held)))


@given(st.data(), st.integers(1, 4))
@settings(max_examples=200)
def test_the_same_through_the_coarse_grid(data, times):
    held = data.draw(disjoint())
    wide = 4 << held.grid.bits
    low = int(held.start_ns[0]) - data.draw(st.integers(0, 500))
    width = data.draw(st.integers(1, 60))
    scale = Scale(low, low + width * wide * times, width)
    assert scale.ns_per_px >= wide
    checked(held, scale)


def test_a_stream_that_is_a_tenth_busy_looks_a_tenth_busy_at_every_zoom():
    held = lane([(t, t + 100) for t in range(0, 10**7, 1000)])
    for length in (10**7, 3_141_592, 10**6, 10**5, 20_000):
        scale = Scale(0, length, 160)
        found, bars = columns([held], scale)
        drawn = found.busy[0][found.colour[0] >= 0].sum() + (bars.x1 - bars.x0).sum()
        assert drawn / scale.width == pytest.approx(0.1, rel=0.06)
        if scale.ns_per_px > 20_000:
            assert found.busy[0] == pytest.approx(0.1, abs=0.02)


def test_the_longest_event_gives_the_column_its_colour():
    held = lane([(0, 10), (20, 90), (95, 99), (100, 101)], [1, 2, 3, 4])
    found, _ = columns([held], Scale(0, 1000, 10))
    assert found.colour[0].tolist() == [2, 4] + [-1] * 8


def test_an_event_that_reaches_into_a_column_outweighs_a_shorter_one_in_it():
    held = lane([(60, 150), (160, 161)], [1, 2])
    found, _ = columns([held], Scale(0, 1000, 10))
    assert found.colour[0, :2].tolist() == [1, 1]


def test_empty_events_are_seen_and_cover_nothing():
    found, bars = columns([lane([(55, 55)], [3])], Scale(0, 100, 10))
    assert found.colour[0].tolist() == [-1] * 5 + [3] + [-1] * 4
    assert not found.busy.any()
    assert not len(bars.lane)


def test_bars_carry_in_from_the_left_and_out_to_the_right():
    _, bars = columns([lane([(0, 1000), (1000, 5000)])], Scale(500, 1500, 10))
    assert list(zip(bars.x0.tolist(), bars.x1.tolist(), strict=True)) == [(0, 5), (5, 10)]


def test_below_a_nanosecond_per_pixel_nothing_breaks():
    _, bars = columns([lane([(10, 12), (13, 20), (20, 20)])], Scale(5, 25, 400))
    assert bars.x0.tolist() == [100, 160]
    assert bars.x1.tolist() == [140, 300]


def test_far_into_a_trace_nothing_moves():
    near = lane([(1000, 1001), (1002, 1005)])
    far_ns = 200_000_000_000
    far = lane([(far_ns + 1000, far_ns + 1001), (far_ns + 1002, far_ns + 1005)])
    for scale in (Scale(900, 1100, 200), Scale(900, 1100, 1600)):
        moved = Scale(scale.start_ns + far_ns, scale.end_ns + far_ns, scale.width)
        (_, near_bars), (_, far_bars) = columns([near], scale), columns([far], moved)
        assert near_bars.x0.tolist() == far_bars.x0.tolist()
        assert near_bars.x1.tolist() == far_bars.x1.tolist()


def test_lanes_without_events_and_no_lanes_at_all():
    empty = Lane(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint16))
    found, _ = columns([empty, lane([(0, 5)])], Scale(0, 100, 10))
    assert (found.colour[0] == -1).all()
    assert found.colour[1, 0] >= 0
    assert columns([], Scale(0, 100, 10))[0].busy.shape == (0, 10)


def test_panning_by_whole_buckets_does_not_shimmer():
    rng = np.random.default_rng(1)
    start = np.cumsum(rng.integers(20, 60, 40_000))
    held = Lane(
        start, start + rng.integers(1, 20, len(start)), rng.integers(0, 9, len(start)).astype(np.uint16)
    )
    pixel = 64 << held.grid.bits
    first, _ = columns([held], Scale(0, 100 * pixel, 100))
    moved, _ = columns([held], Scale(7 * pixel, 107 * pixel, 100))
    assert (first.colour[0, 7:] == moved.colour[0, :-7]).all()
    assert (first.busy[0, 7:] == moved.busy[0, :-7]).all()


def test_a_window_of_years_with_one_event_far_away():
    held = lane([(1000, 2000), (3000, 4000), (10**17, 10**17 + 10**16), (10**18, 10**18 + 5)])
    scale = Scale(0, 2 * 10**18, 3200)
    found, bars = columns([held], scale)
    assert bars.x0.tolist() == [160]
    assert bars.x1.tolist() == [176]
    assert np.flatnonzero(found.colour[0] >= 0).tolist() == [0, 1600]


@given(st.lists(disjoint(), min_size=2, max_size=5), st.data())
@settings(max_examples=60)
def test_many_lanes_at_once_are_drawn_as_each_alone(lanes, data):
    scale = data.draw(a_window_on(lanes[0]))
    together, bars = columns(lanes, scale)
    for number, alone in enumerate(lanes):
        found, own = columns([alone], scale)
        assert (together.busy[number] == found.busy[0]).all()
        assert (together.colour[number] == found.colour[0]).all()
        mine = bars.lane == number
        assert [bars.at[mine].tolist(), bars.x0[mine].tolist()] == [own.at.tolist(), own.x0.tolist()]
