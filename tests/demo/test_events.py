"""CUDA events are recorded as real jobs record them: ids that repeat, records that waits name."""

import sqlite3

import pandas as pd
import pytest

from tests.demo.load import calls, operations, table, tables
from viewer.demo.export_schema import TABLES
from viewer.demo.oddities import LOST_EVENTS

RECORDS, SYNCS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
NONE = 4_294_967_295
JOB = {"ranks": 2, "iterations": 3}
BY_CALL = ["pid", "correlationId"]


def called(path, name, call):
    """The rows of a table whose call has this name, with the time of that call."""
    own = calls(path)
    own = own[own.name == call].rename(columns={"start": "called"})
    return table(path, name).merge(own[[*BY_CALL, "called"]], on=BY_CALL).sort_values("called")


@pytest.fixture(params=[{}, {"clean": True}, {"like": "distca", "iterations": 5}], ids=str)
def variant(request, make):
    return make(**JOB | request.param)


def test_every_record_and_every_wait_has_its_row(variant):
    own = calls(variant).name.value_counts()
    assert len(table(variant, RECORDS)) == own["cudaEventRecord_v3020"]
    waits = ["cudaStreamWaitEvent", "cudaEventSynchronize", "cudaEventQuery"]
    syncs = ["cudaStreamSynchronize", "cudaDeviceSynchronize"]
    assert len(table(variant, SYNCS)) == sum(own[f"{call}_v3020"] for call in waits + syncs)
    assert (own[[f"{call}_v3020" for call in waits]] > 0).all()


def test_handles_repeat_and_sync_ids_do_not(make):
    records = table(make(), RECORDS)
    for _, own in records.groupby("pid"):
        assert own.eventSyncId.is_unique
        assert own.eventId.value_counts().median() >= 100
    first, last = (set(records[records["rank"] == rank].eventSyncId) for rank in (0, 7))
    assert first & last


@pytest.mark.parametrize(
    ("call", "streams"),
    [
        ("cudaStreamWaitEvent_v3020", None),
        ("cudaEventSynchronize_v3020", NONE),
        ("cudaEventQuery_v3020", NONE),
    ],
)
def test_a_wait_names_the_last_record_of_its_handle(variant, call, streams):
    records = called(variant, RECORDS, "cudaEventRecord_v3020")
    waits = called(variant, SYNCS, call)
    found = pd.merge_asof(waits, records, on="called", by=["pid", "eventId"], suffixes=("", "_record"))
    assert (found.eventSyncId == found.eventSyncId_record).all()
    if streams is None:
        assert (found.streamId != found.streamId_record).all()
    else:
        assert set(found.streamId) == {streams}


def test_syncs_without_an_event_say_so(variant):
    own = called(variant, SYNCS, "cudaDeviceSynchronize_v3020")
    assert set(own.eventId) == {NONE}
    assert set(own.eventSyncId) == {0}


def test_a_stream_waits_for_the_last_operation_before_the_record(variant):
    own = calls(variant).rename(columns={"start": "called"})[[*BY_CALL, "called"]]
    launched = operations(variant).merge(own, on=BY_CALL).sort_values("called")
    waits = called(variant, SYNCS, "cudaStreamWaitEvent_v3020")
    records = called(variant, RECORDS, "cudaEventRecord_v3020")
    waits = waits.merge(records, on=["pid", "eventSyncId"], suffixes=("", "_record"))
    before = launched.rename(columns={"called": "called_record", "streamId": "streamId_record"})
    waits = pd.merge_asof(
        waits.sort_values("called_record"),
        before[["pid", "streamId_record", "called_record", "end"]],
        on="called_record",
        by=["pid", "streamId_record"],
        suffixes=("", "_producer"),
    )
    after = pd.merge_asof(
        waits.sort_values("called"),
        launched[["pid", "streamId", "called", "start"]],
        on="called",
        by=["pid", "streamId"],
        direction="forward",
        suffixes=("", "_next"),
    )
    after = after[after.end_producer.notna() & after.start_next.notna()]
    assert len(after) > 0.9 * len(waits)
    late = after.start_next - after.end_producer
    assert (late > 0).all()
    # Most are held by what they wait for: it ends just before they start.
    assert (late < 2_000).mean() > 0.5


@pytest.mark.parametrize(
    ("oddity", "ids"),
    [("null-sync-ids", {None}), ("zero-sync-ids", {0}), ("max-sync-ids", {NONE})],
)
def test_sync_ids_that_say_nothing(make, oddity, ids):
    path = make(**JOB, oddities=(oddity,))
    with sqlite3.connect(path) as db:
        for name in (RECORDS, SYNCS):
            assert {row[0] for row in db.execute(f"SELECT DISTINCT eventSyncId FROM {name}")} == ids


def test_records_and_ids_that_are_not_there(make):
    plain = len(table(make(**JOB), RECORDS))
    assert len(table(make(**JOB, oddities=("lost-event-records",)), RECORDS)) == plain - plain // LOST_EVENTS
    assert RECORDS not in tables(make(**JOB, oddities=("no-event-records", "null-sync-ids")))
    without = table(make(**JOB, oddities=("no-sync-ids",)), RECORDS)
    assert list(without.columns.intersection([c for c, *_ in TABLES[RECORDS]])) == [
        c for c, *_ in TABLES[RECORDS] if c != "eventSyncId"
    ]
