"""The critical path of an iteration as a list, and its sums: a page of the Iterations dock."""

from __future__ import annotations

import pandas as pd
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from viewer.drawing.format import format_count, format_instant, format_ns, format_share
from viewer.drawing.path_tables import BY, event_of_piece, path_frame, path_sums
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.one_line import Choice
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.navigation import current_iteration, show_range
from viewer.state.places import go_to_event, reveal_gpu
from viewer.timeline.plain_text import PlainLabel

PIECES = (
    TableColumn("where", "Rank", tip="The rank that the path is on; what the host does counts to its rank"),
    TableColumn("kind", "Kind", tip="What the piece is; a lag is a gap of 10 µs at most"),
    TableColumn("name", "Name"),
    TableColumn("phase", "Phase", tip="The phase that launched it"),
    TableColumn("start_ns", "Start", format_instant, number=True),
    TableColumn("duration_ns", "Length", format_ns, number=True),
)
SUMS = (
    TableColumn("what", "What"),
    TableColumn("duration_ns", "Together", format_ns, number=True),
    TableColumn("share", "Of the path", format_share, number=True),
    TableColumn("count", "Pieces", format_count, number=True),
)
COMPUTING = "The critical path is being computed…"
NONE_CHOSEN = "Choose an iteration in the list, or zoom to one, to see its critical path."


class CriticalPathPage(QWidget):
    """Lists the pieces of the iteration in view; a click shows one, a double click goes to its event.

    Signals
    -------
    save_requested(DataFrame)
    """

    save_requested = Signal(object)

    def __init__(self, state: ViewState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._worker = Worker(self)
        self._of: tuple[object, ...] = ()
        self.frame = pd.DataFrame()
        self.head = PlainLabel()
        self.head.setObjectName("soft")
        self.by = Choice()
        self.by.addItems([f"by {name}" for name in BY])
        self.by.setAccessibleName("What the path is summed by")
        self.pieces = FrameTable(PIECES, "Pieces of the critical path")
        self.sums = FrameTable(SUMS, "Critical path, summed")
        split = QSplitter()
        split.addWidget(self.pieces)
        split.addWidget(self.sums)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        split.setSizes([900, 600])
        row = QHBoxLayout()
        row.setContentsMargins(8, 2, 8, 0)
        row.addWidget(self.head, 1)
        row.addWidget(PlainLabel("Sums"))
        row.addWidget(self.by)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(row)
        column.addWidget(split, 1)
        self.by.activated.connect(lambda _: self._sum())
        self.pieces.clicked.connect(lambda index: self._show(self.pieces.frame_model.position(index)))
        self.pieces.chosen.connect(self._go_to)
        for table in (self.pieces, self.sums):
            table.save_requested.connect(self.save_requested)
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.refresh)
        for changed in (state.axis.changed, state.iterations_changed, state.path.changed):
            changed.connect(self._soon.start)

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        self._state.path.find()
        self.refresh()

    def refresh(self) -> None:
        """List the path of the iteration in view, where the page is seen and it is another one."""
        state = self._state
        if not self.isVisible():
            return
        iteration = current_iteration(state)
        wanted = (state.study, state.marker, iteration, state.path.paths)
        if wanted == self._of:
            return
        self._of = wanted
        self._worker.cancel()
        study, marker, paths = state.study, state.marker, state.path.paths
        if study is None or iteration is None or not 0 <= iteration < len(paths):
            self._take(pd.DataFrame({column.key: [] for column in PIECES}))
            self.head.setText(COMPUTING if state.path.is_busy else NONE_CHOSEN)
            return
        path = paths[iteration]
        self._worker.start(lambda _: path_frame(study, path, marker), self._take)

    def forget(self) -> None:
        """Drop the path of the previous trace."""
        self._worker.cancel()
        self._of = ()

    def _take(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.pieces.set_frame(frame)
        state = self._state
        iteration, iterations = current_iteration(state), state.iterations
        if iteration is not None and iterations is not None and len(frame):
            length = format_ns(int(frame["duration_ns"].sum()))
            called = iterations.called(iteration)
            self.head.setText(
                f"{called[:1].upper()}{called[1:]}: {format_count(len(frame))} pieces, {length}"
            )
        self._sum()

    def _sum(self) -> None:
        by = BY[max(self.by.currentIndex(), 0)]
        empty = pd.DataFrame({column.key: [] for column in SUMS})
        self.sums.set_frame(path_sums(self.frame, by) if len(self.frame) else empty)

    def _show(self, position: int) -> None:
        """Bring a piece into view, and select its time."""
        state, frame = self._state, self.pieces.frame_model.frame
        keys = ("start_ns", "duration_ns", "gpu")
        start, length, gpu = (int(frame[key].to_numpy()[position]) for key in keys)
        state.select((start, start + length))
        reveal_gpu(state, gpu)
        show_range(state, start, start + length)

    def _go_to(self, position: int) -> None:
        event = event_of_piece(self.pieces.frame_model.frame, position)
        if event is not None:
            go_to_event(self._state, event.kind, event.index)
