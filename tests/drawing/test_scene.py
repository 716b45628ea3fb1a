import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study
from viewer.drawing import Scale, Scene, place
from viewer.drawing.labels import fitted
from viewer.drawing.layout import row_bands
from viewer.drawing.scale import snap_px
from viewer.rows import RowKind, build_rows
from viewer.trace import Kind


def scene_of(made):
    study = Study(made.trace())
    roots = build_rows(study)
    return Scene(study), roots


def row(roots, kind):
    return next(r for root in roots for r in root.walk() if r.kind is kind)


def filled(drawn, width, height):
    """Paint a draw list into an array of palette positions, -1 for nothing."""
    out = np.full((height, width), -1)
    for (x, y, w, h), colour in zip(drawn.rect.astype(int), drawn.colour, strict=True):
        out[y : y + h, x : x + w] = colour
    return out


@pytest.fixture(scope="module")
def tenth():
    """A stream that is busy a tenth of the time, evenly."""
    made = TraceMaker()
    for at in range(0, 2_000_000, 1000):
        made.kernel(at, at + 100)
    return scene_of(made)


@pytest.mark.parametrize("dpr", [1.0, 1.25, 1.5, 2.0])
@pytest.mark.parametrize("per_px", [60_000, 20_000, 5_000, 2_000, 700, 90, 20])
def test_a_tenth_busy_looks_a_tenth_busy(tenth, dpr, per_px):
    scene, roots = tenth
    stream = row(roots, RowKind.STREAM)
    width = min(300, 2_000_000 // per_px)
    scale = Scale(0, width * per_px, width)
    placed = place([(stream, False)])
    (band,) = row_bands(stream, False)
    top, bottom = snap_px(band.y * dpr), snap_px((band.y + band.height) * dpr)
    picture = filled(scene.draw_list(placed, scale, dpr), width, bottom + 3) >= 0
    assert not picture[:top].any()
    assert not picture[bottom:].any()
    height = bottom - top
    if per_px >= 20_000:
        assert (np.abs(picture.sum(axis=0) - 0.1 * height) <= 1).all()
    whole = picture[top:bottom].mean()
    assert whole == pytest.approx(0.1, abs=1 / height if per_px > 100 else 0.01)


def test_rectangles_lie_on_whole_pixels_and_in_layers_sorted_by_colour(demo_study):
    scene, roots = Scene(demo_study), build_rows(demo_study)
    placed = place([(r, False) for root in roots[:2] for r in root.walk()][:80])
    drawn = scene.draw_list(placed, Scale(*demo_study.trace.window_ns, 1200), 1.5)
    assert drawn.rect.dtype == np.float32
    assert (drawn.rect == np.floor(drawn.rect)).all()
    assert (drawn.rect[:, 2:] >= 1).all()
    assert (drawn.rect[:, 0] + drawn.rect[:, 2] <= 1200).all()
    assert drawn.colour.max() < 2 * scene.palette.size
    low = 0
    for high in drawn.layers:
        assert (np.diff(drawn.colour[low:high].astype(int)) >= 0).all()
        low = high
    assert low == len(drawn)
    assert [run[1:] for run in drawn.runs()][-1][1] == len(drawn)


@pytest.mark.parametrize("dpr", [1.0, 1.25, 1.5, 1.75, 2.0])
@pytest.mark.parametrize("origin_y", [0, 59, 60, 61])
def test_rows_land_where_qt_puts_their_headers(tenth, dpr, origin_y):
    scene, roots = tenth
    placed = place([(r, False) for r in roots[0].walk()], top=-7)
    for p in placed:
        for band in row_bands(p.row, p.expanded):
            top = snap_px((origin_y + p.y + band.y) * dpr) - snap_px(origin_y * dpr)
            bottom = snap_px((origin_y + p.y + band.y + band.height) * dpr) - snap_px(origin_y * dpr)
            drawn = scene.draw_list([p], Scale(0, 50, 10), dpr, origin_y)
            assert (top + bottom) / 2 in drawn.rect[:, 1] + drawn.rect[:, 3] / 2


def test_a_touching_bar_ends_in_an_edge_and_an_isolated_one_does_not():
    scene, roots = scene_of(TraceMaker().kernel(0, 400).kernel(400, 600).kernel(700, 900))
    drawn = scene.draw_list(place([(row(roots, RowKind.STREAM), False)]), Scale(0, 1000, 100))
    edges = drawn.rect[drawn.layers[2] : drawn.layers[3]]
    assert edges[:, 0].tolist() == [39]
    assert edges[:, 2].tolist() == [1]


def test_hidden_lanes_are_not_drawn():
    made = TraceMaker()
    for depth in range(12):
        made.range(depth, 1000 - depth, f"range {depth}")
    scene, roots = scene_of(made)
    nvtx = row(roots, RowKind.NVTX)
    drawn = scene.draw_list(place([(nvtx, False)]), Scale(0, 1000, 100))
    assert len(np.unique(drawn.rect[:, 1])) == 8


def test_users_colours_are_drawn():
    made = TraceMaker()
    made.add(Kind.NVTX, made.track(0, 1), 0, 100, "mine", event_type=59, argb=0xFF12AB34)
    scene, roots = scene_of(made)
    drawn = scene.draw_list(place([(row(roots, RowKind.NVTX), False)]), Scale(0, 100, 10))
    assert drawn.colour.tolist() == scene.palette.user_index(np.array([0xFF12AB34], np.uint32)).tolist()


def test_labels_name_the_widest_bars_first_and_leave_out_what_has_no_room():
    made = TraceMaker().kernel(0, 600, "void at::native::vectorized_elementwise_kernel<4>(int)")
    made.kernel(600, 990, "nvjet_tst_128").kernel(990, 1000, "tiny")
    scene, roots = scene_of(made)
    placed = place([(row(roots, RowKind.STREAM), False)])
    labels = scene.labels(placed, Scale(0, 1000, 1000))
    assert [label.text for label in labels] == ["vectorized_elementwise", "nvjet_tst_128"]
    assert (labels[0].x, labels[0].width) == (0, 600)
    assert len(scene.labels(placed, Scale(0, 1000, 1000), limit=1)) == 1
    cut = scene.labels(placed, Scale(0, 1000, 150))[0]
    assert cut.text.endswith("…")
    assert "vectorized_elementwise".startswith(cut.text[:-1])


@pytest.mark.parametrize(
    ("name", "kind", "width", "text"),
    [
        ("aten::_flash_attention_forward", RowKind.NVTX, 400, "aten::_flash_attention_forward  1.000 µs"),
        ("aten::copy_", RowKind.NVTX, 50, "copy_"),
        ("cudaStreamSynchronize", RowKind.API, 60, "StreamS…"),
        ("cuda", RowKind.API, 20, ""),
        ("AllReduce", RowKind.STREAM, 32, ""),
        ("AllReduce", RowKind.STREAM, 38, "AllR…"),
        ("void cutlass::Kernel2<cutlass_80_gemm>(int)", RowKind.STREAM, 120, "cutlass_80_gemm"),
    ],
)
def test_a_name_that_is_too_long_keeps_its_telling_part(name, kind, width, text):
    assert fitted(name, kind.traits.names, 1000, width) == text


def test_a_label_stays_in_view_when_its_bar_begins_left_of_the_window():
    scene, roots = scene_of(TraceMaker().kernel(0, 1000, "gemm"))
    (label,) = scene.labels(place([(row(roots, RowKind.STREAM), False)]), Scale(500, 700, 200))
    assert (label.x, label.width) == (0, 200)


def test_ranges_carry_their_length_where_there_is_room():
    scene, roots = scene_of(TraceMaker().range(0, 11_077_000, "Batch 49, seq = 3"))
    nvtx = place([(row(roots, RowKind.NVTX), False)])
    scale = Scale(0, 11_077_000, 400)
    assert scene.labels(nvtx, scale)[0].text == "Batch 49  11.08 ms"


def test_hit_finds_the_event_the_column_and_the_state():
    made = TraceMaker().kernel(0, 500, "gemm")
    for at in range(600, 700, 10):
        made.kernel(at, at + 5, "add" if at < 640 else "mul")
    scene, roots = scene_of(made)
    placed = place([(roots[0], False), (row(roots, RowKind.STREAM), False)])
    stream = placed[1]
    scale = Scale(0, 1000, 10)
    trace = scene.study.trace

    hit = scene.hit(placed, 2.5, stream.y + 5, scale)
    assert hit.row is stream.row
    assert hit.event.kind is Kind.KERNEL
    assert trace.kernels.end_ns[hit.event.index] == 500
    assert hit.event.row_key == stream.row.key

    column = scene.hit(placed, 6.5, stream.y + 5, scale).column
    assert (column.count, column.mean_ns, column.busy) == (10, 5.0, 0.5)
    assert (trace.names[column.commonest], column.commonest_count) == ("mul", 6)

    assert scene.hit(placed, 9.5, stream.y + 5, scale).event is None
    state = scene.hit(placed, 2.5, 12, scale)
    assert (state.gpu, state.part) == (0, 0)
    assert scene.hit(placed, 9.5, 12, scale).part == 4
    assert scene.hit(placed, 2.5, 1000, scale) is None


def test_hit_finds_a_thin_event_from_two_pixels_away():
    scene, roots = scene_of(TraceMaker().kernel(500, 501).kernel(900, 902))
    placed = place([(row(roots, RowKind.STREAM), False)])
    scale = Scale(0, 1000, 100)
    assert [scene.hit(placed, x, 8, scale).position for x in (48.5, 50.5, 52.5)] == [0, 0, 0]
    assert scene.hit(placed, 55.5, 8, scale).position is None


def test_snap_takes_the_nearest_edge_within_reach():
    made = TraceMaker().kernel(100, 200).kernel(210, 300, stream=20).copy(400, 450)
    scene, roots = scene_of(made)
    stream = row(roots, RowKind.STREAM)
    assert [scene.snap(stream, t, 8) for t in (95, 195, 206, 150)] == [100, 200, 200, None]
    assert scene.snap(roots[0], 207, 8) == 210
    assert scene.snap(roots[0].children[0], 453, 8) == 450


def test_nothing_in_view_and_no_rows_at_all():
    scene, roots = scene_of(TraceMaker().kernel(0, 10))
    assert len(scene.draw_list([], Scale(0, 10, 10))) == 0
    assert scene.labels([], Scale(0, 10, 10)) == []
    placed = place([(row(roots, RowKind.STREAM), False)])
    assert len(scene.draw_list(placed, Scale(100, 200, 10))) == 0


@pytest.mark.parametrize(
    "name", ["torchrun-2xh100-nccl", "pytorch-a100-nvtx", "jacobi-1process-2gpus", "nothing-recorded-2026"]
)
def test_real_traces_draw_every_row_at_every_zoom(shared_trace, name):
    from viewer.readers import read

    study = Study(read(shared_trace(name), cache=False))
    scene, roots = Scene(study), build_rows(study)
    placed = place([(r, False) for root in roots for r in root.walk()])
    low, high = study.trace.span_ns
    for zoom in (1, 7, 300, 100_000):
        length = max((high - low) // zoom, 20)
        scale = Scale(low + (high - low) // 3, low + (high - low) // 3 + length, 700)
        drawn = scene.draw_list(placed, scale)
        assert (drawn.rect[:, 2:] >= 1).all()
        assert len(scene.labels(placed, scale)) <= 500
