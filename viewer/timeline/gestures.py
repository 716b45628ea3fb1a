"""Gestures: mouse, wheel and keys on the strips; they change the state and paint nothing."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from viewer.drawing.hit import HitResult
from viewer.state import Hover, ViewState, Window
from viewer.state.selections import END, START, with_range
from viewer.timeline.key_letters import letter_of
from viewer.timeline.strip import TimeStrip, guard
from viewer.timeline.strip_snapping import Snapping

NOTCH = 1.25
SNAP_PX = 8
EDGE_PX = 4
CLICK_PX = 3
SCROLL_PX = 48
FIT_SHARE = 0.6
EDGE_PAN, EDGE_PAN_MS = 0.2, 20
NONE, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
ADD = Qt.KeyboardModifier.ControlModifier
"""The key that adds a range to those that are selected."""
_ARROWS: dict[int, int] = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


@dataclass(slots=True)
class _Drag:
    kind: str
    strip: TimeStrip
    start: QPointF
    anchor_ns: int
    window: Window
    selections: tuple[Window, ...]
    others: tuple[Window, ...]
    pos: QPointF
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    scrolled: float = 0.0
    moved: bool = False


class Gestures(QObject):
    """Interprets presses, drags, wheel notches and letters on all strips.

    Signals
    -------
    scrolled(int)
        Move the rows down by so many logical pixels.
    pointed(QWidget, QPointF)
        The pointer rests on a strip, no button down.
    left()
        The pointer left the strips, or a drag begins.
    clicked(QWidget, QPointF, bool)
        A click, and whether it adds to what is selected (Ctrl).
    double_clicked(QWidget, QPointF)
        A double click beside the selection.
    dragging(bool)
        Whether the user is dragging a selection.
    """

    scrolled = Signal(int)
    pointed = Signal(object, object)
    left = Signal()
    clicked = Signal(object, object, bool)
    double_clicked = Signal(object, object)
    dragging = Signal(bool)

    def __init__(self, state: ViewState, snapping: Snapping, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state, self.snapping = state, snapping
        self._drag: _Drag | None = None
        self._space = False
        self._drags = 0
        self._edge_pan = QTimer(self, interval=EDGE_PAN_MS)
        self._edge_pan.timeout.connect(self._pan_at_edge)
        self._under: tuple[TimeStrip, QPointF] | None = None
        state.leaving.connect(self.cancel_drag)
        self._handlers = {
            QEvent.Type.MouseButtonPress: self._press,
            QEvent.Type.MouseMove: self._move,
            QEvent.Type.MouseButtonRelease: self._release,
            QEvent.Type.MouseButtonDblClick: self._double_click,
            QEvent.Type.Wheel: self._wheel,
            QEvent.Type.NativeGesture: self._pinch,
            QEvent.Type.Leave: self._leave,
            QEvent.Type.KeyPress: self._strip_key,
            QEvent.Type.KeyRelease: self._key_release,
        }

    def watch(self, strip: QWidget, policy: Qt.FocusPolicy = Qt.FocusPolicy.ClickFocus) -> None:
        """Handle the events of a strip (a `TimeStrip`), and let it have the focus."""
        strip.installEventFilter(self)
        strip.setFocusPolicy(policy)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hand an event to its handler."""
        handler = self._handlers.get(event.type())
        if handler is None or self.state.study is None:
            return False
        with guard("a gesture"):
            return bool(handler(watched, event))  # type: ignore[operator]
        return False

    # Mouse

    def _press(self, strip: TimeStrip, event: QMouseEvent) -> bool:
        pos, button = event.position(), event.button()
        selections = self.state.selections
        if button == Qt.MouseButton.MiddleButton or (button == Qt.MouseButton.LeftButton and self._space):
            self._begin("pan", strip, pos, 0)
            strip.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif button == Qt.MouseButton.LeftButton:
            if (found := self._edge_at(strip, pos)) is not None:
                window, edge = found
                selections.take(window, edge)
                self._begin("edge", strip, pos, window[1 - edge], selections.others)
            elif (tagged := strip.tag_at(pos)) is not None:
                selections.take(tagged, selections.edge)
                self._begin("body", strip, pos, 0, selections.others)
            else:
                kept = selections.items if event.modifiers() & ADD else ()
                self._begin("select", strip, pos, self._snapped(strip, pos, event.modifiers()), kept)
        else:
            return False
        return True

    def _begin(
        self, kind: str, strip: TimeStrip, pos: QPointF, anchor_ns: int, others: tuple[Window, ...] = ()
    ) -> None:
        self._drags += 1
        window, selections = self.state.axis.window, self.state.selections.items
        self._drag = _Drag(kind, strip, pos, anchor_ns, window, selections, others, pos)
        self.left.emit()

    def _move(self, strip: TimeStrip, event: QMouseEvent) -> bool:
        pos = event.position()
        drag = self._drag
        if drag is None:
            self._hover(strip, pos)
            near = self._edge_at(strip, pos) is not None
            strip.setCursor(Qt.CursorShape.SizeHorCursor if near else Qt.CursorShape.ArrowCursor)
            return True
        drag.pos, drag.modifiers = pos, event.modifiers()
        if not drag.moved and (pos - drag.start).manhattanLength() < CLICK_PX:
            return True
        if not drag.moved:
            drag.moved = True
            self.dragging.emit(drag.kind != "pan")
            if drag.kind != "pan":
                self._edge_pan.start()
        if drag.kind == "pan":
            self._pan_to(drag, pos)
        else:
            self._select_to(drag)
        self._set_hover(strip, pos)
        return True

    def _select_to(self, drag: _Drag) -> None:
        if drag.kind == "body":
            shift = drag.strip.span_ns(drag.pos.x() - drag.start.x())
            low, high = drag.selections[-1]
            window = low + shift, high + shift
        else:
            moved_ns = self._snapped(drag.strip, drag.pos, drag.modifiers)
            window = drag.anchor_ns, moved_ns
            self.state.selections.edge = END if moved_ns >= drag.anchor_ns else START
        self.state.selections.set(with_range(drag.others, window), self._run)

    @property
    def _run(self) -> str:
        """The name of the drag, whose steps are one edit."""
        return f"drag {self._drags}"

    def _pan_at_edge(self) -> None:
        """Move the window while the user drags a selection beyond its edge."""
        drag = self._drag
        if drag is None:
            self._edge_pan.stop()
            return
        x, width = drag.pos.x(), drag.strip.width()
        beyond = min(x, 0.0) + max(x - width, 0.0)
        if beyond and drag.kind != "body":
            self.state.axis.pan(drag.strip.span_ns(beyond * EDGE_PAN), f"edge {self._drags}")
            self._select_to(drag)

    def _release(self, strip: TimeStrip, event: QMouseEvent) -> bool:
        drag, self._drag = self._drag, None
        self._edge_pan.stop()
        if drag is None:
            return False
        strip.unsetCursor()
        if drag.moved:
            self.dragging.emit(False)
        elif drag.kind in ("select", "edge", "body"):
            hit = strip.hit(event.position())
            self.state.select_event(hit.event if hit else None)
            self.clicked.emit(strip, event.position(), bool(event.modifiers() & ADD))
        self._rest_at(strip, event.position())
        self._set_hover(strip, event.position())
        if not drag.moved:
            self.pointed.emit(strip, event.position())
        return True

    def _double_click(self, strip: TimeStrip, event: QMouseEvent) -> bool:
        if event.button() != Qt.MouseButton.LeftButton:
            return False
        pos = event.position()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._fit(strip.hit(pos))
            return True
        at = strip.time_at(pos.x())
        chosen = next(
            (window for window in self.state.selections.items if window[0] <= at <= window[1]), None
        )
        if chosen is None or strip.iteration_at(pos) is not None:
            self.double_clicked.emit(strip, pos)
        else:
            self.state.axis.go(*chosen)
            self.state.select(None)
        return True

    def _fit(self, hit: HitResult | None) -> None:
        if hit is not None and hit.column is not None:
            self.state.axis.center(hit.column.start_ns, hit.column.end_ns, FIT_SHARE)
        elif hit is not None and hit.position is not None and hit.row.events is not None:
            events = hit.row.events
            start, end = int(events.start_ns[hit.position]), int(events.end_ns[hit.position])
            self.state.axis.center(start, end, FIT_SHARE)

    def _wheel(self, strip: TimeStrip, event: QWheelEvent) -> bool:
        angle, pixels = event.angleDelta(), event.pixelDelta()
        modifiers = event.modifiers()
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            notches = (angle.y() or angle.x()) / 120
            at = strip.time_at(event.position().x())
            self.state.axis.zoom(NOTCH**-notches, at, "wheel")
        elif modifiers & Qt.KeyboardModifier.ShiftModifier or abs(angle.x()) > abs(angle.y()):
            by = pixels.x() if pixels.x() else (angle.x() or angle.y()) / 120 * SCROLL_PX * 2
            self.state.axis.pan(-strip.span_ns(by), "wheel-pan")
        else:
            self.scrolled.emit(-(pixels.y() or round(angle.y() / 120 * SCROLL_PX)))
        self._hover(strip, event.position())
        event.accept()
        return True

    def _pinch(self, strip: TimeStrip, event: QNativeGestureEvent) -> bool:
        if event.gestureType() != Qt.NativeGestureType.ZoomNativeGesture:
            return False
        at = strip.time_at(event.position().x())
        self.state.axis.zoom(1 / max(0.1, 1 + event.value()), at, "pinch")
        return True

    def _leave(self, strip: TimeStrip, event: QEvent) -> bool:
        if self._drag is None:
            self._under = None
            self.state.set_hover(None)
            self.left.emit()
        return False

    def _pan_to(self, drag: _Drag, pos: QPointF) -> None:
        start, end = drag.window
        shift = round((pos.x() - drag.start.x()) * (end - start) / drag.strip.place.pixels.width_px)
        self.state.axis.go(start - shift, end - shift, f"drag {self._drags}")
        dy = pos.y() - drag.start.y()
        step = round(drag.scrolled - dy)
        if step:
            drag.scrolled -= step
            self.scrolled.emit(step)

    # The pointer

    def point_again(self) -> None:
        """Update the hover: the picture has moved under the pointer."""
        if self._under is None or self._drag is not None:
            return
        strip, on_screen = self._under
        pos = strip.mapFromGlobal(on_screen)
        if 0 <= pos.y() < strip.height():
            self._set_hover(strip, pos)
            self.pointed.emit(strip, pos)
        else:
            self.state.set_hover(None)
            self.left.emit()

    def _rest_at(self, strip: TimeStrip, pos: QPointF) -> None:
        """Remember where the pointer is: on the screen, for the strip may move under it."""
        self._under = (strip, strip.mapToGlobal(pos))

    def _hover(self, strip: TimeStrip, pos: QPointF) -> None:
        self._rest_at(strip, pos)
        self._set_hover(strip, pos)
        self.pointed.emit(strip, pos)

    def _set_hover(self, strip: TimeStrip, pos: QPointF) -> None:
        hit = strip.hit(pos) if self._drag is None else None
        row = strip.row_at(pos.y())
        time_ns = strip.time_at(pos.x())
        self.state.set_hover(Hover(time_ns, row, hit.event if hit else None))

    def _edge_at(self, strip: TimeStrip, pos: QPointF) -> tuple[Window, int] | None:
        """Return the selected range whose edge is under the pointer, and which edge it is."""
        edges = [
            (abs(strip.x_of(t) - pos.x()), window, edge)
            for window in reversed(self.state.selections.items)
            for edge, t in enumerate(window)
        ]
        away, window, edge = min(edges, key=lambda item: item[0], default=(EDGE_PX + 1.0, (0, 0), END))
        return (window, edge) if away <= EDGE_PX else None

    def _snapped(self, strip: TimeStrip, pos: QPointF, modifiers: Qt.KeyboardModifier) -> int:
        time_ns: int = strip.time_at(pos.x())
        if modifiers & Qt.KeyboardModifier.ShiftModifier:
            return time_ns
        snapped = self.snapping.near(strip.placed_at(pos.y()), time_ns, strip.span_ns(SNAP_PX))
        return time_ns if snapped is None else snapped

    # Keys

    def key(self, event: QKeyEvent) -> bool:
        """Act on W, A, S, D by their place on the keyboard; return whether the key was one of them."""
        modifiers = event.modifiers()
        if modifiers & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier):
            return False
        letter = letter_of(event)
        faster = 2 if modifiers & Qt.KeyboardModifier.ShiftModifier else 1
        if letter in ("W", "S"):
            self.zoom(NOTCH**-faster if letter == "W" else NOTCH**faster)
        elif letter in ("A", "D"):
            self.pan((-0.1 if letter == "A" else 0.1) * faster**2)
        else:
            return False
        return True

    def zoom(self, factor: float) -> None:
        """Zoom at the pointer if it is on a strip, else in the middle."""
        axis = self.state.axis
        hover = self.state.hover
        axis.zoom(factor, hover.time_ns if hover else sum(axis.window) // 2)

    def pan(self, share: float) -> None:
        """Move the window by a share of its length."""
        start, end = self.state.axis.window
        self.state.axis.pan(round((end - start) * share))

    def cancel(self) -> bool:
        """Cancel the drag and restore the previous selection; return whether there was a drag."""
        drag, self._drag = self._drag, None
        self._edge_pan.stop()
        if drag is None:
            return False
        self.state.selections.set(drag.selections, self._run)
        self.dragging.emit(False)
        return True

    def cancel_drag(self) -> None:
        """Drop the drag and the pointer's position: they belong to another trace."""
        drag, self._drag, self._under = self._drag, None, None
        self._edge_pan.stop()
        if drag is not None and drag.moved:
            self.dragging.emit(False)

    def _strip_key(self, strip: TimeStrip, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Space:
            self._space = True
            if not event.isAutoRepeat():
                strip.setCursor(Qt.CursorShape.OpenHandCursor)
            return True
        if key == Qt.Key.Key_Escape and self.cancel():
            return True
        if self.key(event):
            return True
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key in _ARROWS and self.state.selection is not None and modifiers in (NONE, SHIFT):
            self.snapping.nudge(_ARROWS[key], snap=modifiers == SHIFT)
            return True
        if modifiers:
            return False
        if key in _ARROWS:
            self.pan(0.1 * _ARROWS[key])
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.scrolled.emit(-SCROLL_PX if key == Qt.Key.Key_Up else SCROLL_PX)
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.scrolled.emit(-strip.height() if key == Qt.Key.Key_PageUp else strip.height())
        else:
            return False
        return True

    def _key_release(self, strip: TimeStrip, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._space = False
            strip.unsetCursor()
            return True
        return False
