"""The stages of a pipeline, of chains by hand."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.stages import find_stages


def stages(pipes, sending, counts=None):
    """`counts` says how many kernels "a" and "b" each GPU runs."""
    maker = TraceMaker()
    for gpu in range(max(sending) + 1):
        a, b = (counts or {}).get(gpu, (1, 1))
        for k in range(a + b):
            maker.kernel(k * 10, k * 10 + 5, "a" if k < a else "b", process=gpu)
    return find_stages(maker.trace(), pipes, set(sending))


TWINS = [(0, 2), (2, 4), (1, 3), (3, 5)]


@pytest.mark.parametrize(
    ("pipes", "expected"),
    [
        ([(0, 1), (1, 2)], ((0,), (1,), (2,))),
        # From the end with the smaller number, whatever lies between.
        ([(2, 5), (5, 0), (2, 1), (1, 4), (4, 3)], ((0,), (5,), (2,), (1,), (4,), (3,))),
        (TWINS, ((0, 1), (2, 3), (4, 5))),
        # The second chain's smaller end is its last.
        ([(0, 3), (3, 5), (4, 2), (2, 1)], ((0, 1), (2, 3), (4, 5))),
        ([], ()),
        # A ring, and one with three neighbours.
        ([(0, 1), (1, 2), (2, 0)], ()),
        ([(0, 1), (1, 2), (1, 3)], ()),
        ([(0, 1), (1, 2), (2, 3), (2, 4), (5, 6), (6, 7)], ()),
    ],
)
def test_stages_are_as_far_along_the_chains(pipes, expected):
    every = {gpu for pair in pipes for gpu in pair}
    assert stages(pipes, every or {0}) == expected


WORK = {0: (30, 10), 1: (30, 10), 2: (10, 30), 3: (10, 30), 4: (20, 20), 5: (20, 20)}


@pytest.mark.parametrize(
    ("pipes", "expected"),
    [
        # 5 has no known peer, and 1 and 3 are a shorter chain than 0, 2 and 4: they do what these do.
        ([(0, 2), (2, 4), (1, 3)], ((0, 1), (2, 3), (4, 5))),
        ([(1, 3), (3, 5)], ((0, 1), (2, 3), (4, 5))),
        # Less than half are in chains of that length.
        ([(0, 1)], ()),
    ],
)
def test_one_without_known_peers_is_of_the_stage_that_does_the_same(pipes, expected):
    assert stages(pipes, range(6), WORK) == expected


def test_all_stages_have_as_many_gpus():
    """3 does what the first stage does, and would make it the only one of two."""
    assert stages([(0, 1), (1, 2)], range(4), {0: (30, 10), 1: (10, 30), 2: (20, 20), 3: (30, 10)}) == ()


@pytest.mark.parametrize(("far", "is_known"), [(20, False), (21, True)])
def test_the_nearest_stage_is_less_than_half_as_far_as_the_next(far, is_known):
    """3 is 10 from the stage of 1, and `far` from that of 0; 2 is the twin of 0."""
    counts = {0: (100 + far, 0), 1: (100 - 10, 0), 2: (100 + far, 0), 3: (100, 0)}
    assert stages([(0, 1)], range(4), counts) == (((0, 2), (1, 3)) if is_known else ())
