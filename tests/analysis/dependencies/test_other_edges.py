"""Edges of graphs, of shared hardware queues, and of legacy default streams."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.dependencies.graph import EdgeKind, Grade
from viewer.analysis.study import Study

US = 1000


def graph_of(maker):
    return Study(maker.trace()).dependencies


def edges(graph):
    """Return {(target, source, kind, grade)} of the edges between operations."""
    columns = (graph.op_edges.target, graph.op_edges.source, graph.op_edges.kind, graph.op_edges.grade)
    return {
        (target, source, EdgeKind(kind).name, Grade(grade).name)
        for target, source, kind, grade in zip(*(c.tolist() for c in columns), strict=True)
    }


def launch(maker, number, start, end, **columns):
    """Launch a kernel at `number` µs, which runs from start to end (µs)."""
    maker.call(number * US, (number + 1) * US, correlation=number, process=columns.get("process", 0))
    return maker.kernel(start * US, end * US, correlation=number, **columns)


def on_streams(launches, blocking=(), **made):
    """Launch kernels in turn: (stream, start, end), times in µs."""
    maker = TraceMaker(**made)
    for number, (stream, start, end) in enumerate(launches, 1):
        launch(maker, number, start, end, stream=stream)
    maker.blocking = {maker.stream(0, 0, stream) for stream in blocking}
    return maker


def test_the_legacy_default_stream_waits_for_blocking_streams_and_they_for_it():
    # Operations by number: stream by stream in the order in which streams are first spoken of.
    maker = on_streams([(8, 10, 20), (9, 10, 30), (7, 31, 40), (8, 41, 50), (9, 42, 60)], blocking=(8, 9))
    before8, after8, before9, after9, default = range(5)
    assert edges(graph_of(maker)) == {
        (default, before8, "DEFAULT_STREAM", "PROVEN"),
        (default, before9, "DEFAULT_STREAM", "PROVEN"),
        (after8, default, "DEFAULT_STREAM", "PROVEN"),
        (after9, default, "DEFAULT_STREAM", "PROVEN"),
    }
    assert graph_of(maker).counts.explained_share == 1


def test_other_streams_have_nothing_to_do_with_it():
    assert edges(graph_of(on_streams([(8, 10, 20), (7, 31, 40), (8, 41, 50)]))) == set()


def test_what_an_earlier_barrier_or_the_stream_implies_is_no_edge():
    maker = on_streams(
        [(8, 10, 20), (8, 21, 30), (7, 31, 40), (7, 41, 50), (8, 51, 60), (8, 61, 70)], blocking=(8,)
    )
    found = edges(graph_of(maker))
    # The first kernel of stream 8 is implied by the second, the second default kernel by the first.
    assert {(t, s) for t, s, *_ in found} == {(4, 1), (2, 5)}


def peer(maker, device, number, start, end):
    maker.call(number * US, (number + 1) * US, "cudaMemcpyPeerAsync", correlation=number)
    maker.add(
        "memcpy",
        maker.stream(0, device, 7, device + 1),
        start * US,
        end * US,
        "PtoP",
        correlation=number,
        copy_kind=10,
    )


def test_a_copy_between_two_gpus_waits_for_both_of_them():
    maker = TraceMaker()
    launch(maker, 1, 10, 50, context=1)
    launch(maker, 2, 10, 90, device=1, context=2)
    peer(maker, 0, 3, 95, 120)
    launch(maker, 4, 121, 130, device=1, context=2)
    graph = graph_of(maker)
    copy = graph.operations.number_of("memcpy", 0)
    assert edges(graph) == {(copy, 1, "DEFAULT_STREAM", "PROVEN"), (2, copy, "DEFAULT_STREAM", "PROVEN")}
    assert graph.counts.explained_share == 1


def test_nodes_of_a_graph_follow_one_another_by_timing_and_the_next_kernel_the_whole():
    maker = TraceMaker()
    launch(maker, 1, 10, 20)
    maker.call(2 * US, 3 * US, "cudaGraphLaunch", correlation=2)
    node = {"correlation": 2, "graph_node": 5}
    for start, end, stream in ((21, 30, 7), (21, 60, 8), (31, 40, 7)):
        maker.add("kernel", maker.stream(0, 0, stream), start * US, end * US, "node", **node)
    launch(maker, 3, 61, 70)
    graph = graph_of(maker)
    # Stream 7: 0 before, 1 and 2 nodes, 3 after; stream 8: node 4.
    assert edges(graph) == {(4, 0, "GRAPH", "TIMING"), (3, 4, "GRAPH", "PROVEN")}
    assert graph.grade.tolist() == [Grade.PROVEN, Grade.PROVEN, Grade.TIMING, Grade.PROVEN, Grade.TIMING]
    assert graph.counts.explained_share == 1


def test_with_one_connection_a_kernel_starts_after_the_one_launched_before_it():
    maker = on_streams([(7, 10, 100), (20, 12, 20), (7, 101, 110)], max_connections=1)
    graph = graph_of(maker)
    assert edges(graph) == {(2, 0, "QUEUE", "TIMING"), (1, 2, "QUEUE", "TIMING")}
    assert EdgeKind(graph.binding[2]) is EdgeKind.QUEUE
    assert graph.lag_ns[2] == 2 * US


@pytest.mark.parametrize("overtakes", [False, True])
def test_without_the_environment_a_queue_is_seen_where_nothing_overtakes(overtakes):
    maker = TraceMaker()
    number = 0
    for turn in range(12):
        at = 1000 + 100 * turn
        for stream, start, end in ((7, at, at + 90), (20, at + 2, at + 20)):
            number += 1
            launch(maker, number, start, end, stream=stream)
    if overtakes:
        launch(maker, 100, 5100, 5110, stream=7)
        launch(maker, 101, 5050, 5060, stream=20)
    graph = graph_of(maker)
    kinds = {kind for _, _, kind, _ in edges(graph)}
    assert kinds == (set() if overtakes else {"QUEUE"})


def test_nodes_follow_those_of_their_own_launch_only():
    maker = TraceMaker()
    for number, at in ((1, 100), (2, 300)):
        maker.call(number * US, number * US + 500, "cudaGraphLaunch", correlation=number)
        for start, end, stream in ((at, at + 50, 7), (at + 60, at + 90, 8)):
            maker.add(
                "kernel",
                maker.stream(0, 0, stream),
                start * US,
                end * US,
                "node",
                correlation=number,
                graph_node=5,
            )
    graph = graph_of(maker)
    # Stream 7: 0 and 1, stream 8: 2 and 3. The second graph comes after the whole first one on both streams.
    assert edges(graph) == {
        (2, 0, "GRAPH", "TIMING"),
        (3, 1, "GRAPH", "TIMING"),
        (1, 2, "GRAPH", "PROVEN"),
    }


def test_nodes_on_other_streams_do_not_follow_an_earlier_graph():
    maker = TraceMaker()
    for number, at, streams in ((1, 100, (7,)), (2, 300, (8, 9))):
        maker.call(number * US, number * US + 500, "cudaGraphLaunch", correlation=number)
        for stream in streams:
            maker.add(
                "kernel",
                maker.stream(0, 0, stream),
                at * US,
                (at + 50) * US,
                "node",
                correlation=number,
                graph_node=5,
            )
    assert edges(graph_of(maker)) == set()
