"""Every metric: the dock, the text, the page, `compare` and JSON show whatever stands here."""

from __future__ import annotations

from viewer.analysis.summary import (
    absent_metrics,
    burst_metrics,
    copy_metrics,
    dependency_metrics,
    iteration_metrics,
    phase_metrics,
    rank_metrics,
    time_metrics,
)
from viewer.analysis.summary.metric import Metric

METRICS: tuple[Metric, ...] = (
    *time_metrics.METRICS,
    *absent_metrics.METRICS,
    *iteration_metrics.METRICS,
    *phase_metrics.METRICS,
    *burst_metrics.METRICS,
    *copy_metrics.METRICS,
    *dependency_metrics.METRICS,
    *rank_metrics.METRICS,
)
