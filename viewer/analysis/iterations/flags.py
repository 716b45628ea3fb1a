"""Finds iterations that differ for a reason that the trace names: a checkpoint or an evaluation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viewer.analysis.core.nvtx_texts import CHECKPOINT as CHECKPOINT_TEXT
from viewer.analysis.core.nvtx_texts import EVALUATION as EVALUATION_TEXT
from viewer.analysis.core.nvtx_texts import is_library_domain, matching, users_own
from viewer.analysis.launches.attribution import MARK
from viewer.analysis.time.steadiness import CHECKPOINT, EVALUATION, Reason
from viewer.trace import Trace
from viewer.trace.events import Int64
from viewer.trace.names import strip_arguments


def special_iterations(trace: Trace, cpu_edges: Mapping[int, Int64]) -> dict[int, Reason]:
    """Return the iterations that contain a checkpoint, an evaluation or a validation range, and its text.

    Parameters
    ----------
    cpu_edges : mapping of int to ndarray of int64, shape (iterations + 1,)
        When each iteration begins on the CPU, by process. A range belongs to the iteration in which it
        begins.
    """
    nvtx = trace.nvtx
    types = nvtx.columns["event_type"] if len(nvtx) else np.empty(0, np.uint8)
    used = np.flatnonzero(np.bincount(nvtx.name_id[types != MARK], minlength=1)).astype(np.uint32)
    # Operators and libraries name checkpoints of their own, which save nothing.
    own = used[users_own(trace.names, used)]
    special: dict[int, Reason] = {}
    for flag, pattern in ((EVALUATION, EVALUATION_TEXT), (CHECKPOINT, CHECKPOINT_TEXT)):
        wanted = np.zeros(len(trace.names), bool)
        wanted[own[matching(trace.names, own, pattern)]] = True
        hits = np.flatnonzero(wanted[nvtx.name_id] & (types != MARK))
        iterations = _iterations_of(trace, hits, cpu_edges)
        count = max((len(e) - 1 for e in cpu_edges.values()), default=0)
        # A range that most iterations contain is no reason why one of them is longer.
        if 2 * len(iterations) <= count:
            special |= {iteration: (flag, f"contains {text}") for iteration, text in iterations.items()}
    return special


def _iterations_of(trace: Trace, hits: np.ndarray, cpu_edges: Mapping[int, Int64]) -> dict[int, str]:
    """Return the iterations in which some ranges begin, with the first range's text and process."""
    # The process is that of the range: a checkpoint on one rank makes the iteration longer on all of them.
    track_of = np.searchsorted(trace.nvtx.offsets, hits, side="right") - 1
    iterations: dict[int, str] = {}
    for hit, track in zip(hits.tolist(), track_of.tolist(), strict=True):
        process = trace.threads[trace.tracks[track].thread].process
        edges = cpu_edges.get(process)
        if edges is None or is_library_domain(trace.tracks[track].domain):
            continue
        iteration = int(np.searchsorted(edges, trace.nvtx.start_ns[hit], side="right")) - 1
        if 0 <= iteration < len(edges) - 1:
            text = strip_arguments(trace.names[int(trace.nvtx.name_id[hit])])
            iterations.setdefault(iteration, f"{text} on {trace.process_label(process)}")
    return iterations
