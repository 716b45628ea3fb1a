"""The ruler: what stands on it is not crossed, nor covered in part."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from viewer.drawing.scale import Scale
from viewer.drawing.theme import LIGHT
from viewer.drawing.ticks import ticks
from viewer.timeline.paint import marks
from viewer.timeline.strips import ruler

WIDTH = 900


@pytest.fixture
def painter(qapp):
    """On an image as large as a ruler."""
    image = QImage(WIDTH, ruler.HEIGHT, QImage.Format.Format_ARGB32)
    painting = QPainter(image)
    yield painting
    painting.end()


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], 100),
        ([(300, 50)], 100),
        ([(110, 50)], 70),
        ([(90, 30)], 120),
        ([(90, 30), (130, 40)], 50),
        ([(0, 130)], 130),
        ([(0, 500)], 100),
    ],
)
def test_tag_of_the_pointer_stands_beside_lengths(others, expected):
    tag = QRectF(100, 20, 40, 15)
    placed = ruler.beside(tag, [QRectF(x, 20, w, 15) for x, w in others], (0.0, 500.0))
    assert (placed.left(), placed.width()) == (expected, 40)


def test_tag_that_has_no_other_to_avoid_ignores_empty_ones():
    tag = QRectF(0, 20, 40, 15)
    assert ruler.beside(tag, [QRectF()], (0.0, 500.0)) == tag


def test_labels_under_a_tag_are_removed_whole(painter, monkeypatch):
    scale = Scale(0, 1_000_000_000, WIDTH)
    cleared = []
    monkeypatch.setattr(QPainter, "fillRect", lambda _self, box, _ink: cleared.append(QRectF(box)))
    (at, _), (other, _) = ticks(0, 1_000_000_000, WIDTH).major[2:4]
    # The tag covers the first digit alone.
    tag = QRectF(scale.x(at) - 40, 20, 46, 15)
    ruler.clear_cut_labels(painter, scale, ruler.HEIGHT, LIGHT, 1.0, [tag])
    (box,) = cleared
    assert box.left() <= scale.x(at) + 4
    assert tag.right() < box.right() < scale.x(other)


def test_no_mark_crosses_the_number_of_an_iteration(painter, monkeypatch):
    # Every other one is labelled: the fifth begins 8 px after the fourth, where its number stands.
    lengths = np.full(40, 20)
    lengths[4] = 8
    edges = np.concatenate(([0], np.cumsum(lengths)))
    iterations = SimpleNamespace(doubt="", flags=[""] * 40)
    monkeypatch.setattr(marks, "iteration_edges", lambda _: edges)
    bars, texts = [], []
    monkeypatch.setattr(QPainter, "fillRect", lambda _self, *args: bars.append(args[0]))
    monkeypatch.setattr(marks, "paint_text", lambda _p, text, x, *_: texts.append((text, x)))
    ruler._paint_iterations(painter, Scale(0, WIDTH, WIDTH), LIGHT, 1.0, iterations, None)
    assert "4" in dict(texts)
    measure = ruler.metrics(11, ruler.MEDIUM)
    for text, x in texts:
        assert not [b for b in bars if x < b < x + measure.horizontalAdvance(text)]
    assert edges[7] in bars


@pytest.mark.parametrize(("length", "has_all"), [(12, True), (6, False)])
def test_marks_of_short_iterations_do_not_fill_the_ruler(painter, monkeypatch, length, has_all):
    edges = np.arange(0, WIDTH + 1, length)
    iterations = SimpleNamespace(doubt="", flags=[""] * len(edges))
    monkeypatch.setattr(marks, "iteration_edges", lambda _: edges)
    bars = []
    monkeypatch.setattr(QPainter, "fillRect", lambda _self, *args: bars.append(args[0]))
    ruler._paint_iterations(painter, Scale(0, WIDTH, WIDTH), LIGHT, 1.0, iterations, None)
    step = ruler.iteration_step(length)
    assert set(edges[:-1:step]) <= set(bars)
    assert (edges[step - 1] in bars) is has_all


@pytest.mark.parametrize("cut_px", [0, 1])
def test_a_label_that_the_edge_would_cut_is_left_out(painter, monkeypatch, cut_px):
    """The rest of "0.9" would be read as 0."""
    shown = []
    monkeypatch.setattr(marks, "paint_text", lambda _painter, text, *_rest: shown.append(text))
    labels = ticks(0, 1_000_000_000, WIDTH).major
    t, last = labels[-1]
    scale = Scale(0, 1_000_000_000, WIDTH)
    room = WIDTH - scale.x(t) - ruler.metrics(11).horizontalAdvance(last)
    monkeypatch.setattr(ruler, "_LABEL_GAP", room + cut_px)
    ruler.paint_ruler(painter, scale, ruler.HEIGHT, LIGHT, 1.0, None, None)
    assert (last in shown) == (cut_px == 0)
    assert [label for _, label in labels[:-1]] == [text for text in shown if text != last]
