"""The table of actions: keys, menus, the key sheet."""

from collections import Counter

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFileDialog, QLabel, QMenu

from viewer.app import actions
from viewer.app.actions import COMMANDS, MENUS, key_text
from viewer.app.key_sheet import NUMBERED, KeySheet, key_groups

DESIGN_KEYS = [
    "Z", "Shift+Z", "Backspace", "Esc", "+", "-", "F", "Ctrl+P", "?", "Home", ",", ".", "[", "]", "\\", "G",
    "Shift+G", "X", "Shift+X", "I", "E", "Return", "Ctrl+F", "/", "Ctrl+G", "Ctrl+Z", "Ctrl+Shift+Z", "M",
    "1", "9", "Ctrl+1", "Ctrl+9", "Enter", "L", "Ctrl+E", "Ctrl+Shift+P",
]  # fmt: skip
BY_PLACE = set("WASD")


def sequences():
    return [QKeySequence(key).toString() for c in COMMANDS for key in c.keys]


def test_every_action_has_a_key_of_its_own():
    assert [k for k, n in Counter(sequences()).items() if n > 1] == []
    assert [k for k, n in Counter(c.id for c in COMMANDS).items() if n > 1] == []
    assert "" not in sequences()
    assert [c.id for c in COMMANDS if not c.keys] == []


@pytest.mark.parametrize("key", DESIGN_KEYS)
def test_the_keys_that_hands_know_are_there(key):
    assert QKeySequence(key).toString() in sequences()


def test_letters_that_go_by_their_place_are_no_shortcuts():
    assert BY_PLACE.isdisjoint(sequences())


def test_every_command_is_in_a_menu_once(window):
    for entry in window.menuBar().actions():
        assert entry.text().removeprefix("&") in MENUS
        assert entry.text().startswith("&"), "menus open by Alt and their letter"
    entries = [a for menu in window.menuBar().findChildren(QMenu) for a in menu.actions()]
    found = Counter(a.objectName() for a in entries if a.objectName())
    assert found == Counter(c.id for c in COMMANDS)


def test_the_key_sheet_holds_every_key(window):
    listed = [key for _, keys in key_groups() for key, _ in keys]
    assert {key_text(c) for c in COMMANDS if c.keys and c.menu not in NUMBERED} <= set(listed)
    assert {key for key, _ in NUMBERED.values()} <= set(listed)
    sheet = KeySheet(window)
    assert set(listed) <= {label.text() for label in sheet.findChildren(QLabel)}
    sheet.deleteLater()


def test_what_needs_a_trace_is_off_without_one(open_window):
    window = open_window()
    on = {name for name, action in window.actions_by_id.items() if action.isEnabled()}
    always = {
        "open",
        "demo",
        "quit",
        "theme-system",
        "theme-light",
        "theme-dark",
        "preferences",
        "keys",
        "about",
    }
    assert always <= on
    assert on.isdisjoint(
        {"fit", "zoom-selection", "next-idle", "next-iteration", "keep", "pin", "find", "close"}
    )


def test_no_command_fails_on_an_open_trace(window, monkeypatch):
    asked = []
    of_target = ("show_preferences", "apply_rules", "show_keys", "show_about")
    of_traces = ("open", "choose_file", "choose_session", "save_session", "close")
    for kind, names in (
        (type(window), ("close",)),
        (type(window.target), of_target),
        (type(window.trace_controller), of_traces),
    ):
        for name in names:
            monkeypatch.setattr(kind, name, lambda self, *_, name=name: asked.append(name))
    monkeypatch.setattr(actions, "ask_where", lambda *_: asked.append("ask_where"))
    for name in ("getOpenFileName", "getSaveFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_: ("", ""))
    for command in COMMANDS:
        window.target.do(command)
    assert len(asked) == 11
