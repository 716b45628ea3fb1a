"""Numbers of the critical path beside the timeline: the share of each rank, and a line of words."""

from __future__ import annotations

from viewer.analysis.study import Study
from viewer.drawing.critical_line import CriticalLine
from viewer.drawing.format import format_share
from viewer.printable import counted
from viewer.rows import Row
from viewer.state import ViewState, Window
from viewer.state.navigation import current_iteration
from viewer.state.places import gpus_of

HEADS = ("busy", "exposed")
"""Above the figures of GPUs, in the ruler's row."""
PATH_HEADS = ("on the path", "exposed")
"""The same while the critical path is shown."""
MOSTLY = 0.5


def column_heads(is_path_shown: bool) -> tuple[str, ...]:
    """Return what stands above the figures of GPUs."""
    return PATH_HEADS if is_path_shown else HEADS


def path_window(state: ViewState) -> Window:
    """Return the time over which the path is counted: the iteration that is looked at, else that in view."""
    iterations, number = state.iterations, current_iteration(state)
    if iterations is None or number is None:
        return state.axis.window
    return iterations.start_ns(number), iterations.end_ns(number)


def path_share(study: Study | None, row: Row, line: CriticalLine | None, within: Window) -> float | None:
    """Return the part of the critical path's time that it is on the GPUs of a row; None for other rows."""
    gpus = gpus_of(row)
    if study is None or line is None or not gpus:
        return None
    spent_ns = line.spent_ns(*within, len(study.trace.gpus))
    total = int(spent_ns.sum())
    return int(spent_ns[gpus].sum()) / total if total else None


def _place(study: Study, gpu: int) -> str:
    """Return "Rank 5", of a rank with several GPUs the GPU too."""
    trace = study.trace
    process = trace.gpus[gpu].process
    return trace.process_label(process) if len(trace.gpus_of(process)) == 1 else trace.gpu_label(gpu)


def path_text(state: ViewState) -> str:
    """Return what is known of the path that is shown, in a line; "" where none is."""
    study, path = state.study, state.path
    if study is None or not path.is_wanted:
        return ""
    if path.line is None:
        return "Critical path: being computed…" if path.is_busy else ""
    start, end = within = path_window(state)
    spent_ns = path.line.spent_ns(*within, len(study.trace.gpus))
    total = int(spent_ns.sum())
    if not total:
        return "Critical path: none in view"
    most = int(spent_ns.argmax())
    changes = counted(path.line.changes(*within), "change of rank", "changes of rank")
    share = format_share(int(spent_ns[most]) / total)
    words = [f"Critical path: {changes}, {share} on {_place(study, most)}"]
    number = current_iteration(state)
    if number is not None and total == end - start:
        words.append("pieces tile the iteration exactly")
    return ", ".join(words)
