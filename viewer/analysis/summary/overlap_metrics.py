"""Metrics of what hidden communication costs the compute kernels beside it."""

from __future__ import annotations

from collections.abc import Callable

from viewer.analysis.collectives.overlap_tax import TaxSum
from viewer.analysis.core.intervals import Intervals
from viewer.analysis.core.location import Location
from viewer.analysis.core.units import duration_text
from viewer.analysis.summary.inputs import MetricInputs
from viewer.analysis.summary.metric import Metric, Result, longest
from viewer.analysis.summary.sections import TIME

MIN_UNKNOWN = 0.01
"""What is not known is a number of its own from this share of the compute beside communication on."""
_TAX = (
    "How much longer the compute kernels beside communication took than they take alone: by kernel name, "
    "shape and NVTX range, each rank compared with itself. Signed; 0 where it is not told from chance."
)
_NO_SHAPES = "The file does not tell grid and block: kernels of one name and range are taken for one kind."


def _tax(inputs: MetricInputs) -> Result | None:
    """Return what was paid; None, for no metric, where no kernel runs beside communication."""
    tax, whole = inputs.study.overlap_tax, _sum(inputs)
    if not whole.beside_ns:
        return None
    sums = [_sum(inputs, gpu) for gpu in range(len(inputs.scope.within))]
    # The kernel that paid most, not the longest hidden time: where much is hidden little may be paid.
    locations = _locations(inputs, tax.dearest)
    return Result(
        value=whole.tax_ns,
        per_gpu=tuple(of_gpu.tax_ns for of_gpu in sums),
        share=whole.tax_ns / max(inputs.scope.total_ns, 1),
        is_sum=True,
        location=longest(locations),
        locations=locations,
        title=f"{_TITLE} (± {duration_text(whole.bound_ns)})",
        doubt="" if tax.signatures.has_shapes else _NO_SHAPES,
    )


def _unknown(inputs: MetricInputs) -> Result | None:
    """Return the time of the kernels whose price is not known; None where it is next to none."""
    whole = _sum(inputs)
    if whole.unknown_ns < MIN_UNKNOWN * max(whole.beside_ns, 1):
        return None
    locations = _locations(inputs, inputs.study.overlap_tax.longest_unknown)
    return Result(
        value=whole.unknown_ns,
        per_gpu=tuple(_sum(inputs, gpu).unknown_ns for gpu in range(len(inputs.scope.within))),
        share=whole.unknown_ns / max(inputs.scope.total_ns, 1),
        is_sum=True,
        location=longest(locations),
        locations=locations,
    )


def _sum(inputs: MetricInputs, gpu: int | None = None) -> TaxSum:
    gpus = range(len(inputs.scope.within)) if gpu is None else (gpu,)
    return inputs.study.overlap_tax.sum_of(gpus, [inputs.scope.within[g] for g in gpus])


def _locations(
    inputs: MetricInputs, choose: Callable[[int, Intervals], int | None]
) -> tuple[Location | None, ...]:
    """Return the place of the kernel that is chosen on each GPU, None where there is none."""
    kernels = inputs.study.trace.kernels
    chosen = [choose(gpu, within) for gpu, within in enumerate(inputs.scope.within)]
    return tuple(
        Location(int(kernels.start_ns[k]), int(kernels.end_ns[k]), gpu) if k is not None else None
        for gpu, k in enumerate(chosen)
    )


_TITLE = "paid by the compute beside it"

METRICS = (
    Metric("overlap_tax", TIME, _TITLE, "ns", _TAX, _tax),
    Metric(
        "overlap_tax_unknown",
        TIME,
        "compute beside it, price not known",
        "ns",
        "Durations of the compute kernels beside communication of whose kind fewer than five run alone, or "
        "beside it, or that are of several sizes.",
        _unknown,
    ),
)
