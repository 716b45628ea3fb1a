import pytest

from viewer.drawing.format import (
    format_bytes,
    format_change,
    format_count,
    format_difference,
    format_instant,
    format_iteration_share,
    format_ns,
    format_rate,
    format_share,
    format_value,
    iteration_share_text,
)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (1, "1 ns"),
        (999, "999 ns"),
        (999.97, "1.000 µs"),
        (1000, "1.000 µs"),
        (193_900, "193.9 µs"),
        (999_949, "999.9 µs"),
        (999_951, "1.000 ms"),
        (16_900_000, "16.90 ms"),
        (999_996_000, "1.000 s"),
        (1_234_567_890, "1.235 s"),
        (218_000_000_000, "218.0 s"),
        (1_234_567_890_123, "1,235 s"),
        (-5_000_000, "−5.000 ms"),
        (12.5, "12.50 ns"),
    ],
)
def test_durations_have_four_significant_digits(ns, text):
    assert format_ns(ns) == text


@pytest.mark.parametrize(
    ("ns", "resolution", "text"),
    [
        (2_296_901_234, 1, "2 s 296.901234 ms"),
        (2_296_901_234, 1000, "2 s 296.901 ms"),
        (2_296_901_234, 999, "2 s 296.901234 ms"),
        (1_366_100_000, 999_999, "1 s 366.100 ms"),
        (1_089_470_999, 27_600, "1 s 89.470 ms"),
        (715_990_000, 1_000_000, "715 ms"),
        (-5_000_001, 1, "−5.000001 ms"),
        (3_000_000_000, 1_000_000, "3 s 0 ms"),
    ],
)
def test_instants_are_as_exact_as_a_pixel_in_whole_ms_us_or_ns(ns, resolution, text):
    assert format_instant(ns, resolution) == text


def test_counts_shares_sizes_and_rates():
    assert format_count(1_234_567) == "1,234,567"
    assert format_share(0.8497) == "85.0 %"
    assert format_share(0.0001) == "< 0.1 %"
    assert format_share(0) == "0.0 %"
    assert format_bytes(64) == "64 B"
    assert format_bytes(1.5 * 1024**2) == "1.500 MiB"
    assert format_rate(25_000_000, 1_000_000) == "25.00 GB/s"
    assert format_rate(10, 0) == ""


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "ns", "–"),
        ("6 of 10", "text", "6 of 10"),
        (16_900_000, "ns", "16.90 ms"),
        (0.25, "share", "25.0 %"),
        (2.1062, "ratio", "1 : 2.11"),
        (10_368, "count", "10,368"),
        (13.5684, "GB/s", "13.57 GB/s"),
    ],
)
def test_a_value_is_written_by_its_unit(value, unit, text):
    assert format_value(value, unit) == text


def test_differences_have_a_sign_and_the_unit_s_own_words():
    assert format_difference(1_500_000, "ns") == "+1.500 ms"
    assert format_difference(-0.031, "share") == "−3.1 points"
    assert format_difference(0, "count") == "0"
    assert format_difference(None, "ns") == ""
    assert format_change(-0.5) == "−50.0 %"
    assert format_change(12.5) == "+1,250.0 %"
    assert format_change(None) == ""


def test_a_range_over_several_iterations_is_a_multiple_of_one():
    assert [format_iteration_share(s) for s in (0.189, 1.25, 62.31, float("nan"))] == [
        "18.9 %",
        "125.0 %",
        "62.3 ×",
        "–",
    ]
    assert iteration_share_text(0.189, "iteration 7") == "18.9 % of iteration 7"
    assert iteration_share_text(87.866, "iteration 343") == "87.9 × the length of iteration 343"
