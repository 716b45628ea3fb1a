"""The table of actions, from which menus, tool bar, keys and key sheet are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication

from viewer.app.dialogs import ask_where
from viewer.app.docks import AT_RIGHT, PANELS
from viewer.app.steps import event, iteration, next_card, stall
from viewer.panels.table_view import DenseTable
from viewer.state import ViewState, navigation
from viewer.state.bookmarks import NUMBERS, go_to_bookmark, set_bookmark
from viewer.timeline.definitions_dialog import MEANING, show_definitions
from viewer.timeline.event_menu import copy_name, list_instances, zoom_to_event
from viewer.timeline.gestures import NOTCH
from viewer.timeline.plain_text import tip

if TYPE_CHECKING:
    from viewer.app.action_target import ActionTarget

    Test = Callable[[ActionTarget], bool]
    Reason = Callable[[ActionTarget], str]

MENUS = ("File", "Edit", "View", "Go", "Measure", "Tools", "Help")


@dataclass(frozen=True, slots=True)
class Action:
    """A command of the user.

    Attributes
    ----------
    id : str
        Its name in code.
    title, short : str
        In the menu and the key sheet; on the tool bar.
    menu : str
        Where it stands, "View" or "View/Theme"; a menu's commands stand in the table's order.
    run : callable
        Does it; called with the `ActionTarget`.
    keys : tuple of str
        Key sequences; the first is the one that menus show.
    enabled, checked : callable or None
        Whether it can be done, and whether it is on; None: always, and not a switch.
    group : str
        Commands of the same menu but another group are set apart by a line.
    why_not : callable or None
        Why it cannot be done now, for its tooltip.
    """

    id: str
    title: str
    menu: str
    run: Callable[[ActionTarget], object]
    keys: tuple[str, ...] = ()
    enabled: Test | None = None
    checked: Test | None = None
    group: str = ""
    short: str = ""
    why_not: Reason | None = None


def _trace(w: ActionTarget) -> bool:
    return w.state.study is not None


def _all_rows(w: ActionTarget) -> bool:
    return w.state.study is not None and w.state.study.loading.has_all_rows


def _numbers(w: ActionTarget) -> bool:
    return w.state.study is not None and w.state.study.loading.is_complete


def _gpus(w: ActionTarget) -> bool:
    return w.state.study is not None and bool(w.state.study.trace.gpus)


def _selection(w: ActionTarget) -> bool:
    return w.state.selection is not None


def _event_chosen(w: ActionTarget) -> bool:
    return w.state.study is not None and w.state.chosen is not None


def _iterations(w: ActionTarget) -> bool:
    return w.state.iterations is not None


def _no_path_reason(w: ActionTarget) -> str:
    if w.state.study is None:
        return "Open a trace to see the critical path of its iterations"
    if not w.state.study.loading.is_complete:
        return "The critical path follows once all of the trace is read and counted"
    return "The critical path is that of an iteration, and no iterations were found"


def _filter(w: ActionTarget) -> bool:
    return w.state.filter is not None


def _found(w: ActionTarget) -> bool:
    return w.state.search_result is not None


def _explain(w: ActionTarget) -> None:
    """Show the definition of the number in the focused table's cell, else those of the selection."""
    focus, state, name = QApplication.focusWidget(), w.state, ""
    if isinstance(focus, DenseTable) and (index := focus.currentIndex()).isValid():
        name = focus.definition_of(index.row(), index.column())
    elif state.stall_number is not None:
        name = "cause"
    elif state.selection is not None:
        name = "compute_only"
    elif state.chosen is not None:
        name = "latency_ns"
    show_definitions(w.parent_widget, name)


def _note(w: ActionTarget) -> bool:
    return w.state.notes.chosen is not None


def _go_to_bookmark(target: ActionTarget, number: int) -> None:
    if not go_to_bookmark(target.state, number):
        target.status.say(f"There is no bookmark {number}: Ctrl+{number} sets it to what is looked at")


def _set_bookmark(target: ActionTarget, number: int) -> None:
    set_bookmark(target.state, number)
    target.status.say(f"Bookmark {number} set: {number} comes back to it")


def _bookmark(number: int) -> tuple[Action, Action]:
    return (
        Action(
            f"bookmark-{number}", f"Go to bookmark {number}", "Go/Bookmarks",
            lambda w: _go_to_bookmark(w, number), (str(number),), _trace,
        ),
        Action(
            f"set-bookmark-{number}", f"Set bookmark {number}", "Go/Set bookmark",
            lambda w: _set_bookmark(w, number), (f"Ctrl+{number}",), _trace,
        ),
    )  # fmt: skip


def _overlay(
    name: str, title: str, short: str, key: str, enabled: Test = _gpus, why_not: Reason | None = None
) -> Action:
    return Action(
        f"overlay-{name}", f"Overlay: {title}", "View",
        lambda w: w.state.set_overlay(name, name not in w.state.overlays),
        (key,), enabled, lambda w: enabled(w) and name in w.state.overlays, group="overlays", short=short,
        why_not=why_not,
    )  # fmt: skip


def _launch_rows_shown(state: ViewState) -> bool:
    rows = state.rows
    return bool(rows.launches) and rows.hidden.isdisjoint(rows.launches)


def _switch_launch_rows(w: ActionTarget) -> None:
    rows, keys = w.state.rows, w.state.rows.launches
    hide = _launch_rows_shown(w.state)
    rows.set_hidden(keys, hide)
    if not hide:
        shown = [row for row in map(rows.row, keys) if row is not None]
        rows.set_expanded({step.key for row in shown for step in row.path()[:-1]}, True)


def _preset(name: str, title: str, key: str) -> Action:
    return Action(
        f"preset-{name.split()[0]}", title, "View/Rows", lambda w: w.state.rows.apply_preset(name),
        (key,), _trace,
        lambda w: w.state.rows.preset == name,
    )  # fmt: skip


def _theme(choice: str, title: str, key: str) -> Action:
    return Action(
        f"theme-{choice}", title, "View/Theme", lambda w: w.choose_theme(choice), (key,),
        checked=lambda w: w.theme_manager.choice == choice,
    )  # fmt: skip


def _panel(position: int, title: str) -> Action:
    return Action(
        f"panel-{title.lower()}", title, "View/Panels", lambda w: w.bring_panel(title),
        (f"Alt+{position % 10}",), _trace, lambda w: w.is_panel_shown(title),
    )  # fmt: skip


def _fold_all(expanded: bool) -> Callable[[ActionTarget], None]:
    return lambda w: w.state.rows.set_expanded(
        [r.key for root in w.state.rows.roots for r in root.walk() if r.children], expanded
    )


_FILE = (
    Action("open", "Open…", "File", lambda w: w.traces.choose_file(), ("Ctrl+O",), short="Open"),
    Action("demo", "Open the demo", "File", lambda w: w.traces.open(None), ("Ctrl+Shift+O",)),
    Action("open-session", "Open session…", "File", lambda w: w.traces.choose_session(), ("Ctrl+Alt+O",),
            group="session"),
    Action("save-session", "Save session as…", "File", lambda w: w.traces.save_session(), ("Ctrl+Shift+S",),
            _numbers, group="session"),
    Action("compare", "Compare with…", "File", lambda w: w.compare(), ("Ctrl+Shift+C",), _numbers,
            group="compare"),
    Action("picture", "Export picture…", "File", lambda w: w.export_picture(), ("Ctrl+E",), _trace,
            group="export"),
    Action("report", "Export report…", "File", lambda w: w.export_report(), ("Ctrl+Shift+E",), _numbers,
            group="export"),
    Action("close", "Close the trace", "File", lambda w: w.traces.close(), ("Ctrl+W",), _trace, group="end"),
    Action("quit", "Quit", "File", lambda w: w.parent_widget.close(), ("Ctrl+Q",), group="end"),
)  # fmt: skip
_EDIT = (
    Action("undo", "Undo edit", "Edit", lambda w: w.state.history.undo(), ("Ctrl+Z",),
            lambda w: w.state.history.can_undo),
    Action("redo", "Redo edit", "Edit", lambda w: w.state.history.redo(), ("Ctrl+Shift+Z",),
            lambda w: w.state.history.can_redo),
    Action("copy-name", "Copy the name of the selected event", "Edit", lambda w: w.with_event(copy_name),
            ("Ctrl+Shift+N",), _event_chosen),
    Action("note", "Write a note", "Edit", lambda w: w.timeline.notes.write(), ("M",), _trace,
            group="notes"),
    Action("delete-note", "Delete the note", "Edit", lambda w: w.state.notes.delete_chosen(), ("Del",),
            _note, group="notes"),
    Action("find", "Find…", "Edit", lambda w: w.find_bar.open(), ("Ctrl+F", "/"), _all_rows, group="find"),
    Action("find-next", "Next hit", "Edit", lambda w: w.find_bar.step(1), ("F3",), _found, group="find"),
    Action("find-previous", "Previous hit", "Edit", lambda w: w.find_bar.step(-1), ("Shift+F3",), _found,
            group="find"),
    Action("filter-rows", "Filter the rows", "Edit", lambda w: w.find_rows(), ("Ctrl+Shift+F",), _trace,
            group="find"),
    Action("preferences", "Preferences…", "Edit", lambda w: w.show_preferences(), ("Ctrl+,",),
            group="preferences"),
)  # fmt: skip
_VIEW = (
    Action("fit", "Whole trace", "View", lambda w: w.state.axis.go(*w.state.axis.limits), ("Home",), _trace,
            short="Fit"),
    Action("zoom-in", "Zoom in at the pointer", "View", lambda w: w.timeline.gestures.zoom(1 / NOTCH),
            ("+", "="), _trace),
    Action("zoom-out", "Zoom out at the pointer", "View", lambda w: w.timeline.gestures.zoom(NOTCH),
            ("-",), _trace),
    Action("zoom-selection", "Zoom into the selection", "View",
            lambda w: navigation.zoom_to_selection(w.state), ("Z",), _selection),
    Action("zoom-event", "Zoom to the selected event", "View", lambda w: w.with_event(zoom_to_event),
            ("Ctrl+Return",), _event_chosen),
    Action("zoom-deselect", "Zoom into the selection and deselect", "View",
            lambda w: navigation.zoom_to_selection(w.state, deselect=True), ("Shift+Z",), _selection),
    Action("filter", "Filter to the selection", "View", lambda w: navigation.filter_to_selection(w.state),
            ("F",), lambda w: _selection(w) or _filter(w), group="filter"),
    Action("filter-iteration", "Filter to the iteration", "View",
            lambda w: navigation.filter_to_iteration(w.state), ("Shift+F",), _iterations, group="filter"),
    Action("filter-steady", "Filter to the steady state", "View",
            lambda w: w.state.set_filter(w.state.steady_scope), ("Y",), lambda w: bool(w.state.steady),
            group="filter"),
    Action("filter-none", "Clear filter", "View", lambda w: w.state.set_filter(None),
            ("Shift+Y",), _filter, group="filter"),
    _overlay("idle", "idle", "Idle", "I"),
    _overlay("exposed", "exposed communication", "Exposed", "E"),
    _overlay("waiting", "waiting in NCCL", "Waiting", "N"),
    _overlay("path", "critical path", "Critical path", "P", _iterations, _no_path_reason),
    Action("launch-distance", "Launch latency of every GPU", "View", _switch_launch_rows, ("Q",),
            _trace, lambda w: _launch_rows_shown(w.state), group="overlays"),
    Action("card", "Show or hide the card", "View", lambda w: w.timeline.cards.switch(), ("C",), _trace,
            group="cards"),
    Action("card-form", "Cards: full, short, by key", "View", next_card, ("Shift+C",), _trace,
            group="cards"),
    Action("legend", "Legend", "View", lambda w: w.timeline.set_legend_shown(w.timeline.legend.isHidden()),
            ("Shift+L",), _trace, lambda w: not w.timeline.legend.isHidden(), group="overlays"),
    _preset("lanes", "Lanes: one per GPU", "F6"),
    _preset("compute + communication", "Compute + communication of every GPU", "F7"),
    _preset("everything", "Everything", "F8"),
    Action("pin", "Pin the row", "View", lambda w: w.switch_pin(), ("Ctrl+P",), _trace, group="rows"),
    Action("pin-stream", "Pin the stream on all GPUs", "View", lambda w: w.switch_stream_pins(), ("Shift+P",),
            _gpus, group="rows"),
    Action("list-events", "Show in Events", "View", lambda w: w.list_row(), ("T",), _trace, group="rows"),
    Action("event-durations", "Choose durations in Events", "View", lambda w: w.choose_durations(),
            ("Ctrl+D",), _trace, group="rows"),
    Action("instances", "All instances of the selected event", "View",
            lambda w: w.with_event(list_instances), ("Shift+T",), _event_chosen, group="rows"),
    Action("hide-row", "Hide the row", "View", lambda w: w.hide_row(), ("H",), _trace, group="rows"),
    Action("show-all", "Show all hidden rows", "View",
            lambda w: w.state.rows.set_hidden(set(w.state.rows.hidden), False), ("Shift+H",),
            lambda w: bool(w.state.rows.hidden), group="rows"),
    Action("expand-all", "Expand all", "View", _fold_all(True), ("Ctrl+Shift+Down",), _trace, group="rows"),
    Action("collapse-all", "Collapse all", "View", _fold_all(False), ("Ctrl+Shift+Up",), _trace,
            group="rows"),
    Action("docks", "Docks below the timeline", "View", lambda w: w.fold_docks(not w.dock_tabs.is_folded),
            ("Ctrl+J", "F9"), _trace, lambda w: not w.dock_tabs.is_folded, group="overlays"),
    *(_panel(i, kind.title) for i, kind in enumerate((*PANELS, *AT_RIGHT), 1)),
    _theme("system", "Like the system", "Shift+F6"),
    _theme("light", "Light", "Shift+F7"),
    _theme("dark", "Dark", "Shift+F8"),
)  # fmt: skip
_GO = (
    Action("back", "Back", "Go", lambda w: w.state.axis.back(), ("Backspace",),
            lambda w: w.state.axis.can_back, short="‹"),
    Action("forward", "Forward", "Go", lambda w: w.state.axis.forward(), ("Shift+Backspace",),
            lambda w: w.state.axis.can_forward, short="›"),
    Action("go-to", "Go to a time…", "Go", lambda w: ask_where(w.state, w.parent_widget), ("Ctrl+G",),
            _trace),
    Action("next-iteration", "Next iteration", "Go", iteration(1), ("]",), _iterations,
            group="iterations", short="›"),
    Action("previous-iteration", "Previous iteration", "Go", iteration(-1), ("[",), _iterations,
            group="iterations", short="‹"),
    Action("fit-iteration", "Fit the iteration", "Go", lambda w: navigation.fit_iteration(w.state),
            ("\\",), _iterations, group="iterations"),
    Action("next-idle", "Next idle stall", "Go", stall("idle", 1), ("G",), _trace, group="stalls"),
    Action("previous-idle", "Previous idle stall", "Go", stall("idle", -1), ("Shift+G",), _trace,
            group="stalls"),
    Action("next-exposed", "Next exposed communication", "Go", stall("exposed_comm", 1), ("X",), _trace,
            group="stalls"),
    Action("previous-exposed", "Previous exposed communication", "Go", stall("exposed_comm", -1),
            ("Shift+X",), _trace, group="stalls"),
    Action("next-event", "Next event in the row", "Go", event(1), (".",), _trace, group="events"),
    Action("previous-event", "Previous event in the row", "Go", event(-1), (",",), _trace, group="events"),
    Action("other-end", "Other end of the launch", "Go", lambda w: w.timeline.links.go_to_other_end(),
            ("L",), lambda w: w.timeline.links.has_other_end, group="events"),
    *(command for pair in zip(*map(_bookmark, NUMBERS), strict=True) for command in pair),
)  # fmt: skip
_OTHER = (
    Action("keep", "Keep the measurement", "Measure", lambda w: w.keep(), ("Return", "Enter"), _selection),
    Action("select-event", "Select the time of the event", "Measure",
            lambda w: navigation.select_event_time(w.state), ("R",), lambda w: w.state.chosen is not None),
    Action("select-iteration", "Select the time of the iteration", "Measure",
            lambda w: navigation.select_iteration_time(w.state), ("Shift+R",), _iterations),
    Action("other-edge", "Move the other edge of the selection", "Measure",
            lambda w: w.state.selections.take_other_edge(), ("O",), _selection),
    Action("deselect", "Deselect", "Measure", lambda w: w.deselect(), ("Esc",), _trace),
    Action("what-if", "What if…", "Tools", lambda w: w.ask_what_if(), ("V",),
            lambda w: not w.state.what_if.obstacle, why_not=lambda w: w.state.what_if.obstacle),
    Action("what-if-close", "Close the prediction", "Tools", lambda w: w.state.what_if.close(), ("Shift+V",),
            lambda w: w.state.what_if.is_open),
    Action("apply-rules", "Apply the kernel class rules again", "Tools", lambda w: w.apply_rules(), ("F5",),
            _trace),
    Action("palette", "Command palette…", "Help", lambda w: w.open_palette(), ("Ctrl+Shift+P",)),
    Action("keys", "Keys and gestures", "Help", lambda w: w.show_keys(), ("?", "Shift+?", "F1")),
    Action("definition", MEANING, "Help", _explain, ("Shift+F1",)),
    Action("definitions", "Definitions", "Help", lambda w: show_definitions(w.parent_widget), ("Ctrl+F1",)),
    Action("about", "About Lightbox", "Help", lambda w: w.show_about(), ("Ctrl+Shift+F1",)),
)  # fmt: skip

COMMANDS: tuple[Action, ...] = (*_FILE, *_EDIT, *_VIEW, *_GO, *_OTHER)


def make_actions(target: ActionTarget) -> dict[str, QAction]:
    """Return a QAction for every command, by its id, with its keys alive in the whole window."""
    return {command.id: _action(command, target) for command in COMMANDS}


def refresh_actions(target: ActionTarget, actions: dict[str, QAction]) -> None:
    """Enable the commands that can be carried out now, and check those that are on."""
    for command in COMMANDS:
        action = actions[command.id]
        is_possible = command.enabled is None or command.enabled(target)
        action.setEnabled(is_possible)
        if command.why_not is not None:
            action.setToolTip(_tip(command) if is_possible else tip(command.why_not(target)))
        if command.checked is not None:
            action.setChecked(command.checked(target))


def _tip(command: Action) -> str:
    key = key_text(command)
    return f"{command.title}  ({key})" if key else command.title


def key_text(command: Action) -> str:
    """Return the command's first key as people write it, "" for none."""
    text = (
        QKeySequence(command.keys[0]).toString(QKeySequence.SequenceFormat.NativeText) if command.keys else ""
    )
    return _KEY_NAMES.get(text, text)


_KEY_NAMES = {"Return": "Enter", "-": "−"}


def _action(command: Action, target: ActionTarget) -> QAction:
    action = QAction(command.title, target.parent_widget)
    action.setObjectName(command.id)
    action.setIconText(command.short or command.title)
    action.setShortcuts([QKeySequence(key) for key in command.keys])
    action.setCheckable(command.checked is not None)
    action.setIconVisibleInMenu(False)
    action.setToolTip(_tip(command))
    action.triggered.connect(lambda: target.do(command))
    target.parent_widget.addAction(action)
    return action
