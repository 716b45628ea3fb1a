"""What the selected event waited for, on the timeline."""

import pytest

from tests.analysis.dependencies.test_waited import kernels_of, two_ranks
from tests.timeline.make import pixels, state_of, training
from viewer.drawing.bands import StateBand
from viewer.drawing.layout import bands_in
from viewer.rows import EventRef, build_rows
from viewer.state import ViewState
from viewer.timeline.timeline import Timeline
from viewer.trace import Kind


@pytest.fixture
def timeline(on_screen):
    study = two_ranks()
    state = ViewState()
    state.set_study(study, build_rows(study))
    shown = on_screen(Timeline(state, "raster"), 1000, 500)
    state.axis.go(0, 5_000)
    return shown


def lane(timeline, gpu):
    placed, band = next((p, b) for p, b in bands_in(timeline.canvas.placed, StateBand) if b.gpu == gpu)
    return placed.y + band.y, placed.y + band.y + band.height


def test_a_line_leads_from_the_wait_to_the_late_rank_and_goes_with_the_selection(timeline, qtbot):
    state, canvas = timeline.state, timeline.canvas
    before = pixels(canvas.grab().toImage()) & 0xFFFFFF
    after = kernels_of(state.study, 0, "gemm")[1]
    state.select_event(EventRef(Kind.KERNEL, after))
    qtbot.waitUntil(lambda: state.wait.wait is not None)
    picture = pixels(canvas.grab().toImage()) & 0xFFFFFF
    link = timeline.theme.link & 0xFFFFFF
    # At the instant when rank 1 came, from its own lane down to that of rank 1.
    x = round(canvas.x_of(1400))
    own, other = lane(timeline, 0), lane(timeline, 1)
    between = picture[own[1] + 2 : other[0] - 2, x - 2 : x + 3]
    assert (between == link).any(axis=1).mean() > 0.9
    assert not (before == link).any()
    # The wait is framed from the start of the collective to that of the kernel.
    left, right = round(canvas.x_of(1000)), round(canvas.x_of(3020))
    edge = picture[own[0] - 3 : own[0], left + 5 : right - 5]
    assert (edge == link).any(axis=0).all()
    state.select_event(None)
    assert state.wait.wait is None
    assert not (pixels(canvas.grab().toImage()) & 0xFFFFFF == link).any()


def test_a_stall_shows_what_the_operation_behind_it_waited_for(on_screen, qtbot):
    timeline = on_screen(Timeline(state_of(training()), "raster"), 1000, 500)
    state = timeline.state
    qtbot.waitUntil(lambda: timeline.background_results.stalls is not None)
    stalls = timeline.background_results.stalls.table
    number = next(i for i, row in enumerate(stalls.to_dict("records")) if row["after_index"] >= 0)
    row = stalls.iloc[number]
    state.select((int(row["start_ns"]), int(row["end_ns"])))
    state.choose_stall(number)
    qtbot.waitUntil(lambda: not state.wait.is_busy)
    assert state.wait.wait is not None
    assert state.wait.wait.event.index == int(row["after_index"])
