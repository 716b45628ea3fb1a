"""Ranges that hold several iterations: exact copies of one sequence of operations."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study


def ranges(sequences, name="steps", threads=1, maker=None, process=0):
    """Make ranges of 10 µs; each launches its sequence of letters, a kernel a letter, a copy for "<"."""
    maker = maker or TraceMaker()
    identity = 0
    for number, sequence in enumerate(sequences):
        at = 10_000 * number
        maker.range(at, at + 9_000, f"{name} {number}", process=process)
        for tid in range(1, threads + 1):
            for position, letter in enumerate(sequence):
                identity += 1
                low = at + 20 * position + tid
                maker.call(low, low + 5, tid=tid, correlation=identity, process=process)
                if letter == "<":
                    maker.copy(low + 100, low + 105, stream=7 + tid, correlation=identity, process=process)
                else:
                    maker.kernel(
                        low + 100, low + 105, letter, stream=7 + tid, correlation=identity, process=process
                    )
    return maker


def split(*sequences, **options):
    """Return into how many iterations each range is split."""
    count = Study(ranges(sequences, **options).trace()).iterations().count
    assert count % len(sequences) == 0
    return count // len(sequences)


TEN = "abcdefghij"


@pytest.mark.parametrize(
    ("sequence", "copies"),
    [
        (TEN, 1),
        (TEN * 2, 2),
        (TEN * 3, 3),
        # Nine operations are too few to be an iteration, ten are enough.
        (TEN[:9] * 2, 1),
        (TEN[:9] * 4, 1),
        # Nearly copies: one operation more, less or of another name.
        (TEN * 2 + "a", 1),
        (TEN * 2 + "x", 1),
        (TEN + TEN[:-1], 1),
        (TEN + TEN[:-1] + "x", 1),
    ],
)
def test_a_range_is_split_into_exact_copies_of_ten_operations_or_more(sequence, copies):
    assert split(sequence, sequence, sequence) == copies


def test_all_ranges_are_split_alike():
    assert split(*[TEN * 4] * 4, TEN * 2, TEN * 6) == 2
    assert split(*[TEN * 4] * 4, TEN * 2, TEN * 3) == 1
    assert split(*[TEN * 4] * 4, TEN) == 1


def test_a_hint_in_the_text_counts_where_the_operations_agree():
    five = "abcde"
    assert split(*[five * 4] * 3, name="sample (repeat=4)") == 4
    assert split(*[five * 4] * 3, name="sample (repeat=2)") == 2
    # 3 does not divide the four copies: the ten operations decide.
    assert split(*[five * 4] * 3, name="sample (repeat=3)") == 1
    assert split(*[TEN * 4] * 3, name="sample (repeat=3)") == 4
    assert split(*[TEN * 4] * 3, name="sample (repeat=1)") == 4
    assert split(*[TEN] * 3, name="sample (repeat=2)") == 1


def test_kernels_alone_decide_where_copies_disturb_the_sequence():
    # A copy before the first iteration of each range alone: with it the halves are not the same.
    study = Study(ranges(["<" + TEN * 2] * 3).trace())
    iterations = study.iterations()
    assert iterations.count == 6
    # The copy belongs to the iteration of the kernel that follows it.
    assert iterations.starts[0].tolist() == [101, 321, 10_101, 10_321, 20_101, 20_321, 20_506]


def test_operations_of_several_threads_add_up_to_the_ten():
    assert split(*["abcde" * 2] * 3, threads=2) == 2
    assert split(*["abcde" * 2] * 3, threads=1) == 1
    assert split(*["abcd" * 2] * 3, threads=2) == 1


def test_the_iterations_of_a_split_range_are_numbered_and_begin_with_the_range():
    maker = ranges([TEN * 2] * 3)
    # A checkpoint in the second copy of the second range, and one before its first launch.
    maker.range(10_250, 10_260, "save_checkpoint", tid=2).range(20_000, 20_001, "save_checkpoint", tid=2)
    iterations = Study(maker.trace()).iterations()
    assert iterations.names == tuple(f"steps {i} {copy}/2" for i in range(3) for copy in (1, 2))
    assert [i for i, flag in enumerate(iterations.flags) if flag == "checkpoint"] == [3, 4]
    assert iterations.notes == (
        "each range holds 2 copies of one sequence of kernels: the iterations are those",
    )


def test_ranks_that_are_split_otherwise_keep_the_ranges_and_their_flags():
    maker = ranges([TEN * 2] * 3)
    ranges([TEN * 4] * 3, maker=maker, process=1)
    maker.range(10_250, 10_260, "save_checkpoint", tid=2, process=1)
    iterations = Study(maker.trace()).iterations()
    assert iterations.names == ("steps 0", "steps 1", "steps 2")
    assert [i for i, flag in enumerate(iterations.flags) if flag == "checkpoint"] == [1]
    assert iterations.starts[:, :-1].tolist() == [[101, 10_101, 20_101]] * 2
