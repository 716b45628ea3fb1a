"""Slides and figures for papers: their shape, their texts, and numbers that stand on their lanes."""

import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from viewer.cli import main
from viewer.drawing.format import format_ns
from viewer.drawing.theme import DARK, LIGHT
from viewer.export import lane_table
from viewer.export.figure import FigurePage
from viewer.export.figure_rows import count_that_fits
from viewer.export.figure_style import PAPER, PRESETS, SLIDE, STYLES, TIMELINE
from viewer.export.first_view import first_view
from viewer.export.legend_block import entries
from viewer.export.picture import page_of, picture
from viewer.export.picture_view import Extras, PictureError
from viewer.export.vector import pdf_bytes, svg_bytes
from viewer.rows import build_rows
from viewer.state import Measurement, Note
from viewer.timeline.cards.range_table import short_share, unit_of, value_text

IDLE, COPY = 4, 3


def elements(svg):
    return [
        e for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if e.text and e.text.strip()
    ]


def texts(svg):
    return [e.text for e in elements(svg)]


@pytest.fixture
def slide(demo_study, qapp):
    iterations = demo_study.iterations()
    start, end = iterations.start_ns(0), iterations.end_ns(1)
    boundary = iterations.start_ns(1)
    return replace(
        first_view(demo_study, (start, end)),
        preset=SLIDE,
        selections=((boundary - 8_000_000, boundary + 2_000_000),),
        title="The data loader leaves eight GPUs idle",
        subtitle="No kernel runs between two iterations",
        notes=(Note(boundary, boundary, "dataloader.next\nthe main thread sleeps"),),
    )


def test_a_slide_is_16_to_9_at_every_width(slide):
    for width, scale in ((1600, 1.0), (1600, 2.0), (1280, 1.0), (3840, 1.0)):
        size = picture(slide, width, scale).size()
        assert (size.width(), size.height()) == (round(width * scale), round(width * scale * 9 / 16))
    assert b"/MediaBox [0 0 960" in pdf_bytes(slide)
    assert picture(slide).size().toTuple() == (1600, 900)


@pytest.mark.parametrize("preset", [SLIDE, PAPER])
def test_a_figure_has_three_sizes_of_text_that_can_be_read(slide, preset):
    style = STYLES[preset]
    sizes = {int(e.get("font-size")) for e in elements(svg_bytes(replace(slide, preset=preset), scale=1))}
    # The window's ruler and tags scale to within a pixel of the smallest text.
    assert {style.title, style.body} <= sizes
    assert sizes - {style.title, style.body} <= {style.small, style.small + 1}
    if preset == SLIDE:
        assert min(sizes) >= 900 / 56
    else:
        assert min(sizes) * 72 / style.dots_per_inch >= 7


def test_the_lines_of_the_table_stand_on_the_lanes_of_their_gpus(slide, demo_study, monkeypatch, qapp):
    painted = []
    monkeypatch.setattr(
        lane_table.marks, "paint_text", lambda _, text, x, y, *rest: painted.append((text, x, y))
    )
    page = FigurePage(slide, 1600)
    image = QImage(page.size, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    page.paint(painter)
    painter.end()
    numbers = demo_study.measure(*slide.selections[0], slide.iterations)
    size = unit_of(numbers.length_ns)[1]
    for box in page.frame.states:
        top, bottom = page.layout.top + box.top, page.layout.top + box.bottom
        right = page.layout.axis.left + page.layout.axis.width
        middle = (top + bottom) / 2
        # A baseline lies half a capital below the middle of its text.
        of_lane = {text for text, x, y in painted if x > right and abs(y - middle - 8) < 2}
        parts = numbers.parts_ns[box.band.gpu]
        expected = {
            f"Rank {box.band.gpu}",
            value_text(int(parts[IDLE]), size),
            short_share(int(parts[IDLE]) / numbers.length_ns),
        }
        assert expected <= of_lane, box.band.gpu
        assert not any(f"Rank {other}" in of_lane for other in range(8) if other != box.band.gpu)
    assert len(page.frame.states) == 8


def test_the_means_are_over_the_gpus_shown(slide, demo_study):
    rows = [pair for pair in slide.rows if pair[0].label in ("Rank 2", "Rank 5")]
    held = texts(svg_bytes(replace(slide, rows=rows)))
    parts = demo_study.measure(*slide.selections[0], None).parts_ns[[2, 5]]
    assert "Mean of 2" in held
    assert value_text(int(parts[:, IDLE].sum()) / 2, 1_000_000) in held
    assert short_share(parts[:, IDLE].sum() / parts.sum()) in held
    assert "Rank 3" not in held


def test_without_a_selection_the_table_is_of_the_time_shown(slide, demo_study):
    held = texts(svg_bytes(replace(slide, selections=())))
    parts = demo_study.measure(*slide.window_ns, None).parts_ns
    assert "Time shown" in held
    for own in parts:
        assert value_text(int(own[0]), 1_000_000) in held
    missing = next(text for text in held if "in no column" in text)
    left_out = [part for part in (1, 2, 3, 4) if value_text(int(parts[0][part]), 1_000_000) not in held]
    assert left_out
    for part in left_out:
        if parts[:, part].sum() > 0.0005 * parts.sum():
            assert format_ns(round(parts[:, part].sum() / 8)) in " ".join(held), missing


def test_the_legend_gives_way_to_notes_and_covers_nothing(slide):
    """It stands beside a note where that leaves the lanes more height."""
    low, high = slide.window_ns
    for count, text in ((0, ""), (1, "short"), (3, "several words"), (8, "many words " * 9)):
        notes = [Note(low + (high - low) * n // 9, low + (high - low) * n // 9, text) for n in range(count)]
        layout = FigurePage(replace(slide, notes=notes), 1600).layout
        top, bottom = layout.legend_top, layout.legend_top + layout.legend.height
        rows_end = layout.top + layout.rows_px + layout.dimension_px
        assert rows_end <= top
        assert bottom <= 900 - layout.foot.height
        for label in layout.notes.labels:
            box = label.box.translated(layout.axis.left, layout.top)
            assert box.bottom() <= 900 - layout.foot.height
            is_beside = box.right() <= layout.axis.left + layout.note_right
            assert is_beside or box.bottom() <= top, text
        is_aside = layout.note_right < layout.axis.width
        assert is_aside == (count == 1)


def test_the_legend_names_all_colours_of_the_lanes(slide, demo_study):
    rows = [(row, True) for row in build_rows(demo_study)[0].walk() if not row.is_merged]
    for shown in (slide.rows, rows):
        view = replace(
            slide, rows=shown, selections=(), notes=(), overlays=frozenset({"idle", "exposed", "waiting"})
        )
        page = page_of(replace(view, preset=TIMELINE))
        named = {entry.argb for entry in entries(view, page.scene, page._placed) if entry.argb is not None}
        drawn = {int(page.frame.argb[colour]) for colour, _, _ in page.frame.draw.runs()}
        states = {argb for argb in LIGHT.parts[:-1] if argb in drawn}
        assert len(states) == 4
        assert states <= named
        classes = {page.scene.palette.class_colour(name, LIGHT) for name in demo_study.classes.present}
        assert (classes <= named) == (shown is rows)


def test_the_foot_says_where_the_picture_comes_from(slide):
    placed = {e.text: float(e.get("y")) for e in elements(svg_bytes(slide, 1600, 1))}
    trace = slide.study.trace
    source = next(text for text in placed if trace.path.name in text)
    for part in (trace.session.nsys_version, slide.study.rules.hash, slide.steady_text, "Lightbox"):
        assert part in source
    assert any("idle (nothing on any stream)" in text for text in placed)
    others = [y for text, y in placed.items() if text.startswith(("Rank", "Mean", "compute"))]
    assert placed[source] > max(others)


def test_title_and_subtitle_stand_above_all(slide, demo_path, tmp_path, capsys):
    for preset in PRESETS:
        found = elements(svg_bytes(replace(slide, preset=preset), scale=1))
        title, subtitle = (next(e for e in found if e.text == text) for text in (slide.title, slide.subtitle))
        sizes = [int(e.get("font-size")) for e in found]
        assert int(title.get("font-size")) == max(sizes)
        assert int(title.get("font-weight")) >= 600
        assert float(title.get("y")) < float(subtitle.get("y"))
        ranks = [float(e.get("y")) for e in found if e.text.startswith("Rank")]
        assert len(ranks) >= 8
        assert float(subtitle.get("y")) < min(ranks)
    out = tmp_path / "x.svg"
    words = ["--title", "A title", "--subtitle", "and more", "--preset", "slide", "--transparent"]
    assert main(["shot", str(demo_path), "-o", str(out), *words]) == 0
    capsys.readouterr()
    assert {"A title", "and more"} <= set(texts(out.read_text()))


@pytest.mark.parametrize("title", ["漢" * 200, "word " * 100, "w" * 500])
def test_a_long_title_ends_in_an_ellipsis_within_the_page(slide, title):
    found = [
        e for e in elements(svg_bytes(replace(slide, title=title), scale=1)) if e.get("font-size") == "40"
    ]
    assert len({e.get("y") for e in found}) == 2
    assert found[-1].text.endswith("…")
    assert all(float(e.get("x")) + float(e.get("textLength")) <= 1600 - 48 for e in found)


def test_rows_without_room_are_left_out_and_counted(slide, demo_study):
    rows = [(row, True) for root in build_rows(demo_study) for row in root.walk() if not row.is_merged]
    page = FigurePage(replace(slide, rows=rows), 1600)
    left_out = re.search(r"not shown: ([\d,]+) more rows", " ".join(texts(svg_bytes(page.view))))
    assert left_out
    shown = len(page.frame.rows)
    assert 8 <= shown < 60
    bottom = page.frame.rows[-1][2]
    assert page.layout.top + bottom <= 900 - page.layout.foot.height
    heights = [bottom - top for _, top, bottom in page.frame.rows]
    assert min(height for height in heights if height > 0.8 * max(heights)) >= 0.88 * STYLES[SLIDE].small
    gpus = {row.gpu for row, _, _ in page.frame.rows if row.gpu is not None}
    means = [text for text in texts(svg_bytes(page.view)) if text.startswith("Mean of")]
    assert means == [f"Mean of {len(gpus)}"] * (len(gpus) > 1)


def test_as_many_rows_as_have_room_for_their_names():
    style = STYLES[SLIDE]
    each = 20
    needed = 0.88 * style.small / each
    for count in (1, 7, 40):
        room = round(count * each * needed) + 1
        assert count_that_fits([each] * 50, room, style) == count
        # Half lanes need room, and no name.
        assert count_that_fits([each, 13] * 50, round(count * (each + 13) * needed) + 1, style) == 2 * count
    assert count_that_fits([each] * 50, 0, style) == 1
    assert count_that_fits([13] * 3, 1000, style) == 3


def test_one_rank_is_no_giant(slide):
    page = FigurePage(replace(slide, rows=slide.rows[:1]), 1600)
    (box,) = page.frame.states
    assert box.bottom - box.top <= 200


def test_what_has_no_room_is_refused_in_words(slide, monkeypatch):
    kept = [Measurement(*slide.selections[0], "m" * 30)] * 5
    monkeypatch.setattr("viewer.export.figure_layout._LEAST_HEIGHT", 300)
    with pytest.raises(PictureError, match="at least"):
        picture(replace(slide, preset=PAPER), 320)
    assert picture(replace(slide, preset=PAPER, extras=Extras(card=False)), 320).width() == 3 * 320
    with pytest.raises(PictureError, match="shows anything"):
        picture(replace(slide, rows=[]))
    with pytest.raises(PictureError, match="leave no room"):
        picture(replace(slide, title="漢" * 99, subtitle="漢" * 99, measurements=kept))


def rgba(image):
    """The bytes of an image, shape (height, width, 4): blue, green, red, alpha."""
    pixels = image.convertToFormat(QImage.Format.Format_ARGB32)
    return np.array(pixels.constBits(), np.uint8).reshape(pixels.height(), pixels.width(), 4)


def test_notes_give_way_to_the_rows(slide):
    notes = [Note(*slide.selections[0], "line\n" * 9)] * 60
    page = FigurePage(replace(slide, notes=notes), 1600)
    assert len(page.frame.states) == 8
    assert page.layout.notes.left_out
    held = " ".join(texts(svg_bytes(page.view)))
    assert f"{page.layout.notes.left_out} more notes are marked, not written out" in held


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_a_transparent_picture_has_no_ground(slide, preset, theme):
    view = replace(slide, preset=preset, theme=theme, selections=(), notes=())
    clear, full = picture(replace(view, is_transparent=True), scale=1), picture(view, scale=1)
    assert clear.hasAlphaChannel()
    assert not full.hasAlphaChannel()
    assert clear.size() == full.size()
    alpha = rgba(clear)[..., 3]
    # The ground shows at the edges and around the lanes; the bars cover it.
    assert not alpha[2, 2]
    assert not alpha[-3, -3]
    assert (alpha == 0).mean() > 0.3
    assert (alpha == 255).mean() > 0.1
    laid = full.copy()
    laid.fill(QColor(theme.background))
    painter = QPainter(laid)
    painter.drawImage(0, 0, clear)
    painter.end()
    if preset != TIMELINE:
        # On its own ground it is the same picture; smooth edges are rounded twice.
        assert np.abs(rgba(laid)[..., :3].astype(int) - rgba(full)[..., :3]).max() <= 3
    page = f'width="{clear.width()}" height="{clear.height()}"'
    sizes = [svg_bytes(replace(view, is_transparent=off), scale=1).decode() for off in (False, True)]
    assert [page in svg.split("<defs>", 1)[1] for svg in sizes] == [True, False]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_a_figure_is_the_same_whatever_stood_before_it(slide, theme, qapp):
    view = replace(slide, theme=theme, measurements=(Measurement(*slide.selections[0], "the hole"),))
    assert picture(view) == picture(view)
    assert svg_bytes(view) == svg_bytes(view)
    assert "the hole" in " ".join(texts(svg_bytes(view)))


def test_every_font_of_a_figure_is_in_its_pdf(slide, tmp_path):
    if not shutil.which("pdffonts"):
        pytest.skip("no pdffonts (poppler-utils) on this machine")
    for preset in (SLIDE, PAPER):
        file = tmp_path / f"{preset}.pdf"
        file.write_bytes(pdf_bytes(replace(slide, preset=preset, title="数据加载 データ 데이터")))
        done = subprocess.run(["pdffonts", str(file)], capture_output=True, text=True, check=True)
        _, rule, *fonts = done.stdout.splitlines()
        ends = [match.end() for match in re.finditer("-+", rule)]
        assert len(fonts) >= 2
        assert {line[: ends[3]].split()[-1] for line in fonts} == {"yes"}, done.stdout
