"""What is painted over and around the rows: boundaries, links, the overview, pinned rows, the ruler."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, painted, pixels, rows_of, state_of, study_of, training
from viewer.drawing.scale import AxisPixels, Scale
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT
from viewer.rows import EventRef, RowKind
from viewer.timeline.headers.pinned import EDGE_GAP
from viewer.timeline.paint.linked import event_boxes, linked_events
from viewer.timeline.paint.paint_rows import gpu_spans, make_frame, paint_frame
from viewer.timeline.strip import DeviceGrid
from viewer.timeline.timeline import Timeline
from viewer.trace import Kind


def skewed():
    """Two ranks whose iterations begin 3 ms apart."""
    maker = TraceMaker(session_ns=130 * MS)
    for rank in (0, 1):
        for iteration in range(4):
            at = iteration * 30 * MS + 5 * MS + rank * 3 * MS
            maker.range(at - MS, at + 20 * MS, f"step {iteration}", process=rank)
            for k in range(4):
                correlation = iteration * 4 + k + 1
                maker.call(at, at + 10, process=rank, correlation=correlation)
                maker.kernel(at + k * 4 * MS, at + k * 4 * MS + 3 * MS, process=rank, correlation=correlation)
    return maker.trace()


def test_every_gpu_has_its_own_boundaries_in_its_own_rows(qapp):
    from PySide6.QtGui import QImage, QPainter

    study = study_of(skewed())
    iterations = study.iterations()
    placed = rows_of(study, RowKind.GPU)
    scale = Scale(0, 130 * MS, 1300)
    height = placed[-1].y + placed[-1].height + 1
    frame = make_frame(Scene(study), placed, scale, height, LIGHT, iterations=iterations)
    image = QImage(1300, height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    paint_frame(painter, frame)
    painter.end()
    picture = pixels(image)
    for p in placed:
        rows = picture[p.y : p.y + p.height]
        lines = np.flatnonzero((rows == LIGHT.boundary).sum(axis=0) > 5)
        own = [50 + 300 * iteration + 30 * p.row.gpu for iteration in range(4)]
        assert set(own) <= set(lines.tolist())
        others = {x + (30 if p.row.gpu == 0 else -30) for x in own}
        assert not others & set(lines.tolist())


def test_rows_of_a_gpu_are_one_span_and_threads_belong_to_an_only_gpu():
    trace = training(ranks=2)
    rows = [(p.row, p.y, p.y + p.height) for p in rows_of(study_of(trace), *RowKind)]
    spans = gpu_spans(trace, rows)
    assert [s.gpu for s in spans] == [0, 1]
    assert (spans[0].top, spans[-1].bottom) == (rows[0][1], rows[-1][2])


def test_event_is_marked_on_its_stream_and_its_ancestors_and_linked_to_its_call():
    study = study_of(training(ranks=1))
    event = EventRef(Kind.KERNEL, 3)
    (call,) = linked_events(study, event)
    assert call.kind is Kind.API
    assert EventRef(Kind.KERNEL, 3) in linked_events(study, call)
    placed = rows_of(study, *RowKind)
    grid = DeviceGrid(AxisPixels(0, 1000), 0, 2000)
    boxes = event_boxes(study, placed, event, Scale(0, 20 * MS, 1000), grid)
    kinds = {p.row.kind for p in placed for b in boxes if p.y <= b.top() < p.y + p.height}
    assert {RowKind.KERNELS, RowKind.FAMILY, RowKind.STREAM} <= kinds
    start = int(study.trace.kernels.start_ns[3])
    assert {b.left() for b in boxes} == {round(start / (20 * MS) * 1000)}


def test_overview_column_one_tenth_busy_is_a_tenth_of_the_colour(on_screen):
    maker = TraceMaker(session_ns=100 * MS)
    for start in range(0, 100 * MS, 10_000):
        maker.kernel(start, start + 1_000)
    timeline = on_screen(Timeline(state_of(maker.trace()), "raster"), 900, 400)
    timeline.state.axis.go(0, 100 * MS)
    strip = pixels(timeline.overview.grab().toImage())[20, 50:500]
    ground, full = ((LIGHT.panel >> 16) & 0xFF, (LIGHT.parts[0] >> 16) & 0xFF)
    red = ((strip >> 16) & 0xFF).astype(int)
    assert np.abs(red - (ground + 0.1 * (full - ground))).max() <= 2


def test_overview_stripes_what_waits_once_that_is_known(on_screen, qtbot):
    maker = TraceMaker(session_ns=100 * MS)
    maker.kernel(0, 90 * MS, "ncclDevKernel_AllReduce", stream=20, process=0)
    maker.kernel(45 * MS, 90 * MS, "ncclDevKernel_AllReduce", stream=20, process=1)
    timeline = on_screen(Timeline(state_of(maker.trace()), "raster"), 900, 400)
    state, strip = timeline.state, timeline.overview
    qtbot.waitUntil(lambda: timeline.background_results.stalls is not None, timeout=20_000)
    state.axis.go(0, 100 * MS)

    def is_waiting(start, end):
        left, right = (round(strip.x_of(t * MS)) for t in (start, end))
        return (pixels(strip.grab().toImage())[8:18, left:right] == LIGHT.waiting).mean()

    state.set_overlays(frozenset({"exposed"}))
    assert is_waiting(5, 85) == 0
    state.set_overlays(frozenset({"exposed", "waiting"}))
    assert is_waiting(5, 40) == pytest.approx(0.5, abs=0.02)
    assert is_waiting(50, 85) == 0


def test_pinned_row_stays_while_the_rest_scrolls(on_screen):
    timeline = on_screen(Timeline(state_of(training(ranks=6)), "raster"), 900, 400)
    state = timeline.state
    state.rows.set_expanded([r.key for root in state.rows.roots for r in root.walk()], True)
    row = next(r for r in state.rows.roots[1].walk() if r.kind is RowKind.STREAM)
    state.rows.set_pinned(row.key, True)
    assert [p.row for p in timeline.pinned.placed] == [row]
    assert timeline.canvas.y() == timeline.pinned.y() + timeline.pinned.height() + EDGE_GAP
    timeline.scroll_bar.setValue(timeline.scroll_bar.maximum())
    assert [p.row for p in timeline.pinned.placed] == [row]
    assert timeline.pinned.placed[0].y == 0


def test_selection_reaches_over_ruler_pinned_rows_and_canvas(on_screen):
    timeline = on_screen(Timeline(state_of(training()), "raster"), 900, 400)
    state = timeline.state
    state.rows.set_pinned(state.rows.roots[0].key, True)
    state.axis.go(0, 60 * MS)
    state.select((20 * MS, 40 * MS))
    for strip in (timeline.ruler, timeline.pinned, timeline.canvas):
        edge = round(strip.x_of(20 * MS))
        column = pixels(strip.grab().toImage())[:, edge]
        assert (column == LIGHT.selection_edge).mean() > 0.5


def test_ruler_knows_the_iterations(on_screen):
    timeline = on_screen(Timeline(state_of(skewed()), "raster"), 900, 400)
    state, ruler = timeline.state, timeline.ruler
    state.axis.go(0, 130 * MS)
    near = timeline.gestures.snapping.near
    assert near(None, 35 * MS + 1000, 5000) == 35 * MS
    assert near(None, 45 * MS + 1000, 5000) == 45 * MS, "an edge of an event, over the whole height"
    assert near(None, 47 * MS + 500_000, 5000) is None
    chip = QPoint(round(ruler.x_of(40 * MS)), 8)
    assert ruler.iteration_at(QPointF(chip)) == 1
    QTest.mouseClick(ruler, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, chip)
    assert state.iteration == 1
    QTest.mouseDClick(ruler, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, chip)
    low, high = state.axis.window
    assert low < 35 * MS < 65 * MS < high < 80 * MS


@pytest.mark.parametrize("overlay", ["idle", "exposed"])
def test_overlay_lies_under_the_bars(qapp, overlay):
    study = study_of(training(ranks=1))
    placed = rows_of(study, RowKind.STREAM, RowKind.API)
    plain, tinted = (painted(study, placed, (0, 20 * MS), 600, o) for o in ((), (overlay,)))
    assert (plain != tinted).any()
    palette = Scene(study).palette
    colours = palette.argb(LIGHT)[: palette.size][5:]
    bars = np.isin(plain, colours)
    assert bars.any()
    assert (plain == tinted)[bars].all()


def mostly_lost():
    """Two ranks that launch 60 kernels each; of rank 1's only every tenth was recorded."""
    maker = TraceMaker(session_ns=130 * MS)
    for rank in (0, 1):
        for k in range(60):
            at = 5 * MS + k * 2 * MS
            maker.call(at, at + 10, process=rank, correlation=k + 1)
            if not rank or k % 10 == 0:
                maker.kernel(at + 1000, at + MS, process=rank, correlation=k + 1)
    return maker.trace()


@pytest.mark.parametrize("overlays", [(), ("idle",)])
def test_a_gpu_whose_rows_were_lost_is_nowhere_hatched_as_idle(qapp, overlays):
    from viewer.timeline.background_results import doubts_of

    study = study_of(mostly_lost())
    doubts = doubts_of(study)
    assert doubts.lost == {1}
    placed = rows_of(study, RowKind.GPU)
    scale = Scale(0, 130 * MS, 1300)
    height = placed[-1].y + placed[-1].height + 1
    frame = make_frame(
        Scene(study), placed, scale, height, LIGHT, overlays=overlays,
        doubtful=frozenset(doubts.gpus), lost=doubts.lost,
    )  # fmt: skip
    picture = pixels(image_of(frame))
    for p in placed:
        rows = picture[p.y + 2 : p.y + p.height - 1]
        # The hatch is the overlay of idle time: without it no lane is hatched.
        assert (rows == LIGHT.hatch).any() == (p.row.gpu == 0 and overlays == ("idle",))
        assert (rows == LIGHT.warning).any() == (p.row.gpu == 1)
        assert (rows == LIGHT.text_faint).any() == (p.row.gpu == 1)


def test_a_picture_marks_the_header_of_a_gpu_whose_rows_were_lost(qapp):
    from viewer.export.first_view import first_view
    from viewer.export.page import HEADER_WIDTH, PicturePage
    from viewer.export.picture import image_of as page

    sheet = PicturePage(first_view(study_of(mostly_lost())), 1200)
    headers = pixels(page(sheet))[sheet._top :, :HEADER_WIDTH]
    for p in sheet._placed:
        marked = (headers[p.y + 1 : p.y + p.height] == LIGHT.warning).any()
        assert marked == (p.row.process == 1 and p.row.kind in (RowKind.PROCESS, RowKind.GPU))


def image_of(frame):
    """A painted frame."""
    from PySide6.QtGui import QImage, QPainter

    image = QImage(frame.scale.width, frame.height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    paint_frame(painter, frame)
    painter.end()
    return image
