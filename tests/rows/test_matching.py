"""Rows by text: words of a filter, phrases of a pattern, and what the rows are called."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study
from viewer.rows import build_rows
from viewer.rows.matching import MOST_NAMES, MOST_NUMBERS, missing, nothing_called, topmost, words_of


@pytest.fixture(scope="module")
def roots():
    maker = TraceMaker()
    for process in (0, 1):
        for stream in (7, 20, 200):
            maker.kernel(0, 10, stream=stream, process=process)
    return build_rows(Study(maker.trace()))


def lacking(roots, key, text):
    row = next(row for root in roots for row in root.walk() if row.key == key)
    return [word.pattern for word in missing(row, words_of(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("stream 20", True),
        ("STREAM", True),
        ("tream", True),
        ("rank 0 20", True),
        ("2", False),
        ("0 rank", True),
        ("00", False),
        ("stream nccl", False),
        ("(", False),
    ],
)
def test_words_match_anywhere_and_numbers_whole(roots, text, found):
    assert (lacking(roots, "100/gpu0/stream20", text) == []) == found


def test_what_is_lacking_is_each_word_that_the_path_has_not(roots):
    assert len(lacking(roots, "100/gpu0/stream20", "rank nccl 3 stream")) == 2


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("Stream 20", ["100/gpu0/stream20", "101/gpu0/stream20"]),
        ("rank 1/stream 20", ["101/gpu0/stream20"]),
        ("Rank 1 › Stream  20", ["101/gpu0/stream20"]),
        ("stream 20/rank 1", []),
        ("Rank", ["100", "101"]),
        ("Ran", []),
        ("Stream 2", []),
        (" / ", []),
        ("", []),
    ],
)
def test_a_pattern_names_the_topmost_rows_with_its_phrases_in_order(roots, pattern, keys):
    assert [row.key for row in topmost(roots, pattern)] == keys


def test_what_is_not_found_is_answered_with_what_there_is(roots):
    text = nothing_called(roots, "Lane 3")
    assert text.startswith("no row is called 'Lane 3'; the trace has Rank 0, 1; GPU 0; ")
    assert "Stream 7, 20, 200" in text
    assert text.endswith("; 'A/B' names B below A")
    assert "gemm" not in text, "kernels are too many to be listed"
    assert "the trace has no rows;" in nothing_called((), "x")


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        (MOST_NUMBERS, "Stream 7, 8, 9, 10, 11, 12, 13, 14, 15, 16;"),
        (MOST_NUMBERS + 1, "Stream 7, 8, 9, 10, 11, 12, 13, 14 … 17;"),
    ],
)
def test_many_numbers_are_listed_in_short(count, listed):
    maker = TraceMaker()
    for stream in range(count):
        # Streams stand in order of their time.
        maker.kernel(0, 100 - stream, stream=7 + stream)
    assert listed in nothing_called(build_rows(Study(maker.trace())), "x")


def with_copies(count):
    """Return what the rows of a GPU are called that has so many kinds of copies."""
    maker = TraceMaker()
    for kind in range(count):
        maker.copy(0, 10, name=f"Memcpy k{kind}")
    return nothing_called(build_rows(Study(maker.trace())), "x").split("has ")[1].split("; ")[:-1]


def test_names_beyond_the_most_are_counted():
    beside = len(with_copies(1)) - 1
    names = with_copies(MOST_NAMES - beside)
    assert (len(names), names[-1].endswith("more")) == (MOST_NAMES, False)
    names = with_copies(MOST_NAMES - beside + 3)
    assert (len(names), names[-1]) == (MOST_NAMES + 1, "3 more")
