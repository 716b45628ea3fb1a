"""Gives the operations of a process to the instances of a marker that launched them.

See docs/definitions.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.iterations.candidate import Instances
from viewer.analysis.iterations.unroll import copies
from viewer.analysis.launches.attribution import Cover, Indices
from viewer.analysis.launches.launches import Launches
from viewer.trace.events import Int64

_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Marked:
    """One process's marker: the iteration of each operation, and when each iteration begins on the CPU.

    Attributes
    ----------
    iteration : ndarray of int64, shape (operations,)
        -1 for operations outside all instances.
    copies : int
        Iterations per instance.
    cpu_edges : ndarray of int64, shape (iterations + 1,)
    """

    cover: Cover
    iteration: Indices
    copies: int
    cpu_edges: Int64

    def unsplit(self) -> Marked:
        """Return the instances themselves as iterations, whatever copies they hold."""
        # -1 apart: it numbers no iteration, whatever the division makes of it.
        whole = np.where(self.iteration < 0, -1, self.iteration // self.copies)
        edges = np.append(self.cpu_edges[: -1 : self.copies], self.cpu_edges[-1])
        return Marked(self.cover, whole, 1, edges)

    def boundaries(self, gpu: int, iterations: int) -> Int64 | None:
        """Return when each iteration begins on a GPU, and when the last ends: shape (iterations + 1,).

        An iteration that launched nothing there is empty: it begins where the next one does. None where all
        are.
        """
        ops = self.cover.launched
        iteration = np.where(ops.gpu == gpu, self.iteration, -1)
        if not (iteration >= 0).any():
            return None
        first = _least(iteration, ops.start_ns, iterations)
        # Of the last iteration that launched anything here: later ones are empty, and end where they begin.
        end = int(ops.end_ns[iteration == int(iteration.max())].max())
        # Running minimum from the end: an empty iteration takes the start of the next one, and starts never
        # fall.
        first = np.minimum.accumulate(np.minimum(first, end)[::-1])[::-1]
        return np.append(first, max(end, int(first[-1])))


def mark(launches: Launches, process: int, instances: Instances) -> Marked:
    """Give each operation of a process the instance that launched it, or its copy within the instance."""
    cover = Cover(launches, process)
    start, end = instances.start_ns, instances.end_ns
    instance = cover.outermost(instances.thread, instances.domain, start, end, "process")
    # One text speaks for all: instances of one name differ in their numbers alone.
    text = launches.trace.names[int(instances.name_ids[0])]
    count, iteration = copies(cover.launched, instance, text, counted=instances.copies_wanted)
    if count == 1:
        return Marked(cover, iteration, 1, np.append(start, end[-1]))
    first_call = _least(iteration, cover.launched.call_start_ns, len(instances) * count)
    # The first copy of an instance begins with the instance, not with its first launch.
    first_call[::count] = start
    return Marked(cover, iteration, count, np.append(first_call, end[-1]))


def _least(group: Indices, values: Int64, groups: int) -> Int64:
    """Return the least value of each group, the greatest integer for groups without values; (groups,)."""
    out = np.full(groups, _LATEST, np.int64)
    # -1, outside all instances, would count for the last group.
    in_group = (group >= 0) & (group < groups)
    np.minimum.at(out, group[in_group], values[in_group])
    return out
