"""`lightbox report --json --waits`, against the demo's own file."""

import json
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from viewer.cli.commands import app
from viewer.demo import DemoOptions, make_demo

RECORDS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
SYNCS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
OPERATIONS = tuple(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET"))


def report(path, *arguments):
    result = CliRunner().invoke(app, ["report", str(path), "--json", "--rules", "builtin", *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def truth(path):
    """Return {(pid, correlation of the wait): (pid, correlation of its producer)} by SQL over sync ids."""
    with closing(sqlite3.connect(path)) as db:
        launched = " UNION ALL ".join(
            f"SELECT globalPid, contextId, streamId, correlationId FROM {table}" for table in OPERATIONS
        )
        called = (
            "SELECT globalTid & ~0xFFFFFF AS pid, correlationId AS id, start FROM CUPTI_ACTIVITY_KIND_RUNTIME"
        )
        db.execute(f"CREATE TEMP TABLE called AS {called}")
        db.execute("CREATE INDEX temp.by_id ON called (pid, id)")
        db.execute(
            f"CREATE TEMP TABLE launched AS SELECT o.*, c.start FROM ({launched}) o"
            " JOIN called c ON c.pid = o.globalPid AND c.id = o.correlationId"
        )
        db.execute("CREATE INDEX temp.by_stream ON launched (globalPid, contextId, streamId, start)")
        rows = db.execute(
            f"SELECT (s.globalPid >> 24) & 0xFFFFFF, s.correlationId, (SELECT l.correlationId FROM launched l"
            " WHERE l.globalPid = r.globalPid AND l.contextId = r.contextId AND l.streamId = r.streamId"
            " AND l.start < c.start ORDER BY l.start DESC LIMIT 1)"
            f" FROM {SYNCS} s JOIN {RECORDS} r ON r.globalPid = s.globalPid AND r.contextId = s.contextId"
            " AND r.eventSyncId = s.eventSyncId"
            " JOIN called c ON c.pid = r.globalPid AND c.id = r.correlationId"
            " WHERE s.eventSyncId > 0 AND s.streamId != 4294967295"
        ).fetchall()
    return {(pid, wait): (pid, producer) for pid, wait, producer in rows}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("waits") / "demo.sqlite"
    make_demo(path, DemoOptions(ranks=2, iterations=3))
    return path


def named(waits):
    return {
        (wait["pid"], wait["correlation_id"]): [(p["pid"], p["correlation_id"]) for p in wait["producers"]]
        for wait in waits
    }


def test_every_wait_names_the_operation_before_its_record(plain):
    facts, known = report(plain, "--waits"), truth(plain)
    found = named(facts["waits"])
    assert len(found) == len(facts["waits"]) == len(known) > 100
    # A stream that relayed has more than the last operation of the recording stream.
    assert all(known[wait] in producers for wait, producers in found.items())
    assert {wait["grade"] for wait in facts["waits"]} == {"proven"}
    assert facts["edges"]["unknown"] == 0
    assert facts["edges"]["explained_share"] > 0.98


@pytest.mark.parametrize(
    ("oddity", "grade"),
    [("no-sync-ids", "by handle"), ("null-sync-ids", "by handle"), ("max-sync-ids", "by handle")],
)
def test_without_ids_the_handle_names_the_same(plain, tmp_path, oddity, grade):
    path = tmp_path / "demo.sqlite"
    make_demo(path, DemoOptions(ranks=2, iterations=3, oddities=(oddity,)))
    facts = report(path, "--waits")
    assert named(facts["waits"]) == named(report(plain, "--waits")["waits"])
    assert {wait["grade"] for wait in facts["waits"]} == {grade}


def test_lost_records_make_waits_unknown_and_no_wait_wrong(plain, tmp_path):
    path = tmp_path / "demo.sqlite"
    make_demo(path, DemoOptions(ranks=2, iterations=3, oddities=("lost-event-records",)))
    every, facts = named(report(plain, "--waits")["waits"]), report(path, "--waits")
    grades = [wait["grade"] for wait in facts["waits"]]
    assert set(grades) == {"proven", "unknown"}
    assert facts["edges"]["unknown"] == grades.count("unknown")
    (line,) = [line for line in facts["unreliable"] if "edges" in line["keys"]]
    assert line["what"] == "launches"
    assert {"stall_reasons", "summary.starts_explained"} <= set(line["keys"])
    sure = named(wait for wait in facts["waits"] if wait["grade"] == "proven")
    assert all(every[wait] == producers for wait, producers in sure.items())


def test_waits_are_those_of_the_window_and_only_asked_for(plain):
    facts = report(plain)
    assert "waits" not in facts
    one = report(plain, "--waits", "--iteration", "1")
    assert 0 < len(one["waits"]) < len(report(plain, "--waits")["waits"])
    result = CliRunner().invoke(app, ["report", str(plain), "--waits"])
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("oddities", "says"),
    [
        ((), "100.0 % of starts"),
        (("no-event-records",), "of starts; 2 of 2 stream waits for an unknown event"),
    ],
)
def test_doctor_says_how_much_is_explained(tmp_path, oddities, says):
    path = tmp_path / "demo.sqlite"
    make_demo(path, DemoOptions(ranks=2, iterations=3, oddities=oddities))
    waits = len(report(path, "--waits")["waits"])
    result = CliRunner().invoke(app, ["doctor", str(path)])
    assert says.replace("2 of 2", f"{waits:,} of {waits:,}") in result.stdout
