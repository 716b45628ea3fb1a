"""What is asked of a trace that is open: five parts, events by duration, a search, a picture.

Run by `run.py`, in a process of its own: ``python -m tests.benchmarks.calculations TRACE``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QApplication

from tests.benchmarks.figures import Figure, median, print_json, timed
from viewer.analysis.study import Study
from viewer.analysis.time.measure import parts_of
from viewer.export.first_view import first_view
from viewer.export.picture import picture
from viewer.panels.event_columns import columns_for
from viewer.panels.event_set import EventSet
from viewer.panels.event_view import Wanted, list_events
from viewer.readers import read
from viewer.rows import Row, RowEvents, RowKind
from viewer.trace import Kind
from viewer.trace.names import base_name

GROUP = "calculations"


def main(path: Path) -> None:
    """Measure each of them."""
    app = QApplication([])
    study = Study(read(path))
    low, high = study.trace.window_ns
    study.iterations()
    _ = study.parts
    parts_of(study.parts, low, high)
    rng = np.random.default_rng(1)
    ranges = np.sort(rng.integers(low, high, (200, 2)), axis=1).tolist()
    spent = [timed(lambda a=a, b=b: parts_of(study.parts, a, max(b, a + 1)))[0] for a, b in ranges]
    gpus = len(study.trace.gpus)
    found = [Figure(GROUP, f"five parts of a range, {gpus} GPUs", median(spent), "ms", 1.0)]
    kernels = _all_kernels(study)
    columns = columns_for(kernels)

    def wants(what: Wanted) -> float:
        return median(timed(lambda: list_events(kernels, columns, what, _never), 3))

    count = f"{len(kernels):,} kernels"
    sort = wants(Wanted(sort="duration_ns", descending=True))
    found.append(Figure(GROUP, f"{count} sorted by duration", sort, "ms", 1000.0))
    name = base_name(study.trace.names[int(study.trace.kernels.name_id[0])])
    found.append(Figure(GROUP, f"{count} filtered by name", wants(Wanted(text=name)), "ms"))
    finder = study.finder
    found.append(Figure(GROUP, "find, first", timed(lambda: finder.find("gemm"))[0], "ms"))
    found.append(Figure(GROUP, "find, next", median(timed(lambda: finder.find("ncclDevKernel"), 3)), "ms"))
    view = first_view(study, (low, high))
    _ = study.collectives
    found.append(
        Figure(GROUP, "picture of 4,000 pixels", median(timed(lambda: picture(view, 2000, 2.0), 3)), "ms")
    )
    print_json(found)
    sys.stdout.flush()
    del app


def _all_kernels(study: Study) -> EventSet:
    events = study.trace.kernels
    order = np.argsort(events.start_ns, kind="stable").astype(np.int32)
    held = RowEvents(events.start_ns[order], events.end_ns[order], events.name_id[order], Kind.KERNEL, order)
    return EventSet(study, Row("every", RowKind.KERNELS, "Every kernel"), held)


def _never() -> bool:
    return False


if __name__ == "__main__":
    main(Path(sys.argv[1]))
