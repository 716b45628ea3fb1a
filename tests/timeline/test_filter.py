"""A filter: what lies outside is veiled, on each GPU by its own boundaries, and figures follow it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.timeline.make import MS, painted, rows_of, state_of, study_of, training
from viewer.analysis.core.intervals import window
from viewer.analysis.time.scope import Scope
from viewer.drawing.bands import StateBand
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT
from viewer.rows import RowKind
from viewer.timeline.headers.header_values import busy_and_exposed, figures, row_tip, share
from viewer.trace import CaptureSession


@pytest.fixture
def state(qapp):
    """Three iterations of 20 ms on two GPUs."""
    return state_of(training())


def row(state, kind):
    return next(r for r in state.rows.roots[0].walk() if r.kind is kind)


def test_time_outside_is_veiled_by_each_gpu_s_own_boundaries(state):
    study = state.study
    placed = rows_of(study, RowKind.STREAM)
    own = (window(5 * MS, 15 * MS), window(8 * MS, 15 * MS))
    scope = Scope("laps", own, window(5 * MS, 15 * MS))
    plain = painted(study, placed, (0, 20 * MS), 200)
    veiled = painted(study, placed, (0, 20 * MS), 200, scope=scope)
    for place in placed:
        lane = slice(place.y + 1, place.y + place.height)
        low, high = (int(t) // (MS // 10) for t in (own[place.row.gpu].start_ns[0], 15 * MS))
        assert np.array_equal(plain[lane, low:high], veiled[lane, low:high])
        outside = np.r_[0:low, high:200]
        bars = plain[lane, outside] != (LIGHT.background | 0xFF000000)
        assert (plain[lane, outside] != veiled[lane, outside])[bars].all()


def test_busy_counts_what_the_filter_holds_of_the_window(state):
    gpu = row(state, RowKind.GPU)
    scope = state.study.range_scope(2 * MS, 14 * MS)
    parts = state.study.parts[0].totals(2 * MS, 14 * MS)
    busy, exposed = busy_and_exposed(state.study, gpu, (0, 20 * MS), scope)
    assert busy == pytest.approx(1 - parts[4] / (12 * MS))
    assert exposed == pytest.approx(parts[2] / (12 * MS))
    assert busy_and_exposed(state.study, gpu, (30 * MS, 40 * MS), scope) is None


def test_shares_follow_the_filter(state):
    memory = row(state, RowKind.MEMORY)
    before = share(memory, None)
    state.set_filter(state.study.range_scope(2 * MS, 4 * MS))
    assert share(memory, state.filter) == pytest.approx(1)
    assert figures(state, memory) == ("100.0 %",)
    assert "time of the filter" in row_tip(state, memory)
    state.set_filter(None)
    assert share(memory, None) == before < 0.5


def test_outside_the_recording_nothing_is_idle(qapp):
    study = study_of(replace(training(), session=CaptureSession(duration_ns=70 * MS)))
    recorded, beyond = (0, 70 * MS), (-70 * MS, 140 * MS)
    gpu = rows_of(study, RowKind.GPU)[0].row
    assert study.trace.span_ns == recorded
    assert busy_and_exposed(study, gpu, beyond) == busy_and_exposed(study, gpu, recorded)
    assert busy_and_exposed(study, gpu, (70 * MS, 140 * MS)) is None
    scene, scale = Scene(study), Scale(*beyond, 300)
    shares = scene.state_columns(0, scale).sum(axis=0)
    assert shares[:100] == pytest.approx(0)
    assert shares[100:200] == pytest.approx(1)
    assert shares[200:] == pytest.approx(0)


@pytest.mark.parametrize("overlays", [(), ("idle",)])
def test_outside_the_recording_nothing_is_hatched(qapp, overlays):
    study = study_of(replace(training(), session=CaptureSession(duration_ns=70 * MS)))
    placed = rows_of(study, RowKind.PROCESS)[:1]
    image = painted(study, placed, (-70 * MS, 140 * MS), 300, overlays)
    (box,) = Scene(study).boxes(StateBand, placed)[:1]
    lane = image[box.top : box.bottom]
    assert (lane[:, :100] == lane[0, 0]).all()
    assert (lane[:, 200:] == lane[0, 0]).all()
    assert (lane[:, 190:200] != lane[0, 0]).any()
