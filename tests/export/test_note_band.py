"""Notes of a picture: labels hide no row, arrows end at their marks."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QRectF

from viewer.export.figure import FigurePage
from viewer.export.figure_style import PRESETS, SLIDE
from viewer.export.first_view import first_view
from viewer.export.note_band import NoteBand, Shape
from viewer.export.page import PicturePage
from viewer.export.picture import page_of, picture
from viewer.rows import RowKind, build_rows
from viewer.state import Note


@pytest.fixture
def view(demo_study, qapp):
    iterations = demo_study.iterations()
    return first_view(demo_study, (iterations.start_ns(0), iterations.end_ns(1)))


def notes_of(view, count):
    """Notes of all kinds: an instant, a range, a part of a row, an instant in a row; some close together."""
    low, high = view.window_ns
    rows = [row for row in build_rows(view.study) if row.kind is RowKind.PROCESS]
    made = []
    for number in range(count):
        at = low + (high - low) * ((5 + 17 * number) % 90) // 100
        wide = (high - low) // 30 if number % 2 else 0
        key = rows[number % len(rows)].key if number % 4 >= 2 else ""
        made.append(
            Note(
                at,
                at + wide,
                f"note {number}\nwith more words than a line of a label can hold" * (1 + number % 2),
                row_key=key,
            )
        )
    return tuple(made)


def layout_of(page):
    """The notes of a page, its axis, and the top of its rows."""
    if isinstance(page, FigurePage):
        return page.layout.notes, page.layout.axis, page.layout.top
    return page._notes, page._axis, page._top


def bands(view, notes):
    for preset in PRESETS:
        page = page_of(replace(view, preset=preset, notes=notes))
        yield preset, page, layout_of(page)[0]


@pytest.mark.parametrize("count", [0, 1, 5, 9])
def test_labels_lie_below_the_rows_and_beside_each_other(view, count):
    notes = notes_of(view, count)
    for preset, page, band in bands(view, notes):
        assert len(band.labels) + band.left_out == count, preset
        lowest = max((bottom for _, _, bottom in page.frame.rows), default=0)
        boxes = [label.box for label in band.labels]
        for number, box in enumerate(boxes):
            assert box.top() > lowest
            assert box.bottom() <= band.bottom + band.height
            assert not any(box.intersects(other) for other in boxes[:number])
            left = -layout_of(page)[1].left * page.dpr
            assert left <= box.left() <= box.right() <= page.size.width() + left
        assert bool(band.height) == bool(count)


@pytest.mark.parametrize("count", [1, 5, 9])
def test_arrows_end_on_the_outline_of_their_marks_and_cross_rows_straight(view, count):
    notes = notes_of(view, count)
    for _, page, band in bands(view, notes):
        for label in band.labels:
            mark, (*way, tip) = label.text.mark, label.path
            outline = mark.box
            assert outline.left() <= tip.x() <= outline.right()
            assert tip.y() == pytest.approx(outline.bottom())
            assert way[0].y() == label.box.top()
            assert label.box.left() <= way[0].x() <= label.box.right()
            # Above the band an arrow keeps to the time of its mark.
            assert all(point.y() > band.bottom or point.x() == tip.x() for point in way)
            if mark.shape is Shape.TIME:
                assert (outline.top(), outline.bottom()) == (0, band.bottom)
                at = page.frame.scale.x(mark.spot.note.start_ns)
                assert outline.left() == pytest.approx(at, abs=1)
            else:
                boxes = [(top, bottom) for row, top, bottom in page.frame.rows]
                assert any(top <= outline.center().y() <= bottom for top, bottom in boxes)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_head_of_the_arrow_touches_its_mark(view, preset):
    row = build_rows(view.study)[2]
    low, high = view.window_ns
    note = Note((low + high) // 2, (low + high) // 2, "here", colour="#ff00ff", row_key=row.key)
    marked = replace(view, preset=preset, notes=(note,))
    image, band = picture(marked), layout_of(page_of(marked))[0]
    page = page_of(marked)
    (label,) = band.labels
    x = round((layout_of(page)[1].left * page.dpr) + label.path[-1].x())
    top = round(layout_of(page)[2] * page.dpr)
    # A line of two pixels may lie between two columns.
    column = []
    for y in range(round(label.box.top())):
        near = [image.pixelColor(x + side, top + y) for side in (-1, 0, 1)]
        column.append(any(colour.green() < 180 and colour.red() > 130 for colour in near))
    tip = round(label.path[-1].y())
    # Down the column: the ring's lower edge, and the arrow without a gap to the label.
    assert all(column[tip + 2 : round(label.box.top()) - 1])
    assert any(column[tip - 3 : tip + 3])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_note_hides_nothing_but_the_pixels_of_its_mark(view, preset):
    row = build_rows(view.study)[0]
    low, high = view.window_ns
    note = Note((low + high) // 2, (low + high) // 2, "here is something to read", row_key=row.key)
    plain, noted = (replace(view, preset=preset, notes=notes) for notes in ((), (note,)))
    page, bare = page_of(noted, scale=1), page_of(plain, scale=1)
    if page.frame.rows != bare.frame.rows:
        # A page of fixed ratio gives the labels room: compare rows of the same height.
        assert preset == SLIDE
        return
    before, after = picture(plain, scale=1), picture(noted, scale=1)
    left, top = layout_of(page)[1].left, layout_of(page)[2]
    changed = {
        x
        for y in range(top, top + page.frame.rows[-1][2])
        for x in range(left, left + page.frame.scale.width)
        if before.pixel(x, y) != after.pixel(x, y)
    }
    tip = left + layout_of(page)[0].labels[0].path[-1].x()
    assert changed
    assert max(changed) - min(changed) <= 14
    assert min(changed) <= tip <= max(changed)


def test_what_has_no_room_is_counted(view):
    page = FigurePage(replace(view, preset=SLIDE, notes=notes_of(view, 3)), 1600)
    spots = [mark.spot for mark in layout_of(page)[0].marks]
    band = NoteBand(spots * 30, (900, 400), (0, 300), 17, most_rows=2)
    assert band.left_out > 0
    assert len(band.labels) + band.left_out == len(band.marks) == 30 * len(spots)


def test_a_note_without_an_arrow_or_a_text_is_marked_alone(view):
    low, high = view.window_ns
    silent = Note(low, (low + high) // 2, "")
    page = PicturePage(replace(view, notes=(silent,)), 1600)
    assert not layout_of(page)[0].labels
    assert layout_of(page)[0].height == 0
    (mark,) = layout_of(page)[0].marks
    assert mark.box == QRectF(0, 0, mark.box.width(), layout_of(page)[0].bottom)
