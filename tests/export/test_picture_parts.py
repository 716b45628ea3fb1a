"""What stands in a picture: numbers as the report has them, notes, measurements, chosen parts."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from PySide6.QtCore import QSize

from viewer.analysis.study import Study
from viewer.cli import main
from viewer.demo import DemoOptions, make_demo
from viewer.drawing.format import format_ns, format_share
from viewer.export.figure_style import PRESETS
from viewer.export.first_view import first_view
from viewer.export.footer import round_length
from viewer.export.page import HEADER_WIDTH, PicturePage
from viewer.export.picture import picture
from viewer.export.picture_view import Extras, PictureError
from viewer.export.vector import svg_bytes
from viewer.readers import read
from viewer.rows import RowKind, build_rows
from viewer.state import Measurement, Note
from viewer.timeline.headers.header_values import stream_names

MS = 1_000_000


def texts(svg):
    return [e.text for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if e.text]


@pytest.fixture
def view(demo_study, qapp):
    return first_view(demo_study, iteration=1)


def test_shares_of_rows_are_those_of_the_window(demo_path, demo_study, tmp_path, capsys, qapp):
    """They are counted over the whole trace, whatever of it is shown, and the picture says so."""
    out = tmp_path / "x.svg"
    asked = ["--range", "330ms..400ms", "--rows", "Rank 0/Stream"]
    assert main(["shot", str(demo_path), "-o", str(out), *asked]) == 0
    streams = [r for r in build_rows(demo_study)[0].walk() if r.kind is RowKind.STREAM]
    held = texts(out.read_text())
    assert {format_share(row.share) for row in streams} <= set(held)
    assert any("shares, whole trace" in text for text in held)
    assert "siblings, whole trace" in " ".join(held)


def test_numbers_are_those_of_the_report_for_the_same_range(demo_path, tmp_path, capsys, qapp):
    out = tmp_path / "x.svg"
    span = "330ms..400ms"
    words = [
        "--range",
        span,
        "--select",
        span,
        "--measure",
        f"{span}: all of it",
        "--note",
        "350ms: look here",
    ]
    assert main(["shot", str(demo_path), "-o", str(out), *words]) == 0
    capsys.readouterr()
    assert main(["report", str(demo_path), "--json", "--range", span]) == 0
    facts = json.loads(capsys.readouterr().out)
    held = texts(out.read_text())
    for gpu in facts["gpus"]:
        parts = [gpu[f"{p}_ns"] for p in ("compute_only", "hidden_comm", "exposed_comm", "copy_only", "idle")]
        assert sum(parts) == 70 * MS
        for ns in parts:
            shown = re.sub(r" (ms|µs)$", "", format_ns(ns)) if ns >= MS else f"{ns / MS:.3f}"
            assert not ns or shown in held
        for share_ns in (70 * MS - gpu["idle_ns"], gpu["exposed_comm_ns"]):
            assert format_share(share_ns / (70 * MS)) in held
    assert format_ns(sum(g["idle_ns"] for g in facts["gpus"]) // len(facts["gpus"])) in held
    assert "look here" in held
    assert any(text.startswith("all of it  70.00 ms") for text in held)


def test_the_caption_lets_it_be_checked(view):
    held = " ".join(texts(svg_bytes(view, 1400).decode()))
    trace = view.study.trace
    for text in (
        trace.path.name,
        trace.session.nsys_version,
        view.steady_text,
        view.study.rules.hash,
        "Lightbox",
    ):
        assert text in held
    assert "idle (nothing on any stream)" in held
    narrow = " ".join(texts(svg_bytes(view, 600).decode()))
    assert "idle (nothing on any stream)" in narrow


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_not_sure_is_said(preset, view, tmp_path):
    sure = " ".join(texts(svg_bytes(replace(view, preset=preset))))
    assert "Not sure" not in sure
    path = make_demo(tmp_path / "lossy.sqlite", DemoOptions(iterations=3, lose={2: 0.1}))
    study = Study(read(path, cache=False))
    lossy = replace(first_view(study), preset=preset)
    (error,) = {diagnostic.title for diagnostic in study.diagnostics if diagnostic.severity == "error"}
    held = " ".join(texts(svg_bytes(lossy)))
    assert "Not sure: " in held
    assert error in held
    # A picture of other ranks alone says nothing of it.
    (gpu,) = {diagnostic.gpu for diagnostic in study.diagnostics if diagnostic.severity == "error"}
    others = [pair for pair in lossy.rows if pair[0].process != study.trace.gpus[gpu].process]
    assert len(others) == 7
    assert error not in " ".join(texts(svg_bytes(replace(lossy, rows=others))))
    # A guess is called one wherever it is used.
    guessed = replace(view.iterations, by=replace(view.iterations.by, kind="guess", why="no range marks one"))
    assert guessed.doubt_text
    held = " ".join(texts(svg_bytes(replace(view, preset=preset, iterations=guessed))))
    assert guessed.doubt_text in held


def test_rows_below_a_merged_gpu_stand_below_their_rank(view, demo_study):
    root = build_rows(demo_study)[0]
    stream = next(row for row in root.walk() if row.kind is RowKind.STREAM)
    assert stream.parent.is_merged
    held = texts(svg_bytes(replace(view, rows=[(root, True), (stream, False)]), 1400))
    does, which = stream_names(stream, {})
    assert {does, which} <= set(held)
    assert not any("›" in text for text in held)


def test_parts_are_left_out(view):
    whole = PicturePage(view, 1000).size
    bare = PicturePage(replace(view, extras=Extras(headers=False, ruler=False, legend=False)), 1000)
    assert bare.size.height() < whole.height() - 50
    assert bare.frame.scale.width == 1000
    assert PicturePage(view, 1000).frame.scale.width == 1000 - HEADER_WIDTH
    held = texts(svg_bytes(replace(view, extras=Extras(headers=False)), 1000).decode())
    assert "Rank 0" not in held
    assert any(
        text.endswith(" ms")
        for text in texts(svg_bytes(replace(view, extras=Extras(scale_bar=True)), 1000).decode())
    )


def test_measurements_have_room_below_the_rows(view):
    low, high = view.window_ns
    kept = (Measurement(low, high, "one"), Measurement(low, high, "two"))
    plain = PicturePage(replace(view, extras=Extras(table=False)), 1000)
    held = PicturePage(replace(view, measurements=kept, extras=Extras(table=False)), 1000)
    assert held.size.height() >= plain.size.height() + 2 * 15
    assert held.frame.rows == plain.frame.rows


def test_a_note_moves_with_its_row(view, demo_study):
    low, high = view.window_ns
    row = build_rows(demo_study)[5]
    note = Note((low + high) // 2, high, "here", row_key=row.key)
    rows = [pair for pair in view.rows if pair[0].key == row.key]
    assert "here" in texts(svg_bytes(replace(view, rows=rows, notes=(note,)), 1000).decode())
    others = [pair for pair in view.rows if pair[0].key != row.key]
    assert "here" not in texts(svg_bytes(replace(view, rows=others, notes=(note,)), 1000).decode())


def test_a_row_without_its_parent_is_named_by_its_path(view, demo_study):
    stream = next(r for r in build_rows(demo_study)[3].walk() if r.label == "Stream 7")
    assert "Rank 3 ›" in texts(svg_bytes(replace(view, rows=[(stream, False)]), 1000).decode())


def test_tables_stand_beside_each_other_where_there_is_room(view):
    low, high = view.window_ns
    kept = (Measurement(low, high, "one"), Measurement(low, (low + high) // 2, "two", note="a note"))
    chosen = replace(view, selections=((low, high),), measurements=kept)

    def height(width, **extras):
        return PicturePage(replace(chosen, extras=Extras(**extras)), width).size.height()

    for width, are_beside in ((1700, True), (900, False)):
        both, card, table, none = (
            height(width, card=card, table=table)
            for card, table in ((True, True), (True, False), (False, True), (False, False))
        )
        # The captions of the four have as many lines, or one more.
        together = max(card, table) if are_beside else card + table - none
        assert abs(both - together) <= 2 * 15, width
    found = {
        e.text: e for e in ET.fromstring(svg_bytes(chosen, 1700)).iter("{http://www.w3.org/2000/svg}text")
    }
    head, total = found["Measurements"], found["Sum of 8"]
    assert float(head.get("x")) > 450
    assert float(head.get("y")) < float(total.get("y"))


def test_too_narrow_for_its_tables_is_said(view):
    with pytest.raises(PictureError, match="pixels wide"):
        picture(replace(view, selections=(view.window_ns,)), 500)


def test_200_rows_are_one_picture(view, demo_study):
    rows = [(row, True) for root in build_rows(demo_study) for row in root.walk()][:200]
    assert len(rows) == 200
    assert picture(replace(view, rows=rows), 1000).size() == PicturePage(replace(view, rows=rows), 1000).size
    assert PicturePage(replace(view, rows=rows), 1000, 2).size.width() == QSize(2000, 0).width()


@pytest.mark.parametrize(
    "words",
    [
        ["--note", "no time"], ["--note", "soon: text"], ["--note", "5ms:"], ["--measure", "5ms: instant"],
        ["--select", "now"], ["--without", "everything"], ["-o", "x.gif"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_of_shot_is_one_line(words, demo_path, capsys):
    assert main(["shot", str(demo_path), "-o", "x.png", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_lengths_and_lines():
    assert [round_length(x) for x in (0.5, 1, 3, 7, 19, 20, 99)] == [1, 1, 2, 5, 10, 20, 50]
    assert [round_length(123_456_789), round_length(10**9)] == [100_000_000, 10**9]
