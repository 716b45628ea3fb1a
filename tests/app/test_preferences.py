"""The preferences: one dialog; what is chosen holds at once, and the next time."""

import json
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QTableView, QWidget

from tests.timeline.make import MS
from viewer.analysis.core.classify import Rules
from viewer.app import run
from viewer.app import settings as remembered
from viewer.app.preferences.dialog import PAGES, PreferencesDialog
from viewer.app.preferences.store_page import GIB
from viewer.app.settings import Settings
from viewer.drawing import format as texts
from viewer.readers import cache, read


@pytest.fixture(autouse=True)
def usual_units():
    yield
    texts.set_units(texts.Units())


@pytest.fixture
def preferences(window):
    return window.target.show_preferences()


def pick(box, text):
    """Choose an entry as a user does."""
    at = box.findText(text)
    assert at >= 0, text
    box.setCurrentIndex(at)
    box.activated.emit(at)


def test_there_is_one_dialog_and_it_is_not_in_the_way(window, preferences):
    assert window.target.show_preferences() is preferences
    assert len(window.findChildren(PreferencesDialog)) == 1
    assert not preferences.isModal()
    assert [preferences.list.item(row).text() for row in range(len(PAGES))] == list(PAGES)
    preferences.show_page("Store")
    assert preferences.pages.currentWidget() is preferences.store
    assert not any(button.autoDefault() for button in preferences.findChildren(QPushButton))


def test_theme_and_cards_hold_at_once_and_the_next_time(window, preferences, open_window):
    pick(preferences.look.theme, "Dark")
    assert window.theme_manager.theme.is_dark
    assert Settings().get(remembered.THEME) == "dark"
    pick(preferences.look.card, "In short")
    assert window.state.card == "short"
    window.close()
    assert open_window().state.card == "short"


def test_the_size_of_text_reaches_tables_and_menus(window, preferences):
    table = next(t for t in window.findChildren(QTableView) if t.accessibleName() == "Measurements")
    pick(preferences.look.text, "12 px")
    before = table.verticalHeader().defaultSectionSize()
    pick(preferences.look.text, "18 px")
    assert QApplication.font().pixelSize() == 18
    assert window.menuBar().font().pixelSize() == 18
    assert table.verticalHeader().defaultSectionSize() >= before + 6
    assert Settings().get(remembered.TEXT_PX) == 18
    pick(preferences.look.text, "12 px")
    assert table.verticalHeader().defaultSectionSize() == before


def test_with_reduced_motion_nothing_moves(window, preferences, qapp):
    effect = Qt.UIEffect.UI_AnimateMenu
    assert window.isAnimated()
    flash = qapp.cursorFlashTime()
    preferences.look.motion.click()
    assert not window.isAnimated()
    assert not qapp.isEffectEnabled(effect)
    assert qapp.cursorFlashTime() == 0
    assert Settings().get(remembered.STILL) is True
    preferences.look.motion.click()
    assert window.isAnimated()
    assert qapp.cursorFlashTime() == flash


@pytest.mark.parametrize(("given", "wanted"), [(None, "1.5"), ("3", "3")])
def test_the_scale_holds_from_the_next_start_on(preferences, monkeypatch, given, wanted):
    pick(preferences.look.scale, "150 %")
    monkeypatch.delenv("QT_SCALE_FACTOR", raising=False)
    if given:
        monkeypatch.setenv("QT_SCALE_FACTOR", given)

    class Started(Exception):
        pass

    def start(_):
        raise Started(os.environ.get("QT_SCALE_FACTOR"))

    monkeypatch.setattr(run, "QApplication", start)
    monkeypatch.setattr(run, "be_responsive", lambda: None)
    with pytest.raises(Started, match=f"^{wanted}$"):
        run.run(None)
    monkeypatch.delenv("QT_SCALE_FACTOR", raising=False)


def test_units_are_written_otherwise_at_once_and_the_next_time(window, preferences, open_window):
    window.state.measurements.keep(0, 5 * MS)
    window.target.bring_panel("Measurements")
    table = next(t for t in window.findChildren(QTableView) if t.accessibleName() == "Measurements")

    def lengths():
        QApplication.processEvents()
        return table.model().index(0, 3).data()

    assert lengths() == "5.000 ms"
    pick(preferences.units.times, "Whole nanoseconds")
    assert lengths() == "5,000,000 ns"
    pick(preferences.units.sizes, "Decimal: kB, MB, GB")
    assert preferences.units.example.text() == "16,900,123 ns   ·   67.11 MB"
    window.close()
    texts.set_units(texts.Units())
    open_window()
    assert texts.units() == texts.Units(exact_times=True, decimal_sizes=True)


@pytest.mark.parametrize(
    ("count", "binary", "decimal"),
    [
        (999, "999 B", "999 B"),
        (1000, "1000 B", "1.000 kB"),
        (1_048_576, "1.000 MiB", "1.049 MB"),
        (999_950, "976.5 KiB", "1.000 MB"),
        (-2_000_000, "-1.907 MiB", "-2.000 MB"),
    ],
)
def test_sizes_in_both_units(count, binary, decimal):
    assert texts.format_bytes(count) == binary
    texts.set_units(texts.Units(decimal_sizes=True))
    assert texts.format_bytes(count) == decimal


def frame_of(page, qtbot):
    qtbot.waitUntil(lambda: not page._pause.isActive() and not page._worker.is_busy)
    return page.table.frame_model.frame


def test_rules_show_what_they_take_and_apply_when_saved(window, preferences, qtbot):
    page = preferences.rules
    preferences.show_page("Kernel classes")
    before = frame_of(page, qtbot)
    kernels = len(window.state.study.trace.kernels)
    assert before["kernels"].sum() == kernels
    gemm = int(before.loc[before["class"] == "GEMM", "kernels"].sum())
    assert gemm > 0
    page.text.setPlainText("[attention]\ngemm_0\n(\n[matrix multiply]\ngemm\n")
    after = frame_of(page, qtbot)
    assert after["rule"].tolist() == ["gemm_0", "gemm", "(no rule)"]
    assert after["kernels"].tolist()[0] > 0
    assert after["kernels"].sum() == kernels
    assert "line 3" in page.message.text()
    classes = window.state.study.classes
    assert "attention" not in classes.present, "nothing holds before it is saved"
    assert not Rules.user_path().exists()
    study = window.state.study
    page.save_button.click()
    qtbot.waitUntil(lambda: window.state.study is not study, timeout=20_000)
    assert "attention" in window.state.study.classes.present
    page.builtin_button.click()
    frame_of(page, qtbot)
    page.save_button.click()
    assert not Rules.user_path().exists(), "the built-in rules are no table of one's own"


def test_enter_on_a_rule_goes_to_its_line(preferences, qtbot):
    page = preferences.rules
    preferences.show_page("Kernel classes")
    page.text.setPlainText("# a\n[attention]\nflash\n[matrix multiply]\ngemm\n")
    frame_of(page, qtbot)
    page.table.setCurrentIndex(page.table.model().index(1, 0))
    QTest.keyClick(page.table, Qt.Key.Key_Return)
    assert page.text.textCursor().blockNumber() == 4


def test_the_limit_is_kept_and_the_store_cleared(window, demo_path):
    read(demo_path)
    page = window.target.show_preferences().store
    assert page.limit.value() == 20
    assert page.taken.text().startswith("1 trace, ")
    page.limit.setValue(3.5)
    assert cache.limit() == round(3.5 * GIB)
    page.clear_button.click()
    assert cache.entries() == []
    assert page.taken.text().startswith("0 traces")
    assert not page.clear_button.isEnabled()
    read(demo_path)
    page.limit.setValue(0)
    assert cache.entries() == [], "what is over the limit goes at once"


def test_the_store_moves_into_a_folder_of_its_own(window, monkeypatch, tmp_path, demo_path):
    monkeypatch.delenv("LIGHTBOX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    own = tmp_path / "big disk"
    (own / "traces").mkdir(parents=True)
    (own / "traces" / "mine.sqlite").write_text("not of the program")
    page = window.target.show_preferences().store
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(own))
    page.change_button.click()
    assert cache.cache_folder() == own / "lightbox"
    assert str(own / "lightbox") in page.place.text()
    read(demo_path)
    assert len(cache.entries()) == 1
    page.clear()
    assert (own / "traces" / "mine.sqlite").exists()
    page.usual_button.click()
    assert cache.cache_folder() == tmp_path / "usual" / "lightbox"
    cache._choice_file().write_text(json.dumps({"cache_folder": 5}))
    assert cache.cache_folder() == tmp_path / "usual" / "lightbox"


def test_a_folder_that_cannot_be_written_is_said(window, monkeypatch, tmp_path):
    monkeypatch.delenv("LIGHTBOX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    page = window.target.show_preferences().store
    file = tmp_path / "a file"
    file.write_text("")
    page.store_in(file)
    assert page.message.text().startswith("That cannot be written")
    assert cache.cache_folder() == tmp_path / "usual" / "lightbox"


def test_where_the_environment_says_the_place_it_is_not_to_be_chosen(preferences):
    assert Path(os.environ["LIGHTBOX_CACHE_DIR"]) == cache.cache_folder()
    assert not preferences.store.change_button.isEnabled()


@pytest.mark.parametrize("title", PAGES)
def test_every_field_has_a_name_and_tab_comes_back(preferences, title, qtbot):
    preferences.show_page(title)
    qtbot.waitUntil(preferences.isActiveWindow)
    preferences.list.setFocus()
    seen: list[QWidget] = []
    for _ in range(30):
        widget = QApplication.focusWidget()
        if widget in seen:
            break
        seen.append(widget)
        name = widget.accessibleName() or getattr(widget, "text", lambda: "")()
        assert len(name) >= 3, widget
        QTest.keyClick(widget, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is preferences.list
    assert len(seen) >= 3
