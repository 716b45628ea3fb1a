"""What a closed dialog leaves is deleted in the main thread, whoever allocates meanwhile."""

import gc
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction

from viewer.app.garbage import GarbageCollector
from viewer.state.jobs import Worker, join_all

MANY = 20_000


@pytest.fixture
def collector(qapp):
    collector = GarbageCollector(qapp)
    yield collector
    collector.stop()
    gc.disable()  # as all tests have it
    collector.deleteLater()


def leave_an_action(deleted_in):
    """Leave an action in a reference cycle, as a dialog with a bound method as slot does."""
    action = QAction()
    action.itself = action
    action.destroyed.connect(
        lambda *_: deleted_in.append(threading.get_ident()), Qt.ConnectionType.DirectConnection
    )


def test_a_job_that_allocates_deletes_nothing_of_the_window(collector, qtbot):
    gc.collect()
    collector._timer.stop()
    deleted_in, worker, done = [], Worker(), []
    leave_an_action(deleted_in)
    # Far more than the threshold at which Python collects by itself, in the thread that allocates.
    worker.start(lambda _: len([[] for _ in range(MANY)]), done.append)
    qtbot.waitUntil(lambda: bool(done))
    assert not deleted_in
    kept = [[] for _ in range(MANY)]
    collector.collect_due()
    assert deleted_in == [threading.get_ident()], len(kept)
    join_all()


def test_the_timer_collects_what_is_due(collector, qtbot):
    deleted_in = []
    leave_an_action(deleted_in)
    kept = [[] for _ in range(MANY)]
    qtbot.waitUntil(lambda: deleted_in == [threading.get_ident()])
    assert len(kept) == MANY


def test_stopped_python_collects_by_itself_again(qapp):
    collector = GarbageCollector(qapp)
    assert not gc.isenabled()
    collector.stop()
    assert gc.isenabled()
    gc.disable()  # as all tests have it
    collector.deleteLater()
