"""Reports through nsys: a real one, and stand-ins that fail as real ones do."""

import os
import shutil
import signal
import stat
import sys

import pytest

from tests.readers import exports
from viewer.readers import Cancelled, ReadError, cache, checksums, nsys, read, sniff
from viewer.readers.sniff import Container, FileKind

NEW_HEADER = b"NVIDIA Tegra Profiler Report 2099@1@1@42-991100420000v0."
OLD_HEADER = b"NVIDIA Tegra Profiler Report 1.\n"


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A function that makes the only nsys of this test out of a version and a script."""

    def make(version, script):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        tool = folder / "nsys"
        tool.write_text(
            f"#!{sys.executable}\nimport os, shutil, sys, time\n"
            f"if '--version' in sys.argv: print('NVIDIA Nsight Systems version {version}'); sys.exit()\n"
            f"form = sys.argv[sys.argv.index('--type') + 1]; out = sys.argv[sys.argv.index('-o') + 1]\n"
            f"report = sys.argv[-1]\n{script}\n"
        )
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(nsys, "_KNOWN_FOLDERS", ())
        return tool

    return make


@pytest.fixture
def fake(tmp_path):
    """A file that looks like a report, alone in a folder."""

    def make(header=OLD_HEADER):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        file = folder / "job.nsys-rep"
        file.write_bytes(header + bytes(1000))
        return file

    return make


def refused(file, *words):
    before = exports.listing(file.parent)
    with pytest.raises(ReadError) as refusal:
        read(file)
    message = str(refusal.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    assert exports.listing(file.parent) == before
    folder = cache.CacheEntry.of(file).folder
    assert not folder.exists() or list(folder.iterdir()) == []
    return message


def test_a_recorded_report_is_read(report):
    before = exports.listing(report.parent)
    heard = []
    trace = read(report, progress=lambda what, done: heard.append((what, done)))
    assert exports.listing(report.parent) == before
    assert sorted({*trace.names.array.to_pylist()} & {"step_0", "step_1", "step_2", "inner", "done"}) == [
        "done", "inner", "step_0", "step_1", "step_2",
    ]  # fmt: skip
    assert len([p for p in trace.processes if "python" in p.name or p.name == "process"]) >= 2
    assert {t.domain for t in trace.tracks} >= {"", "library"}
    assert trace.session.nsys_version == nsys.find_nsys().version.split("-")[0]
    assert trace.path == report
    assert any("Exporting" in what for what, _ in heard)
    assert [done for _, done in heard] == sorted(done for _, done in heard)


def test_a_report_is_exported_once(report, monkeypatch):
    read(report, cache=False)
    monkeypatch.setattr(nsys, "find_nsys", lambda: pytest.fail("nsys was asked again"))
    first = read(report)
    again = read(report)
    assert len(again.nvtx) == len(first.nvtx)
    row = int(again.nvtx.columns["file_row"][0])
    assert again.source.row("nvtx", row)["start"] == int(again.nvtx.start_ns[0])


def test_a_damaged_export_is_made_again(report):
    read(report, cache=False)
    made = cache.CacheEntry.of(report).export()
    made.write_bytes(made.read_bytes()[:5000])
    assert len(read(report).nvtx) > 0
    assert made.stat().st_size > 5000


@pytest.fixture
def exported(stand_in, fake, tmp_path):
    """A report whose export is one kernel, as a stand-in of nsys writes it."""

    def make(**changes):
        whole = tmp_path / "whole.sqlite"
        whole.unlink(missing_ok=True)
        exports.write(whole, {exports.KERNELS: [exports.kernel(**changes)]})
        stand_in("2022.1.1", f"shutil.copyfile({str(whole)!r}, out); os.chmod(out, 0o666)")
        return fake()

    return make


def test_a_damaged_export_tells_nothing_wrong(exported):
    """Its times stay, and a number that is only fetched when it is asked for changes."""
    file = exported(registersPerThread=77)
    read(file)
    export = cache.CacheEntry.of(file).export()
    facts, content = export.stat(), export.read_bytes()
    assert content.count(bytes([77])) == 1
    export.unlink()
    export.write_bytes(content.replace(bytes([77]), bytes([78])))
    os.utime(export, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    trace = read(file)
    assert trace.source.row("kernel", int(trace.kernels.columns["file_row"][0]))["registersPerThread"] == 77
    assert cache.CacheEntry.of(file).export().read_bytes() == content


def test_an_export_is_readable_by_its_user_alone(stand_in, fake, tmp_path):
    whole = exports.write(tmp_path / "whole.sqlite", {exports.KERNELS: [exports.kernel()]})
    seen = tmp_path / "seen"
    stand_in(
        "2022.1.1",
        f"shutil.copyfile({str(whole)!r}, out); found = os.stat('.').st_mode | os.stat(out).st_mode\n"
        f"open({str(seen)!r}, 'w').write(str(found & 0o077)); os.chmod(out, 0o666)",
    )
    before = os.umask(0)
    try:
        file = fake()
        read(file)
    finally:
        os.umask(before)
    assert seen.read_text() == "0"
    assert cache.CacheEntry.of(file).export() is not None
    assert [path for path in cache.cache_folder().rglob("*") if path.stat().st_mode & 0o077] == []
    assert file.stat().st_mode & 0o777 == 0o666


def test_of_two_programs_that_export_at_once_the_first_is_taken(exported, tmp_path):
    """Another may be reading what it made."""
    entry = cache.CacheEntry.of(exported())
    first = nsys.export(exported(), None, entry.folder)
    known = first.stat()
    assert nsys.export(exported(), None, entry.folder) == first
    assert (first.stat().st_ino, first.stat().st_mtime_ns) == (known.st_ino, known.st_mtime_ns)
    assert [path.name for path in entry.folder.iterdir()] == ["export"]


def test_an_export_that_cannot_be_sealed_is_refused(exported, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    file = exported()
    monkeypatch.setattr(checksums, "seal", full)
    refused(file, "cannot be written", "LIGHTBOX_CACHE_DIR")


@pytest.mark.parametrize("name", ["two words", "a#b?c", "50%20", "漢字", b"caf\xe9", "--type"])
def test_a_report_with_an_odd_path(report, name):
    odd = report.with_name(os.fsdecode(name) + ".nsys-rep")
    report.rename(odd)
    assert len(read(odd).nvtx) > 0
    assert [file.name for file in odd.parent.iterdir()] == [odd.name]


@pytest.mark.parametrize("kept", [100, 0.5, 0.99])
def test_a_truncated_report(report, kept):
    content = report.read_bytes()
    report.write_bytes(content[: kept if kept > 1 else int(len(content) * kept)])
    refused(report, "job.nsys-rep", "cut off", "copy it again")


def test_a_report_damaged_in_the_middle(report):
    # nsys does not notice every small damage, and where its sections lie differs from report to report: this
    # one goes through all of them but the head and the table at the end.
    content = bytearray(report.read_bytes())
    middle = slice(len(content) // 10, len(content) * 95 // 100)
    content[middle] = bytes(255 - byte for byte in content[middle])
    report.write_bytes(content)
    refused(report, "job.nsys-rep", "damaged", "copy it again")


@pytest.mark.parametrize(
    "said",
    [
        "Exportation error: LZ4 decompression failed.",
        "Exportation error: Cannot read from stream.",
        "Dynamic exception type: boost::wrapexcept<QuadDCommon::NotSupportedException>",
        "Exportation error: Section Table Reference magic number mismatch.",
        "boost::wrapexcept<QuadDCommon::ProtobufParseException>",
    ],
)
def test_what_nsys_says_of_a_damaged_report(stand_in, fake, said):
    stand_in("2024.1.1.9", f"sys.exit({said!r})")
    assert "newer" not in refused(fake(), "is cut off or damaged", "copy it again")


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), 6)", "sys.exit(139)"])
def test_an_nsys_that_crashes_on_a_report(stand_in, fake, ending):
    stand_in("2024.1.1.9", ending)
    refused(fake(), "is cut off or damaged")


def test_an_nsys_that_was_killed_says_nothing_of_the_report(stand_in, fake):
    stand_in("2024.1.1.9", "os.kill(os.getpid(), 9)")
    assert "damaged" not in refused(fake(), "could not export", "nsys printed nothing")


def test_a_version_near_the_end_tells_newer_from_damaged(stand_in, fake):
    stand_in("2022.4.2.1-df9881f", "sys.exit('ProtobufParseException')")
    assert "is damaged, or was written by an nsys newer" in refused(fake())
    for version, words in (
        ("2022.4.2.1", "is cut off or damaged"),
        ("2023.2.1.9", "by nsys 2023.2.1, newer"),
    ):
        file = fake()
        file.write_bytes(file.read_bytes() + b"\x12" + version.encode() + b"-df9881f:")
        refused(file, words)


def test_a_report_names_the_nsys_that_recorded_it(report):
    assert read(report).session.recorded_version == nsys.find_nsys().short


def test_a_report_newer_than_the_real_nsys(report):
    report.write_bytes(report.read_bytes().replace(OLD_HEADER.strip(), NEW_HEADER, 1))
    assert sniff(report) == FileKind(Container.REPORT, "2099.1.1")
    here = nsys.find_nsys().short
    refused(report, "2099.1.1", here, "install", "nsys export --type sqlite job.nsys-rep")


@pytest.mark.parametrize(
    "said",
    [
        "Exportation error: Version number is invalid: 2099@1@1@42-99v0",
        "Report was created in Nsight Systems version (2099.1.1.42-99v0), newer than your current version",
        "terminate called after throwing: ProtobufParseException",
    ],
)
def test_the_three_ways_an_old_nsys_fails(stand_in, fake, said):
    stand_in("2022.4.2.1-df9881f", f"open(out, 'wb').write(bytes(50_000)); sys.exit({said!r})")
    message = refused(fake(), "newer than the nsys 2022.4.2", "install", "nsys export --type sqlite")
    if "2099" in said:
        assert "2099.1.1" in message
    refused(fake(NEW_HEADER), "2099.1.1", "2022.4.2")


def test_an_old_nsys_that_fails_in_a_way_not_seen_before(stand_in, fake):
    stand_in("2022.4.2.1", "sys.exit('Version tag is not found in the stream.')")
    refused(fake(NEW_HEADER), "2099.1.1", "newer than the nsys 2022.4.2")
    assert "newer" not in refused(fake(OLD_HEADER), "Version tag is not found")


def test_no_nsys(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nsys, "_KNOWN_FOLDERS", ())
    refused(fake(), "no nsys was found", "install", "nsys export --type sqlite job.nsys-rep")
    refused(fake(NEW_HEADER), "Nsight Systems 2099.1.1", "or newer")


def test_an_nsys_that_fails_for_another_reason(stand_in, fake):
    stand_in("2024.1.1", "print('[=50%]'); sys.exit('cannot do that')")
    refused(fake(), "2024.1.1", "cannot do that")


def test_an_nsys_that_writes_nothing(stand_in, fake):
    stand_in("2022.1.1", "pass")
    refused(fake(), "no export was written")


def test_a_disk_that_fills_while_exporting(stand_in, fake):
    stand_in("2022.1.1", "open(out, 'wb').write(bytes(9)); sys.exit('write: No space left on device')")
    refused(fake(), "disk is full", "LIGHTBOX_CACHE_DIR")


def test_a_cache_folder_that_cannot_be_written(stand_in, fake, tmp_path, monkeypatch):
    stand_in("2022.1.1", "pass")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ReadError, match=r"cannot be written.*LIGHTBOX_CACHE_DIR"):
        read(fake())


def test_parquetdir_is_preferred_where_nsys_can(stand_in, fake, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = tmp_path / "made"
    made.mkdir()
    pq.write_table(pa.table({"id": [1], "value": ["gemm"]}), made / "StringIds.parquet")
    pq.write_table(
        pa.table({column: [1] for column in exports.kernel()}), made / f"{exports.KERNELS}.parquet"
    )
    stand_in("2025.3.1", f"assert form == 'parquetdir'; shutil.copytree({str(made)!r}, out); print('100%')")
    trace = read(fake())
    assert trace.names.take(trace.kernels.name_id) == ["gemm"]
    assert len(read(fake()).kernels) == 1


def test_sqlite_is_tried_where_parquetdir_fails(stand_in, fake, tmp_path):
    whole = exports.write(tmp_path / "whole.sqlite", {exports.KERNELS: [exports.kernel()]})
    stand_in("2024.1.1", f"if form != 'sqlite': sys.exit('no plugin')\nshutil.copy({str(whole)!r}, out)")
    assert len(read(fake()).kernels) == 1


def test_cancelling_ends_nsys(stand_in, fake, tmp_path):
    pid_file = tmp_path / "pid"
    stand_in("2022.1.1", f"open({str(pid_file)!r}, 'w').write(str(os.getpid())); print('1%', flush=True); "
             "time.sleep(600)")  # fmt: skip
    file = fake()
    with pytest.raises(Cancelled):
        read(file, cancelled=lambda: pid_file.exists() and pid_file.read_text() != "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), signal.SIGCONT)
    assert list(cache.CacheEntry.of(file).folder.iterdir()) == []


def test_the_newest_nsys_is_taken(tmp_path, monkeypatch):
    for version in ("2022.4.2.1", "2025.1.1.9", "2024.10.1.3", "not a version"):
        folder = tmp_path / "opt" / version / "bin"
        folder.mkdir(parents=True)
        tool = folder / "nsys"
        tool.write_text(f"#!/bin/sh\necho 'NVIDIA Nsight Systems version {version}'\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "opt" / "2022.4.2.1" / "bin"))
    monkeypatch.setattr(nsys, "_KNOWN_FOLDERS", (f"{tmp_path}/opt/*/bin",))
    found = nsys.find_nsys()
    assert (found.short, found.path.parent.parent.name) == ("2025.1.1", "2025.1.1.9")


def test_a_second_export_into_the_same_entry_replaces_nothing_half(report):
    entry = cache.CacheEntry.of(report)
    made = nsys.export(report, None, entry.folder)
    assert made == entry.export()
    shutil.rmtree(entry.folder)
    assert entry.export() is None
