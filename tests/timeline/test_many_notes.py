"""Long notes, and many of them: what is measured, compared and painted has a bound."""

import pytest

from tests.timeline.make import MS, pixels, rows_of, state_of, study_of, training
from viewer.drawing.scale import AxisPixels
from viewer.drawing.theme import LIGHT
from viewer.rows import RowKind, build_rows
from viewer.state import Note
from viewer.timeline.notes import note_places, note_text
from viewer.timeline.notes.note_places import MOST_LABELS, event_boxes, place_notes
from viewer.timeline.notes.note_places import _where_room_is as where_room_is
from viewer.timeline.notes.note_text import MOST_CHARS, MOST_LINES, broken
from viewer.timeline.paint.fonts import char_advances
from viewer.timeline.strip import DeviceGrid
from viewer.timeline.timeline import Timeline


@pytest.mark.parametrize("text", ["x", "看", "\u0301", "ab ", "a\n", " "])
def test_of_a_long_text_no_more_is_measured_than_is_shown(qapp, monkeypatch, text):
    measured = []

    def counted(part, pixels):
        measured.append(len(part))
        return char_advances(part, pixels)

    monkeypatch.setattr(note_text, "char_advances", counted)
    found = []
    for length in (2_000, 20_000, 200_000):
        note_text._broken.cache_clear()
        measured.clear()
        lines = broken(f"begin {text * length} end", 231, 11.5)
        assert len(lines) <= MOST_LINES
        assert lines[0].startswith("begin")
        assert lines[-1].endswith("…")
        assert sum(measured) <= 2 * MOST_CHARS
        found.append((lines, sum(measured)))
    assert found[0] == found[1] == found[2]


def test_a_text_that_just_fits_is_not_cut(qapp):
    fits = "\n".join(f"line {n}" for n in range(MOST_LINES))
    assert broken(fits, 231, 11.5) == tuple(fits.split("\n"))
    cut = broken(fits + "\none more", 231, 11.5)
    assert (len(cut), cut[-1]) == (MOST_LINES, f"line {MOST_LINES - 1}…")


def many_notes(study, count):
    """Notes at instants, over ranges, in rows and on events, all of them in view."""
    row = next(r for root in build_rows(study) for r in root.walk() if r.kind is RowKind.STREAM)
    for number in range(count):
        at = number * 40 * MS // count
        yield number, Note(at, at + number % 2 * MS, f"over all {number}")
        yield number, Note(at, at + number % 2 * MS, f"in a row {number}", row_key=row.key)
        yield number, Note(0, 0, "on an event", row_key=row.key, event=row.events.ref(number % 9, row.key))


def test_work_and_picture_of_many_notes_have_a_bound(qapp, monkeypatch):
    study = study_of(training())
    placed = rows_of(study, RowKind.PROCESS, RowKind.GPU, RowKind.STREAM)
    axis = AxisPixels(0, 900)
    compared, boxes = [], []

    def room(*arguments):
        compared.append(len(arguments[-1]))
        return where_room_is(*arguments)

    def boxes_of(*arguments):
        boxes.append(arguments)
        return event_boxes(*arguments)

    monkeypatch.setattr(note_places, "_where_room_is", room)
    monkeypatch.setattr(note_places, "event_boxes", boxes_of)
    seen = []
    for count in (MOST_LABELS // 4, 2_000, 8_000):
        compared.clear()
        boxes.clear()
        notes = [(n, note) for n, (_, note) in enumerate(many_notes(study, count))]
        found = place_notes(notes, study, placed, axis.scale((0, 40 * MS)), DeviceGrid(axis, 0, 500))
        written = [s for s in found.spots if s.lines]
        assert len(written) + found.unwritten == len(notes)
        assert len(written) == min(len(notes), MOST_LABELS) == len(compared)
        assert max(compared) < MOST_LABELS
        assert len(boxes) <= MOST_LABELS
        seen.append(len(found.spots))
    assert seen[0] == 3 * MOST_LABELS // 4
    assert max(seen) < MOST_LABELS + 3 * (900 / 8 + 1)


def test_what_is_not_written_out_is_marked_and_counted(on_screen):
    timeline = on_screen(Timeline(state_of(training()), "raster"), 1200, 700)
    state = timeline.state
    state.axis.go(0, 40 * MS)
    state.notes.load(tuple(Note(n * 5_000, n * 5_000, f"note {n}") for n in range(2_000)))
    assert sum(bool(s.lines) for s in timeline.canvas.note_spots(timeline.canvas.grid())) == MOST_LABELS
    assert timeline.canvas.label_of(MOST_LABELS) is None
    canvas = pixels(timeline.canvas.grab().toImage())
    corner = canvas[-14:-8, -30:-8]
    assert (corner == LIGHT.cursor).mean() > 0.3
    ticks = (canvas[4] == canvas[4, round(timeline.canvas.x_of(8 * MS))]).sum()
    assert ticks > 10
    state.notes.choose(1_999)
    assert timeline.canvas.label_of(1_999) is not None
    flags = timeline.overview._flags(timeline.overview.scale(), 1.0)
    assert len(flags) <= timeline.overview.width() / 3 + 1
    state.notes.load(tuple(state.notes.items[:MOST_LABELS]))
    assert not (pixels(timeline.canvas.grab().toImage())[-14:-8, -30:-8] == LIGHT.cursor).any()
