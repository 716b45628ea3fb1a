"""Two runs side by side: a run against itself differs in nothing; a longer one is not worse."""

from dataclasses import replace

import pytest

from viewer.analysis.study import Study
from viewer.analysis.summary.compare import PER_ITERATION, compare
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
