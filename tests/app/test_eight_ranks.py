"""Eight ranks in the real window: all there without scrolling, folded, and with their streams."""

import pytest

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, study_of
from viewer.app.trace_loader import LoadedTrace
from viewer.drawing.bands import EventBand, StateBand
from viewer.drawing.layout import bands_in
from viewer.rows import build_rows


@pytest.fixture(scope="module")
def ranks():
    """Eight ranks that compute and communicate on five streams, with ranges."""
    maker = TraceMaker(session_ns=100 * MS)
    for rank in range(8):
        for k in range(9):
            at = k * 10 * MS
            maker.range(at, at + 9 * MS, "forward", process=rank)
            maker.kernel(at, at + 5 * MS, process=rank)
            for number in range(4):
                start = at + (4 + number) * MS
                maker.kernel(start, start + MS, "ncclDevKernel_AllReduce", stream=20 + number, process=rank)
    study = study_of(maker.trace())
    return LoadedTrace(study, build_rows(study))


@pytest.mark.parametrize(
    ("size", "folded"), [((1280, 720), True), ((1280, 720), False), ((1600, 900), False)]
)
def test_eight_folded_ranks_fit_with_docks_and_without(open_window, ranks, qtbot, size, folded):
    window = open_window()
    window.resize(*size)
    window.trace_controller.show(ranks)
    window.dock_tabs.fold(folded)
    timeline = window.timeline
    qtbot.waitUntil(lambda: len(timeline.canvas.placed) == 8)
    assert timeline.scroll_bar.maximum() == 0
    placed = timeline.canvas.placed
    assert placed[-1].y + placed[-1].height <= timeline.canvas.height()
    # Nothing is left that a pixel more for each rank would take.
    qtbot.waitUntil(lambda: timeline.canvas.height() - sum(p.height for p in timeline.canvas.placed) <= 9)

    def heights(kind):
        return [band.height for _, band in bands_in(timeline.canvas.placed, kind)]

    if folded:
        qtbot.waitUntil(lambda: min(heights(StateBand)) >= 30)
    assert len(heights(StateBand)) == len(heights(EventBand)) == 8
    assert min(heights(StateBand)) >= max(heights(EventBand))


def test_state_compute_and_communication_of_eight_ranks_fit(open_window, ranks, qtbot):
    window = open_window()
    window.resize(1600, 900)
    window.trace_controller.show(ranks)
    window.actions_by_id["preset-compute"].trigger()
    window.actions_by_id["docks"].trigger()
    timeline = window.timeline
    qtbot.waitUntil(lambda: window.dock_tabs.is_folded and timeline.scroll_bar.maximum() == 0)
    labels = [[p.row.label for p in timeline.canvas.placed if root in p.row.path()] for root in ranks.roots]
    assert all(of_rank[1:] == labels[0][1:] for of_rank in labels)
    assert labels[0] == ["Rank 0", "Stream 7", "Stream 20", "Stream 21", "Stream 22", "1 more stream"]


@pytest.mark.parametrize("preset", ["lanes", "compute", "everything"])
@pytest.mark.parametrize("overlay", ["idle", "exposed", "waiting"])
def test_every_overlay_changes_every_view(open_window, qtbot, preset, overlay):
    maker = TraceMaker(session_ns=400 * MS)
    for k in range(30):
        at = k * 10 * MS
        for rank in range(2):
            maker.kernel(at, at + 3 * MS, process=rank)
            start = at + (6 if rank else 4) * MS
            maker.kernel(start, at + 8 * MS, "ncclDevKernel_AllReduce", stream=20, process=rank)
    study = study_of(maker.trace())
    window = open_window()
    window.trace_controller.show(LoadedTrace(study, build_rows(study)))
    window.state.set_overlays(frozenset({"idle", "exposed", "waiting"}))
    window.actions_by_id[f"preset-{preset}"].trigger()
    timeline = window.timeline
    qtbot.waitUntil(lambda: timeline.background_results.collectives is not None)
    window.state.axis.go(0, 100 * MS)
    marked = timeline.canvas.grab().toImage(), timeline.legend.grab().toImage()
    window.actions_by_id[f"overlay-{overlay}"].trigger()
    plain = timeline.canvas.grab().toImage(), timeline.legend.grab().toImage()
    assert marked[0] != plain[0]
    assert marked[1] != plain[1]
