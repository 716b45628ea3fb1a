"""The note in the headers of ranks that compute longer or whose host is late."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QImage, QPainter

from tests.analysis.collectives.parallel_job import ParallelJob
from tests.timeline.make import pixels
from viewer.drawing.late_notes import late_notes_of
from viewer.drawing.theme import LIGHT
from viewer.rows import build_rows
from viewer.state import ViewState
from viewer.timeline.headers.paint_header import HeaderStyle, label_line, paint_header, pin_rect
from viewer.timeline.timeline import Timeline


def notes(**fault):
    study = ParallelJob(tensor=2, data=4, **fault).study()
    return late_notes_of(study, 0, None)


def test_the_slowest_rank_is_named_by_what_it_computes_longer():
    (gpu, note), *others = notes(slow={5: 1.05}).items()
    assert (gpu, others) == (5, [])
    word, by = note.text.split(", +")
    assert word == "slowest"
    assert float(by.removesuffix(" %")) == pytest.approx(5, abs=0.6)
    assert note.why.startswith("rank 5 computes")


def test_several_are_slow_each_by_its_own_share():
    found = notes(slow={2: 1.10, 5: 1.05})
    assert sorted(found) == [2, 5]
    two, five = (float(found[gpu].text.removeprefix("slow, +").removesuffix(" %")) for gpu in (2, 5))
    assert two == pytest.approx(10, abs=1)
    assert five == pytest.approx(5, abs=1)


def test_a_late_host_is_named_as_such_and_a_clean_job_has_no_notes():
    assert {gpu: note.text for gpu, note in notes(late_ms={3: 6.0}).items()} == {3: "host late"}
    assert notes() == {}


def test_what_is_unsure_is_no_note():
    assert notes(late_ms={3: 6.0}, iterations=2) == {}


@pytest.fixture
def timeline(on_screen, qtbot):
    state, study = ViewState(), ParallelJob(tensor=2, data=4, slow={5: 1.05}).study()
    shown = on_screen(Timeline(state, "raster"), 900, 620)
    state.set_study(study, build_rows(study))
    row = state.rows.roots[5]
    qtbot.waitUntil(lambda: bool(shown.links.note(row)), timeout=20_000)
    return shown


def test_the_header_shows_the_note_and_speaks_it(timeline):
    rows, headers = timeline.state.rows.roots, timeline.headers
    model = headers.model()
    spoken = [model.data(model.index_of(r.key), Qt.ItemDataRole.AccessibleTextRole) for r in rows]
    assert [number for number, text in enumerate(spoken) if "slowest, +" in text] == [5]
    tips = model.data(model.index_of(rows[5].key), Qt.ItemDataRole.AccessibleDescriptionRole)
    assert "ank 5 computes" in tips
    picture = pixels(headers.viewport().grab().toImage())
    placed = [next(p for p in headers.visible_rows() if p.row is row) for row in rows]
    lines = [picture[p.y : p.y + p.height] for p in placed]
    inked = [number for number, line in enumerate(lines) if (line == LIGHT.warning).any()]
    assert inked == [5]


def test_another_trace_has_no_notes_of_this_one(timeline):
    timeline.state.study_changed.emit()
    assert not any(timeline.links.note(row) for row in timeline.state.rows.roots)


def header_pixels(placed, rect, note):
    image = QImage(rect.size(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    paint_header(painter, placed, rect, LIGHT, HeaderStyle(("80 %", "10 %"), note=note))
    painter.end()
    return pixels(image)


@pytest.mark.parametrize("width", [268, 340])
def test_the_pin_stands_beside_the_note(timeline, width):
    note = "slowest, +6.0 %"
    placed = next(p for p in timeline.headers.visible_rows() if p.row is timeline.state.rows.roots[5])
    rect = QRect(0, 0, width, placed.height)
    with_note, without = (header_pixels(placed, rect, text) for text in (note, ""))
    inked = (with_note != without)[: placed.height // 2].any(axis=0).nonzero()[0]
    pin = pin_rect(placed, label_line(placed, rect), note)
    assert pin.right() < inked.min()
    assert width - 16 < inked.max() < width - 11
