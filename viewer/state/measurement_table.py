"""The kept measurements with their numbers, as one table for the dock, for pictures and for files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.measure import RangeNumbers
from viewer.analysis.time.time_breakdown import CATEGORIES, IDLE
from viewer.drawing.format import format_ns
from viewer.state.measurements import Measurement

_COLUMNS = (
    "colour", "name", "start_ns", "length_ns", "lap_share", "idle_ns", "idle_share", "no_kernel_ns",
    "exposed_comm_ns", "note", "compute_only_ns", "hidden_comm_ns", "copy_only_ns",
)  # fmt: skip


def numbers_of(
    study: Study, item: Measurement, iterations: Iterations | None, *, details: bool = True
) -> RangeNumbers | None:
    """Measure a kept range (as `measure`); None where nothing of it was recorded.

    Such ranges come with a session of another trace, and from beside one that is compared with a longer one.
    """
    try:
        return study.measure(item.start_ns, item.end_ns, iterations, details=details)
    except ValueError:
        return None


def part_text(ns: float) -> str:
    """Return a part of a kept range as people read it, "–" where nothing of the range was recorded."""
    return "–" if np.isnan(ns) else format_ns(int(ns))


def measurement_frame(
    study: Study | None, items: Sequence[Measurement], iterations: Iterations | None
) -> pd.DataFrame:
    """Return measurements with their numbers, a row each.

    Returns
    -------
    DataFrame
        The five parts and `no_kernel_ns` are means over the GPUs, int64 ns; `idle_share` is idle over all
        time of the GPUs; all of these are NaN where nothing of the range was recorded. `iteration_share` is
        the length over that of the iteration that holds its middle, NaN outside all.
    """
    rows = []
    for item in items:
        row = {
            "colour": item.colour,
            "name": item.name,
            "start_ns": item.start_ns,
            "length_ns": item.length_ns,
        }
        numbers = numbers_of(study, item, iterations) if study else None
        if numbers is not None:
            gpus = max(len(numbers.parts_ns), 1)
            row |= {f"{p}_ns": int(ns) // gpus for p, ns in zip(CATEGORIES, numbers.all_ns, strict=True)}
            row["idle_share"] = int(numbers.all_ns[IDLE]) / (gpus * max(numbers.length_ns, 1))
            row["no_kernel_ns"] = int(numbers.no_kernel_ns.sum()) // gpus
            row["lap_share"] = numbers.iteration.share if numbers.iteration else np.nan
        rows.append(row | {"note": item.note})
    return pd.DataFrame(rows, columns=list(_COLUMNS))
