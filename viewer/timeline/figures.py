"""The figures of row headers: what stands at the right, and what the tooltip says."""

from __future__ import annotations

from viewer.analysis.parts import PARTS
from viewer.analysis.study import Study
from viewer.drawing.bands import hidden_lanes
from viewer.drawing.format import format_count, format_share
from viewer.rows import Row, RowKind
from viewer.rows.shares import occupancy
from viewer.state import Window

_IDLE = PARTS.index("idle")


def busy(study: Study, row: Row, window: Window) -> float | None:
    """Return 1 - idle of a GPU's row, of a process the mean over its GPUs, in [0, 1]; None for other rows."""
    if row.kind is RowKind.GPU:
        gpus = [row.gpu]
    elif row.kind is RowKind.PROCESS:
        gpus = [child.gpu for child in row.children if child.kind is RowKind.GPU]
    else:
        return None
    start, end = window
    idle = [int(study.parts[g].totals(start, end)[_IDLE]) for g in gpus if g is not None]
    return 1 - sum(idle) / (len(idle) * (end - start)) if idle else None


def figure(study: Study | None, row: Row, window: Window) -> str:
    """Return what stands at the right of a header: how busy a GPU is in the window, else the row's share."""
    if study is not None and (share := busy(study, row, window)) is not None:
        return format_share(share) + (" busy" if row.kind is RowKind.GPU else "")
    return "" if row.share is None else format_share(row.share)


def row_tip(study: Study | None, row: Row) -> str:
    """Return the tooltip of a header: full path, share among the siblings, occupancy."""
    lines = [row.text_path]
    if study is None:
        return lines[0]
    if row.kind in (RowKind.GPU, RowKind.PROCESS):
        lines.append("busy: the part of the time in view in which anything runs on the GPU, on any stream")
    if row.share is not None:
        lines.append(f"{format_share(row.share)} of the time summed over its siblings, as nsys-ui counts it")
    if (covered := occupancy(row, *study.trace.window_ns)) is not None:
        count = format_count(len(row.events or ()))
        lines.append(f"{format_share(covered)} of the whole time is covered by its {count} events")
    if deeper := hidden_lanes(row):
        lines.append(f"+{deeper} deeper, not drawn")
    return "\n".join(lines)
