"""Lines that give way: no number is cut, and what is missing has a sign."""

import re

from PySide6.QtWidgets import QLabel, QStyleOptionComboBox

from viewer.panels.one_line import Choice, OneLine

TEXT = "Rank 5 GPU 5 causes most wait: 28.72 s, 49.6 % of all wait time; last in 95.9 % of its sets"


def test_a_line_ends_at_a_word_with_a_sign_and_numbers_keep_their_units(qtbot):
    line = OneLine()
    qtbot.addWidget(line)
    line.setText(TEXT)
    line.show()
    seen = set()
    for width in range(900, 20, -9):
        line.resize(width, 20)
        shown = QLabel.text(line)
        seen.add(shown)
        assert line.fontMetrics().horizontalAdvance(shown) <= width
        assert line.text() == TEXT
        if shown != TEXT:
            kept = shown.removesuffix("…").rstrip()
            assert shown.endswith("…")
            assert TEXT.startswith(kept)
            assert re.fullmatch(r"|.*[^\d]", kept) or TEXT[len(kept)] == ","
    assert TEXT in seen
    assert len(seen) > 10


def test_a_path_keeps_its_end(qtbot):
    line = OneLine(keeps_end=True)
    qtbot.addWidget(line)
    path = "Rank 0 python [40000] › GPU 0 H200 › Stream 24 NCCL"
    line.setText(path)
    line.show()
    seen = set()
    for width in range(500, 60, -9):
        line.resize(width, 20)
        shown = QLabel.text(line)
        seen.add(shown)
        assert line.fontMetrics().horizontalAdvance(shown) <= width
        assert shown == path or (shown.startswith("…") and path.endswith(shown.removeprefix("… ")))
    assert path in seen
    assert any(shown.endswith("Stream 24 NCCL") and shown != path for shown in seen)


def test_a_choice_ends_at_a_word_with_a_sign(qtbot):
    box = Choice()
    qtbot.addWidget(box)
    box.addItem("Iteration #  ·  790 times  ·  85.4 % of GPU time, 99.0 % alike")
    box.show()
    for width in range(600, 60, -20):
        box.resize(width, 24)
        option = QStyleOptionComboBox()
        box.initStyleOption(option)
        shown = option.currentText
        assert shown == box.currentText() or shown.endswith("…")
        assert box.fontMetrics().horizontalAdvance(shown) <= width
