"""SVG and PDF: text is text, nothing tells when or where they were made."""

import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from PySide6.QtGui import QFont

from viewer.export import vector
from viewer.export.first_view import first_view
from viewer.export.picture_view import PictureError
from viewer.export.vector import pdf_bytes, svg_bytes
from viewer.state import Note
from viewer.timeline.paint.fonts import fallback_families, font, fonts_for, language

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def view(demo_study, qapp):
    iterations = demo_study.iterations()
    low, high = iterations.start_ns(1), iterations.end_ns(1)
    return replace(first_view(demo_study, iteration=1), selections=((low, (low + high) // 2),))


def texts(svg):
    return {e.text: e for e in ET.fromstring(svg.decode()).iter(f"{SVG}text")}


def test_text_in_an_svg_stays_text_of_its_weight_and_width(view):
    held = texts(svg_bytes(view, 1200))
    assert held["Time"].get("font-weight") == "600"
    assert held["compute"].get("font-weight") == "400"
    assert any(text.startswith("Iteration 1") for text in held)
    assert all(float(e.get("textLength")) > 0 for e in held.values())
    assert all("Arial" in e.get("font-family") for e in held.values())


def test_the_application_s_font_leaves_no_trace(view, qapp):
    before = qapp.font()
    plain = svg_bytes(view, 1000)
    qapp.setFont(QFont("Courier", 30))
    try:
        assert svg_bytes(view, 1000) == plain
    finally:
        qapp.setFont(before)


def test_an_svg_is_as_large_at_every_fineness_and_loads_nothing(view):
    plain, fine = svg_bytes(view, 1000), svg_bytes(view, 1000, 2)
    sizes = [ET.fromstring(s.decode()) for s in (plain, fine)]
    assert sizes[0].get("width") == sizes[1].get("width")
    assert [s.get("viewBox").split()[2] for s in sizes] == ["1000", "2000"]
    links = re.findall(r'(?:href|src|url)[=(]"?([^")\s]+)', fine.decode())
    assert all(link.startswith(("data:", "#")) for link in links)


def test_a_file_name_is_escaped(view, monkeypatch):
    trace = replace(view.study.trace, path=view.study.trace.path.with_name("a <b> & c.sqlite"))
    monkeypatch.setattr(view.study, "trace", trace)
    svg = svg_bytes(view, 1000)
    assert any("a <b> & c.sqlite" in text for text in texts(svg))
    assert ET.fromstring(svg.decode()).find(f"{SVG}title").text.startswith("a <b> & c.sqlite")


def test_han_text_in_an_svg_names_the_reader_s_language(view):
    held = texts(svg_bytes(replace(view, notes=(Note(*view.window_ns, "数据加载慢"),)), 1000))
    assert held["数据加载慢"].get("{http://www.w3.org/XML/1998/namespace}lang") == language()
    assert all(name in held["数据加载慢"].get("font-family") for name in fallback_families())
    assert held["compute"].get("{http://www.w3.org/XML/1998/namespace}lang") is None


@pytest.mark.parametrize(
    "text", ["plain", "数据加载慢 データ 데이터", "טעינת נתונים איטית", "تحميل البيانات بطيء"]
)
def test_every_font_of_a_pdf_is_in_it(view, tmp_path, text):
    if not shutil.which("pdffonts"):
        pytest.skip("no pdffonts (poppler-utils) on this machine")
    file = tmp_path / "x.pdf"
    file.write_bytes(pdf_bytes(replace(view, notes=(Note(*view.window_ns, text),)), 1200))
    done = subprocess.run(["pdffonts", str(file)], capture_output=True, text=True, check=True)
    _, rule, *fonts = done.stdout.splitlines()
    ends = [match.end() for match in re.finditer("-+", rule)]
    embedded = [line[: ends[3]].split()[-1] for line in fonts]
    assert len(embedded) >= 2
    assert set(embedded) == {"yes"}, done.stdout
    assert "Type 3" not in done.stdout


def test_text_in_a_pdf_stays_text(view, tmp_path):
    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext (poppler-utils) on this machine")
    file = tmp_path / "x.pdf"
    file.write_bytes(pdf_bytes(view, 1200))
    done = subprocess.run(
        ["pdftotext", "-layout", str(file), "-"], capture_output=True, text=True, check=True
    )
    for text in ("Rank 7", "Iteration 1", "nsys 2", "(nothing on any stream)", "% of iteration 1"):
        assert text in done.stdout
    assert re.search(r"\d\.\d{3} ms|\d{2}\.\d{2} ms", done.stdout)


def test_the_window_s_figures_of_equal_width_stay_out_of_a_pdf(view, qapp):
    before = qapp.font()
    qapp.setFont(font(13))
    try:
        with fonts_for("pdf"):
            assert not font(41).isFeatureSet(QFont.Tag("tnum"))
    finally:
        qapp.setFont(before)


def test_a_pdf_has_fixed_dates_and_one_page_of_its_size(view):
    content = pdf_bytes(view, 960)
    assert set(re.findall(rb"\(D:(\d{14})", content)) == {b"20000101000000"}
    assert b"/Count 1" in content
    assert re.search(rb"/MediaBox \[0 0 720(\.0+)? ", content)


def test_too_many_shapes_are_refused_in_words(view, monkeypatch):
    monkeypatch.setattr(vector, "MAX_SHAPES", 100)
    with pytest.raises(PictureError, match="shapes are too many"):
        svg_bytes(view, 1200)
