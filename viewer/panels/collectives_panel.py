"""The Collectives dock: which rank each NCCL collective waits for, how long, and how persistently."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QVBoxLayout

from viewer.analysis.collectives.collective_tables import MIN_SHARE
from viewer.analysis.collectives.match import Collectives
from viewer.analysis.dependencies.overlap_reasons import OVERLAP_COLUMNS, overlap_reasons
from viewer.analysis.study import Study
from viewer.drawing.format import format_count, format_instant, format_ns, format_share
from viewer.panels.frame_table import FrameTable, TableColumn
from viewer.panels.one_line import Choice, OneLine
from viewer.panels.panel import MEASURING, Panel
from viewer.state import ViewState
from viewer.state.jobs import Worker
from viewer.state.navigation import show_range
from viewer.state.places import go_to_event, reveal_gpu
from viewer.timeline.plain_text import tip
from viewer.trace import Kind

_NONE = (
    "No collectives run on more than one GPU here.\n"
    "NCCL kernels of several ranks in one recording are matched, and wait time is split from transfer time."
)
_WHY = "why"
_PATTERNS = {"constant": "persistent", "rotating": "varies", "seldom": "seldom", "": "–"}
_LATE_TIP = (
    "Whether the same rank is late persistently; a dash where the waits are under 0.1 % of the time, or too "
    "short against what its clock may be off. It may have waited itself: Summary, Ranks, says where waits "
    "begin"
)
_PARTIAL_TIP = "Sets that lack a member's kernel: waits in them are lower bounds, and nobody is called last"
_length = partial(TableColumn, text=format_ns, number=True)
_count = partial(TableColumn, text=format_count, number=True)

RANKS = (
    TableColumn("label", "GPU"),
    _count("last", "Last arrival", tip="Sets in which it arrived last"),
    TableColumn("last_share", "Share", format_share, number=True, tip="Of its matched sets"),
    TableColumn("pattern", "Late", lambda p: _PATTERNS.get(p, p), tip=_LATE_TIP),
    _length("others_waited_ns", "Wait caused", tip="In the sets it arrived last in, all others together"),
    _length("wait_ns", "Wait time", tip="Latest start of the set less its own start"),
    TableColumn(
        "is_bound", "Bound", lambda b: "at least" if b else "", tip="Waits in partial sets are lower bounds"
    ),
    _length("transfer_ns", "Transfer time", tip="Duration less wait time"),
    _length("exposed_wait_ns", "Waiting, exposed", tip="The part of exposed communication that is waiting"),
    _length("exposed_transfer_ns", "Transfer, exposed", tip="The part of it that is transfer"),
    _length("exposed_unmatched_ns", "Not matched, exposed"),
    _count("sets", "Sets", tip="Matched collectives that it took part in"),
    _count("partial", "Partial", tip=_PARTIAL_TIP),
)
GROUPS = (
    TableColumn("name", "Collective"),
    TableColumn("members", "Ranks"),
    _count("matched", "Matched"),
    _count("partial", "Partial", tip=_PARTIAL_TIP),
    _length("wait_ns", "Waiting", tip="Over all members"),
    TableColumn("last_label", "Most often last"),
    TableColumn("last_share", "Share", format_share, number=True),
    TableColumn("pattern", "Late", lambda p: _PATTERNS.get(p, p), tip=_LATE_TIP),
    _count("unmatched", "Not matched", tip="Sets whose members do not all overlap"),
    TableColumn("how", "Found by", tip="NCCL's communicator, else by which ranks run together"),
)  # fmt: skip
SETS = (
    TableColumn("name", "Collective"),
    _count("set", "Set"),
    TableColumn("start_ns", "Start", format_instant, number=True, tip="Of the first to arrive"),
    TableColumn("last_label", "Last", tip="Unknown where a member is missing"),
    _length("spread_ns", "Late by", tip="Last start less first start"),
    _length("wait_ns", "Waiting", tip="Over all members"),
    _length("shortest_ns", "Shortest", tip="The shortest duration of the set: the transfer at most"),
    _length("duration_ns", "From first to end"),
    TableColumn("members", "Ranks"),
    _count("missing", "Missing", tip="Members whose kernel is not recorded: the waits are lower bounds"),
)
WHY = (
    TableColumn(
        "text",
        "What held the next compute kernel",
        tip="While these collectives were exposed. Double-click shows the longest stretch",
        widest=640,
    ),
    _length("per_iteration_ns", "Per iteration", tip="Exposed time: mean over the iterations and the GPUs"),
    _length("exposed_ns", "Exposed", tip="In the filter, else in the iterations of Summary; over all GPUs"),
    TableColumn("share", "Share", format_share, number=True, tip="Of all exposed communication there"),
    TableColumn("gpus", "GPUs", str, number=True),
    TableColumn("starts_after", "Held their start", tip="What the collectives themselves had waited for"),
)
NOTES = (TableColumn("note", "What is not matched, and why"),)


def rank_frame(study: Study, found: Collectives) -> pd.DataFrame:
    """Return `Collectives.table` with labels."""
    return found.table.assign(label=[study.trace.gpu_label(g) for g in found.table["gpu"]])


def group_frame(study: Study, found: Collectives) -> pd.DataFrame:
    """Return `Collectives.groups_table` with short labels of the members."""
    table = found.groups_table
    members = [members_text(study, found.groups[g].gpus) for g in table["group"]]
    last = [study.trace.gpu_label(g) if g >= 0 else "" for g in table["last_gpu"]]
    return table.assign(members=members, last_label=last)


def set_frame(study: Study, found: Collectives, group: int | None) -> pd.DataFrame:
    """Return `Collectives.sets_table`, of one group or of all, with labels."""
    table = found.sets_table
    table = table if group is None else table[table["group"] == group]
    groups = group_frame(study, found)
    labels = np.array([study.trace.gpu_label(g.index) for g in study.trace.gpus] + [""], object)
    of = table["group"].to_numpy()
    return table.assign(
        name=groups["name"].to_numpy(object)[of],
        members=groups["members"].to_numpy(object)[of],
        last_label=np.where(table["last_gpu"] >= 0, labels[table["last_gpu"].to_numpy()], "unknown"),
        duration_ns=table["end_ns"] - table["start_ns"],
    )


def members_text(study: Study, gpus: tuple[int, ...]) -> str:
    """Return "ranks 0 1 2 3", or the GPUs' labels where ranks are not known."""
    ranks = [study.trace.processes[study.trace.gpus[g].process].rank for g in gpus]
    if None in ranks or len(set(ranks)) < len(ranks):
        return ", ".join(study.trace.gpu_label(g) for g in gpus)
    return "ranks " + " ".join(map(str, ranks))


def headline(study: Study, found: Collectives) -> str:
    """Return a line that names the rank which causes the most wait time, where that matters."""
    table = found.table
    if not found.groups or not table["others_waited_ns"].sum():
        return "No rank waits for another." if found.groups else "Nothing could be matched."
    worst = table.iloc[int(table["others_waited_ns"].to_numpy().argmax())]
    whole = int(table["wait_ns"].sum())
    waited = int(worst["others_waited_ns"])
    share = whole / max(len(table) * (found.trace.window_ns[1] - found.trace.window_ns[0]), 1)
    if share < MIN_SHARE:
        return (
            f"No rank waits long for another: {format_ns(whole)} in all, {format_share(share)} of the time."
        )
    text = (
        f"{study.trace.gpu_label(int(worst['gpu']))} causes most wait: {format_ns(waited)}, "
        f"{format_share(waited / whole)} of all wait time; last in {format_share(worst['last_share'])} of "
        "its sets"
    )
    return f"{text}, {_PATTERNS[worst['pattern']]}" if worst["pattern"] else text


class CollectivesPanel(Panel):
    """Shows ranks at the left; groups, sets or why they are exposed at the right. A click shows one."""

    title = "Collectives"
    lazy = True

    def __init__(self, state: ViewState) -> None:
        super().__init__(state)
        self.found: Collectives | None = None
        self._worker, self._why_worker = Worker(self), Worker(self)
        self.which = Choice()
        self.which.setAccessibleName("Groups, the sets of one, or why they are exposed")
        self.which.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToContents)
        self.which.setMaximumWidth(360)
        self.line, self.notes = OneLine(), QPushButton()
        self.ranks, self.table = FrameTable(RANKS, "Waiting by GPU"), FrameTable(GROUPS, "Groups and sets")
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        head.addWidget(self.line, 1)
        head.addWidget(self.notes)
        head.addWidget(self.which)
        split = QSplitter()
        split.addWidget(self.ranks)
        split.addWidget(self.table)
        split.setSizes([560, 720])
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(head)
        layout.addWidget(split, 1)
        self.which.activated.connect(lambda _: self._show_right())
        state.filter_changed.connect(self._follow_filter)
        state.iterations_changed.connect(self._follow_filter)
        self.notes.clicked.connect(self._tell_notes)
        self.ranks.clicked.connect(lambda index: self._to_gpu(self.ranks.frame_model.position(index)))
        self.table.clicked.connect(lambda index: self._to_set(self.table.frame_model.position(index)))
        self.table.chosen.connect(self._open)
        for table in (self.ranks, self.table):
            table.save_requested.connect(self.save_requested)

    def refresh(self) -> None:
        """Match the collectives of the trace."""
        study = self.state.study
        if study is None or len(study.trace.gpus) < 2:
            self.forget()
            self.show_empty(
                _NONE if study else "Open a trace of several ranks to see which rank the others wait for."
            )
            return
        self._worker.start(
            lambda _: _made(study), partial(self._show, study), background=self.state.is_restoring
        )

    def forget(self) -> None:
        self._worker.cancel()
        self._why_worker.cancel()
        self.found = None
        self.badge_changed.emit("")
        self.show_empty(MEASURING)

    def _show(self, study: Study, found: Collectives) -> None:
        self.found = found
        if not found.groups:
            self.show_empty("\n".join([_NONE, *found.notes]))
            self.badge_changed.emit("")
            return
        self.show_empty("")
        self.badge_changed.emit(format_count(len(found.sets_table)))
        self.line.setText(headline(study, found))
        self.line.setToolTip(tip(self.line.text()))
        self.notes.setVisible(bool(found.notes))
        self.notes.setText(f"Not matched: {len(found.notes)}…")
        self.notes.setToolTip(tip("\n".join(found.notes[:30])))
        self.ranks.set_frame(rank_frame(study, found), RANKS)
        groups = group_frame(study, found)
        self.which.clear()
        self.which.addItem(f"{len(groups)} groups", "groups")
        self.which.addItem("Every set", None)
        self.which.addItem("Why exposed", _WHY)
        for row in groups.to_dict("records"):
            self.which.addItem(f"{row['name']}, {row['members']}", int(row["group"]))
        self._show_right()

    def _show_right(self) -> None:
        study, found = self.state.study, self.found
        if study is None or found is None:
            return
        which = self.which.currentData()
        # The reasons are sentences, and of all GPUs: they take the whole width.
        self.ranks.setVisible(which != _WHY)
        if which == _WHY:
            self._ask_why(study)
        elif which == "groups":
            self.table.set_frame(group_frame(study, found), GROUPS)
        else:
            self.table.set_frame(set_frame(study, found, which), SETS)

    def _ask_why(self, study: Study) -> None:
        """List what held the compute kernels beside which the collectives would have been hidden."""
        state = self.state
        scope = state.filter or study.default_scope(state.iterations)
        self.table.set_frame(pd.DataFrame(columns=list(OVERLAP_COLUMNS)), WHY)
        self._why_worker.start(
            lambda _: overlap_reasons(study.stall_reasons, scope.within, len(scope.iterations) or None),
            self._show_why,
        )

    def _show_why(self, frame: pd.DataFrame) -> None:
        if self.which.currentData() == _WHY:
            has_iterations = bool((frame["per_iteration_ns"] >= 0).all())
            self.table.set_frame(frame, [c for c in WHY if has_iterations or c.key != "per_iteration_ns"])

    def _follow_filter(self) -> None:
        if self.which.currentData() == _WHY:
            self._show_right()

    def _open(self, position: int) -> None:
        frame = self.table.frame_model.frame
        if "set" in frame or "starts_after" in frame:
            self._to_set(position)
        else:
            self.which.setCurrentIndex(self.which.findData(_whole(frame, "group", position)))
            self._show_right()

    def _to_gpu(self, position: int) -> None:
        reveal_gpu(self.state, _whole(self.ranks.frame_model.frame, "gpu", position))

    def _to_set(self, position: int) -> None:
        """Select and show the span of a set and its last arrival, or the longest stretch that was exposed."""
        frame = self.table.frame_model.frame
        if "start_ns" not in frame:
            return
        row = frame.iloc[position]
        start, end = int(row["start_ns"]), int(row["end_ns"])
        self.state.select((start, end))
        go_to_event(self.state, Kind.KERNEL, int(row["kernel"]))
        show_range(self.state, start, end)

    def _tell_notes(self) -> None:
        if self.found is not None:
            self.show_notes(self.found.notes)

    def show_notes(self, notes: tuple[str, ...]) -> None:
        """List the collectives that could not be matched, and why."""
        self.table.set_frame(pd.DataFrame({"note": list(notes)}), NOTES)
        self.ranks.show()
        self.which.setCurrentIndex(-1)


def _whole(frame: pd.DataFrame, key: str, position: int) -> int:
    return int(frame[key].to_numpy()[position])


def _made(study: Study) -> Collectives:
    """Compute what the dock shows, off the main thread."""
    collectives = study.collectives
    assert collectives.table is not None
    assert collectives.groups_table is not None
    assert collectives.sets_table is not None
    return collectives
