"""Slack against brute force: lengthened by it an iteration lasts as long, by one more nanosecond longer."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.iteration_times import edges_of
from viewer.analysis.replay.recurrence import replayed
from viewer.trace import Kind

FOREVER_NS = 10**9


def length(study, network, effects, iteration):
    replay = replace(study.replay, network=network)
    edges = edges_of(replay, study.iterations(), replayed(network, effects))
    return int(edges[iteration + 1] - edges[iteration])


def longer_operation(study, operation, more_ns):
    """Return the network with an operation that lasts longer, of a collective its transfer."""
    network = study.replay.network
    work = network.work_ns.copy()
    work[operation] += more_ns
    return network, replace(Effects.none(network), work_ns=work)


def longer_call(study, call, more_ns):
    """Return the network with a call that lasts longer: all after it on its thread is as much later."""
    network = study.replay.network
    anchors, count = network.anchors, len(network.operations)
    anchor = int(anchors.at(2 * call + 1))
    times = study.replay.times
    launch, lag = network.launch_lag.copy(), anchors.lag_ns.copy()
    if anchors.point[anchor] == 2 * call + 1:
        lag[anchors.anchor == anchor] += more_ns
    else:
        follows = network.launch_source == count + anchor
        after = network.launch_call > call
        after |= (network.launch_call == call) & (times.start_ns >= times.call_end_ns[call])
        launch[follows & after] += more_ns
        lag[(anchors.source == count + anchor) & (anchors.source_point > 2 * call)] += more_ns
    changed = replace(network, launch_lag=launch, anchors=replace(anchors, lag_ns=lag))
    return changed, Effects.none(changed)


@pytest.mark.parametrize("options", [{"iterations": 3}, {"iterations": 3, "fault": "busy-cpu"}])
@pytest.mark.parametrize("kind", [Kind.KERNEL, Kind.API, Kind.MEMCPY])
def test_slack_is_what_brute_force_finds(demo_of, options, kind):
    study = demo_of(**options)
    iterations, network = study.iterations(), study.replay.network
    events = study.trace.events[kind]
    lengthen = longer_call if kind is Kind.API else longer_operation
    tried = np.random.default_rng(3).integers(0, len(events), 25).tolist()
    found = []
    for index in tried:
        iteration = iterations.iteration_at(int(events.start_ns[index]))
        slack = study.slack(kind, index)
        if iteration is None:
            assert slack is None
            continue
        own = (
            int(network.hosts.outer_of[index])
            if kind is Kind.API
            else network.operations.number_of(kind, index)
        )
        recorded = int(iterations.duration_ns[iteration])
        if slack is None:
            assert length(study, *lengthen(study, own, FOREVER_NS), iteration) == recorded
            continue
        found.append(slack)
        assert slack >= 0
        assert length(study, *lengthen(study, own, slack), iteration) == recorded
        assert length(study, *lengthen(study, own, slack + 1), iteration) == recorded + 1
    assert len(found) > 10 or kind is Kind.MEMCPY


def test_what_is_on_the_critical_path_has_no_slack(demo_of):
    study = demo_of(iterations=3)
    ops = study.replay.network.operations
    path = study.critical_paths()[1]
    # The first pieces may begin before the iteration, and then belong to the one before.
    inside = (path.start_ns > path.start_ns[0]) & (path.end_ns < path.end_ns[-1])
    for operation, call, kind in zip(
        path.operation[inside], path.call[inside], path.kind[inside], strict=True
    ):
        if operation >= 0 and kind < 4:
            assert study.slack(*ops.event_of(int(operation))) == 0
        if call >= 0 and kind in (4, 5):
            assert study.slack(Kind.API, int(call)) == 0
