"""The picture of a view: the same everywhere, true to what it shows."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from viewer.cli import main
from viewer.drawing.theme import DARK, LIGHT
from viewer.export import footer
from viewer.export.first_view import chosen_rows, first_view
from viewer.export.page import HEADER_WIDTH, PicturePage
from viewer.export.picture import picture
from viewer.export.picture_files import FORMATS, picture_bytes
from viewer.export.picture_view import PictureError, View, present_view
from viewer.rows import RowKind
from viewer.rows.tree import build_rows
from viewer.state import Measurement, ViewState
from viewer.timeline.headers.header_values import busy_and_exposed
from viewer.timeline.strips import ruler

ROOT = Path(__file__).resolve().parents[2]


def shot(demo_path, out, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "viewer", "shot", str(demo_path), "-o", str(out), "--overlay", "idle,exposed"],
        cwd=ROOT,
        env={k: v for k, v in (os.environ | environment).items() if v is not None},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_same_bytes_with_and_without_a_display_and_at_any_scale(
    suffix, demo_path, demo_study, tmp_path, qapp
):
    scaled = {"QT_SCALE_FACTOR": "1.5", "QT_FONT_DPI": "144", "QT_HASH_SEED": "7"}
    here = first_view(demo_study, overlays=frozenset({"idle", "exposed"}))
    pictures = [
        shot(demo_path, tmp_path / f"1{suffix}", DISPLAY=None, WAYLAND_DISPLAY=None),
        shot(demo_path, tmp_path / f"2{suffix}", QT_SCALE_FACTOR="2"),
        shot(demo_path, tmp_path / f"3{suffix}", **scaled),
        picture_bytes(here, suffix),
        picture_bytes(here, suffix),
    ]
    # By their hashes: to say in which bytes two pictures differ takes minutes.
    assert len({hashlib.sha256(picture).hexdigest() for picture in pictures}) == 1


def test_a_picture_is_complete_or_not_there(demo_path, tmp_path, capsys, qapp):
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "x.png"
    assert main(["shot", str(demo_path), "-o", str(folder / "no" / "x.png")]) == 1
    assert main(["shot", str(demo_path), "-o", str(target), "--rows", "no such row"]) == 1
    assert main(["shot", str(demo_path), "-o", str(target), "--iteration", "99"]) == 1
    assert list(folder.iterdir()) == []
    err = capsys.readouterr().err
    assert err.count("\n") == 3
    assert main(["shot", str(demo_path), "-o", str(target), "--iteration", "1", "--theme", "dark"]) == 0
    assert list(folder.iterdir()) == [target]
    assert QImage(str(target)).width() == 1600


@pytest.mark.parametrize("scale", [1.0, 1.25, 2.0])
def test_its_size_is_width_times_scale(demo_study, qapp, scale):
    view = first_view(demo_study)
    plain, scaled = picture(view, 900), picture(view, 900, scale)
    assert scaled.width() == round(900 * scale)
    assert abs(scaled.height() - plain.height() * scale) < 1


def test_headers_and_rows_meet_on_the_same_pixel(demo_study, qapp):
    """The line above each process runs through headers and rows alike, whatever the scale."""
    for scale in (1.0, 1.25, 1.5, 2.0):
        image = picture(replace(first_view(demo_study), iterations=None), 900, scale)
        line = QColor(LIGHT.line).rgb()
        header_x, canvas_x = round(4 * scale), round(HEADER_WIDTH * scale) + 4
        bottom = image.height() - round(60 * scale)
        top = round(ruler.HEIGHT * scale) + 1
        starts = [
            {y for y in range(top, bottom) if image.pixel(x, y) == line != image.pixel(x, y - 1)}
            for x in (header_x, canvas_x)
        ]
        in_headers, in_rows = starts
        assert len(in_headers) >= 7
        assert in_headers <= in_rows


def test_the_ground_is_the_theme_s(demo_study, qapp):
    for theme in (LIGHT, DARK):
        image = picture(first_view(demo_study, theme=theme), 900)
        assert image.pixelColor(3, image.height() - 3) == QColor(theme.panel)


def test_rows_are_chosen_by_the_words_of_their_path(demo_study):
    roots = build_rows(demo_study)
    rows = chosen_rows(roots, ["rank 3"])
    assert [(row.label, unfolded) for row, unfolded in rows] == [("Rank 3", False)]
    rows = chosen_rows(roots, ["rank 3/stream 7", "rank 3 / NCCL", "rank 5"])
    streams = [row for row, _ in rows if row.kind is RowKind.STREAM]
    assert len(streams) >= 2
    assert all(row.path()[0].label == "Rank 3" for row in streams)
    assert [row.label for row, _ in rows if row.kind is RowKind.PROCESS] == ["Rank 3", "Rank 5"]
    assert all(unfolded == any(row in other.path()[:-1] for other, _ in rows) for row, unfolded in rows)
    for pattern in ("no such row", "  ", "tream 7"):
        with pytest.raises(PictureError):
            chosen_rows(roots, [pattern])


def test_the_present_view_is_what_the_state_says(demo_study, qtbot):
    state = ViewState()
    with pytest.raises(PictureError):
        present_view(state, LIGHT)
    roots = build_rows(demo_study)
    state.set_study(demo_study, roots)
    state.axis.go(100_000_000, 200_000_000)
    state.rows.set_expanded([roots[2].key], True)
    state.rows.set_hidden([roots[0].key], True)
    view = present_view(state, DARK)
    assert view.window_ns == (100_000_000, 200_000_000)
    assert view.rows[0][0] is roots[1]
    assert (roots[2], True) in view.rows
    assert picture(view, 900).width() == 900


def test_too_many_rows_are_refused_in_words(demo_study, qapp):
    row = build_rows(demo_study)[0]
    with pytest.raises(PictureError, match="too many"):
        picture(View(demo_study, [(row, False)] * 2_000, (0, 1_000)))


def test_measurements_outside_the_picture_are_not_listed_in_it(demo_study, qapp):
    view = first_view(demo_study, (100_000_000, 120_000_000))
    outside = replace(view, measurements=[Measurement(1_000_000, 2_000_000, "before")])
    inside = replace(view, measurements=[Measurement(101_000_000, 102_000_000, "within")])
    assert PicturePage(outside, 1600).size == PicturePage(view, 1600).size
    assert picture(outside) == picture(view)
    assert PicturePage(inside, 1600).size.height() > PicturePage(view, 1600).size.height()


def test_time_outside_the_recording_can_be_shown_and_is_not_counted(demo_study, qapp):
    low, high = demo_study.trace.span_ns
    picture(first_view(demo_study, (high, 2 * high)))
    row = build_rows(demo_study)[0]
    shown = first_view(demo_study, (low, 2 * high))
    assert any("counts nowhere" in said for said in footer.definitions(shown))
    assert not any("counts nowhere" in said for said in footer.definitions(first_view(demo_study)))
    whole = busy_and_exposed(demo_study, row, shown.window_ns)
    assert whole == busy_and_exposed(demo_study, row, (low, high))
