"""Two time axes that move together: one trace under another, each with its own zero."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from viewer.analysis.study import Study
from viewer.state.view_state import ViewState


class AxisLink(QObject):
    """Keeps two views on the same stretch of time, counted from an iteration of each.

    While the selected iterations keep their first pairing, iteration ``n`` of the one lies under
    iteration ``n + shift`` of the other: going to the next iteration goes there in both.

    Signals
    -------
    changed()
        Other iterations lie under each other.
    """

    changed = Signal()

    def __init__(self, first: ViewState, second: ViewState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.first, self.second = first, second
        self.pair: tuple[int, int] | None = None
        self.offset_ns = 0
        self._moving = False
        self._joined = first.axis.limits
        self._limits = first.axis.limits, second.axis.limits
        first.axis.changed.connect(self._follow_first)
        second.axis.changed.connect(self._follow_second)
        first.iterations_changed.connect(self._follow_iteration)
        first.overlays_changed.connect(self._copy_overlays)
        second.overlays_changed.connect(self._copy_overlays_back)
        first.card_changed.connect(self._copy_card)
        self._copy_card()
        self._copy_overlays()
        self.align(*_first_pair(first, second))

    @property
    def shift(self) -> int:
        """How many iterations later the second's counterpart is numbered."""
        return self.pair[1] - self.pair[0] if self.pair else 0

    def align(self, iteration: int | None, other: int | None) -> None:
        """Put an iteration of the second under one of the first, start under start.

        None: the first GPU operations under each other.
        """
        a, b = self.first.iterations, self.second.iterations
        if a is None or b is None or iteration is None or other is None:
            self.pair = None
            self.offset_ns = _begin(self.second.study) - _begin(self.first.study)
        else:
            self.pair = (min(max(iteration, 0), a.count - 1), min(max(other, 0), b.count - 1))
            self.offset_ns = b.start_ns(self.pair[1]) - a.start_ns(self.pair[0])
            self.second.set_iteration(self.pair[1])
        self._join_limits()
        self._follow_first()
        self.changed.emit()

    def release(self) -> None:
        """Let the first view be alone again."""
        self.first.axis.changed.disconnect(self._follow_first)
        self.first.iterations_changed.disconnect(self._follow_iteration)
        self.first.overlays_changed.disconnect(self._copy_overlays)
        self.first.card_changed.disconnect(self._copy_card)
        self.second.overlays_changed.disconnect(self._copy_overlays_back)
        self._moving = True
        if self.first.study is not None and self.first.axis.limits == self._joined:
            self.first.axis.limit(self._limits[0])

    def _join_limits(self) -> None:
        """Let each axis reach as far as the other trace does, so that neither stops the other."""
        (a0, a1), (b0, b1) = self._limits
        low, high = min(a0, b0 - self.offset_ns), max(a1, b1 - self.offset_ns)
        self._joined = (low, high)
        self._moving = True
        try:
            self.first.axis.limit((low, high))
            self.second.axis.limit((low + self.offset_ns, high + self.offset_ns))
        finally:
            self._moving = False

    def _follow_first(self) -> None:
        start, end = self.first.axis.window
        self._go(self.second, start + self.offset_ns, end + self.offset_ns)

    def _follow_second(self) -> None:
        start, end = self.second.axis.window
        self._go(self.first, start - self.offset_ns, end - self.offset_ns)

    def _go(self, state: ViewState, start_ns: int, end_ns: int) -> None:
        if self._moving or self.first.study is None:
            return
        self._moving = True
        try:
            state.axis.go(start_ns, end_ns, "linked")
        finally:
            self._moving = False

    def _follow_iteration(self) -> None:
        """Go along with the first view to another iteration."""
        iteration, iterations = self.first.iteration, self.second.iterations
        if self.pair is None or iterations is None or iteration is None or iteration == self.pair[0]:
            return
        other = iteration + self.shift
        if 0 <= other < iterations.count:
            self.align(iteration, other)

    def _copy_card(self) -> None:
        self.second.set_card(self.first.card)

    def _copy_overlays(self) -> None:
        # All at once: after a part of them, the other view would copy that part back.
        self.second.set_overlays(self.first.overlays)

    def _copy_overlays_back(self) -> None:
        self.first.set_overlays(self.second.overlays)


def _first_pair(first: ViewState, second: ViewState) -> tuple[int | None, int | None]:
    """Return the iteration that is looked at, and the second's one that is as far from its warm-up.

    Where several are in view, one that the numbers are of: a checkpoint is not set against a usual iteration.
    """
    a, b = first.iterations, second.iterations
    if a is None or b is None or not a.count or not b.count:
        return None, None
    iteration = (
        first.iteration if first.iteration is not None else a.iteration_at(sum(first.axis.window) // 2)
    )
    if iteration is None:
        iteration = a.basis[0] if a.basis else 0
    low, high = first.axis.window
    if first.iteration is None and a.basis and high - low > int(a.duration_ns[iteration]):
        iteration = _nearest(a.basis, iteration)
    other = min(max(iteration - a.warm_up + b.warm_up, 0), b.count - 1)
    return iteration, _nearest(b.basis, other) if iteration in a.basis and b.basis else other


def _nearest(iterations: Sequence[int], iteration: int) -> int:
    return min(iterations, key=lambda one: abs(one - iteration))


def _begin(study: Study | None) -> int:
    return study.trace.window_ns[0] if study else 0
