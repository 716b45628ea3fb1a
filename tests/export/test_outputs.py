"""What is written where: never over the trace, never by accident over another's file, never half."""

import errno
import os
import stat
import sys

import pandas as pd
import pytest

from viewer.demo import DemoOptions, make_demo
from viewer.export.atomic import is_stream, replacing, write_atomic
from viewer.export.file_types import DEMO, HEAD_BYTES, PAGE, PICTURES, SESSION, TABLES, is_of_type
from viewer.export.html import page
from viewer.export.outputs import ForeignOutputError, OutputError, TraceOutputError, check_output
from viewer.export.table_files import table_bytes

KINDS = [PAGE, SESSION, DEMO, *PICTURES.values(), *TABLES.values()]
FRAME = pd.DataFrame({"name": ["a", "b, c"], "ns": [1, 2]})


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.sqlite"
    path.write_bytes(b"SQLite format 3\0 and more")
    return path


@pytest.fixture(scope="module")
def samples(tmp_path_factory, demo_study, qapp):
    """A file of each kind, as Lightbox writes it, by kind."""
    from viewer.app.session_store import session_text
    from viewer.export.first_view import first_view
    from viewer.export.picture_files import picture_bytes
    from viewer.state.session import Session

    view = first_view(demo_study)
    folder = tmp_path_factory.mktemp("kinds")
    demo = make_demo(folder / "demo.sqlite", DemoOptions(iterations=1))
    return {
        PAGE.name: page("a title", ["<p>x</p>"]).encode(),
        SESSION.name: session_text(Session((0, 1)), demo, "", folder).encode(),
        DEMO.name: demo.read_bytes(),
        **{kind.name: picture_bytes(view, suffix) for suffix, kind in PICTURES.items()},
        **{kind.name: table_bytes(FRAME, suffix) for suffix, kind in TABLES.items()},
    }


def other_programs():
    """Files of the same formats that other programs wrote, by suffix."""
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice
    from PySide6.QtGui import QImage, QPainter, QPdfWriter

    image = QImage(4, 4, QImage.Format.Format_RGB32)
    image.setText("Description", "made beside Lightbox 0.1.0")
    held = {}
    for name in ("png", "pdf"):
        content = QByteArray()
        buffer = QBuffer(content)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        if name == "png":
            image.save(buffer, "png")
        else:
            writer = QPdfWriter(buffer)
            writer.setTitle("about Lightbox 0.1.0")
            QPainter(writer).end()
        held[f".{name}"] = bytes(content.data())
    held[".svg"] = b'<?xml version="1.0"?>\n<svg><title>Lightbox 0.1.0</title><desc>by hand</desc></svg>'
    held[".html"] = page("mine", []).encode().replace(b"generator", b"author")
    held[".sqlite"] = b"SQLite format 3\0" + bytes(200)
    held[".json"] = b'{"program": "Lightboxer 1", "schema": 1}'
    held[".csv"] = b"these are notes,\nof mine\n"
    held[".md"] = b"# Notes\n\n| a | b |\n"
    held[".parquet"] = b"PAR2"
    held[".tsv"] = b"one\ttwo\nthree\n"
    return held


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_its_own_kind_is_replaced_and_every_other_is_asked_about(kind, samples, tmp_path):
    path = tmp_path / f"x{kind.suffixes[0]}"
    for name, content in samples.items():
        path.write_bytes(content)
        if name == kind.name:
            check_output(path, kind)
        else:
            with pytest.raises(ForeignOutputError, match=path.name):
                check_output(path, kind)
            check_output(path, kind, is_meant=True)
    for content in (other_programs()[kind.suffixes[0]], b"\0\xff binary", b"notes\n"):
        path.write_bytes(content)
        with pytest.raises(ForeignOutputError):
            check_output(path, kind)
    path.write_bytes(b"")
    check_output(path, kind)


def test_a_long_table_is_known_by_its_head(tmp_path):
    path = tmp_path / "x.csv"
    for letter in ("é", "漢"):
        frame = pd.DataFrame({"name": [letter] * HEAD_BYTES, "ns": 1})
        path.write_bytes(table_bytes(frame, ".csv"))
        assert is_of_type(path, TABLES[".csv"])


@pytest.mark.parametrize("name", ["x.pdf", "x.sqlite", "x.txt", "x.nsys-rep"])
def test_a_name_of_another_kind_is_refused_unless_meant(name, tmp_path):
    with pytest.raises(ForeignOutputError, match=r"\.html or \.htm"):
        check_output(tmp_path / name, PAGE)
    check_output(tmp_path / name, PAGE, is_meant=True)
    for fine in ("x", "x.HTML", "x.htm"):
        check_output(tmp_path / fine, PAGE)


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("is_meant", [False, True])
def test_the_trace_is_never_written(ending, is_meant, trace, tmp_path):
    path = tmp_path / (trace.name + ending)
    with pytest.raises(TraceOutputError, match="is the trace"):
        check_output(path, DEMO, [tmp_path / "another.sqlite", trace], is_meant)
    path.touch()
    link, hard = tmp_path / "link.html", tmp_path / "hard.html"
    link.symlink_to(path)
    os.link(path, hard)
    for other in (link, hard, tmp_path / "." / "x" / ".." / path.name):
        with pytest.raises(TraceOutputError):
            check_output(other, PAGE, [trace], is_meant)


def test_the_trace_is_known_through_a_link_to_it(trace, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "t.sqlite"
    link.symlink_to(trace)
    for path in (trace, link, tmp_path / "trace.sqlite-wal", tmp_path / "elsewhere" / "t.sqlite-wal"):
        with pytest.raises(TraceOutputError):
            check_output(path, DEMO, [link], True)


def test_nothing_is_written_into_a_trace_that_is_a_folder(tmp_path):
    folder = tmp_path / "export_pqtdir"
    folder.mkdir()
    table = folder / "KERNEL.parquet"
    table.write_bytes(b"PAR1")
    inside, hard = tmp_path / "inside", tmp_path / "hard.parquet"
    inside.symlink_to(folder)
    os.link(table, hard)
    for path in (table, folder / "new.html", inside / "new.html", hard, folder):
        with pytest.raises(TraceOutputError):
            check_output(path, TABLES[".parquet"], [folder], True)
    check_output(tmp_path / "export_pqtdir.html", PAGE, [folder])


def test_what_is_stored_of_traces_is_not_written_over(tmp_path, monkeypatch):
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "cache"))
    export = tmp_path / "cache" / "traces" / "0" / "export" / "export.sqlite"
    export.parent.mkdir(parents=True)
    export.touch()
    with pytest.raises(OutputError, match="keeps of traces"):
        check_output(export, DEMO, [tmp_path / "x.nsys-rep"], True)


def test_where_no_file_can_be_written_is_said_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "lost.html").symlink_to(tmp_path / "no folder" / "x.html")
    for name in ("none/x.html", "file/x.html", "loop", "lost.html", ".", f"{'x' * 300}.html"):
        with pytest.raises(OutputError) as found:
            check_output(tmp_path / name, PAGE, is_meant=True)
        assert not isinstance(found.value, ForeignOutputError | TraceOutputError)
        assert "\n" not in str(found.value)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path):
    (tmp_path / "mine").mkdir(mode=0o555)
    with pytest.raises(OutputError, match="may not be written to"):
        check_output(tmp_path / "mine" / "x.html", PAGE)


def test_a_file_that_is_read_only_stays_unless_meant(tmp_path):
    path = tmp_path / "x.html"
    path.write_bytes(page("x", []).encode())
    path.chmod(0o444)
    with pytest.raises(ForeignOutputError, match="read-only"):
        check_output(path, PAGE)
    check_output(path, PAGE, is_meant=True)


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path, link = tmp_path / "x.html", tmp_path / "link.html"
    write_atomic(path, b"1")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    old = path.stat()
    os.utime(path, (1, 1))
    link.symlink_to(path.name)
    write_atomic(link, b"22")
    assert link.is_symlink()
    assert path.read_bytes() == b"22"
    assert path.stat().st_mtime > 1
    assert (path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) == (
        old.st_mode, old.st_uid, old.st_gid,
    )  # fmt: skip
    assert sorted(n for n in os.listdir(tmp_path) if n != ".home") == ["link.html", "x.html"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_that_is_replaced_keeps_its_owner(tmp_path):
    path = tmp_path / "x.html"
    path.touch()
    os.chown(path, 1234, 2345)
    write_atomic(path, b"1")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_link_that_leads_to_nothing_makes_the_file_there(tmp_path):
    link = tmp_path / "link.html"
    link.symlink_to("made.html")
    write_atomic(link, b"1")
    assert link.is_symlink()
    assert (tmp_path / "made.html").read_bytes() == b"1"


def test_what_fails_on_the_way_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "x.html"
    path.write_bytes(b"old")

    def fill_the_disk():
        with replacing(path) as part:
            part.write_bytes(b"ne")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space") as found:
        fill_the_disk()
    assert found.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert sorted(n for n in os.listdir(tmp_path) if n != ".home") == ["x.html"]


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
def test_devices_and_pipes_are_streams(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for path in ("-", "/dev/null", "/dev/stdout", "/dev/fd/1", tmp_path / "pipe", tmp_path / "link"):
        assert is_stream(type(tmp_path)(path))
        check_output(type(tmp_path)(path), PAGE)
    assert not is_stream(tmp_path)
    assert not is_stream(tmp_path / "none")
    with pytest.raises(OSError, match="No space") as found:
        write_atomic(type(tmp_path)("/dev/full"), b"x")
    assert found.value.filename == "/dev/full"
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
