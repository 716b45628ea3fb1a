"""What the window remembers, how it looks, what it survives."""

import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPushButton

from tests.panels.make import double_click, row_of
from viewer.analysis.core.classify import Rules
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.analysis.study import Study
from viewer.app import settings as remembered
from viewer.app.crash import CrashGuard
from viewer.app.dialogs import go_to
from viewer.app.settings import Settings
from viewer.app.trace_controller import shape_text
from viewer.drawing.format import format_ns, format_share
from viewer.drawing.theme import DARK, LIGHT
from viewer.drawing.times import TimeError
from viewer.panels.details_panel import DetailsPanel
from viewer.panels.events_panel import EventsPanel
from viewer.panels.measurements_panel import MeasurementsPanel
from viewer.panels.notes_panel import NotesPanel
from viewer.rows import build_rows
from viewer.state import Note

MS = 1_000_000


def test_settings_come_back_with_their_types():
    Settings().set(remembered.THEME, "dark")
    Settings().set(remembered.OVERLAYS, ("idle",))
    Settings().set(remembered.GEOMETRY, b"\x00\xff")
    Settings().set(remembered.HEADER_WIDTH, 321)
    again = Settings()
    assert again.get(remembered.THEME) == "dark"
    assert again.get(remembered.OVERLAYS) == ("idle",)
    assert again.get(remembered.GEOMETRY) == b"\x00\xff"
    assert again.get(remembered.HEADER_WIDTH) == 321


@pytest.mark.parametrize("stored", ["", "{", "7", '"purple"', "[1]", "null"])
def test_nonsense_in_the_file_is_the_default(stored):
    file = Settings()._file
    for setting in (remembered.THEME, remembered.OVERLAYS, remembered.GEOMETRY, remembered.RECENT):
        file.setValue(setting.key, stored)
        assert Settings().get(setting) == setting.default


def test_keys_of_another_version_are_left_alone():
    file = Settings()._file
    file.setValue("from-the-future", "42")
    Settings().set(remembered.THEME, "light")
    file.sync()
    again = QSettings(file.fileName(), QSettings.Format.IniFormat)
    assert again.value("from-the-future") == "42"
    assert int(again.value("version")) == remembered.VERSION


def test_recent_files_are_those_that_exist_latest_first(tmp_path):
    settings = Settings()
    files = [tmp_path / f"{n}.sqlite" for n in range(20)]
    for file in files:
        file.touch()
        settings.add_recent(file)
    settings.add_recent(files[12])
    files[19].unlink()
    assert settings.recent()[:3] == (files[12], files[18], files[17])
    settings.add_recent(files[17], "8 ranks · 1.378 s")
    assert settings.recent()[0] == files[17]
    assert settings.shape_of(files[17]) == "8 ranks · 1.378 s"
    assert settings.shape_of(files[0]) == ""
    assert len(settings.get(remembered.RECENT_SHAPES)) <= remembered.RECENT_LIMIT
    assert len(settings.recent()) <= remembered.RECENT_LIMIT


def test_recent_files_are_listed_with_their_shape(open_window, demo_path, qtbot):
    window = open_window()
    window.open(demo_path)
    qtbot.waitUntil(lambda: window.state.study is not None and not window.loader.is_busy, timeout=20_000)
    trace = window.state.study.trace
    low, high = trace.window_ns
    shape = f"{len(trace.processes)} ranks · {format_ns(high - low)}"
    assert shape_text(trace) == shape
    window.trace_controller.close()
    assert shape in window.welcome._recent.text()
    menu = next(m for m in window.menuBar().findChildren(QMenu) if m.title() == "Open recent")
    menu.aboutToShow.emit()
    assert menu.actions()[0].text() == f"{demo_path}\t{shape}"


def test_the_shape_of_a_trace_without_ranks_is_its_gpus(opened):
    trace = opened.study.trace
    unranked = replace(trace, processes=tuple(replace(p, rank=None) for p in trace.processes))
    assert shape_text(unranked).startswith("2 GPUs · ")


def test_layout_and_overlays_are_restored(open_window, opened):
    window = open_window()
    window.trace_controller.show(opened)
    window.resize(1111, 877)
    window.timeline.place.set_header_width(280)
    window.state.set_overlay("idle", False)
    window.docks[0].hide()
    window.close()
    again = open_window()
    assert (again.width(), again.height()) == (1111, 877)
    assert again.timeline.place.header_width == 280
    assert again.state.overlays == {"exposed", "waiting"}
    again.trace_controller.show(opened)
    assert again.docks[0].isHidden()
    assert not again.docks[1].isHidden()


def test_the_window_fits_on_a_small_screen(window):
    window.resize(1280, 720)
    assert (window.width(), window.height()) == (1280, 720)


def test_themes_reach_everything_at_once_and_are_remembered(window):
    app = QApplication.instance()
    assert window.timeline.canvas.theme is LIGHT
    window.actions_by_id["theme-dark"].trigger()
    assert window.timeline.canvas.theme is DARK
    assert app.palette().window().color().rgba() == DARK.panel
    assert window.actions_by_id["theme-dark"].isChecked()
    assert not window.actions_by_id["theme-light"].isChecked()
    assert Settings().get(remembered.THEME) == "dark"


def test_presets_fold_and_hide(window):
    rows = window.state.rows
    window.actions_by_id["preset-everything"].trigger()
    assert rows.expanded >= {r.key for r in rows.roots}
    window.actions_by_id["preset-compute"].trigger()
    shown = {r.label for root in rows.roots for r in root.walk() if rows.is_shown(r)}
    assert {"Stream 7", "Stream 20"} <= shown
    assert "Kernels" not in shown
    window.actions_by_id["preset-lanes"].trigger()
    assert rows.expanded.isdisjoint(r.key for r in rows.roots)
    assert all(rows.is_shown(r) for r in rows.roots)


def test_streams_are_switched_on_all_gpus_from_the_menu(window):
    menu = next(m for m in window.menuBar().findChildren(QMenu) if m.title() == "Streams")
    menu.aboutToShow.emit()
    entry = next(a for a in menu.actions() if a.text() == "Stream 20 on all GPUs")
    assert entry.isChecked()
    before = set(window.state.rows.hidden)
    entry.trigger()
    assert {window.state.rows.row(k).label for k in window.state.rows.hidden - before} == {"Stream 20"}
    window.actions_by_id["show-all"].trigger()
    assert window.state.rows.hidden == set()


@pytest.mark.parametrize(
    ("text", "window_ns"),
    [("10ms..20ms", (10 * MS, 20 * MS)), ("3ms..5 ms", (3 * MS, 5 * MS)), ("30ms", (25 * MS, 35 * MS))],
)
def test_going_to_a_time(window, text, window_ns):
    window.state.axis.go(0, 10 * MS)
    go_to(window.state, text)
    assert window.state.axis.window == window_ns


def test_going_to_an_iteration(window):
    go_to(window.state, "iteration 2")
    assert window.state.iteration == 2
    with pytest.raises(TimeError, match="no iteration 3"):
        go_to(window.state, "iteration 3")


def test_new_rules_keep_the_view(window, qtbot):
    state = window.state
    state.rows.set_expanded([state.rows.roots[0].key], True)
    state.axis.go(10 * MS, 20 * MS)
    state.list_events(state.rows.roots[0].key)
    old, unfolded, listing = state.study, set(state.rows.expanded), state.listing
    with qtbot.waitSignal(window.loader.finished):
        window.target.apply_rules()
    assert state.study is not old
    assert state.axis.window == (10 * MS, 20 * MS)
    assert state.rows.expanded == unfolded
    assert state.listing == listing
    events = window.findChild(EventsPanel)
    qtbot.waitUntil(lambda: events.events is not None and events.events.study is state.study)


def test_an_exception_in_a_slot_is_shown_once_and_ends_nothing(window, crashes, qtbot, monkeypatch):
    def broken():
        raise ZeroDivisionError("by zero")

    # pytest-qt has put its own hook over ours.
    monkeypatch.setattr(sys, "excepthook", crashes._on_exception)
    with qtbot.waitSignal(crashes.happened) as told:
        QTimer.singleShot(0, broken)
    assert "ZeroDivisionError: by zero" in told.args[0]
    assert window.notice.isVisible()
    window.notice.button.click()
    copied = QApplication.clipboard().text()
    assert "ZeroDivisionError" in copied
    assert "in broken" in copied
    assert "Lightbox" in copied
    with qtbot.assertNotEmitted(crashes.happened, wait=50):
        QTimer.singleShot(0, broken)
    assert window.isVisible()


def test_the_log_keeps_its_last_lines(crashes):
    for number in range(1000):
        logging.getLogger("viewer.test").warning("line %d", number)
    assert "line 999" in crashes.report("what")
    assert "line 5\n" not in crashes.report("what")
    assert len(crashes.ring.lines) < 1000


def test_a_hard_crash_is_offered_at_the_next_start(tmp_path):
    (tmp_path / "crash.txt").write_text("Fatal Python error: Segmentation fault")
    guard = CrashGuard(tmp_path)
    guard.install()
    assert "Segmentation fault" in guard.last_crash
    guard.uninstall()
    again = CrashGuard(tmp_path)
    again.install()
    assert again.last_crash == ""
    again.uninstall()


def test_files_that_need_a_word_get_a_message(window, opened, monkeypatch):
    study = Study(replace(opened.study.trace, path=Path("new.sqlite"), notes=("a newer schema",)))
    window.trace_controller.show(replace(opened, study=study, roots=build_rows(study)))
    assert window.notice.label.text() == "a newer schema"
    assert window.windowTitle().startswith("new.sqlite")


def test_a_bad_rule_is_named_with_its_line(window, opened):
    study = Study(opened.study.trace, Rules.parse("[attention]\ngemm\n(oops\n", "mine"))
    window.trace_controller.show(replace(opened, study=study, roots=build_rows(study)))
    assert window.notice.label.text().startswith("Class rules, line 3: (oops: ")
    assert study.classes.class_name(int(study.trace.kernels.name_id[0])) == "attention"


def test_a_warning_of_many_lines_is_one_line_of_the_status_bar(window, qtbot):
    window.resize(900, 600)
    diagnostic = Diagnostic(
        "lost-rows", "warning", "first line\nsecond line " + "and on " * 60, "It means something."
    )
    window.status.show_diagnostics((diagnostic,))
    badge = window.status.badge
    qtbot.waitUntil(lambda: badge.text().endswith("…"))
    assert "\n" not in badge.text()
    assert badge.fontMetrics().horizontalAdvance(badge.text()) <= badge.width()
    assert diagnostic.title in badge.toolTip()


def test_what_a_bookmark_key_did_is_said(window):
    window.actions_by_id["bookmark-2"].trigger()
    assert "Ctrl+2" in window.status.currentMessage()
    window.actions_by_id["set-bookmark-2"].trigger()
    assert window.status.currentMessage().startswith("Bookmark 2 set")


def test_a_failure_looks_like_one(window):
    window.loader.failed.emit("x.sqlite is no trace.")
    assert window.notice.property("severity") == "error"
    window.notice.tell("Saved.")
    assert window.notice.property("severity") == "info"


def test_a_theme_that_holds_already_styles_nothing_anew(window, theme_manager, qtbot):
    with qtbot.assertNotEmitted(theme_manager.changed):
        window.actions_by_id["theme-light"].trigger()
    with qtbot.waitSignal(theme_manager.changed):
        window.actions_by_id["theme-dark"].trigger()


def test_the_status_bar_is_true_after_a_filter_goes(window):
    state = window.state
    low, high = state.study.trace.window_ns
    state.set_filter(state.study.range_scope(low, (low + high) // 2))
    filtered = window.status.length.text()
    assert "100.0 %" in filtered
    state.set_filter(None)
    (start, end), (first, last) = state.axis.window, state.axis.limits
    assert (start, end) == (low, (low + high) // 2)
    said = f"{format_ns(end - start)} in view, {format_share((end - start) / (last - first))}"
    assert window.status.length.text() == f"{said} of {format_ns(last - first)}"


def test_del_in_a_dock_deletes_there_and_nowhere_else(window, qtbot):
    state = window.state
    low, _ = state.axis.window
    state.notes.add(Note(low, low + 1000, text="stays"))
    state.notes.choose(0)
    state.measurements.keep(low, low + 1000)
    state.measurements.keep(low + 1000, low + 2000)
    window.target.bring_panel("Measurements")
    table = window.findChild(MeasurementsPanel).table
    table.setFocus()
    table.selectRow(0)
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert len(state.measurements.items) == 1
    assert len(state.notes.items) == 1
    window.target.bring_panel("Notes")
    state.notes.add(Note(low, low + 2000, text="goes too"))
    notes = window.findChild(NotesPanel).table
    notes.setFocus()
    notes.selectAll()
    qtbot.keyClick(notes, Qt.Key.Key_Delete)
    assert state.notes.items == ()
    assert len(state.measurements.items) == 1


def test_renaming_in_a_sorted_list_moves_the_row_and_says_nothing(window, qtbot):
    # Warnings of Qt fail every test: of editors that the view does not know any more, too.
    state = window.state
    low, _ = state.axis.window
    for number, name in enumerate("bcd"):
        state.measurements.keep(low + number * MS, low + (number + 1) * MS, name)
    window.target.bring_panel("Measurements")
    table = window.findChild(MeasurementsPanel).table
    qtbot.waitUntil(table.isVisible)
    column = [c.key for c in table.frame_model.columns].index("name")
    table.horizontalHeader().setSortIndicator(column, Qt.SortOrder.AscendingOrder)
    double_click(qtbot, table.viewport(), table.visualRect(table.frame_model.index(2, column)).center())
    field = next(made for made in table.findChildren(QLineEdit) if made.isVisible())
    field.selectAll()
    qtbot.keyClicks(field, "a")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: [item.name for item in state.measurements.items] == ["b", "c", "a"])
    assert [table.frame_model.index(row, column).data() for row in range(3)] == ["a", "b", "c"]


def test_the_buttons_of_details_show_their_whole_texts(window, qtbot):
    state = window.state
    window.resize(1280, 720)
    row = row_of(state, "api")
    state.select_event(row.events.ref(0, row.key))
    window.target.show_panel(DetailsPanel)
    panel = window.findChild(DetailsPanel)
    qtbot.waitUntil(panel.other.isVisible)
    QApplication.processEvents()
    assert panel.other.text() == "What it launched"
    for button in panel.body.findChildren(QPushButton):
        assert button.width() >= button.sizeHint().width(), button.text()
