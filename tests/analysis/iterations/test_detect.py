"""From ranges to the boundaries of each GPU's iterations."""

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study


def marked(processes, steps=4):
    """Make ranges of 100 ns; each process's kernels start so many ns after its range does."""
    maker = TraceMaker()
    for process, delay in enumerate(processes):
        for step in range(steps):
            at = step * 100
            maker.range(at, at + 90, f"step {step}", process=process)
            maker.call(at + 10, at + 15, process=process, correlation=1 + step)
            maker.kernel(at + delay, at + delay + 10, process=process, correlation=1 + step)
    return maker


def test_a_gpu_without_boundaries_of_its_own_has_the_earliest_of_the_others():
    maker = marked((30, 40, 20)).kernel(5, 6, process=3)
    iterations = Study(maker.trace()).iterations()
    assert iterations.has_own.tolist() == [True, True, True, False]
    assert iterations.starts.tolist() == [
        [30, 130, 230, 330, 340],
        [40, 140, 240, 340, 350],
        [20, 120, 220, 320, 330],
        [20, 120, 220, 320, 350],
    ]
    assert iterations.notes[-1] == (
        "launches nothing on Rank 3 GPU 0: shown with the earliest boundaries of the others"
    )


def test_an_iteration_that_launched_nothing_on_a_gpu_is_empty_there():
    maker = marked((30,))
    for step in (0, 2, 3):
        at = step * 100
        maker.call(at + 20, at + 25, correlation=50 + step)
        maker.kernel(at + 50, at + 60, device=1, correlation=50 + step)
    starts = Study(maker.trace()).iterations().starts
    assert starts.tolist() == [[30, 130, 230, 330, 340], [50, 250, 250, 350, 360]]


def unrolled(ranges=3, copies=2, kernels=10, process=0, maker=None):
    """Make ranges of which each holds several copies of one sequence of kernels."""
    maker = maker or TraceMaker()
    for instance in range(ranges):
        at = instance * 1000
        maker.range(at, at + 900, f"steps {instance}", process=process)
        for number in range(copies * kernels):
            identity = 1 + instance * copies * kernels + number
            low = at + 10 + 20 * number
            maker.call(low, low + 5, process=process, correlation=identity)
            maker.kernel(low + 100, low + 110, f"k{number % kernels}", process=process, correlation=identity)
    return maker


def test_copies_of_one_sequence_inside_a_range_are_iterations_each():
    iterations = Study(unrolled().trace()).iterations()
    assert iterations.names == tuple(f"steps {i} {copy}/2" for i in range(3) for copy in (1, 2))
    edges = [1000 * i + 110 + 200 * copy for i in range(3) for copy in (0, 1)]
    assert iterations.starts.tolist() == [[*edges, edges[-1] + 9 * 20 + 10]]
    assert any("2 copies" in note for note in iterations.notes)


def test_ranks_that_hold_other_numbers_of_copies_are_not_split():
    maker = unrolled(copies=2)
    unrolled(copies=4, process=1, maker=maker)
    iterations = Study(maker.trace()).iterations()
    assert iterations.names == ("steps 0", "steps 1", "steps 2")
    assert iterations.starts[:, :-1].tolist() == [[110, 1110, 2110]] * 2
