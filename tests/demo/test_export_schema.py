"""The file is one that nsys could have written."""

import sqlite3

import pytest

from tests.demo.load import calls, operations, table, tables
from viewer.demo.export_schema import ENUMS, TABLES

REAL = ("gpuid-is-not-cudaid", "nothing-recorded-2026", "torchrun-2xh100-nccl")
"""Exports of schema 3.23, 3.24 and 3.25: a table's columns are those of one of them."""


def definition(path, name):
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as db:
        return [(row[1], row[2], row[3], row[5]) for row in db.execute(f'PRAGMA table_info("{name}")')]


def test_every_table_is_defined_as_in_a_real_export(path, shared_trace):
    for name in tables(path):
        real = [d for d in (definition(shared_trace(trace), name) for trace in REAL) if d]
        assert definition(path, name) in real, name


def test_a_table_without_rows_is_not_there(path, make):
    assert "OSRT_API" in tables(path)
    assert "OSRT_API" not in tables(make(like="distca"))
    assert tables(path) == TABLES.keys() | ENUMS.keys()


def test_every_number_that_points_at_a_text_or_an_enum_finds_it(path):
    texts = set(table(path, "StringIds").id)
    for name, column in [
        ("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "shortName"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"),
        ("OSRT_API", "nameId"),
        ("ThreadNames", "nameId"),
        ("PROFILER_OVERHEAD", "nameId"),
    ]:
        assert set(table(path, name)[column]) <= texts, (name, column)
    for name, column, enum in [
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", "ENUM_CUDA_MEMCPY_OPER"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind", "ENUM_CUDA_MEM_KIND"),
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "syncType", "ENUM_CUPTI_SYNC_TYPE"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass", "ENUM_NSYS_EVENT_CLASS"),
        ("NVTX_EVENTS", "eventType", "ENUM_NSYS_EVENT_TYPE"),
        ("DIAGNOSTIC_EVENT", "severity", "ENUM_DIAGNOSTIC_SEVERITY_LEVEL"),
        ("TARGET_INFO_CUDA_STREAM", "flag", "ENUM_CUPTI_STREAM_TYPE"),
    ]:
        assert set(table(path, name)[column]) <= set(table(path, enum).id), (name, column)


def test_it_says_which_schema_it_has(path):
    facts = table(path, "META_DATA_EXPORT").set_index("name").value
    assert facts["EXPORT_SCHEMA_VERSION"].startswith("3.24.")
    assert facts["EXPORT_CONFIG_TIME_SHIFT"] == "0"


def test_the_session_holds_every_event(path):
    duration = table(path, "ANALYSIS_DETAILS").duration[0]
    for frame in (operations(path), calls(path), table(path, "OSRT_API")):
        assert frame.start.min() > 0
        assert (frame.end >= frame.start).all()
        assert frame.end.max() < duration


def test_eight_processes_with_one_h200_each(path):
    gpus = table(path, "TARGET_INFO_GPU")
    assert list(gpus.name) == ["NVIDIA H200"] * 8
    assert gpus.uuid.is_unique
    assert gpus.busLocation.is_unique
    used = operations(path).groupby("rank").deviceId.unique()
    assert [list(ids) for ids in used] == [[r] for r in range(8)]
    assert list(table(path, "PROCESSES").pid) == sorted(set(operations(path).pid))


def test_correlations_are_unique_in_a_process_and_collide_between_processes(path):
    frame = calls(path)
    assert not frame.duplicated(["pid", "correlationId"]).any()
    assert frame[frame["rank"] == 0].correlationId.isin(frame[frame["rank"] == 7].correlationId).mean() > 0.9


def test_a_diagnostic_warns(path):
    assert 2 in set(table(path, "DIAGNOSTIC_EVENT").severity)


@pytest.mark.parametrize("thread", ["pt_main_thread", "pt_autograd_0", "pt_data_pin"])
def test_threads_have_names(path, thread):
    named = table(path, "ThreadNames")
    texts = table(path, "StringIds").set_index("id").value
    assert (named.nameId.map(texts) == thread).sum() == 8
