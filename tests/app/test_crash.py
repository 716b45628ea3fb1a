"""The report of a crash: where it happened, the last lines of the log, nothing of the user's."""

import getpass
import logging
import platform

from viewer import logs
from viewer.logs import keep_private


def test_a_report_holds_the_last_lines_of_the_log(crashes):
    logging.getLogger("viewer.readers").debug("kernels: %d rows", 7)
    assert "DEBUG viewer.readers" in crashes.report("boom")
    assert "kernels: 7 rows" in crashes.report("boom")


def test_a_report_names_neither_the_user_nor_his_files(crashes, monkeypatch, tmp_path, qtbot):
    monkeypatch.setattr(getpass, "getuser", lambda: "mallory")
    monkeypatch.setattr(platform, "node", lambda: "gpu-node-17")
    monkeypatch.setattr(logs, "_private", set())
    file = tmp_path / "home of mallory" / "secret model.sqlite"
    keep_private(file)
    log = logging.getLogger("viewer.app")
    log.debug("reading %r on gpu-node-17", str(file))
    with qtbot.waitSignal(crashes.happened) as happened:
        try:
            file.read_bytes()
        except OSError:
            log.exception("%s cannot be read", file.name)
    _, report = happened.args
    assert "FileNotFoundError" in report
    assert "test_crash.py" not in report
    for name in ("mallory", "secret", "gpu-node-17", str(tmp_path), tmp_path.name):
        assert name not in report


def test_the_log_is_as_before_when_the_hooks_are_gone(tmp_path):
    from viewer.app.crash import CrashGuard

    before = logs.log.level, list(logs.log.handlers)
    guard = CrashGuard(tmp_path)
    guard.install()
    guard.uninstall()
    assert (logs.log.level, list(logs.log.handlers)) == before
