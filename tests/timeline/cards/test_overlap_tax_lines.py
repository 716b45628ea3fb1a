"""What the cards say of the price of hiding communication."""

import numpy as np
import pytest

from tests.analysis.collectives.test_overlap_tax import Job
from viewer.analysis.collectives.overlap_tax import ALONE, BESIDE
from viewer.rows import EventRef
from viewer.timeline.cards.card_text import event_facts
from viewer.timeline.cards.overlap_tax_lines import overlap_tax_lines
from viewer.trace import Kind


def lines_of(job, kernel):
    return dict(overlap_tax_lines(job.study.overlap_tax, kernel))


def kernels_on(job, side):
    return np.flatnonzero(job.study.overlap_tax.side == side).tolist()


@pytest.mark.parametrize(("tax", "begins"), [(0.1, "+"), (-0.1, "\u2212"), (0, "no longer than alone, ± ")])
def test_a_kernel_beside_communication_says_what_it_paid(tax, begins):
    job = Job(tax=tax)
    texts = [lines_of(job, kernel)["Beside comm."] for kernel in kernels_on(job, BESIDE)]
    of_gemms = [text for text in texts if "price not known" not in text]
    priced = [text for text in of_gemms if text.startswith(begins)]
    assert len(priced) > 100
    assert all(" beside, " in text and " alone)" in text for text in priced)


def test_a_kernel_alone_says_nothing():
    job = Job(tax=0.1)
    assert not lines_of(job, kernels_on(job, ALONE)[0])


def test_a_price_that_is_not_known_is_said():
    job = Job(ranges=False, same=True)
    assert "price not known" in lines_of(job, kernels_on(job, BESIDE)[0])["Beside comm."]


def test_a_collective_says_what_the_compute_beside_it_paid():
    job = Job(tax=0.1)
    (kernel, *_) = np.flatnonzero(job.study.classes.is_comm(job.study.trace.kernels.name_id)).tolist()
    assert " beside compute, which paid +" in lines_of(job, kernel)["Hidden"]
    unknown = Job(ranges=False, same=True)
    (kernel, *_) = np.flatnonzero(unknown.study.classes.is_comm(unknown.study.trace.kernels.name_id)).tolist()
    assert lines_of(unknown, kernel)["Hidden"].endswith("beside compute, at a price that is not known")


def test_a_card_waits_for_no_price():
    job = Job(tax=0.1, ranks=1)
    kernel = int(np.flatnonzero(job.study.classes.is_comm(job.study.trace.kernels.name_id))[0])
    ref = EventRef(Kind.KERNEL, kernel)
    assert "Hidden" not in dict(event_facts(job.study, ref).lines)
    assert "overlap_tax" not in job.study.__dict__
    _ = job.study.overlap_tax
    assert "Hidden" in dict(event_facts(job.study, ref).lines)
