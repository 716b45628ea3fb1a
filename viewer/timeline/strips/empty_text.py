"""Texts of an empty canvas: no row is shown, or no GPU work was recorded."""

from __future__ import annotations

from viewer.drawing.format import format_count
from viewer.state.rows import RowState
from viewer.trace import Kind, Trace

_NAMES = {
    Kind.API: ("CUDA API call", "CUDA API calls"),
    Kind.NVTX: ("NVTX range", "NVTX ranges"),
    Kind.OSRT: ("OS runtime call", "OS runtime calls"),
    Kind.ON_CPU: ("span of a thread on a CPU", "spans of threads on a CPU"),
    Kind.OVERHEAD: ("span of overhead", "spans of overhead"),
}


def no_gpu_text(trace: Trace | None) -> str:
    """Return that nothing of a GPU was recorded, what was, and what to do; "" for a trace with a GPU."""
    if trace is None or trace.gpus:
        return ""
    counts = {kind: len(trace.events[kind].start_ns) for kind in _NAMES}
    recorded = [f"{format_count(n)} {_NAMES[kind][n != 1]}" for kind, n in counts.items() if n]
    return "\n".join(
        (
            "No GPU work was recorded in this trace.",
            f"It holds {', '.join(recorded)}." if recorded else "Nothing else was recorded either.",
            "",
            "Record with nsys profile -t cuda,nvtx, on a machine that lets nsys trace its GPUs;",
            "lightbox doctor and the Diagnostics dock list what this recording lacks.",
        )
    )


def no_row_text(rows: RowState) -> str:
    """Return why no row is shown, and how to see them again; "" where there is one to see."""
    if not rows.roots or rows.shown[""]:
        return ""
    if rows.filter_text:
        return f"No row matches “{rows.filter_text}”.\nCtrl+Shift+F, then Esc, shows all rows again."
    return "All rows are hidden.\n“Show” in the line at the foot of the window brings them back."
