"""A counter row from any table: everything follows from its entry in the list of kinds."""

from dataclasses import replace

import numpy as np
import pytest

from tests.timeline.make import MS, painted, rows_of, state_of, study_of, training
from viewer.drawing import LIGHT, Scale, Scene
from viewer.rows import RowKind
from viewer.rows.counter import Counter, Samples
from viewer.rows.presets import PRESETS
from viewer.state import Hover
from viewer.timeline.cards.hit_text import has_text, hit_text
from viewer.timeline.headers.header_values import cursor_value, row_tip
from viewer.timeline.headers.paint_header import _scale_texts

GIB = 2**30
TIMES = np.array([0, 20 * MS, 40 * MS, 40 * MS + 1, 60 * MS])
USED = np.array([10 * GIB, 60 * GIB, 3 * GIB, 10 * GIB, np.nan])


@pytest.fixture
def memory(monkeypatch, qapp):
    """The kind of launch latency turned into one of memory in use, of every GPU, shown at first."""
    counter = Counter(
        "Memory", "in use", unit="bytes", meaning="allocated", load=lambda _study, _gpu: Samples(TIMES, USED)
    )
    traits = replace(RowKind.LAUNCHES.traits, name="memory_used", counter=counter, shown_at_first=True)
    monkeypatch.setattr(RowKind.LAUNCHES, "traits", traits)
    return RowKind.LAUNCHES


def test_it_is_a_row_of_each_gpu_and_shown_at_first(memory):
    state = state_of(training())
    rows = [row for root in state.rows.roots for row in root.walk() if row.kind is memory]
    assert [row.gpu for row in rows] == [0, 1]
    assert rows[0].text_path.endswith("GPU 0 H200 › Memory in use")
    assert not PRESETS["lanes"](state.rows.roots)[1] & {row.key for row in rows}


def test_its_curve_has_a_scale_of_its_own_and_leaves_out_no_extreme(memory):
    study = study_of(training(ranks=1))
    scene, placed = Scene(study), rows_of(study, memory)
    window = (0, 80 * MS)
    picture = painted(study, placed, window, 160, scene=scene)
    (box,) = painted_box(scene, placed)
    colours = scene.palette.argb(LIGHT)[[scene.palette.counter, scene.palette.counter + scene.palette.size]]
    solid, faint = ((picture[box.top : box.bottom] == colour).sum(axis=0) for colour in colours)
    height = box.bottom - box.top
    assert solid[20] == round(height * 10 / 64), "from zero to the next power of two"
    assert solid[60] == round(height * 60 / 64)
    assert solid[80] == round(height * 3 / 64), "one nanosecond of 3 GiB is seen in the column that holds it"
    assert solid[80] + faint[80] == round(height * 10 / 64)
    assert solid[119] > 0
    assert not solid[120:].any(), "no value is known from there on"


def painted_box(scene, placed):
    from viewer.drawing.bands import CounterBand

    return scene.boxes(CounterBand, placed)


def test_header_and_card_tell_its_scale_and_its_values(memory):
    state = state_of(training(ranks=1))
    (placed,) = rows_of(state.study, memory)
    assert _scale_texts(placed.row) == [("0 B", 0.0), ("32 GiB", 0.5), ("64 GiB", 1.0)]
    assert cursor_value(state, placed.row) == ""
    state.set_hover(Hover(25 * MS))
    assert cursor_value(state, placed.row) == "60.00 GiB"
    state.set_hover(Hover(70 * MS))
    assert cursor_value(state, placed.row) == "–"
    assert "drawn from 0 B to 64 GiB" in row_tip(state, placed.row)

    def text(time_ns):
        scale = Scale(0, 80 * MS, 160)
        hit = Scene(state.study).hit([placed], scale.x(time_ns), placed.y + 20, scale)
        assert has_text(hit)
        return hit_text(state.study, hit)

    card = text(25 * MS)
    assert card.title == "60.00 GiB in use"
    assert card.subtitle == f"Memory of {state.study.trace.gpu_label(0)}"
    assert dict(card.lines) == {"Value": "allocated"}
    assert dict(text(40 * MS).lines)["In this column"] == "2 values, 3.000 GiB to 10.00 GiB"
    assert text(70 * MS).title == "no value"


def test_all_rows_of_a_kind_have_one_scale(memory, monkeypatch):
    def load(_study, gpu):
        return Samples(TIMES, USED * (gpu + 1))

    counter = replace(memory.traits.counter, load=load)
    monkeypatch.setattr(memory, "traits", replace(memory.traits, counter=counter))
    rows = rows_of(study_of(training(ranks=2)), memory)
    assert [placed.row.scale.high for placed in rows] == [128 * GIB] * 2


def test_a_process_may_have_one(memory, monkeypatch):
    counter = replace(memory.traits.counter, owner="process", has_row=lambda _study, process: process == 1)
    monkeypatch.setattr(memory, "traits", replace(memory.traits, counter=counter))
    state = state_of(training())
    (row,) = [row for root in state.rows.roots for row in root.walk() if row.kind is memory]
    assert (row.process, row.parent.kind) == (1, RowKind.PROCESS)
