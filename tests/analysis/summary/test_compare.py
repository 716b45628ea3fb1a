"""Two runs side by side: a run against itself differs in nothing; a longer one is not worse."""

from dataclasses import replace

import pytest

from viewer.analysis.study import Study
from viewer.analysis.summary.compare import PER_ITERATION, PER_SECOND, compare, marker_notes
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.scope import iteration_scope
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read


def sheet_of(study, chosen=None):
    iterations = study.iterations()
    return summary(study, iterations, iteration_scope(iterations, chosen) if chosen else None)


def test_a_run_against_itself_differs_in_nothing(demo_study):
    sheet = sheet_of(demo_study)
    rows = compare(sheet, sheet)
    assert [r.name for r in rows] == [v.title for v in sheet.numbers]
    assert all(r.first == r.second for r in rows)
    assert {r.difference for r in rows if not isinstance(r.first, str | None)} == {0}


def test_totals_are_per_iteration_and_gpu(demo_study):
    sheet = sheet_of(demo_study)
    row = next(r for r in compare(sheet, sheet) if r.name == "idle")
    iterations, gpus = len(sheet.scope.iterations), len(sheet.gpus)
    assert row.how == PER_ITERATION
    assert row.first == round(sheet["idle"].value / (iterations * gpus))
    copies = next(r for r in compare(sheet, sheet) if r.name == "Memcpy HtoD: not hidden")
    assert copies.how == PER_ITERATION
    assert copies.first == round(sheet["copy_memcpy_htod"].value / (iterations * gpus))
    length = next(r for r in compare(sheet, sheet) if r.name == "length of an iteration")
    assert length.how == ""


def test_more_iterations_are_not_more_idle(demo_study):
    one, two = sheet_of(demo_study, [1]), sheet_of(demo_study, [1, 2])
    idle = next(r for r in compare(one, two) if r.name == "idle")
    assert one["idle"].value < two["idle"].value
    assert idle.second < two["idle"].value / one["idle"].value * idle.first
    assert idle.change == pytest.approx(idle.second / idle.first - 1)


def test_a_clean_run_exposes_less(demo_study, tmp_path):
    clean = Study(
        read(make_demo(tmp_path / "clean.sqlite", DemoOptions(iterations=3, clean=True)), cache=False)
    )
    rows = {r.name: r for r in compare(sheet_of(demo_study), sheet_of(clean))}
    assert rows["spread of compute time"].difference < 0
    assert rows["idle"].difference < 0


def test_a_number_that_one_run_lacks_has_no_difference(demo_study):
    sheet = sheet_of(demo_study)
    lacking = replace(sheet, numbers=sheet.numbers[1:])
    key = sheet.numbers[0].key
    for first, second in ((sheet, lacking), (lacking, sheet)):
        (row,) = (row for row in compare(first, second) if row.key == key)
        assert (row.first is None, row.second is None) == (first is lacking, second is lacking)
        assert (row.difference, row.change) == (None, None)
    no_sums = replace(sheet, numbers=tuple(n for n in sheet.numbers if not n.result.is_sum))
    assert len(compare(sheet, no_sums)) == len(compare(no_sums, sheet)) == len(sheet.numbers)


@pytest.fixture
def marked(demo_of):
    """A function from a marking to the summary of the same small job under it."""

    def sheet(marking):
        return sheet_of(demo_of(ranks=2, iterations=8, clean=True, marking=marking))

    return sheet


def test_markers_that_differ_are_said_before_any_number(marked):
    named, glued, derived = (marked(marking) for marking in ("iterations", "glued", "phases"))
    assert marker_notes(named, named) == ()
    (said,) = marker_notes(named, glued)
    assert said.startswith(
        "The iterations are marked differently, by “Iteration #” in A and by “iteration#” in B"
    )
    said, doubt = marker_notes(named, derived)
    assert "“optimizer” (derived) in B" in said
    assert doubt == "B: The iterations are derived: cut after the ranges of the optimizer (optimizer)."
    # Two guesses alike are still guesses.
    assert [note[:2] for note in marker_notes(derived, derived)] == ["A:", "B:"]


def test_a_run_without_iterations_is_compared_by_the_time_of_its_gpus(marked):
    named = marked("iterations")
    without = replace(named, iterations=None, scope=replace(named.scope, iterations=()))
    (said,) = marker_notes(without, named)
    assert said.startswith("Only B has iterations, marked by “Iteration #”")
    assert marker_notes(without, without) == ()
    rows = {row.key: row for row in compare(without, named)}
    assert rows["idle"].how == PER_SECOND
    assert rows["idle"].first == rows["idle"].second
    assert rows["idle"].first == round(named["idle"].share * 1e9)


def test_three_times_as_long_a_run_copies_as_much_per_iteration(demo_of):
    short, long = (demo_of(ranks=2, clean=True, iterations=n) for n in (4, 12))
    for pair in (
        (sheet_of(short), sheet_of(long)),
        tuple(summary(s, None, s.range_scope(*s.trace.window_ns)) for s in (short, long)),
    ):
        row = next(r for r in compare(*pair) if r.key == "copy_memcpy_htod")
        assert row.change is None or abs(row.change) < 0.35
        small = next(r for r in compare(*pair) if r.key == "small_kernels")
        assert abs(small.change) < 0.05


def test_what_is_outside_the_usual_range_is_listed_by_its_size(demo_study):
    sheet = sheet_of(demo_study)
    shares = [number.share or 0.0 for number in sheet.unusual]
    assert len(shares) > 1
    assert shares == sorted(shares, reverse=True)
    assert {number.key for number in sheet.unusual} == {n.key for n in sheet.numbers if n.is_usual is False}
