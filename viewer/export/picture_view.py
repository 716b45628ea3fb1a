"""View: what a picture shows, its rows, range of time, marks and surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from viewer.analysis.study import Study
from viewer.analysis.time.iteration_bounds import Iterations
from viewer.analysis.time.scope import Scope, iteration_scope
from viewer.drawing.critical_line import CriticalLine
from viewer.drawing.layout import shown_rows
from viewer.drawing.theme import LIGHT, Theme, without_ground
from viewer.export.figure_style import TIMELINE
from viewer.rows import Row
from viewer.state import Measurement, Note, ViewState, Window


class PictureError(Exception):
    """A picture that cannot be made; its text is one line for people."""


@dataclass(frozen=True, slots=True)
class Extras:
    """The parts of a picture around its rows.

    Attributes
    ----------
    headers, ruler, legend : bool
        As in the window.
    scale_bar : bool
        A bar of round length, for pictures that will be scaled.
    card : bool
        The numbers of the selected range, as on its card.
    table : bool
        The numbers of the measurements, a line each.
    """

    headers: bool = True
    ruler: bool = True
    legend: bool = True
    scale_bar: bool = False
    card: bool = True
    table: bool = True


@dataclass(frozen=True)
class View:
    """The content of a picture.

    Attributes
    ----------
    rows : sequence of (Row, bool)
        From top to bottom, each with whether it is unfolded. A row without its parent above it shows its
        path as its name.
    window_ns : (int, int)
    overlays : frozenset of str
        Of "idle", "exposed", "waiting" and "path".
    iteration : int or None
        The iteration that is marked on the ruler.
    selections : sequence of (int, int)
        The selected ranges, disjoint.
    line : CriticalLine or None
        The critical path, where it is shown.
    scope : Scope or None
        The filter: a veil covers the time outside it, and numbers are taken over it.
    steady : frozenset of int or None
        The user's own choice of steady iterations.
    title, subtitle : str
        The heading; "" for none.
    preset : str
        One of `viewer.export.figure_style.PRESETS`.
    is_transparent : bool
        Without a ground: what lies below the picture is seen between its bars and texts.
    """

    study: Study
    rows: Sequence[tuple[Row, bool]]
    window_ns: Window
    theme: Theme = LIGHT
    overlays: frozenset[str] = frozenset()
    iterations: Iterations | None = None
    iteration: int | None = None
    selections: Sequence[Window] = ()
    measurements: Sequence[Measurement] = ()
    notes: Sequence[Note] = ()
    scope: Scope | None = None
    steady: frozenset[int] | None = None
    extras: Extras = field(default_factory=Extras)
    title: str = ""
    subtitle: str = ""
    is_transparent: bool = False
    preset: str = TIMELINE
    line: CriticalLine | None = None

    @property
    def ground(self) -> Theme:
        """The theme of what is painted flat: without a ground where the picture has none."""
        return without_ground(self.theme) if self.is_transparent else self.theme

    @property
    def path_window(self) -> Window:
        """The time over which the critical path is counted: the iteration that is marked, else the window."""
        if self.iterations is None or self.iteration is None:
            return self.window_ns
        return self.iterations.start_ns(self.iteration), self.iterations.end_ns(self.iteration)

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """The measurements that overlap the window; the picture leaves the others out."""
        start, end = self.window_ns
        return tuple(m for m in self.measurements if m.start_ns < end and m.end_ns > start)

    @property
    def noted(self) -> tuple[Note, ...]:
        """The notes whose time touches the window."""
        start, end = self.window_ns
        return tuple(n for n in self.notes if n.span(self.study)[0] <= end and n.span(self.study)[1] >= start)

    @property
    def steady_text(self) -> str:
        """The iterations that numbers of the whole trace are taken over, in words."""
        if self.iterations is None:
            return self.study.default_scope(None).what
        return iteration_scope(self.iterations, self.steady).what


def present_view(state: ViewState, theme: Theme) -> View:
    """Return the present view of a window, with all of its rows.

    Raises
    ------
    PictureError
        If nothing is open.
    """
    if state.study is None:
        raise PictureError("no trace is open")
    return View(
        state.study,
        shown_rows(state.rows),
        state.axis.window,
        theme,
        state.overlays,
        state.iterations,
        state.iteration,
        state.selections.items,
        state.measurements.items,
        state.notes.items,
        state.filter,
        state.steady_choice,
        line=state.path.shown,
    )
