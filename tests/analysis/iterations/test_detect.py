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
