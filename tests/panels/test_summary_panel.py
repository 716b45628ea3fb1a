"""The Summary dock: what stands on its pages, where a click leads, what it is filtered to; reconcile."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.panels.make import looking_at
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.analysis.time.scope import iteration_scope
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.demo import DemoOptions, make_demo
from viewer.panels.reconcile_page import parse_share
from viewer.panels.spec_table_view import SpecTableView
from viewer.panels.summary_panel import SummaryPanel, page_titles
from viewer.readers import read
from viewer.state.jobs import join_all

PAGES = page_titles()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = make_demo(tmp_path_factory.mktemp("summary") / "demo.sqlite", DemoOptions(iterations=6))
    return Study(read(path, cache=False), Rules.builtin())


@pytest.fixture
def shown(qtbot):
    """A function that shows the dock on a study and waits until it has measured."""

    def show(study):
        panel = SummaryPanel(looking_at(study) if study else looking_at_nothing())
        qtbot.addWidget(panel)
        panel.resize(1500, 320)
        panel.show()
        if study and study.trace.gpus:
            sorted_events(qtbot, panel)
        return panel

    yield show
    join_all()


def looking_at_nothing():
    from viewer.state import ViewState

    return ViewState()


def sorted_events(qtbot, panel):
    qtbot.waitUntil(lambda: panel.summary is not None and not panel._worker.is_busy, timeout=20_000)


def page(panel, section):
    panel.sections.setCurrentRow(PAGES.index(section))
    return panel.pages.currentWidget().widget().findChildren(SpecTableView)


def click(qtbot, sheet, row, column):
    at = sheet.visualRect(sheet.model().index(row, column)).center()
    qtbot.mouseClick(sheet.viewport(), Qt.MouseButton.LeftButton, pos=at)


def texts(sheet):
    return [[cell.text for cell in row] for row in sheet.spec.rows]


def test_time_is_listed_by_gpu_and_what_is_not_normal_is_marked(shown, demo):
    panel = shown(demo)
    (sheet,) = page(panel, "Time")
    rows = sheet.spec.rows
    assert [row[0].text for row in rows[:2]] == ["All GPUs", "Rank 0 GPU 0"]
    assert rows[-1][0].text == "usual"
    scope = panel.summary.scope
    parts = scope.parts(demo.parts)
    for gpu in range(8):
        row = rows[gpu + 1]
        for position in range(5):
            share = parts[gpu, position] / scope.length_ns(gpu)
            assert row[position + 1].text == f"{share * 100:.1f} %"
        assert sum(row[-1].bar) == pytest.approx(1)
        exposed = parts[gpu, CATEGORIES.index("exposed_comm")] / scope.length_ns(gpu)
        assert (row[3].tone == "bad") == (exposed >= 0.10)
    assert [row[0].text for row in rows if "longer" in row[0].text] == ["Rank 5 GPU 5  computes longer"]
    assert "Usual: under 5 %" in rows[0][5].tip


def test_every_page_says_what_its_numbers_mean(shown, demo):
    panel = shown(demo)
    for section in PAGES[:-1]:
        sheets = page(panel, section)
        assert sheets, section
        for sheet in sheets:
            assert sheet.spec.rows, section
            for row in sheet.spec.rows:
                if row[0].text != "usual":
                    assert row[0].tip or any(cell.tip for cell in row), (section, row[0].text)
    marked = [s for i, s in enumerate(PAGES) if panel.sections.item(i).data(Qt.ItemDataRole.UserRole)]
    assert {"Time", "Copies", "Ranks"} <= set(marked)
    assert not {"Small-kernel bursts", "Synchronisation", "Reconcile"} & set(marked)


def test_a_click_leads_to_the_evidence_on_that_gpu(shown, demo, qtbot):
    panel = shown(demo)
    (sheet,) = page(panel, "Time")
    click(qtbot, sheet, 4, 1 + CATEGORIES.index("idle"))
    start, end = panel.state.selection
    assert demo.parts[3].totals(start, end)[CATEGORIES.index("idle")] == end - start
    low, high = panel.state.axis.window
    assert low <= start < end <= high


def test_a_diagnostic_leads_to_its_page(shown, demo):
    panel = shown(demo)
    assert "idle" in panel.unusual.text()
    panel.show_metric("copies_in_front")
    assert PAGES[panel.sections.currentRow()] in ("Iterations", "Copies")
    assert panel.state.selection is not None


def test_the_filter_is_followed_and_said(shown, demo, qtbot):
    panel = shown(demo)
    state, before = panel.state, panel.summary
    state.set_filter(iteration_scope(state.iterations, (2,)))
    qtbot.waitUntil(lambda: panel.summary is not before, timeout=20_000)
    assert panel.summary.scope is state.filter
    assert panel.what.text() == "Filtered to iteration 2"
    before = panel.summary
    state.set_iteration(3)
    assert panel.summary is before
    assert not panel._worker.is_busy
    state.set_filter(demo.range_scope(*demo.trace.window_ns))
    qtbot.waitUntil(lambda: panel.summary is not before, timeout=20_000)
    assert panel.summary["idle"].value == sum(
        int(p.totals(*demo.trace.window_ns)[CATEGORIES.index("idle")]) for p in demo.parts
    )


def test_numbers_that_are_not_steady_say_so(shown, shared_trace, qtbot):
    panel = shown(Study(read(shared_trace("pytorch-a100-nvtx"), cache=False), Rules.builtin()))
    assert panel.what.text().startswith("Not steady")
    panel.sections.setCurrentRow(PAGES.index("Ranks"))
    assert "no two GPUs" in panel.pages.currentWidget().widget().text()


def test_without_gpus_or_a_trace_the_dock_says_what_to_do(shown, shared_trace):
    assert "Open a trace" in shown(None)._empty.text()
    panel = shown(Study(read(shared_trace("nothing-recorded-2026"), cache=False), Rules.builtin()))
    assert "nsys profile" in panel._empty.text()


@pytest.mark.parametrize(
    ("text", "share"), [("20", 0.2), ("20%", 0.2), (" 9,5 % ", 0.095), ("a fifth", None), ("", None)]
)
def test_a_figure_is_read_as_a_percentage(text, share):
    assert parse_share(text) == (pytest.approx(share) if share else None)


def test_a_looser_definition_is_named(shown, demo, qtbot):
    panel = shown(demo)
    panel.sections.setCurrentRow(PAGES.index("Reconcile"))
    asked = panel.reconcile
    no_kernel = panel.summary["no_kernel"].share
    asked.figure.setText(f"{no_kernel * 100:.1f}")
    asked.ask()
    qtbot.waitUntil(lambda: "Measured here" in asked.verdict.text(), timeout=20_000)
    assert "“no kernel” gives" in asked.verdict.text()
    asked.figure.setText(f"{panel.summary['idle'].share * 100:.1f} %")
    asked.ask()
    qtbot.waitUntil(lambda: "agree" in asked.verdict.text(), timeout=20_000)
    asked.figure.setText("a fifth")
    asked.ask()
    assert asked.verdict.text().startswith("Type a share")


def test_a_table_is_copied_as_it_stands(shown, demo, qapp):
    panel = shown(demo)
    (sheet,) = page(panel, "Time")
    sheet.copy()
    lines = qapp.clipboard().text().split("\n")
    assert len(lines) == len(sheet.spec.rows) + 1
    assert lines[1].split("\t")[:2] == texts(sheet)[0][:2]


@pytest.mark.parametrize("width", [700, 1100, 1500])
def test_bars_are_complete_at_any_width(shown, demo, qtbot, width):
    panel = shown(demo)
    panel.resize(width, 320)
    (sheet,) = page(panel, "Time")
    qtbot.waitUntil(lambda: sheet.width() >= sheet.minimumSizeHint().width())
    last = len(sheet.spec.heads) - 1
    assert sheet.columnWidth(last) >= 120
    header = sheet.horizontalHeader()
    assert header.sectionViewportPosition(last) + header.sectionSize(last) <= sheet.viewport().width()
    area = panel.pages.currentWidget()
    qtbot.waitUntil(
        lambda: area.horizontalScrollBar().isVisible() == (area.widget().width() > area.viewport().width())
    )


def test_what_the_numbers_leave_out_stands_at_their_head(shown, demo, qtbot):
    panel = shown(demo)
    assert panel.notes.text() == panel.summary.notes[0]
    assert panel.notes.text().startswith("Left out: ")
    assert panel.notes.isVisible()
    before = panel.summary
    panel.state.set_filter(demo.range_scope(*demo.trace.window_ns))
    qtbot.waitUntil(lambda: panel.summary is not before, timeout=20_000)
    assert not panel.notes.isVisible()


def test_what_is_outside_the_usual_range_is_listed_whole_in_a_narrow_dock(shown, demo):
    panel = shown(demo)
    panel.resize(760, 320)
    QApplication.processEvents()
    assert panel.unusual.height() >= panel.unusual.heightForWidth(panel.unusual.width())
    assert panel.unusual.heightForWidth(panel.unusual.width()) > panel.unusual.heightForWidth(2000)


def test_no_title_in_the_list_of_pages_is_cut(shown, demo):
    """Neither beside a scroll bar, nor in a larger font."""
    panel = shown(demo)
    sections = panel.sections
    for size in (13, 20):
        panel.setStyleSheet(f"QListWidget {{ font-size: {size}px; }}")
        panel.resize(900, 160)
        QApplication.sendPostedEvents()
        QApplication.processEvents()
        assert sections.verticalScrollBar().isVisible()
        assert sections.viewport().width() >= sections.sizeHintForColumn(0) > 0


def test_the_headline_names_a_slow_rank_once(shown, demo):
    panel = shown(demo)
    assert {"late_ranks", "slowest_rank"} <= {number.key for number in panel.summary.unusual}
    text = panel.unusual.text()
    assert text.casefold().count("computes longer") == 1
    assert "late ranks" in text


def test_the_names_of_rows_are_never_cut(shown, demo):
    panel = shown(demo)
    for width in (700, 1100, 1500):
        panel.resize(width, 320)
        for title in ("Ranks", "Time", "Copies"):
            for sheet in page(panel, title):
                if not sheet.spec.heads[0].title:
                    assert sheet.columnWidth(0) >= sheet.sizeHintForColumn(0), (width, title)
