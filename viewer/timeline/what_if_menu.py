"""The what-if commands of menus: what can be tried on an event, a stall, a rank, or the whole job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from viewer.analysis.replay.changes import Scale
from viewer.drawing.change_proposals import (
    FACTORS,
    Proposal,
    for_event,
    for_gpu,
    for_range,
    for_stall,
    for_wait,
    general,
)
from viewer.rows import EventRef, Row
from viewer.state import ViewState
from viewer.state.places import gpus_of
from viewer.timeline.plain_text import tip, without_key

TITLE = "What if"


def add_what_if_menu(menu: QMenu, state: ViewState, found: Iterable[Proposal]) -> None:
    """Add a submenu of changes; disabled with the reason in its place where nothing can be tried."""
    proposals = list(found)
    below = menu.addMenu(TITLE)
    if state.what_if.obstacle:
        below.setEnabled(False)
        below.menuAction().setToolTip(tip(state.what_if.obstacle))
        menu.setToolTipsVisible(True)
        return
    fill_what_if(below, state, proposals)


def fill_what_if(menu: QMenu, state: ViewState, proposals: Iterable[Proposal]) -> None:
    """Add a command for each change; of kernels a choice of how long they last."""
    for proposal in proposals:
        if proposal.is_scale:
            _add_factors(menu, state, proposal)
        else:
            menu.addAction(without_key(proposal.text), partial(state.what_if.add, proposal.change))


def _add_factors(menu: QMenu, state: ViewState, proposal: Proposal) -> None:
    change = proposal.change
    assert isinstance(change, Scale)
    below = menu.addMenu(without_key(proposal.text))
    for factor in FACTORS:
        text = f"× {factor:g}" if factor else "no time (× 0)"
        below.addAction(text, partial(state.what_if.add, replace(change, factor=factor)))
    below.addAction("Other…", partial(_ask_factor, state, change, menu.parentWidget()))


def _ask_factor(state: ViewState, change: Scale, parent: QWidget | None) -> None:
    factor, is_given = QInputDialog.getDouble(
        parent or QWidget(), "What if", f"{change.pattern} lasts so many times as long:", 1.0, 0.0, 100.0, 3
    )
    if is_given:
        state.what_if.add(replace(change, factor=factor))


def proposals_for(state: ViewState, event: EventRef | None = None, row: Row | None = None) -> list[Proposal]:
    """Return the changes that concern an event, the selected stall, and the rank of a row, in this order."""
    study = state.study
    if study is None or state.what_if.obstacle:
        return []
    found: list[Proposal] = []
    if event is not None:
        found += for_event(study, event)
        wait = state.wait.wait
        if wait is not None and (wait.event.kind, wait.event.index) == (event.kind, event.index):
            dropped = for_wait(study, wait)
            found += [dropped] if dropped is not None else []
    if state.stall_number is not None:
        found += for_stall(study, state.marker, state.stall_number)
    if row is not None:
        for gpu in gpus_of(row.path()[0])[:1]:
            if state.selection is not None and state.stall_number is None:
                found += for_range(study, gpu, *state.selection)
            found += for_gpu(study, gpu)
    return list(dict.fromkeys(found))


def fill_general(menu: QMenu, state: ViewState, row: Row | None = None) -> None:
    """Add the changes to what is selected and to the rank of a row, and those to the whole job."""
    study = state.study
    if study is None:
        return
    own = proposals_for(state, state.chosen, row)
    fill_what_if(menu, state, own)
    menu.addSeparator()
    fill_what_if(menu, state, [one for one in general(study) if one not in own])
