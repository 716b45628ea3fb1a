"""Sessions kept for traces: restored, moved, damaged, of other versions, on a full disk, killed half way."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent

from viewer.analysis.iterations import detect
from viewer.app import session_store, sessions, trace_controller
from viewer.app.session_store import fingerprint, read_session, sessions_folder, stored_path, write_atomically
from viewer.cli import main
from viewer.rows import EventRef, RowKind
from viewer.state import Note, session_json
from viewer.state.bookmarks import set_bookmark
from viewer.state.session_json import SessionError

MS = 1_000_000
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trace(demo_path, tmp_path):
    """A trace of one's own, that can be moved."""
    return Path(shutil.copy(demo_path, tmp_path / "run.sqlite"))


@pytest.fixture
def visit(open_window, qtbot):
    """A function that opens a file in a new window."""

    def go(path):
        window = open_window()
        with qtbot.waitSignal(window.loader.finished, timeout=60_000):
            window.open(path)
        return window

    return go


def work_on(window):
    """Leave something of every kind."""
    state = window.state
    stream = next(r for r in state.rows.roots[2].walk() if r.kind is RowKind.STREAM)
    state.rows.set_pinned(stream.key, True)
    state.rows.set_hidden([state.rows.roots[0].key], True)
    event = stream.events.ref(5, stream.key)
    state.axis.go(200 * MS, 300 * MS)
    state.measurements.keep(210 * MS, 220 * MS, "hole")
    state.notes.add(Note(0, 1, "看这里", row_key=stream.key, event=event))
    set_bookmark(state, 4)
    return stream


def test_what_was_done_is_there_again_also_where_the_trace_was_moved(visit, trace, tmp_path):
    window = visit(trace)
    stream = work_on(window)
    window.close()
    moved = tmp_path / "elsewhere" / "renamed.sqlite"
    moved.parent.mkdir()
    trace.rename(moved)
    state = visit(moved).state
    assert state.axis.window == (200 * MS, 300 * MS)
    assert state.rows.pinned == [stream.key]
    assert state.rows.hidden >= {state.rows.roots[0].key}
    assert [m.name for m in state.measurements.items] == ["hole"]
    (note,) = state.notes.items
    assert (note.text, note.event) == ("看这里", EventRef(note.event.kind, note.event.index, stream.key))
    assert note.span(state.study) == (stream.events.start_ns[5], stream.events.end_ns[5])
    assert list(state.bookmarks.items) == [4]
    assert not state.history.can_undo


def test_a_look_alone_leaves_no_file_and_another_trace_no_session(visit, trace, demo_path, tmp_path):
    visit(trace).close()
    assert not sessions_folder().exists()
    other = tmp_path / "other.sqlite"
    content = bytearray(trace.read_bytes())
    content[-1] ^= 1
    other.write_bytes(content)
    assert fingerprint(other) != fingerprint(trace) == fingerprint(demo_path)


def test_it_is_saved_while_one_works(visit, trace, qtbot, monkeypatch):
    monkeypatch.setattr(sessions, "EDIT_MS", 1)
    assert sessions.LOOK_MS <= 30_000
    window = visit(trace)
    file = stored_path(window.sessions.fingerprint)
    window.state.measurements.keep(1, 2, "first")
    qtbot.waitUntil(file.exists)
    window.state.measurements.keep(3, 4, "second")
    qtbot.waitUntil(lambda: len(read_session(file).session.measurements) == 2)
    assert [p.name for p in sessions_folder().iterdir()] == [file.name]


def test_the_next_trace_begins_anew_and_the_first_is_kept(visit, trace, tmp_path, qtbot, demo_path):
    window = visit(trace)
    work_on(window)
    other = tmp_path / "other.sqlite"
    content = bytearray(trace.read_bytes())
    content[60:64] = b"\0\0\0\7"
    other.write_bytes(content)
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.open(other)
    assert (window.state.notes.items, window.state.bookmarks.items) == ((), {})
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.open(trace)
    assert len(window.state.notes.items) == 1


def test_rules_applied_again_lose_nothing(visit, trace, qtbot):
    window = visit(trace)
    work_on(window)
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.target.apply_rules()
    assert len(window.state.notes.items) == len(window.state.measurements.items) == 1
    assert window.state.axis.window == (200 * MS, 300 * MS)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"schema": 1}', b"\0" * 4096])
def test_a_damaged_file_is_set_aside_and_said(visit, trace, content):
    file = stored_path(fingerprint(trace))
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    window = visit(trace)
    (aside,) = sessions_folder().iterdir()
    assert aside.name.startswith(f"{file.name}.damaged-")
    assert aside.read_bytes() == content
    assert aside.name in window.notice.label.text()
    work_on(window)
    window.close()
    assert len(read_session(file).session.notes) == 1


def test_a_newer_file_is_left_as_it_is(visit, trace):
    file = stored_path(fingerprint(trace))
    file.parent.mkdir(parents=True)
    file.write_text('{"schema": 99, "notes": "of another shape"}')
    window = visit(trace)
    assert "newer Lightbox" in window.notice.label.text()
    work_on(window)
    window.close()
    assert json.loads(file.read_text()) == {"schema": 99, "notes": "of another shape"}


def test_an_upgraded_program_keeps_the_notes(visit, trace, monkeypatch):
    window = visit(trace)
    work_on(window)
    window.close()
    monkeypatch.setattr(session_json, "SCHEMA", 2)
    monkeypatch.setattr(session_json, "UPGRADES", {1: lambda old: {**old, "upgraded": True}})
    again = visit(trace)
    assert len(again.state.notes.items) == 1
    again.state.measurements.keep(1, 2)
    again.close()
    stored = json.loads(stored_path(fingerprint(trace)).read_text())
    assert (stored["schema"], stored["upgraded"], len(stored["notes"])) == (2, True, 1)


def test_keys_of_another_version_survive_a_visit(visit, trace):
    window = visit(trace)
    work_on(window)
    window.close()
    file = stored_path(fingerprint(trace))
    stored = json.loads(file.read_text())
    stored["later"], stored["trace"]["host"], stored["notes"][0]["votes"] = [1], "x", 3
    file.write_text(json.dumps(stored))
    window = visit(trace)
    window.state.notes.change(0, text="seen")
    window.close()
    again = json.loads(file.read_text())
    assert (again["later"], again["trace"]["host"], again["notes"][0]["votes"]) == ([1], "x", 3)
    assert again["notes"][0]["text"] == "seen"


def test_a_full_disk_is_said_once_and_the_old_file_stays(visit, trace, monkeypatch, qtbot):
    window = visit(trace)
    work_on(window)
    window.sessions.save()
    file = stored_path(fingerprint(trace))
    before = file.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(session_store.os, "fsync", full)
        window.state.measurements.keep(1, 2)
        window.sessions.save()
        assert "No space left" in window.notice.label.text()
        window.notice.hide()
        window.state.measurements.keep(3, 4)
        window.sessions.save()
        assert not window.notice.isVisible()
        assert file.read_bytes() == before
        assert [p.name for p in file.parent.iterdir()] == [file.name]
    window.sessions.save()
    assert len(read_session(file).session.measurements) == 3


KILLED = """
import os, sys
from pathlib import Path
from viewer.app import session_store

real = os.fsync
def stop(handle):
    real(handle)
    print("half way", flush=True)
    sys.stdin.read()
os.fsync = stop
session_store.write_atomically(Path(sys.argv[1]), "new" * 10_000)
"""


def test_a_process_killed_in_the_middle_of_a_save_leaves_the_old_file(tmp_path):
    file = tmp_path / "sessions" / f"x{session_store.SUFFIX}"
    write_atomically(file, "old")
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout.readline().strip() == b"half way"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert file.read_text() == "old"
    assert len(list(file.parent.iterdir())) == 2
    write_atomically(file, "newer")
    assert file.read_text() == "newer"


def test_what_killed_processes_left_is_cleared_in_time():
    sessions_folder().mkdir(parents=True)
    old, fresh = (sessions_folder() / f".x.{n}.part" for n in "12")
    old.touch()
    fresh.touch()
    os.utime(old, (0, 0))
    session_store.clear_parts()
    assert (old.exists(), fresh.exists()) == (False, True)


# Session files


@pytest.fixture
def sent(visit, trace, monkeypatch):
    """A session file beside its trace."""
    window = visit(trace)
    work_on(window)
    file = trace.with_name("run.lightbox.json")
    monkeypatch.setattr(trace_controller, "ask_where_to_save", lambda *_: file)
    window.actions_by_id["save-session"].trigger()
    window.state.notes.delete({0})
    window.close()
    return file


def test_a_session_file_opens_its_trace_wherever_both_are(visit, sent, trace, tmp_path):
    folder = tmp_path / "mail"
    folder.mkdir()
    for file in (sent, trace):
        shutil.move(file, folder / file.name)
    window = visit(folder / sent.name)
    assert window.state.study.trace.path == folder / trace.name
    assert [n.text for n in window.state.notes.items] == ["看这里"]
    assert "看这里" in (folder / sent.name).read_text()


def test_a_session_file_is_never_written_by_itself_and_ones_own_notes_stay(visit, sent, trace):
    before = sent.read_bytes()
    window = visit(sent)
    window.state.notes.change(0, text="mine")
    window.close()
    assert sent.read_bytes() == before
    assert visit(trace).state.notes.items == ()
    again = visit(sent)
    assert [n.text for n in again.state.notes.items] == ["mine"]
    assert "run.lightbox.json" in again.notice.label.text()


def test_a_dropped_session_opens(open_window, sent, qtbot):
    window = open_window()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(sent))])
    drop = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.dropEvent(drop)
    assert len(window.state.notes.items) == 1


def test_a_missing_trace_is_asked_for(open_window, sent, trace, tmp_path, monkeypatch, qtbot):
    away = tmp_path / "away" / "other name.sqlite"
    away.parent.mkdir()
    trace.rename(away)
    asked = []

    def answer(opened, *_):
        asked.append(opened.trace_name)
        return away

    monkeypatch.setattr(trace_controller, "ask_for_trace", answer)
    window = open_window()
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.open(sent)
    assert asked == ["run.sqlite"]
    assert len(window.state.notes.items) == 1
    assert not window.notice.isVisible()


def test_another_trace_than_the_sessions_is_said(open_window, sent, trace, qtbot):
    content = bytearray(trace.read_bytes())
    content[60:64] = b"\0\0\0\7"
    trace.write_bytes(content)
    window = open_window()
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.open(sent)
    assert "another trace" in window.notice.label.text()


@pytest.mark.parametrize(
    ("content", "said"), [("{", "damaged"), ('{"schema": 9}', "newer"), ("7", "not a session")]
)
def test_a_session_file_that_is_none_is_left_where_it_is(window, tmp_path, content, said):
    file = tmp_path / "x.lightbox.json"
    file.write_text(content)
    window.open(file)
    assert said in window.notice.label.text()
    assert file.read_text() == content
    assert window.state.study is not None
    with pytest.raises(SessionError):
        read_session(file)


def test_the_command_line_says_in_one_line_what_is_missing(sent, trace, capsys):
    trace.unlink()
    assert main([str(sent)]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "run.sqlite" in captured.err
    sent.write_text("{")
    assert main([str(sent)]) == 1
    assert "damaged" in capsys.readouterr().err


def test_a_row_filter_comes_back_into_its_box(visit, trace):
    window = visit(trace)
    window.state.rows.set_filter("rank 3")
    assert window.tools.filter_box.text() == "rank 3"
    window.close()
    again = visit(trace)
    assert again.tools.filter_box.text() == again.state.rows.filter_text == "rank 3"
    again.tools.filter_box.apply()
    assert again.state.rows.filter_text == "rank 3"


def test_a_session_whose_trace_cannot_be_read_is_not_applied_to_the_next(visit, trace, tmp_path, qtbot):
    window = visit(trace)
    work_on(window)
    file = tmp_path / "mine.lightbox.json"
    window.sessions.save_to(file)
    window.trace_controller.close()
    trace.rename(kept := tmp_path / "kept.sqlite")
    trace.write_bytes(kept.read_bytes()[:9000])
    with qtbot.waitSignal(window.loader.failed, timeout=60_000):
        window.open(file)
    with qtbot.waitSignal(window.loader.finished, timeout=60_000):
        window.loader.open(kept)
    window.state.measurements.keep(1, 2)
    window.sessions.end()
    assert [p.name for p in sessions_folder().iterdir()] == [stored_path(fingerprint(kept)).name]


def test_no_session_of_another_trace_is_written_under_the_name_chosen(visit, trace, opened, monkeypatch):
    window = visit(trace)
    name = str(trace.with_name("mine.lightbox.json"))

    def ask(*_):
        window.trace_controller.show(opened)
        return name, ""

    monkeypatch.setattr(sessions.QFileDialog, "getSaveFileName", ask)
    window.actions_by_id["save-session"].trigger()
    assert not Path(name).exists()
    assert "another trace is open now" in window.notice.label.text()


def test_a_note_in_the_making_is_kept_when_the_window_closes(visit, trace):
    window = visit(trace)
    window.timeline.notes.write(Note(MS, MS))
    window.timeline.notes.editor.setPlainText("why so late?")
    window.close()
    assert [note.text for note in visit(trace).state.notes.items] == ["why so late?"]


def test_iterations_by_the_marker_of_a_session_are_found_beside_the_window(visit, trace, monkeypatch):
    window = visit(trace)
    window.state.set_marker(1)
    chosen = window.state.candidates[1].name
    window.state.measurements.keep(1, 2)
    window.close()
    found = []

    def find(launches, order_of, marker):
        found.append((marker.name, threading.current_thread() is threading.main_thread()))
        return original(launches, order_of, marker)

    original = detect.find_iterations
    monkeypatch.setattr(detect, "find_iterations", find)
    assert visit(trace).state.marker == 1
    assert (chosen, False) in found
    assert (chosen, True) not in found
