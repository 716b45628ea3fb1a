"""Communication coloured by what it costs, and calls that wait for the GPU."""

import numpy as np

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, painted, rows_of, study_of
from viewer.drawing.palette import EXPOSED, HIDDEN, WAITING
from viewer.drawing.scale import Scale
from viewer.drawing.scene import Scene
from viewer.drawing.theme import LIGHT
from viewer.rows import RowKind


def late_rank(sets=40):
    """Two ranks; in every all-reduce of 8 ms rank 1 comes 6 ms after rank 0."""
    maker = TraceMaker(session_ns=(sets + 1) * 10 * MS)
    for k in range(sets):
        at = k * 10 * MS
        maker.kernel(at + MS, at + 9 * MS, "ncclDevKernel_AllReduce", stream=20, process=0)
        maker.kernel(at + 7 * MS, at + 9 * MS, "ncclDevKernel_AllReduce", stream=20, process=1)
    return study_of(maker.trace())


def pieces(drawn, layer):
    """The rectangles of a layer: (colour, x, width), sorted."""
    part = slice(drawn.layers[layer - 1], drawn.layers[layer])
    rects = zip(drawn.colour[part].tolist(), drawn.rect[part].astype(int).tolist(), strict=True)
    return sorted((colour, rect[0], rect[2]) for colour, rect in rects)


def test_waiting_is_the_first_part_of_the_bar_and_the_rest_is_exposed():
    study = late_rank()
    placed = rows_of(study, RowKind.STREAM)
    scale = Scale(0, 20 * MS, 200)
    scene = Scene(study)
    plain = scene.draw_list(placed, scale)
    assert set(plain.colour[plain.layers[0] : plain.layers[1]].tolist()) == {HIDDEN}
    assert pieces(plain, 2) == [(EXPOSED, x, w) for x, w in ((10, 80), (70, 20), (110, 80), (170, 20))]
    scene.collectives = study.collectives
    drawn = scene.draw_list(placed, scale)
    exposed = [(EXPOSED, x, 20) for x in (70, 70, 170, 170)]
    assert pieces(drawn, 2) == sorted([*exposed, (WAITING, 10, 60), (WAITING, 110, 60)])


def test_what_compute_hides_is_drawn_as_hidden():
    maker = TraceMaker(session_ns=100 * MS).kernel(0, 60 * MS)
    maker.kernel(20 * MS, 80 * MS, "ncclDevKernel_AllReduce", stream=20)
    study = study_of(maker.trace())
    placed = [p for p in rows_of(study, RowKind.STREAM) if p.row.label == "Stream 20"]
    drawn = Scene(study).draw_list(placed, Scale(0, 100 * MS, 100))
    assert pieces(drawn, 1) == [(HIDDEN, 20, 60)]
    assert pieces(drawn, 2) == [(EXPOSED, 60, 20)]


def test_narrow_communication_is_coloured_by_its_cost_too():
    maker = TraceMaker(session_ns=100 * MS).kernel(0, 50 * MS)
    for k in range(90):
        maker.kernel(k * MS, k * MS + MS // 2, "ncclDevKernel_AllReduce", stream=20)
    study = study_of(maker.trace())
    placed = [p for p in rows_of(study, RowKind.STREAM) if p.row.label == "Stream 20"]
    drawn = Scene(study).draw_list(placed, Scale(0, 100 * MS, 20))
    columns = slice(0, drawn.layers[0])
    cost = {HIDDEN: [], EXPOSED: []}
    for (x, _, width, _), colour in zip(drawn.rect[columns], drawn.colour[columns], strict=True):
        cost[int(colour)] += range(int(x), int(x + width))
    assert sorted(cost[HIDDEN]) == list(range(10))
    assert sorted(cost[EXPOSED]) == list(range(10, 18))


def test_picture_stripes_the_early_rank_only(qapp):
    study = late_rank()
    placed = rows_of(study, RowKind.STREAM, RowKind.GPU)
    scene = Scene(study)
    scene.collectives = study.collectives
    marked, plain = (
        painted(study, placed, (0, 10 * MS), 200, overlays, scene=scene)
        for overlays in (("exposed", "waiting"), ("exposed",))
    )
    striped = []
    for p in placed:
        (band,) = p.bands
        y = slice(p.y + band.y, p.y + band.y + band.height)
        assert not (plain[y] == LIGHT.waiting).any()
        stripes = np.flatnonzero((marked[y] == LIGHT.waiting).any(axis=0))
        striped.append(len(stripes) > 0)
        if len(stripes):
            assert (stripes.min(), stripes.max()) == (20, 139)
    assert striped == [True, True, False, False]


def test_communication_that_is_not_marked_as_exposed_looks_hidden(qapp):
    study = late_rank()
    placed = rows_of(study, RowKind.STREAM, RowKind.GPU)
    pictures = {
        overlays: painted(study, placed, (0, 10 * MS), 200, overlays) for overlays in ((), ("exposed",))
    }
    for overlays, seen, unseen in (((), 1, 2), (("exposed",), 2, 1)):
        assert (pictures[overlays] == LIGHT.parts[seen]).any()
        assert not (pictures[overlays] == LIGHT.parts[unseen]).any()


def test_text_stands_in_the_widest_piece():
    study = late_rank()
    placed = rows_of(study, RowKind.STREAM)
    scene = Scene(study)
    scene.collectives = study.collectives
    labels = scene.labels(placed, Scale(0, 10 * MS, 1000))
    assert {(label.x, label.width, label.colour) for label in labels} == {
        (100, 600, WAITING),
        (700, 200, EXPOSED),
    }


def test_blocking_copies_are_red_like_synchronisation():
    maker = TraceMaker(session_ns=100 * MS)
    names = (
        "cudaDeviceSynchronize",
        "cudaMemcpy",
        "cudaMemcpyAsync",
        "cudaMemcpyAsync",
        "cudaStreamWaitEvent",
    )
    for k, name in enumerate(names):
        maker.call(k * 10 * MS, k * 10 * MS + 5 * MS, name, correlation=k + 1)
    # Pageable (0) and pinned (1) host memory to the device (2); kind 1 is host to device.
    for k, source in ((2, 0), (3, 1)):
        at = k * 10 * MS
        maker.copy(at + MS, at + 2 * MS, correlation=k + 1, copy_kind=1, src_kind=source, dst_kind=2)
    study = study_of(maker.trace())
    scene = Scene(study)
    (lane,) = scene.lanes(rows_of(study, RowKind.API)[0].row)
    red = range(scene.palette.blocking - 3, scene.palette.blocking + 3)
    assert [int(c) in red for c in lane.colour] == [True, True, True, False, False]
