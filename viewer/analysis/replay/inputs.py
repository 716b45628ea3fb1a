"""What a replay is made from, and the replay of a trace as it was recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.core.gpu_order import GpuOrder
from viewer.analysis.dependencies.graph import DependencyGraph
from viewer.analysis.replay.build import build_network
from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.network import Network
from viewer.analysis.replay.recurrence import Times, replayed
from viewer.analysis.stalls.stalls import StallInputs
from viewer.trace.events import Int64


@dataclass(frozen=True, eq=False)
class ReplayInputs(StallInputs):
    """What changes are looked up in: what stalls are found in, and the graph.

    Attributes
    ----------
    graph : DependencyGraph
    """

    graph: DependencyGraph


@dataclass(frozen=True, eq=False)
class Replay:
    """A trace that can be replayed, and its replay without any change.

    Attributes
    ----------
    inputs : ReplayInputs
    network : Network
    times : Times
        Of the replay without a change.
    error_ns : int
        How far the farthest start or end of that is from the recording; 0 where it is the recording.
    """

    inputs: ReplayInputs
    network: Network
    times: Times
    error_ns: int


def make_replay(inputs: ReplayInputs) -> Replay:
    """Build the network of a trace, replay it without a change, and compare that with the recording."""
    network = build_network(inputs.trace, inputs.graph)
    times = replayed(network, Effects.none(network))
    ops, hosts = network.operations, network.hosts
    pairs = (
        (times.start_ns, ops.start_ns),
        (times.end_ns, ops.end_ns),
        (times.call_start_ns, hosts.start_ns),
        (times.call_end_ns, hosts.end_ns),
    )
    error = max(int(np.abs(made - recorded).max(initial=0)) for made, recorded in pairs)
    return Replay(inputs, network, times, error)


def numbers_of(network: Network, order: GpuOrder, rows: slice) -> Int64:
    """Return the numbers in `Operations` of some of a GPU's operations, in the order of `GpuOrder`."""
    return np.asarray(network.operations.first[order.kind[rows]] + order.index[rows])
