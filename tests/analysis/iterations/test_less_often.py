"""What comes less often than guessed iterations shows that they are parts of one."""

import numpy as np
import pytest

from viewer.analysis.iterations.less_often import less_often

LAYER, HEAD, UPDATE = 1, 2, 3


def copy(size, kind=1):
    """Return the key of a copy of a size."""
    return -2 - (size * 16 + kind)


def steps(count, layers, extra=(), micro=1):
    """Return keys and lengths of steps of some layers of twelve kernels, and where the layers begin.

    `extra` are (key, length) at the end of each step; each micro-batch ends with a head.
    """
    keys, lengths, begins = [], [], []
    for _ in range(count):
        for _ in range(micro):
            for _ in range(layers):
                begins.append(len(keys))
                keys += [LAYER, *range(100, 111)]
                lengths += [10] * 12
            if micro > 1:
                keys.append(HEAD)
                lengths.append(100)
        for key, length in extra:
            keys.append(key)
            lengths.append(length)
    return np.array(keys, np.int64), np.array(lengths, np.int64), np.array(begins, np.int64)


def test_nothing_comes_less_often_than_all():
    assert less_often(*steps(6, 4)) is None


@pytest.mark.parametrize(("length", "found"), [(4, False), (5, True), (200, True)])
def test_kernels_speak_where_they_have_a_hundredth_of_the_time(length, found):
    # The layers of a step take 480.
    slower = less_often(*steps(6, 4, [(HEAD, length)]))
    assert (slower is not None) == found
    if slower is not None:
        assert (slower.key, slower.every, slower.positions.tolist()) == (
            HEAD,
            4,
            [48, 97, 146, 195, 244, 293],
        )


@pytest.mark.parametrize(
    ("key", "found"),
    [(copy(65_536), True), (copy(65_535), False), (copy(10**9, kind=2), False)],
)
def test_a_batch_speaks_and_a_small_copy_or_one_to_the_host_does_not(key, found):
    assert (less_often(*steps(6, 4, [(key, 1)])) is not None) == found


def test_the_longest_distance_counts():
    keys, lengths, begins = steps(6, 4, [(UPDATE, 200)], micro=3)
    slower = less_often(keys, lengths, begins)
    assert (slower.key, slower.every, len(slower.positions)) == (UPDATE, 12, 6)


def test_a_batch_begins_the_iteration_before_a_kernel_does():
    batch = copy(10**6)
    slower = less_often(*steps(6, 4, [(UPDATE, 200), (batch, 10)]))
    assert slower.key == batch


def test_an_order_that_is_broken_too_often_says_nothing():
    keys, lengths, begins = steps(10, 4, [(HEAD, 300)])
    assert less_often(keys, lengths, begins) is not None
    # Every third one is missing.
    missing = np.flatnonzero(keys == HEAD)[::3]
    keys[missing] = 900 + np.arange(len(missing))
    assert less_often(keys, lengths, begins) is None


def test_twice_counts_only_where_many_lie_between():
    assert less_often(*steps(2, 6, [(HEAD, 300)])).every == 6
    assert less_often(*steps(2, 3, [(HEAD, 300)])) is None
