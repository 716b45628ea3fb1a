"""Every dock on every real trace: it says something, and nothing goes wrong."""

import numpy as np
import pytest

from tests.panels.make import looking_at
from viewer.analysis.study import Study
from viewer.panels.collectives_panel import CollectivesPanel
from viewer.panels.details_panel import DetailsPanel
from viewer.panels.diagnostics_panel import DiagnosticsPanel
from viewer.panels.events_panel import EventsPanel
from viewer.panels.stalls_panel import StallsPanel
from viewer.readers import read
from viewer.rows import EventRef
from viewer.state.jobs import join_all

TRACES = (
    "all-tables-empty",
    "cupti-events-missing",
    "gpuid-is-not-cudaid",
    "inference-2xh100",
    "jacobi-1process-2gpus",
    "no-version-no-events-2021",
    "nothing-recorded-2026",
    "power-iteration-t4",
    "pytorch-a100-nvtx",
    "single-gpu-2024.6",
    "torchrun-2xh100-nccl",
)


@pytest.mark.parametrize("name", TRACES)
def test_docks_on_a_real_trace(name, shared_trace, qapp, qtbot, caplog):
    state = looking_at(Study(read(shared_trace(name))))
    panels = [k(state) for k in (EventsPanel, StallsPanel, CollectivesPanel, DiagnosticsPanel, DetailsPanel)]
    for panel in panels:
        qtbot.addWidget(panel)
        panel.resize(1000, 250)
        panel.show()

    def sort_events():
        qtbot.waitUntil(lambda: not any(p._worker.is_busy for p in panels), timeout=20_000)

    sort_events()
    events, _, _, _, details = panels
    for root in state.rows.roots:
        state.list_events(root.key)
        qtbot.waitUntil(lambda root=root: events.events is not None and events.events.row is root)
        sort_events()
        shown = events.table.event_model
        assert shown.rowCount() == len(events.events)
        for column in range(shown.columnCount()):
            for row in range(0, min(shown.rowCount(), 300), 29):
                assert isinstance(shown.data(shown.index(row, column)), str)
    for kind, table in state.study.trace.events.items():
        for index in np.linspace(0, len(table) - 1, 3).astype(int).tolist() if len(table) else ():
            state.select_event(EventRef(kind, index))
            details._pause.stop()
            details._gather()
            sort_events()
            assert details.details.text
    join_all()
    assert [r for r in caplog.records if r.levelname == "ERROR"] == []
