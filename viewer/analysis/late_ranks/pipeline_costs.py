"""What late ranks of a pipeline cost beyond its order, in which everybody waits for everybody's compute.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.rank_comparison import RankComparison
from viewer.trace.events import Int64

if TYPE_CHECKING:
    from viewer.analysis.study import Study

Float = npt.NDArray[np.float64]


def most_in_a_pipeline(comparisons: tuple[RankComparison, ...], count: int) -> int:
    """Return what `count` GPUs of a pipeline wait at most for ranks that compute longer, ns per iteration.

    An iteration passes through all stages, so it may be longer by what the slowest rank of each adds; who
    computes longer itself does not wait meanwhile.
    """
    excess = [[int(c.excess_ns[c.gpus.index(gpu)]) for gpu in c.longer] for c in comparisons if c.longer]
    added = sum(max(of_stage) for of_stage in excess)
    own = [ns for of_stage in excess for ns in of_stage]
    return added * (count - len(own)) + sum(added - ns for ns in own)


def beyond_order(study: Study, caused_ns: Int64, gpus: tuple[int, ...]) -> Float:
    """Return what some GPUs cause beyond what the order of a pipeline makes others of their stage cause, ns.

    Without a pipeline all of it. Shape (gpus, iterations), as `caused_ns` has for all GPUs.
    """
    if not study.collectives.is_pipeline:
        return caused_ns[list(gpus)].astype(np.float64)
    stage_of = {gpu: stage for stage in study.collectives.stages for gpu in stage}
    every = range(len(caused_ns))
    beyond = []
    for gpu in gpus:
        # In a pipeline everybody waits for everybody's compute, and the same for each of a stage.
        twins = [g for g in stage_of.get(gpu, every) if g not in gpus] or [g for g in every if g not in gpus]
        order = np.median(caused_ns[twins], axis=0) if twins else 0
        beyond.append(np.maximum(caused_ns[gpu] - order, 0))
    return np.array(beyond, np.float64)
