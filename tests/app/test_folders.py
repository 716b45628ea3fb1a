"""Where file dialogs start, and what the demo is called."""

from pathlib import Path

import pandas as pd
import pytest
from PySide6.QtWidgets import QFileDialog

from viewer.app.folders import folder_to_open_from, note_saved, path_to_save_as
from viewer.app.picture_dialog import PictureDialog
from viewer.app.settings import RECENT, Settings
from viewer.demo import default_demo


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def asked(monkeypatch):
    """The folders and files that dialogs start at; all are cancelled."""
    started = []

    def ask(_parent, _title, where, *_):
        started.append(Path(where))
        return "", ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", ask)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    return started


def test_all_dialogs_start_in_the_users_folder(window, home, asked):
    Settings().set(RECENT, ())
    for name in ("open", "open-session", "report"):
        window.actions_by_id[name].trigger()
    window.target.compare()
    window.target.save_table(pd.DataFrame({"a": [1]}))
    window.target.export_picture()
    dialog = window.findChild(PictureDialog)
    dialog.save()
    dialog.close()
    assert len(asked) == 6
    assert all(home in (path, path.parent) for path in asked), asked


def test_the_session_of_the_demo_is_not_put_into_the_cache(window, home, asked):
    window.trace_controller.is_demo = True
    window.actions_by_id["save-session"].trigger()
    assert asked[0].parent == home
    window.trace_controller.is_demo = False
    window.actions_by_id["save-session"].trigger()
    assert asked[1].parent == window.state.study.trace.path.parent


def test_the_next_dialog_starts_where_was_saved_last(home, tmp_path, qapp):
    other = tmp_path / "other"
    other.mkdir()
    assert path_to_save_as("a.csv") == str(home / "a.csv")
    note_saved(other / "b.png")
    assert path_to_save_as("a.csv") == str(other / "a.csv")
    other.rmdir()
    assert path_to_save_as("a.csv") == str(home / "a.csv")


def test_opening_starts_beside_the_last_trace_that_has_a_folder(home, tmp_path, qapp):
    assert folder_to_open_from() == str(home)
    Settings().add_recent(home / "a.sqlite")
    Settings().add_recent(tmp_path / "gone" / "b.sqlite")
    assert folder_to_open_from() == str(home)


def test_the_demo_is_called_demo(tmp_path):
    assert default_demo().name == "demo.sqlite"
