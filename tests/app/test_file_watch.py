"""A trace that is replaced on disk is offered anew."""

import os
import shutil

import pytest

from viewer.app.file_watch import FileWatch, stamp_of

SOON_MS = 20


@pytest.fixture
def trace(demo_path, tmp_path):
    return shutil.copyfile(demo_path, tmp_path / "run.sqlite")


@pytest.fixture
def watch(qapp):
    made = FileWatch()
    made._later.setInterval(SOON_MS)
    yield made
    made.watch(None)
    made.deleteLater()


def replace(file, content=b"other"):
    """Put another file in its place, as an export does that is written beside it first."""
    other = file.with_name("other.tmp")
    other.write_bytes(content)
    os.replace(other, file)


def test_a_file_that_takes_its_place_is_noticed_each_time(watch, tmp_path, qtbot):
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"first")
    watch.watch(file, stamp_of(file))
    for content in (b"second", b"third"):
        with qtbot.waitSignal(watch.replaced):
            replace(file, content)


def test_a_file_that_is_written_over_is_noticed(watch, tmp_path, qtbot):
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"first")
    watch.watch(file, stamp_of(file))
    with qtbot.waitSignal(watch.replaced):
        file.write_bytes(b"much longer")


def test_what_was_replaced_while_it_was_read_is_noticed(watch, tmp_path, qtbot):
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"first")
    stamp = stamp_of(file)
    replace(file)
    with qtbot.waitSignal(watch.replaced):
        watch.watch(file, stamp)


def test_it_waits_until_the_file_is_complete(watch, tmp_path, qtbot):
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"first")
    watch.watch(file, stamp_of(file))
    watch._later.stop()
    heard = []
    watch.replaced.connect(lambda: heard.append(1))
    # As it is seen at three moments: still growing, then at rest.
    for size in (10, 20):
        watch._take((("a.sqlite", size, 1, 1),))
        watch._later.stop()
        assert heard == []
    watch._take((("a.sqlite", 20, 1, 1),))
    assert heard == [1]
    watch._take((("a.sqlite", 20, 1, 1),))
    assert heard == [1]


def test_other_files_and_a_missing_one_are_nothing(watch, tmp_path, qtbot):
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"first")
    watch.watch(file, stamp_of(file))
    looked = []
    take = watch._take
    watch._take = lambda stamp: (looked.append(stamp), take(stamp))
    with qtbot.assertNotEmitted(watch.replaced):
        (tmp_path / "b.sqlite").write_bytes(b"another")
        qtbot.waitUntil(lambda: len(looked) >= 1)
        looked.clear()
        file.unlink()
        qtbot.waitUntil(lambda: () in looked)
    with qtbot.waitSignal(watch.replaced):
        file.write_bytes(b"after a while")


def test_a_folder_is_its_files(tmp_path):
    (tmp_path / "a.arrow").write_bytes(b"1")
    before = stamp_of(tmp_path)
    (tmp_path / "b.arrow").write_bytes(b"1")
    assert len(stamp_of(tmp_path)) == len(before) + 1
    assert stamp_of(tmp_path / "none") == ()


def test_the_window_offers_the_new_one_and_opens_it(open_window, trace, demo_path, qtbot):
    window = open_window()
    window.trace_controller._watch._later.setInterval(SOON_MS)
    window.open(trace)
    qtbot.waitUntil(lambda: window.state.study is not None and not window.loader.is_busy, timeout=20_000)
    old = window.state.study
    assert not window.notice.isVisible()
    other = shutil.copyfile(demo_path, trace.with_name("other.tmp"))
    os.replace(other, trace)
    qtbot.waitUntil(window.notice.isVisible)
    assert window.notice.label.text().startswith("run.sqlite was replaced on disk")
    window.notice.button.click()
    qtbot.waitUntil(lambda: window.state.study is not old and not window.loader.is_busy, timeout=20_000)
    assert not window.notice.isVisible()


def test_a_closed_trace_is_watched_no_more(open_window, trace, qtbot):
    window = open_window()
    watch = window.trace_controller._watch
    window.open(trace)
    qtbot.waitUntil(lambda: window.state.study is not None and not window.loader.is_busy, timeout=20_000)
    assert watch._path == trace
    window.trace_controller.close()
    assert watch._path is None
    assert watch._watcher.files() + watch._watcher.directories() == []


def test_the_demo_is_not_watched(open_window, qtbot):
    window = open_window()
    window.open(None)
    qtbot.waitUntil(lambda: window.state.study is not None and not window.loader.is_busy, timeout=30_000)
    assert window.trace_controller._watch._path is None
