"""Waiting inside the bars of collectives, and calls that wait for the GPU."""

import numpy as np

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, painted, rows_of, study_of
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


def test_waiting_is_the_lighter_first_part_of_the_bar():
    study = late_rank()
    placed = rows_of(study, RowKind.STREAM)
    scale = Scale(0, 20 * MS, 200)
    scene = Scene(study)
    plain = scene.draw_list(placed, scale)
    assert plain.layers[3] == plain.layers[2]
    scene.collectives = study.collectives
    drawn = scene.draw_list(placed, scale)
    waits = slice(drawn.layers[2], drawn.layers[3])
    assert sorted(drawn.rect[waits, 0].tolist()) == [10, 110]
    assert set(drawn.rect[waits, 2].tolist()) == {60}
    assert set(drawn.colour[waits].tolist()) == {
        int(c) + scene.palette.size for c in drawn.colour[plain.layers[0] : plain.layers[1]]
    }


def test_picture_shows_a_lighter_first_part_on_the_early_rank_only(qapp):
    study = late_rank()
    placed = rows_of(study, RowKind.STREAM)
    scene = Scene(study)
    scene.collectives = study.collectives
    picture = painted(study, placed, (0, 10 * MS), 200, scene=scene)
    index = scene.palette.index[study.trace.kernels.name_id[0]]
    full, lighter = (int(scene.palette.argb(LIGHT)[i]) for i in (index, index + scene.palette.size))
    early, late = (picture[p.y + p.height // 2] for p in placed)
    assert np.flatnonzero(early == lighter).min() == 20
    assert (early == lighter).sum() > 60
    assert (late == full).any()
    assert not (late == lighter).any()


def test_text_stands_in_the_wider_part():
    study = late_rank()
    placed = rows_of(study, RowKind.STREAM)
    scene = Scene(study)
    scene.collectives = study.collectives
    labels = scene.labels(placed, Scale(0, 10 * MS, 1000))
    assert {(label.x, label.width) for label in labels} == {(100, 600), (700, 200)}


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
