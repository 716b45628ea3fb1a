"""Texts of others: what would be obeyed or not be seen is spelled out, and nothing else changes."""

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.printable import counted, visible, visible_lines
from viewer.readers.text_boundary import visible_texts

BIDI = "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


def test_controls_and_directions_are_spelled_out():
    assert visible("a\x1b[31mb") == "a\\x1b[31mb"
    assert visible("\x9b2J\x07\0") == "\\x9b2J\\x07\\x00"
    assert visible("safe\u202etxt.exe") == "safe\\u202etxt.exe"
    assert visible("two\nlines\tand\rmore") == "two\\nlines\\tand\\rmore"
    assert visible("\ud800\udcff\ufffe") == "\\ud800\\udcff\\ufffe"
    assert not set(visible(BIDI)) & set(BIDI)


def test_lines_stay_where_a_text_has_lines():
    assert visible_lines("two\n\tlines\r\x1b") == "two\n\tlines\\r\\x1b"


def test_words_of_all_languages_stay():
    for text in (
        "void k<int>(float*)",
        "日本語",
        "שלום",
        "می\u200cخواهم",
        "é e\u0301",
        "👩\u200d💻",
        "a\u00a0b",
    ):
        assert visible(text) == text


@given(st.text())
def test_what_is_shown_holds_no_control_and_is_shown_as_it_is_again(text):
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert visible(shown) == shown


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_column_is_shown_as_its_texts_are(texts):
    half = len(texts) // 2
    column = pa.chunked_array(
        [pa.array(texts[:half], pa.large_string()), pa.array(texts[half:], pa.large_string())]
    )
    assert visible_texts(column).to_pylist() == [visible(text) for text in texts]


@pytest.mark.parametrize(
    ("count", "calls", "processes"),
    [
        (0, "0 calls", "0 processes"),
        (1, "1 call", "1 process"),
        (2, "2 calls", "2 processes"),
        (2000, "2,000 calls", "2,000 processes"),
    ],
)
def test_one_is_not_several(count, calls, processes):
    assert counted(count, "call") == calls
    assert counted(count, "process", "processes") == processes
