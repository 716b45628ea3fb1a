"""How long the row headers take with 19,808 rows, all unfolded.

Run by hand, on a display: ``python tests/benchmarks/headers.py``. Following a scroll is part of a frame of
16 ms; hiding and filtering rebuild the view.
"""

import time

import numpy as np
from PySide6.QtWidgets import QApplication

from viewer.rows import Row, RowEvents, RowKind
from viewer.state import ViewState
from viewer.timeline.headers import RowHeaders
from viewer.trace import Kind

RANKS, NAMES = 8, 2470
EVENTS = RowEvents(
    np.array([0, 10]), np.array([5, 20]), np.zeros(2, np.uint32), Kind.KERNEL, np.arange(2, dtype=np.int32)
)


def rank_row(rank):
    """A rank whose GPU ran thousands of different kernels."""
    root = Row(f"{rank}", RowKind.PROCESS, f"Rank {rank}", "python", process=rank)
    gpu = Row(f"{rank}/gpu", RowKind.GPU, "GPU 0", "H200", root, rank)
    kernels = Row(f"{rank}/kernels", RowKind.KERNELS, "Kernels", "", gpu, rank, load=lambda: EVENTS)
    root.children.append(gpu)
    gpu.children.append(kernels)
    for name in range(NAMES):
        family = Row(
            f"{rank}/{name}", RowKind.FAMILY, f"family_{name}", "", kernels, rank, load=lambda: EVENTS
        )
        kernels.children.append(family)
    return root


def measure(what, step, headers):
    """Print how long a step takes until the headers are laid out, and until they are painted."""
    start = time.perf_counter()
    step()
    headers.executeDelayedItemsLayout()
    laid_out = time.perf_counter()
    QApplication.processEvents()
    painted = time.perf_counter()
    print(f"{what:<12} {1e3 * (laid_out - start):8.1f} ms, painting {1e3 * (painted - laid_out):6.1f} ms")


def main():
    """Print the figures."""
    app = QApplication([])
    state = ViewState()
    rows = state.rows
    headers = RowHeaders(state)
    headers.resize(340, 700)
    headers.show()
    roots = tuple(rank_row(rank) for rank in range(RANKS))
    measure("open", lambda: rows.reset(roots), headers)
    keys = [row.key for root in roots for row in root.walk() if row.children]
    measure("expand all", lambda: rows.set_expanded(keys, True), headers)
    measure("scroll", lambda: headers.verticalScrollBar().setValue(5000), headers)
    measure("where", headers.visible_rows, headers)
    measure("fold one", lambda: rows.set_expanded(["3"], False), headers)
    measure("hide one", lambda: rows.set_hidden(["2/7"], True), headers)
    measure("filter", lambda: rows.set_filter("rank 5 family_12"), headers)
    measure("no filter", lambda: rows.set_filter(""), headers)
    app.quit()


if __name__ == "__main__":
    main()
