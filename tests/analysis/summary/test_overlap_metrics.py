"""What the compute beside communication paid, in the summary and the report."""

from tests.analysis.collectives.test_overlap_tax import Job
from viewer.analysis.summary.report import report
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.scope import iteration_scope


def test_the_summary_is_the_sum_over_its_scope():
    study = Job(tax=0.1).study
    iterations = study.iterations()
    measured = summary(study, iterations, iteration_scope(iterations, [1, 2]))
    number = measured["overlap_tax"]
    gpus = range(len(study.trace.gpus))
    expected = study.overlap_tax.sum_of(gpus, measured.scope.within)
    assert number.value == sum(number.per_gpu) == expected.tax_ns > 0
    assert "±" in number.title
    # Nothing in a trace made by hand tells grid and block.
    assert number.result.doubt
    kernels = study.trace.kernels
    location = number.where(0)
    found = [i for i in range(len(kernels)) if int(kernels.start_ns[i]) == location.start_ns]
    assert max(study.overlap_tax.price(i) or 0 for i in found) > 0


def test_what_is_not_known_stands_beside_it():
    study = Job(ranges=False, same=True).study
    measured = summary(study, study.iterations())
    assert measured["overlap_tax"].value == 0
    assert measured["overlap_tax_unknown"].value > 0


def test_without_hidden_communication_there_is_no_such_number(demo_of):
    study = demo_of(ranks=1, iterations=3)
    keys = [number.key for number in summary(study, study.iterations()).numbers]
    beside = study.overlap_tax.sum_of([0]).beside_ns
    assert ("overlap_tax" in keys) is bool(beside)


def test_the_report_has_an_entry_for_every_gpu_and_the_iterations_add_up():
    study = Job(tax=0.1).study
    whole = report(study)["overlap_tax"]
    assert [(e["pid"], e["device"]) for e in whole] == [(100 + rank, 0) for rank in range(8)]
    parts = [report(study, iteration=k)["overlap_tax"] for k in range(6)]
    for rank, entry in enumerate(whole):
        assert entry["tax_ns"] == sum(part[rank]["tax_ns"] for part in parts) > 0
        assert entry["unknown_ns"] == 0
        assert 0 < entry["tax_bound_ns"] < entry["tax_ns"]
