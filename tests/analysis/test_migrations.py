"""Page migrations of unified memory mark no iteration, and take nothing from those that are marked."""

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study


def migrations(maker, start, count, step):
    for number in range(count):
        maker.copy(start + number * step, start + number * step + 20, bytes=4096, copy_kind=11 + number % 2)
    return maker


def test_migrations_alone_are_no_iterations():
    maker = migrations(TraceMaker().kernel(0, 50), 100, 768, 30)
    assert Study(maker.trace()).iterations() is None


def test_a_rhythm_is_the_same_with_migrations_in_between():
    def kernels(maker):
        for step in range(8):
            for place in range(12):
                maker.kernel(step * 2_000 + place * 100, step * 2_000 + place * 100 + 50, f"k{place}")
        return maker

    plain = Study(kernels(TraceMaker()).trace()).iterations()
    between = kernels(TraceMaker())
    for place in (310, 2_730, 2_760, 9_110):
        migrations(between, place, 5, 21)
    assert plain.count == Study(between.trace()).iterations().count == 8


def test_a_marker_is_kept_when_most_of_the_time_goes_to_migrations():
    maker = TraceMaker()
    for step in range(6):
        begin = step * 10_000
        maker.range(begin, begin + 500, f"step {step}").call(begin + 10, begin + 20, correlation=step + 1)
        maker.kernel(begin + 30, begin + 200, correlation=step + 1)
        migrations(maker, begin + 1_000, 200, 30)
    iterations = Study(maker.trace()).iterations()
    assert (iterations.marker, iterations.count, iterations.guess) == ("step #", 6, False)
