"""How two sequences run together: against loops over their kernels."""

import numpy as np
import pytest

from viewer.analysis.collectives.pairs import PairFit, PairFits

US, MS = 1_000, 1_000_000
APART_NS, TIGHT_NS, SAMPLES = 50 * US, 4 * US, 256


def nearest(ends, time):
    return min(range(len(ends)), key=lambda i: (abs(ends[i] - time), i))


def mad(values):
    middle = np.median(values)
    return int(np.median([abs(v - middle) for v in values]))


def by_loops(first, second):
    """Return how two lists of (start, end) fit, None where they are not compared."""
    ends, others = [end for _, end in first], [end for _, end in second]
    low, high = max(ends[0], others[0]) - APART_NS, min(ends[-1], others[-1]) + APART_NS
    if len(ends) == len(others):
        low, high = -(10**18), 10**18
    own = [i for i, end in enumerate(ends) if low <= end <= high]
    theirs = [i for i, end in enumerate(others) if low <= end <= high]
    if not own or not len(own) <= 2 * len(theirs) <= 4 * len(own):
        return None
    if len(ends) != len(others) and min(len(own), len(theirs)) < 3:
        return None
    sample = own if len(own) <= SAMPLES else [own[int(k * len(own) / SAMPLES)] for k in range(SAMPLES)]
    partners = []
    for i in sample:
        j = nearest(others, ends[i])
        overlap = max(first[i][0], second[j][0]) < min(ends[i], others[j])
        if nearest(ends, others[j]) == i and overlap and abs(ends[i] - others[j]) <= APART_NS:
            partners.append((ends[i] - others[j], first[i][0] - second[j][0]))
    if not partners:
        return None
    partners.sort(key=lambda pair: pair[0])
    differences = [end for end, _ in partners]
    counts = [sum(d <= e <= d + TIGHT_NS for e in differences[k:]) for k, d in enumerate(differences)]
    most = max(counts)
    window = partners[counts.index(most) :][:most]
    by_chance = len(partners) * TIGHT_NS / (2 * APART_NS)
    closer = 2 * mad([e for e, _ in window]) <= mad([s for _, s in window])
    wanted = len(sample) * min(len(theirs) / len(own), 1)
    return (
        pytest.approx(min(len(partners) / wanted, 1)),
        pytest.approx(min(most / wanted, 1)),
        most >= 5 + 2 * by_chance and closer,
        mad(differences),
        mad([s for _, s in partners]),
    )


def found(lists, gpus):
    arrays = [np.array(of_gpu, np.int64) for of_gpu in lists]
    fits = PairFits([a[:, 0] for a in arrays], [a[:, 1] for a in arrays], gpus)
    return {
        (f.first, f.second): (f.together, f.tight, f.is_mixed, f.unsteady_ns, f.starts_unsteady_ns)
        for f in fits
    }


@pytest.mark.parametrize("seed", range(60))
def test_pairs_fit_as_loops_say(seed):
    """In coarse steps, so that what is as long as a limit occurs; some are lost, some lists begin late."""
    random = np.random.default_rng(seed)
    count = int(random.choice([4, 12, 40])) if seed else 300
    step, spacing = int(random.choice([1, 2, 10])) * US, int(random.choice([400, 1000])) * US
    gpus, lists = [0, 1, 1, 2], []
    for _ in gpus:
        loose, lost = int(random.choice([1, 4, 30])), float(random.choice([0, 0.1, 0.5]))
        begin, end = (
            sorted(random.integers(0, count + 1, 2).tolist()) if random.random() < 0.3 else (0, count)
        )
        kernels = []
        for k in range(begin, end):
            at = k * spacing
            late, off = (int(n) * step for n in random.integers(0, loose, 2))
            if random.random() >= lost:
                kernels.append((at + late, at + 60 * US + off))
        kernels.sort(key=lambda one: one[1])
        lists.append(kernels or [(0, 60 * US)])
    expected = {
        (i, j): fit
        for i in range(4)
        for j in range(i + 1, 4)
        if gpus[i] != gpus[j] and (fit := by_loops(lists[i], lists[j])) is not None
    }
    assert found(lists, gpus) == expected


@pytest.mark.parametrize(("off", "is_close"), [(APART_NS, True), (-APART_NS, True), (APART_NS + 1, False)])
def test_partners_end_within_50_us_of_one_another(off, is_close):
    own = [(k * MS, k * MS + 200 * US) for k in range(10)]
    fits = found([own, [(start, end + off) for start, end in own]], [0, 1])
    assert fits == ({(0, 1): (1.0, 1.0, True, 0, 0)} if is_close else {})


@pytest.mark.parametrize(
    ("unsteady_ns", "starts_unsteady_ns", "is_only"),
    [
        (5_000, 0, False),
        (5_001, 0, True),
        (6_000, 10_000, False),
        (6_001, 10_000, True),
        (60_000, 99_999, True),
    ],
)
def test_what_ends_no_closer_together_than_it_starts_is_only_in_step(
    unsteady_ns, starts_unsteady_ns, is_only
):
    assert PairFit(0, 1, 1.0, 1.0, True, unsteady_ns, starts_unsteady_ns).is_only_in_step is is_only


def test_five_that_end_together_are_more_than_chance():
    """Of others that end anywhere within 50 µs, apart from one another by more than a window."""
    for tight, is_mixed in ((5, True), (4, False)):
        own = [(k * MS - k * US, k * MS + 100 * US) for k in range(tight)]
        fits = found([own, [(k * MS, end) for k, (_, end) in enumerate(own)]], [0, 1])
        # By chance are 4 in 100 of all: 2 * 0.2 of five.
        assert not fits[0, 1][2]
        more = [(k * MS - k * US, k * MS + 100 * US) for k in range(tight + 1)]
        fits = found([more, [(k * MS, end) for k, (_, end) in enumerate(more)]], [0, 1])
        assert fits[0, 1][2] is is_mixed
