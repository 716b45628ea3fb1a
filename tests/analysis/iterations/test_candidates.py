"""What is offered as a marker, in which order, and with which numbers."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.iterations.candidate import table
from viewer.analysis.study import Study


class Job:
    """Ranges and what they launch, with correlation ids that never repeat."""

    def __init__(self):
        self.maker, self.identity = TraceMaker(), 0

    def work(self, at, length, process=0, tid=1):
        """Launch a kernel of a length at an instant; it runs 10,000 ns later."""
        self.identity += 1
        self.maker.call(at, at + 1, process=process, tid=tid, correlation=self.identity)
        begin = at + 10_000
        name = f"k{self.identity}"
        self.maker.kernel(begin, begin + length, name, process=process, correlation=self.identity)
        return self

    def range(self, start, end, name, **options):
        self.maker.range(start, end, name, **options)
        return self

    @property
    def candidates(self):
        return Study(self.maker.trace()).candidates

    def named(self, name):
        (found,) = [c for c in self.candidates if c.name == name]
        return found


def steps(lengths, job=None, name="step", process=0, tid=1, at=0, every=100, wide=90):
    """Add a range for each length, which launches a kernel so long (none for 0)."""
    job = job or Job()
    for number, length in enumerate(lengths):
        start = at + every * number
        job.range(start, start + wide, f"{name} {number}", process=process, tid=tid)
        if length:
            job.work(start + 10, length, process, tid)
    return job


def test_the_numbers_of_a_candidate():
    # What is launched before the first one and after the last one does not count.
    job = steps([10, 10, 10], at=1000).work(1195, 20).work(900, 500).work(1400, 500)
    candidate = job.named("step #")
    assert (candidate.count, candidate.cpu_ns, candidate.processes) == (3, 3 * 90, (0,))
    assert candidate.gpu_share == 30 / 50
    assert candidate.even_share == 1.0
    assert candidate.qualifies
    assert not candidate.guess


def test_three_ranges_are_enough_and_two_are_not_unless_they_are_numbered_steps():
    assert steps([10, 10, 10], name="lap").candidates[0].name == "lap #"
    assert steps([10, 10], name="lap").candidates == ()
    assert steps([10, 10]).candidates[0].name == "step #"
    assert steps([10]).candidates[0].count == 1


@pytest.mark.parametrize(("elsewhere", "qualifies"), [(29, True), (30, True), (31, False)])
def test_half_of_the_gpu_time_is_enough(elsewhere, qualifies):
    candidate = steps([10, 10, 10]).work(195, elsewhere).named("step #")
    assert candidate.qualifies == qualifies


@pytest.mark.parametrize(
    ("operations", "even"),
    [
        ([10, 10, 11, 9], 1.0),
        ([10, 10, 10, 12, 8, 10], 4 / 6),
        ([10, 12, 8, 10], 0.5),
        ([10, 13, 7, 16, 10, 20, 2], 2 / 7),
        # Most launch nothing: there is no median to be near to.
        ([0, 0, 0, 1], 0.0),
    ],
)
def test_the_number_of_operations_is_even_within_ten_per_cent(operations, even):
    job = Job()
    for number, count in enumerate(operations):
        for tid, name in ((1, "lap"), (2, "step")):
            job.range(1000 * number, 1000 * number + 900, f"{name} {number}", tid=tid)
        for operation in range(count):
            job.work(1000 * number + 10 + 2 * operation, 1)
    candidate = job.named("lap #")
    assert candidate.even_share == even
    assert candidate.qualifies == (even >= 0.5)
    # Numbered steps may change from one to the next, where most launch anything.
    assert job.named("step #").qualifies == (even > 0)


def test_ranges_inside_others_of_their_name_do_not_count():
    job = steps([10, 10, 10])
    for number in range(3):
        job.range(100 * number + 20, 100 * number + 30, "step 7")
    assert job.named("step #").count == 3
    # One that ends with the range around it lies inside it, too.
    job.range(150, 190, "step 9")
    assert job.named("step #").count == 3
    # Touching is not overlapping.
    job.range(290, 300, "step 10")
    assert job.named("step #").count == 4
    # Start/end ranges of one track may overlap without nesting: then they mark nothing.
    overlapping = Job()
    for number in range(4):
        overlapping.range(100 * number, 100 * number + 101, f"step {number}", event_type=60)
        overlapping.work(100 * number + 10, 10)
    assert overlapping.candidates == ()


def test_a_process_counts_with_its_thread_that_spends_most_time_inside():
    job = steps([1, 1, 1, 1, 1], name="step", tid=2, wide=10)
    steps([10, 10, 10], job, tid=1, at=1000)
    candidate = job.named("step #")
    assert (candidate.count, candidate.cpu_ns) == (3, 270)
    starts = Study(job.maker.trace()).iterations().starts
    assert starts.tolist() == [[11_010, 11_110, 11_210, 11_220]]


def test_ranks_where_the_range_launches_little_do_not_count():
    job = steps([10, 10, 10])
    steps([1, 1, 1], job, process=1)
    for number in range(3):
        job.work(95 + 100 * (number % 2), 9, process=1, tid=2)
    candidate = job.named("step #")
    assert candidate.qualifies
    assert candidate.processes == (0,)
    assert candidate.gpu_share == 1.0
    assert candidate.disagreement == "not on Rank 1"


def test_the_weakest_rank_gives_the_shares():
    job = steps([10, 10, 10, 10])
    steps([10, 10, 10], job, process=1).work(195, 20, process=1)
    candidate = job.named("step #")
    assert (candidate.count, candidate.processes) == (3, (0, 1))
    assert candidate.gpu_share == 30 / 50
    assert candidate.cpu_ns == 7 * 90
    assert candidate.disagreement == "Rank 0: 4; Rank 1: 3"


def test_what_most_ranks_have_leads_then_what_takes_most_time_on_the_cpu():
    job = Job()
    for process in (0, 1):
        steps([10, 10, 10], job, name="inner", process=process, wide=50)
    steps([0, 0, 0], job, name="outer", wide=99)
    assert [(c.name, c.cpu_ns) for c in job.candidates] == [("inner #", 300), ("outer #", 297)]
    job = Job()
    for number in range(3):
        at = 100 * number
        job.range(at, at + 90, f"outer {number}").range(at + 5, at + 80, f"inner {number}").work(at + 10, 10)
    assert [(c.name, c.qualifies) for c in job.candidates] == [("outer #", True), ("inner #", True)]
    for number in range(3):
        at = 100 * number
        job.range(at + 5, at + 20, f"inner {number}", process=1).work(at + 10, 10, process=1)
    assert [c.name for c in job.candidates] == ["inner #", "outer #"]


def test_what_does_not_qualify_is_offered_by_its_share():
    job = steps([10, 10, 10], name="small")
    steps([20, 20, 20], job, name="large", at=1000)
    steps([0, 0, 0], job, name="nothing", at=2000)
    for number in range(30):
        at = 92 + 1000 * (number % 2) + 100 * (number // 2 % 2)
        job.work(at, 11 + number % 7)
    assert [(c.what, c.name) for c in job.candidates] == [
        ("none", "no iterations"),
        ("range", "large #"),
        ("range", "small #"),
    ]
    shown = table(job.candidates)
    assert shown["what"].tolist() == ["", "NVTX range", "NVTX range"]
    assert shown["qualifies"].tolist() == [False, False, False]
    assert shown["count"].tolist() == [0, 3, 3]


def test_no_more_than_forty_are_offered():
    job = Job()
    for name in range(60):
        steps([10, 10, 10], job, name=f"n{'x' * name}y", at=1000 * name)
    assert len(job.candidates) == 40


def test_a_domain_of_its_own_is_another_marker():
    job = steps([10, 10, 10])
    for number in range(3):
        job.range(100 * number, 100 * number + 90, f"step {number}", domain="mine")
    assert sorted(c.domain for c in job.candidates) == ["", "mine"]


def test_ranks_with_repeated_texts_are_matched_by_their_order():
    job = Job()
    for process, count in ((0, 5), (1, 4)):
        for number in range(count):
            job.range(100 * number, 100 * number + 90, "step", process=process)
            job.work(100 * number + 10, 10, process)
    iterations = Study(job.maker.trace()).iterations()
    assert iterations.names == ("step",) * 4
    assert iterations.notes == (
        "the ranks do not agree: Rank 0: 5; Rank 1: 4",
        "iterations are 4 of each rank, matched by their times",
    )
    assert iterations.starts[:, 0].tolist() == [10_010, 10_010]


def test_ranks_that_begin_later_are_matched_by_their_times():
    job = Job()
    for process, first in ((0, 0), (1, 1)):
        for number in range(first, 5):
            job.range(100 * number, 100 * number + 90, "step", process=process)
            job.work(100 * number + 10, 10, process)
    iterations = Study(job.maker.trace()).iterations()
    assert iterations.count == 4
    assert iterations.starts[:, 0].tolist() == [10_110, 10_110]


def test_ranks_that_share_one_text_alone_are_matched_by_their_order():
    job = steps([10, 10, 10])
    for number, step in enumerate((9, 2, 8)):
        job.range(100 * number, 100 * number + 90, f"step {step}", process=1).work(100 * number + 10, 10, 1)
    iterations = Study(job.maker.trace()).iterations()
    assert iterations.names == ("step 0", "step 1", "step 2")
    assert iterations.starts[:, 0].tolist() == [10_010, 10_010]
    # Two texts in common are matched: step 2 first, wherever it stands.
    job = steps([10, 10, 10])
    for number, step in enumerate((2, 0, 8)):
        job.range(100 * number, 100 * number + 90, f"step {step}", process=1).work(100 * number + 10, 10, 1)
    iterations = Study(job.maker.trace()).iterations()
    assert iterations.names == ("step 0", "step 2")
    assert "iterations are those 2 that all ranks have, matched by their texts" in iterations.notes


def test_times_that_are_damaged_make_no_iterations():
    job = Job()
    for number in range(4):
        job.range(100 * number, 100 * number + 90, f"step {number}")
        job.identity += 1
        job.maker.call(100 * number + 10, 100 * number + 11, correlation=job.identity)
        job.maker.kernel(5000, 5000 + 10 * (number == 3), "k", correlation=job.identity)
    assert Study(job.maker.trace()).iterations() is None


def test_page_migrations_take_no_share_of_the_gpu_time():
    job = steps([10, 10, 10])
    for number in range(20):
        start = 91 + number % 9  # between two steps
        job.maker.copy(start, start + 100, bytes=65_536, copy_kind=11 + number % 2)
    assert job.named("step #").gpu_share == 1.0
