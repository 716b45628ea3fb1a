"""The rows of real traces, against sums made by SQL: the figures that nsys-ui prints."""

import sqlite3
from itertools import pairwise

import numpy as np
import pytest

from viewer.analysis.study import Study
from viewer.readers import read
from viewer.rows import RowKind, build_rows
from viewer.rows.row import Role

NAMES = (
    "torchrun-2xh100-nccl",
    "inference-2xh100",
    "pytorch-a100-nvtx",
    "jacobi-1process-2gpus",
    "power-iteration-t4",
    "single-gpu-2024.6",
    "gpuid-is-not-cudaid",
    "all-tables-empty",
)


@pytest.fixture(scope="module", params=NAMES)
def opened(request, shared_trace):
    path = shared_trace(request.param)
    trace = read(path, cache=False)
    return path, trace, build_rows(Study(trace))


def sums(path, select):
    with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as connection:
        return dict(connection.execute(select).fetchall())


def has(path, table):
    return bool(sums(path, f"SELECT name, 1 FROM sqlite_master WHERE name = '{table}'"))


def test_shares_of_streams_and_families_equal_sums_by_sql(opened):
    path, trace, roots = opened
    kernels, copies, sets = (f"CUPTI_ACTIVITY_KIND_{t}" for t in ("KERNEL", "MEMCPY", "MEMSET"))
    for row in (r for root in roots for r in root.walk() if r.kind is RowKind.GPU):
        gpu = trace.gpus[row.gpu]
        where = (
            f"(globalPid >> 24) & 0xFFFFFF = {trace.processes[gpu.process].pid} AND deviceId = {gpu.device}"
        )
        tables = [t for t in (kernels, copies, sets) if has(path, t)]
        union = " UNION ALL ".join(
            f'SELECT streamId, "end" - start AS ns FROM {table} WHERE {where}' for table in tables
        )
        by_stream = sums(path, f"SELECT streamId, sum(ns) FROM ({union}) GROUP BY streamId")
        whole = sum(by_stream.values())
        streams = [r for r in row.children if r.kind is RowKind.STREAM]
        assert len(streams) == len(by_stream)
        for stream in streams:
            assert stream.share == pytest.approx(by_stream[trace.streams[stream.stream].stream_id] / whole)
        order = [(tuple(Role).index(s.role), trace.streams[s.stream].stream_id) for s in streams]
        assert order == sorted(order)
        by_family = sums(
            path,
            f'SELECT value, sum("end" - start) FROM {kernels} JOIN StringIds ON StringIds.id = shortName '
            f"WHERE {where} GROUP BY value",
        )
        families = [r for r in row.walk() if r.kind is RowKind.FAMILY]
        assert {f.label for f in families} == set(by_family)
        for family in families:
            assert family.share == pytest.approx(by_family[family.label] / sum(by_family.values()))


def test_every_event_of_a_gpu_is_in_one_stream_and_in_one_family_or_kind(opened):
    *_, roots = opened
    for row in (r for root in roots for r in root.walk() if r.kind is RowKind.GPU):
        held = [r for r in row.walk() if r.events is not None]
        count = {kind: sum(len(r.events) for r in held if r.kind is kind) for kind in RowKind}
        assert count[RowKind.STREAM] == count[RowKind.KERNELS] + count[RowKind.MEMORY]
        assert count[RowKind.FAMILY] == count[RowKind.KERNEL_NAME] == count[RowKind.KERNELS]
        assert count[RowKind.MEMORY_KIND] == count[RowKind.MEMORY]


def test_rows_are_sorted_and_their_lanes_disjoint(opened):
    _, trace, roots = opened
    for row in (r for root in roots for r in root.walk()):
        events = row.events
        if events is None:
            continue
        assert (np.diff(events.start_ns) >= 0).all()
        lanes = np.zeros(len(events), np.uint8) if events.depth is None else events.depth
        for lane in range(events.lane_count):
            start, end = events.start_ns[lanes == lane], events.end_ns[lanes == lane]
            assert len(start)
            assert (start[1:] >= end[:-1]).all(), row.key
        if len(events):
            ref = events.ref(len(events) - 1)
            if row.kind is not RowKind.PROJECTION:
                assert trace.events[ref.kind].start_ns[ref.index] == events.start_ns[-1]
            assert trace.events[ref.kind].name_id[ref.index] == events.name_id[-1]


def test_ranks_of_the_demo_hold_the_same_rows(demo_study):
    roots = build_rows(demo_study)
    assert [root.label for root in roots] == [f"Rank {rank}" for rank in range(8)]
    for one, other in pairwise(roots):
        assert {r.label for r in one.children[0].children} == {r.label for r in other.children[0].children}
    shown = {demo_study.trace.names[i] for i in roots[0].events.name_id}
    assert {"forward", "backward", "optimizer"} <= shown
