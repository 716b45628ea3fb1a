"""The critical path of an iteration as tables: its pieces, and their sums by kind, rank, phase and kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.iterations.phases import PHASES
from viewer.analysis.replay.critical_path import PIECE_KINDS, CriticalPath, PieceKind
from viewer.analysis.study import Study
from viewer.drawing.critical_line import gpus_on_path
from viewer.rows import EventRef
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.names import short_name

BY = ("kind", "rank", "phase", "kernel")
"""What the pieces of a path are summed by."""
SUM_OF = {
    "compute": "compute",
    "transfer": "transfer",
    "communication": "transfer",
    "copy": "copy",
    "launch call": "host",
    "other call": "host",
    "blocking call": "host",
    "host code": "host",
    "lag": "between operations",
    "unexplained": "between operations",
}
"""The kinds of pieces as they are summed for people."""
FILLS = {
    "compute": "compute", "transfer": "exposed", "copy": "copy", "host": "host", "between operations": "lag",
}  # fmt: skip
"""What each sum is painted as, in order."""
_GAPS: tuple[PieceKind, ...] = ("lag", "unexplained")


def path_frame(study: Study, path: CriticalPath, candidate: int = 0) -> pd.DataFrame:
    """Return the pieces of a path, one a row, in order of time.

    Columns: `where` (the rank), `kind`, `name`, `phase`, `start_ns`, `duration_ns`; and for a click `gpu`,
    and `event_kind`, `event_index`: the operation that runs or the call, of a gap the operation behind it.
    """
    trace, operations = study.trace, study.dependencies.operations
    gpu = gpus_on_path(study, path)
    labels = np.array([_gpu_text(study, g.index) for g in trace.gpus] or [""], object)
    place = np.searchsorted(operations.first, path.operation, side="right") - 1
    is_call = path.call >= 0
    kind = np.where(is_call, len(GPU_KINDS), place)
    index = np.where(is_call, path.call, path.operation - operations.first[np.maximum(place, 0)])
    kinds = np.array(PIECE_KINDS, object)[path.kind]
    # A gap runs nothing: what it leads to is where a click goes, not what it is called.
    names = np.where(np.isin(kinds, _GAPS), "", _names(study, kind, index))
    is_host = kinds == "host code"
    names[is_host] = "before " + names[is_host]
    return pd.DataFrame(
        {
            "where": labels[gpu],
            "kind": kinds,
            "name": names,
            "phase": _phases(study, kind, index, candidate),
            "start_ns": path.start_ns,
            "duration_ns": path.end_ns - path.start_ns,
            "gpu": gpu,
            "event_kind": kind,
            "event_index": index,
        }
    )


def event_of_piece(frame: pd.DataFrame, position: int) -> EventRef | None:
    """Return the event that a piece of `path_frame` is, or leads to; None for none."""
    kind, index = (int(frame[key].to_numpy()[position]) for key in ("event_kind", "event_index"))
    if kind < 0 or index < 0:
        return None
    return EventRef((*GPU_KINDS, Kind.API)[kind], index)


def path_sums(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the pieces of `path_frame` summed: `what`, `duration_ns`, `share`, `count`, longest first."""
    key = {
        "kind": frame["kind"].map(SUM_OF),
        "rank": frame["where"],
        "phase": frame["phase"].where(frame["phase"] != "", "none"),
        "kernel": frame["name"].where(frame["kind"].isin(("compute", "transfer", "communication")), ""),
    }[by]
    found = frame.assign(what=key)
    if by == "kernel":
        found = found[found["what"] != ""]
    grouped = found.groupby("what", sort=False)["duration_ns"]
    sums = pd.DataFrame({"duration_ns": grouped.sum(), "count": grouped.size()}).reset_index()
    sums["share"] = sums["duration_ns"] / max(int(frame["duration_ns"].sum()), 1)
    return sums.sort_values("duration_ns", ascending=False, kind="stable", ignore_index=True)


def _gpu_text(study: Study, gpu: int) -> str:
    trace = study.trace
    process = trace.gpus[gpu].process
    return trace.process_label(process) if len(trace.gpus_of(process)) == 1 else trace.gpu_label(gpu)


def _names(
    study: Study, kind: npt.NDArray[np.int64], index: npt.NDArray[np.int64]
) -> npt.NDArray[np.object_]:
    trace = study.trace
    names = np.full(len(kind), "", object)
    for number, table in enumerate((*GPU_KINDS, Kind.API)):
        rows = np.flatnonzero((kind == number) & (index >= 0))
        used, at = np.unique(trace.events[table].name_id[index[rows]], return_inverse=True)
        texts = trace.names.take(used) if len(used) else []
        short = [short_name(text) if table is Kind.KERNEL else text for text in texts]
        names[rows] = np.array([*short, ""], object)[at]
    return names


def _phases(
    study: Study, kind: npt.NDArray[np.int64], index: npt.NDArray[np.int64], candidate: int
) -> npt.NDArray[np.object_]:
    """Return the phase that launched each piece's kernel, "" for what is none."""
    found = np.full(len(kind), "", object)
    iterations = study.iterations(candidate)
    phases = study.phases_of(iterations) if iterations is not None else None
    of_kernel = np.full(len(study.trace.kernels), -1, np.int8)
    for number, name in enumerate(PHASES):
        phase = phases.phase(name) if phases is not None else None
        for kernels in phase.kernels if phase is not None else ():
            of_kernel[kernels] = number
    is_kernel = (kind == GPU_KINDS.index(Kind.KERNEL)) & (index >= 0)
    found[is_kernel] = np.array([*PHASES, ""], object)[of_kernel[index[is_kernel]]]
    return found
