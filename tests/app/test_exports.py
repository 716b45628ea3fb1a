"""Ctrl+E and the saving of tables, in the real window."""

import sys

import pandas as pd
import pytest
from PySide6.QtCore import QProcess, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QMessageBox

from viewer.app.picture_dialog import PictureDialog
from viewer.app.picture_options import CHOSEN, IN_VIEW, ITERATION, KINDS, SELECTION, WHOLE
from viewer.app.save_questions import open_traces
from viewer.app.trace_loader import LoadedTrace
from viewer.drawing.theme import LIGHT
from viewer.export.first_view import first_view
from viewer.export.picture import picture
from viewer.export.picture_view import present_view
from viewer.export.vector import svg_bytes
from viewer.rows import build_rows
from viewer.state import ViewState

MS = 1_000_000


@pytest.fixture
def dialog(window, qtbot):
    window.state.select((12 * MS, 17 * MS))
    window.state.measurements.keep(2 * MS, 5 * MS)
    qtbot.keyClick(window.timeline.canvas, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    made = window.findChild(PictureDialog)
    assert made is not None
    yield made
    made.close()


def test_the_preview_is_what_is_written(dialog, window, tmp_path):
    dialog.write(tmp_path / "x.png")
    written = QImage(str(tmp_path / "x.png"))
    assert written == dialog._image
    assert written == picture(present_view(window.state, LIGHT), 1600, 2)
    for suffix in (".svg", ".pdf"):
        dialog.write(tmp_path / f"x{suffix}")
        assert (tmp_path / f"x{suffix}").stat().st_size > 1000
    dialog.write(tmp_path / "y", "PDF (*.pdf)")
    assert (tmp_path / "y.pdf").read_bytes() == (tmp_path / "x.pdf").read_bytes()


def test_what_is_chosen_is_what_is_seen(dialog, window):
    state = window.state
    dialog.options.window_box.setCurrentText(SELECTION)
    assert dialog.options.view().window_ns == (12 * MS, 17 * MS)
    dialog.options.window_box.setCurrentText(ITERATION)
    assert dialog.options.view().window_ns in {
        (state.iterations.start_ns(n), state.iterations.end_ns(n)) for n in range(3)
    }
    dialog.options.window_box.setCurrentText(WHOLE)
    assert dialog.options.view().window_ns == state.axis.limits
    state.rows.set_pinned(state.rows.roots[1].key, True)
    dialog.options.rows_box.setCurrentText(IN_VIEW)
    assert dialog.options.view().rows[0][0] is state.rows.roots[1]
    dialog.options.measurements.setChecked(False)
    assert not dialog.options.view().measurements
    dialog.options.extras["card"].setChecked(False)
    high = dialog._image.height()
    dialog.refresh()
    assert dialog._image.height() < high


def test_rows_by_name_and_what_is_wrong_with_it(dialog, tmp_path):
    dialog.options.rows_box.setCurrentText(CHOSEN)
    dialog.refresh()
    assert "which rows" in dialog.message.text()
    assert not dialog.save_button.isEnabled()
    dialog.options.rows_text.setText("Rank 1, no such row")
    dialog.refresh()
    assert "no such row" in dialog.message.text()
    dialog.options.rows_text.setText("Rank 1")
    dialog.refresh()
    assert dialog.save_button.isEnabled()
    assert [row.label for row, _ in dialog.options.view().rows] == ["Rank 1"]
    dialog.write(tmp_path / "no" / "x.png")
    assert "Not saved" in dialog.message.text()


READ_CLIPBOARD = """
import sys
from PySide6.QtGui import QGuiApplication
app = QGuiApplication(sys.argv)
content = app.clipboard().mimeData()
content.imageData().save(sys.argv[1])
open(sys.argv[2], "wb").write(bytes(content.data("image/svg+xml").data()))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_another_program_pastes_the_picture_that_was_copied(dialog, kind, qtbot, tmp_path):
    if QGuiApplication.platformName() != "xcb":
        pytest.skip("no X server, whose clipboard programs share")
    dialog.options.kind_box.setCurrentText(kind)
    dialog.options.title_edit.setText("A title")
    dialog.options.transparent.setChecked(kind != "As in the window")
    # Right after a change, before the preview has followed.
    dialog.copy()
    assert dialog.message.text() == "Copied"
    # What is shown may change while the other program reads; the copy does not.
    view, size = dialog.options.view(), dialog.options.size_px
    expected, as_svg = picture(view, *size), svg_bytes(view, *size)
    svg, image = tmp_path / "x.svg", tmp_path / "x.png"
    reader = QProcess()
    # This program answers the other one's questions meanwhile.
    reader.start(sys.executable, ["-c", READ_CLIPBOARD, str(image), str(svg)])
    qtbot.waitUntil(lambda: reader.state() == QProcess.ProcessState.NotRunning, timeout=30_000)
    assert reader.exitCode() == 0, bytes(reader.readAllStandardError().data()).decode()
    pasted = QImage(str(image))
    assert pasted.size() == expected.size()
    form = QImage.Format.Format_ARGB32 if expected.hasAlphaChannel() else QImage.Format.Format_RGB32
    assert pasted.convertToFormat(form) == expected.convertToFormat(form)
    assert svg.read_bytes() == as_svg
    assert b"A title" in as_svg


def test_a_kind_of_picture_brings_its_size(dialog):
    options = dialog.options
    assert not options.extras["card"].text().endswith("GPUs")
    for kind, size in (("Slide, 16:9", (3200, 1800)), ("Figure for a paper", (3 * 688, None))):
        options.kind_box.setCurrentText(kind)
        dialog.refresh()
        assert dialog._image.width() == size[0]
        assert size[1] in (None, dialog._image.height())
        assert not options.extras["scale_bar"].isEnabled()
    options.subtitle_edit.setText("and a subtitle")
    assert options.view().subtitle == "and a subtitle"
    options.kind_box.setCurrentText("As in the window")
    dialog.refresh()
    assert dialog._image.width() == 3200


def test_dialogs_that_save_begin_in_the_folder_of_the_user(window, monkeypatch, tmp_path):
    begun = []

    def ask(_parent, _title, first, *_):
        begun.append(first)
        return "", ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    monkeypatch.setattr("viewer.app.folders.QStandardPaths.writableLocation", lambda _: str(tmp_path))
    PictureDialog(window.state, window.timeline, window.theme_manager, window).save()
    window.actions_by_id["report"].trigger()
    window.target.save_table(pd.DataFrame({"a": [1]}))
    stem = window.state.study.trace.path.stem
    assert begun == [str(tmp_path / name) for name in (f"{stem}.png", f"{stem}.html", "table.csv")]


def test_a_table_is_saved_by_the_kind_chosen(window, monkeypatch, tmp_path, qtbot):
    frame = pd.DataFrame({"a": [1, 2]})
    for name, kind, made in (
        ("t.csv", "", "t.csv"),
        ("t", "Markdown (*.md)", "t.md"),
        ("u", "Parquet (*.parquet)", "u.parquet"),
    ):
        answer = (str(tmp_path / name), kind)
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, answer=answer: answer)
        window.target.save_table(frame)
        said = f"The table is saved: {tmp_path / made}"
        qtbot.waitUntil(lambda said=said: window.notice.label.text() == said)
        assert (tmp_path / made).stat().st_size
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "t.md"), ""))
    window.target.save_table(pd.DataFrame({"a": range(5000)}))
    qtbot.waitUntil(lambda: "too many for Markdown" in window.notice.label.text())
    assert window.notice.property("severity") == "error"


def test_the_report_is_written_beside_the_window(window, monkeypatch, tmp_path, qtbot):
    window.state.measurements.keep(2 * MS, 5 * MS, "the hole")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "r"), ""))
    window.actions_by_id["report"].trigger()
    qtbot.waitUntil(lambda: "The report is saved" in window.notice.label.text(), timeout=20_000)
    page = (tmp_path / "r.html").read_text()
    assert "the hole" in page
    assert "Summary" in page


def test_all_rows_shown_are_the_pinned_ones_too(dialog, window):
    state = window.state
    state.rows.set_pinned(state.rows.roots[1].key, True)
    pinned, *others = (row for row, _ in dialog.options.view().rows)
    assert pinned is state.rows.roots[1]
    assert others[0] is state.rows.roots[0]


def test_the_preview_fills_its_room(dialog, qtbot):
    room = dialog._scroll.viewport()
    qtbot.waitUntil(lambda: dialog.preview.pixmap().deviceIndependentSize().width() == room.width())


def test_the_report_is_of_what_was_open_when_it_was_asked_for(window, opened, monkeypatch, tmp_path, qtbot):
    window.state.measurements.keep(2 * MS, 5 * MS, "the hole")

    def ask(*_):
        window.trace_controller.close()
        return str(tmp_path / "r"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    window.actions_by_id["report"].trigger()
    qtbot.waitUntil(lambda: "The report is saved" in window.notice.label.text(), timeout=20_000)
    assert "the hole" in (tmp_path / "r.html").read_text()


def test_the_dialog_of_pictures_goes_with_its_trace(window, monkeypatch, tmp_path, crashes, qtbot):
    window.actions_by_id["picture"].trigger()
    dialog = window.findChild(PictureDialog)

    def ask(*_):
        window.trace_controller.close()
        return str(tmp_path / "p.png"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    with qtbot.assertNotEmitted(crashes.happened):
        dialog.save()
    assert not any(made.isVisible() for made in window.findChildren(PictureDialog))
    assert not (tmp_path / "p.png").exists()


@pytest.mark.parametrize("is_small", [True, False])
def test_a_first_picture_shows_what_the_window_shows_at_first(open_window, opened, demo_study, is_small):
    study = opened.study if is_small else demo_study
    window = open_window()
    window.trace_controller.show(opened if is_small else LoadedTrace(study, build_rows(study)))
    shown, drawn = present_view(window.state, LIGHT), first_view(study)
    assert drawn.window_ns == shown.window_ns
    assert [(row.key, unfolded) for row, unfolded in drawn.rows] == [
        (row.key, unfolded) for row, unfolded in shown.rows
    ]
    assert any(unfolded for _, unfolded in drawn.rows) == is_small


@pytest.fixture
def asked(monkeypatch):
    """What message boxes say, and what they are answered: "yes" is answered to all once it is set."""
    boxes = {"texts": [], "yes": False}

    def answer(box):
        boxes["texts"].append(box.text())
        assert box.textFormat() == Qt.TextFormat.PlainText
        button = QMessageBox.StandardButton
        return button.Yes if boxes["yes"] else button.Cancel

    monkeypatch.setattr(QMessageBox, "exec", answer)
    return boxes


def saves(window, monkeypatch, path):
    """Each way to save something, into one file: by name, a function that does it."""

    def choose(what):
        def act():
            monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
            what()

        return act

    picture = PictureDialog(window.state, window.timeline, window.theme_manager, window)
    return {
        "report": choose(window.actions_by_id["report"].trigger),
        "table": choose(lambda: window.target.save_table(pd.DataFrame({"a": [1], "b": [2]}))),
        "picture": choose(picture.save),
        "session": choose(window.trace_controller.save_session),
    }


SUFFIXES = {"report": ".html", "table": ".csv", "picture": ".png", "session": ".lightbox.json"}


@pytest.mark.parametrize("what", SUFFIXES)
def test_the_window_writes_over_no_trace_and_asks_about_other_files(
    what, window, asked, monkeypatch, tmp_path, qtbot
):
    path = tmp_path / f"x{SUFFIXES[what]}"
    trace = tmp_path / "trace.sqlite"
    trace.write_bytes(b"SQLite format 3\0")
    path.symlink_to(trace)
    monkeypatch.setattr("viewer.app.save_questions.open_traces", lambda: [trace])
    save = saves(window, monkeypatch, path)[what]
    asked["yes"] = True
    save()
    assert trace.read_bytes() == b"SQLite format 3\0"
    assert asked["texts"] == [
        f"Nothing was saved: {path} is the trace, which is never replaced: name another file."
    ]
    path.unlink()
    path.write_bytes(b"mine")
    asked["yes"] = False
    save()
    assert path.read_bytes() == b"mine"
    assert asked["texts"][-1].startswith(f"{path} is there and is not ")
    assert asked["texts"][-1].endswith("Replace it?")
    asked["yes"] = True
    save()
    qtbot.waitUntil(lambda: path.read_bytes() != b"mine", timeout=20_000)
    said = len(asked["texts"])
    save()
    assert len(asked["texts"]) == said
    if what in ("report", "table"):
        qtbot.waitUntil(lambda: "is saved" in window.notice.label.text(), timeout=20_000)


def test_a_name_that_was_given_its_suffix_is_asked_about(window, asked, monkeypatch, tmp_path):
    path = tmp_path / "x.lightbox.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "x"), ""))
    window.trace_controller.save_session()
    assert asked["texts"] == []
    first = path.read_bytes()
    window.state.measurements.keep(2 * MS, 5 * MS, "the hole")
    window.trace_controller.save_session()
    assert asked["texts"] == [f"{path} is there already. Replace it?"]
    assert path.read_bytes() == first


def test_the_trace_that_is_compared_with_is_open_too(window, opened):
    other = ViewState(window)
    other.set_study(opened.study)
    assert open_traces().count(opened.study.trace.path) == 2
