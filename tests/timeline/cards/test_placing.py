"""Cards never cover what is hovered, have a short form, and come and go by their key."""

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtTest import QTest

from tests.timeline.make import MS, state_of, training
from tests.timeline.test_gestures import LEFT, NONE, move
from viewer.rows import RowKind
from viewer.state import Note
from viewer.timeline.cards.card import SHADOW
from viewer.timeline.cards.card_places import around, clear_left, corner
from viewer.timeline.timeline import Timeline

BOUNDS = QRect(300, 100, 1000, 400)


@pytest.fixture(params=[(1200, 700), (1000, 300)])
def timeline(request, on_screen, qtbot):
    """Four ranks, unfolded, in a window with much room and in one with little."""
    shown = on_screen(Timeline(state_of(training(ranks=4)), "raster"), *request.param)
    state = shown.state
    state.rows.set_expanded([r.key for r in state.rows.roots[0].walk()], True)
    state.axis.go(0, 65 * MS)
    qtbot.waitUntil(lambda: shown.background_results.stalls is not None)
    return shown


def hover(timeline, pos, strip=None):
    """Point somewhere and let the pointer rest; return what is hovered and the card's panel, or None."""
    strip = strip or timeline.canvas
    move(strip, pos)
    cards = timeline.cards
    cards._rest.timeout.emit()
    hit = strip.hit(QPointF(pos))
    target = cards._target(strip, QPointF(pos), hit, cards.stall_at(strip, QPointF(pos)))
    return target, cards.hover.geometry() if cards.hover.isVisible() else None


def on_kernel(timeline):
    """A point on the kernel "gemm_2" of 6 to 7 ms, in the row of its stream."""
    row = next(r for r in timeline.state.rows.roots[0].walk() if r.kind is RowKind.STREAM)
    timeline.state.reveal(row.key)
    placed = next(p for p in timeline.canvas.placed if p.row is row)
    return QPoint(round(timeline.canvas.x_of(6.5 * MS)), placed.y + placed.height // 2)


def panel_of(card):
    return card.geometry().adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW)


def everywhere(timeline):
    """Points on all rows, in all columns of a coarse grid."""
    wide, high = timeline.canvas.width(), timeline.canvas.height()
    return [QPoint(x, y) for y in range(3, high, 11) for x in range(5, wide, wide // 9)]


def test_the_hover_card_covers_nothing_that_is_hovered(timeline):
    shown = 0
    for pos in everywhere(timeline):
        target, card = hover(timeline, pos)
        if card is not None:
            shown += 1
            assert not card.intersects(target), pos
            assert timeline.rect().contains(card)
    assert shown > 20


def test_the_selection_s_card_gives_way_too(timeline):
    state = timeline.state
    state.select((1 * MS, 60 * MS))
    selection = timeline.cards.selection
    assert selection.isVisible()
    for pos in everywhere(timeline):
        target, card = hover(timeline, pos)
        assert not panel_of(selection).intersects(target) or target.width() > timeline.canvas.width() // 2
        assert card is None or not card.intersects(panel_of(selection)) or timeline.height() < 500


def test_the_short_form_is_two_lines_and_the_key_shows_all(timeline):
    state, cards = timeline.state, timeline.cards
    pos = on_kernel(timeline)
    hover(timeline, pos)
    full = cards.hover.size()
    state.set_card("short")
    hover(timeline, pos)
    assert cards.hover.is_short
    assert cards.hover.height() < 80
    assert cards.hover.height() < full.height() or timeline.height() < 500
    assert cards.hover.brief.startswith("999.0 µs · Kernel")
    cards.hover.grab()
    if timeline.height() > 500:
        cards.switch()
        assert not cards.hover.is_short
        move(timeline.canvas, pos + QPoint(0, 40))
        assert cards._switched is None, "something else is hovered"


def test_by_the_key_alone_no_card_comes_by_itself(timeline):
    state, cards = timeline.state, timeline.cards
    state.set_card("key")
    pos = on_kernel(timeline)
    assert hover(timeline, pos)[1] is None
    state.select((15 * MS, 22 * MS))
    assert not cards.selection.isVisible()
    cards.switch()
    assert cards.hover.isVisible()
    assert cards.selection.isVisible()
    cards.switch()
    assert not cards.hover.isVisible()
    assert not cards.selection.isVisible()


def test_in_full_the_key_hides_the_card_until_something_else_is_selected(timeline):
    state, cards = timeline.state, timeline.cards
    state.select((15 * MS, 22 * MS))
    cards.switch()
    assert not cards.selection.isVisible()
    state.axis.pan(MS)
    assert not cards.selection.isVisible()
    state.select((15 * MS, 23 * MS))
    assert cards.selection.isVisible()


def test_without_the_pointer_the_key_shows_the_card_of_the_selected_event(timeline):
    state, cards = timeline.state, timeline.cards
    QTest.mouseClick(timeline.canvas, LEFT, NONE, on_kernel(timeline))
    assert state.chosen is not None
    cards.leave()
    cards.switch()
    assert cards.hover.isVisible()
    assert cards.hover.title == "gemm_2"


def test_the_editor_of_a_note_is_in_front_of_the_cards(timeline):
    state, cards = timeline.state, timeline.cards
    pos = on_kernel(timeline)
    hover(timeline, pos)
    assert cards.hover.isVisible()
    timeline.notes.write(Note(6 * MS, 9 * MS))
    editor = timeline.notes.editor
    assert not cards.hover.isVisible()
    assert hover(timeline, pos)[1] is None
    state.select((1 * MS, 60 * MS))
    order = timeline.children()
    assert order.index(editor) > order.index(cards.selection)
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert hover(timeline, pos)[1] is not None


def test_places_around_a_target():
    card = QSize(200, 100)
    assert around(card, QRect(400, 120, 50, 10), 420, BOUNDS) == QRect(432, 138, 200, 100)
    assert around(card, QRect(400, 440, 50, 10), 420, BOUNDS) == QRect(432, 332, 200, 100)
    tall = QSize(200, 350)
    assert around(tall, QRect(400, 300, 50, 10), 420, BOUNDS) == QRect(458, 150, 200, 350)
    assert around(tall, QRect(1200, 300, 60, 10), 1230, BOUNDS) == QRect(992, 150, 200, 350)
    assert around(tall, QRect(310, 300, 980, 10), 420, BOUNDS) is None
    below = QRect(432, 258, 200, 100)
    assert around(card, QRect(400, 240, 50, 10), 420, BOUNDS) == below
    assert not around(card, QRect(400, 240, 50, 10), 420, BOUNDS, [below]).intersects(below)


def test_a_corner_clear_of_a_target():
    card = QSize(200, 100)
    assert corner(card, QRect(400, 450, 10, 10), BOUNDS) == QRect(1100, 400, 200, 100)
    assert corner(card, QRect(1200, 450, 10, 10), BOUNDS) == QRect(1100, 100, 200, 100)
    assert corner(card, QRect(300, 450, 1000, 10), BOUNDS) == QRect(1100, 100, 200, 100)
    assert corner(QSize(200, 400), QRect(300, 200, 1000, 10), BOUNDS) is None


def test_a_card_covers_least_of_several_columns():
    assert clear_left(200, [(400, 450), (800, 850)], BOUNDS, 420) == 458, "between them"
    assert clear_left(400, [(400, 450), (800, 850)], BOUNDS, 420) == 858, "right of both"
    assert clear_left(850, [(400, 500), (1150, 1170)], BOUNDS, 300) == 450
    assert clear_left(2000, [(400, 500)], BOUNDS, 300) == 300
