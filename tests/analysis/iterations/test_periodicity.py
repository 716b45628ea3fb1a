"""The guess: which operation comes back regularly, and what it is called."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.iterations.guess import guesses
from viewer.analysis.iterations.periodicity import Rhythm, keys_of, rhythms
from viewer.analysis.study import Study


def loop(maker, steps=4, fillers=11, device=0, first=0, lead="lead"):
    """Make steps of which each begins with an operation of its own name; `fillers` of other names follow."""
    at = 1000 * first
    for step in range(first, first + steps):
        maker.kernel(at, at + 10, lead, device=device)
        for number in range(fillers):
            at += 20
            maker.kernel(at, at + 10, f"step {step} op {number}", device=device)
        at += 20
    return maker


def test_the_first_operation_that_comes_back_marks_the_iterations():
    study = Study(loop(TraceMaker()).trace())
    (candidate,) = study.candidates
    assert (candidate.name, candidate.what, candidate.count) == ("lead", "kernel", 4)
    assert candidate.gpu_share == pytest.approx(36 / 48)
    assert candidate.even_share == 1.0
    assert candidate.disagreement == ""
    iterations = study.iterations()
    assert iterations.guess
    assert iterations.names == ("lead 0", "lead 1", "lead 2", "lead 3")
    assert iterations.starts.tolist() == [[0, 240, 480, 720, 950]]
    assert iterations.notes == ()
    assert iterations.doubt_text == (
        "The iterations are a guess: no range marks one, and lead comes back regularly; it may be a part of "
        "an iteration."
    )


def test_of_several_with_one_count_the_earliest_marks_them():
    maker = TraceMaker()
    for step in range(5):
        for number in range(12):
            at = 1000 * step + 20 * number
            maker.kernel(at, at + 10, f"op {number}")
    study = Study(maker.trace())
    assert study.candidates[0].name == "op 0"
    assert study.iterations().starts.tolist() == [[0, 1000, 2000, 3000, 4000, 4230]]


def test_a_gpu_with_another_rhythm_takes_the_others_boundaries():
    maker = loop(loop(loop(TraceMaker()), device=1, steps=3), device=2)
    study = Study(maker.trace())
    (candidate,) = study.candidates
    assert candidate.disagreement == "not on Rank 0 GPU 1"
    assert candidate.processes == (0,)
    iterations = study.iterations()
    assert iterations.has_own.tolist() == [True, False, True]
    assert iterations.starts.tolist() == [[0, 240, 480, 720, 950]] * 3


def test_the_gpu_with_most_operations_leads():
    maker = loop(TraceMaker(), steps=3, lead="small")
    loop(maker, steps=6, device=1, lead="large")
    assert Study(maker.trace()).candidates[0].name == "large"


def test_too_few_operations_between_are_no_rhythm():
    assert Study(loop(TraceMaker(), fillers=8).trace()).candidates == ()
    assert Study(loop(TraceMaker(), fillers=9).trace()).candidates[0].count == 4
    assert Study(loop(TraceMaker(), steps=2).trace()).candidates == ()


def spaced(*spacings, tail=0):
    """Return keys in which key 7 stands first, and then so many positions after one another."""
    positions = np.append(0, np.cumsum(spacings))
    keys = np.arange(100, 100 + positions[-1] + 1 + tail)
    keys[positions] = 7
    return keys.astype(np.int64)


@pytest.mark.parametrize(
    ("spacings", "tail", "regular"),
    [
        ([10, 10, 10, 10, 10], 0, True),
        ([9, 9, 9, 9, 9], 0, False),
        # Within 2 % of the median: 51 of 50 is, 52 is not.
        ([50, 51, 50, 49, 50], 0, True),
        ([50, 52, 50, 50, 50], 0, True),
        ([50, 52, 52, 50, 50], 0, False),
        # It spans half of all operations, or less.
        ([10, 10], 19, True),
        ([10, 10], 20, False),
        ([20], 0, False),
    ],
)
def test_what_is_regular(spacings, tail, regular):
    found = rhythms(spaced(*spacings, tail=tail))
    assert [r.key for r in found] == ([7] if regular else [])


def test_a_rhythm_in_numbers():
    (found,) = rhythms(spaced(50, 52, 50, 50, 50, tail=3))
    assert found == Rhythm(7, 6, 0, 50, 0.8, 252 / 256)


def test_sets_and_the_drivers_migrations_have_no_rhythm():
    maker = loop(TraceMaker())
    trace = Study(maker.memset(5, 6).trace())
    keys = keys_of(trace.trace, trace.order(0))
    assert keys[1] == -1
    assert rhythms(np.where(keys == keys[0], -1, keys)) == []


@pytest.mark.parametrize(
    ("kind", "size", "name"),
    [
        (1, 4096, "copy HtoD of 4,096 bytes"),
        (2, 4097, "copy DtoH of 4,097 bytes"),
        (8, 1, "copy DtoD of 1 bytes"),
        (10, 2**33, "copy PtoP of 8,589,934,592 bytes"),
        (15, 5, "copy of 5 bytes"),
    ],
)
def test_a_copy_is_named_by_its_kind_and_size(kind, size, name):
    maker = loop(TraceMaker(), lead="other")
    for step in range(4):
        at = 240 * step - 5
        maker.copy(at, at + 1, bytes=size, copy_kind=kind)
    study = Study(maker.trace())
    (found,) = guesses(study.trace, study.order, study.classes)
    assert (found.name, found.what, found.count, list(found.positions)) == (name, "copy", 4, [0])
    assert found.gpu_share == pytest.approx(39 / 52)


def test_copies_of_other_sizes_are_other_operations():
    maker = loop(TraceMaker(), lead="other")
    for step in range(4):
        at = 240 * step - 5
        maker.copy(at, at + 1, bytes=100 + step, copy_kind=1)
    assert Study(maker.trace()).candidates[0].name == "other"


def test_nothing_regular_is_no_guess():
    maker = TraceMaker()
    for number in range(50):
        maker.kernel(20 * number, 20 * number + 10, f"k{number}")
    study = Study(maker.trace())
    assert guesses(study.trace, study.order, study.classes) == []
    assert study.iterations() is None


def test_the_span_is_from_the_first_to_the_last_one():
    late = np.append(np.arange(200, 230), spaced(20, 20, tail=9))
    assert [r.span for r in rhythms(late)] == [40 / 80]
    assert rhythms(np.append(np.arange(200, 231), spaced(20, 20, tail=9))) == []


def optimized(steps=6, kernels=20, migrations=False):
    """Make steps of some kernels and an optimizer, without any launch record."""
    maker, at = TraceMaker(), 0
    for _ in range(steps):
        for number in range(kernels):
            if migrations:
                maker.copy(at + 12, at + 14, bytes=65_536, copy_kind=11)
            maker.kernel(at, at + 10, f"op {number}")
            at += 20
        for _ in range(3):
            maker.kernel(at, at + 10, "multi_tensor_apply_kernel<FusedAdamMathFunctor>")
            at += 20
    return Study(maker.trace())


@pytest.mark.parametrize("migrations", [False, True])
def test_without_launches_the_optimizers_kernels_cut_the_iterations(migrations):
    study = optimized(migrations=migrations)
    iterations = study.iterations()
    assert (iterations.count, iterations.doubt, study.candidates[0].tested) == (6, "guess", True)
    assert iterations.starts[0, :-1].tolist() == [460 * step for step in range(6)]


def test_a_recording_that_begins_in_the_middle_has_no_whole_first_iteration():
    # Of the first iteration four of twenty kernels, and the optimizer, are recorded.
    study = optimized(steps=5)
    trace = study.trace
    late = TraceMaker()
    for start, end, name in zip(
        trace.kernels.start_ns, trace.kernels.end_ns, trace.kernels.name_id, strict=True
    ):
        if start >= 320:
            late.kernel(int(start), int(end), trace.names[name])
    iterations = Study(late.trace()).iterations()
    assert iterations.count == 4
    assert iterations.starts[0, 0] == 460
