import pytest

from viewer.drawing.times import TimeError, parse_iteration, parse_ns, parse_range

WINDOW = (100, 9_000_000_000)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("1200ns", 1_200),
        ("350us", 350_000),
        ("350 µs", 350_000),
        ("812ms", 812_000_000),
        ("2.1s", 2_100_000_000),
        (".5ms", 500_000),
        ("-5ms", -5_000_000),
        ("\u22125 ms", -5_000_000),
        ("1,250.5us", 1_250_500),
        ("9007199.254740993s", 9_007_199_254_740_993),
    ],
)
def test_a_time_is_exact(text, ns):
    assert parse_ns(text) == ns


@pytest.mark.parametrize(
    "text", ["", "7", "ms", "1.5", "2 minutes", "1ns2", "0.5ns", "1e3ms", "1,25ms", "nan"]
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(TimeError):
        parse_ns(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.1s..2.35s", (2_100_000_000, 2_350_000_000)),
        ("2.1..2.35s", (2_100_000_000, 2_350_000_000)),
        ("-5ms..10ms", (-5_000_000, 10_000_000)),
        ("-5ms..-1ms", (-5_000_000, -1_000_000)),
        ("812ms..", (812_000_000, 9_000_000_000)),
        ("..5ms", (100, 5_000_000)),
        ("..", WINDOW),
        (" 1 ms .. 2 ms ", (1_000_000, 2_000_000)),
        ("0..1s", (0, 1_000_000_000)),
    ],
)
def test_a_range_names_both_ends(text, expected):
    assert parse_range(text, WINDOW) == expected


@pytest.mark.parametrize("text", ["", "5ms", "5ms-6ms", "6ms..5ms", "5ms..5ms", "5..6", "1ms..2ms..3ms"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(TimeError):
        parse_range(text, WINDOW)


def test_an_iteration_is_named_in_words():
    assert parse_iteration("iteration 7") == 7
    assert parse_iteration("Iteration 12") == 12
    assert parse_iteration("7") is None
    assert parse_iteration("iteration -1") is None
