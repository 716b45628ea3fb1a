"""Drags the real window through many sizes and reads its pixels: a process of its own, for its scale.

Prints what two strips disagree about, a line each, and at last the scale, how many sizes were looked at, at
how many of them the scroll bar was there, and how many places were compared.
"""

import random
import sys
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QApplication

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, pixels, study_of
from viewer.app.crash import CrashGuard
from viewer.app.main_window import MainWindow
from viewer.app.settings import Settings
from viewer.app.theme_manager import ThemeManager
from viewer.app.trace_loader import LoadedTrace
from viewer.drawing.theme import LIGHT
from viewer.rows import RowKind, build_rows
from viewer.state import Hover

BEGINS_MS = (10, 40, 70)
"""Of kernels; every ruler has a tick there."""
SELECTED_MS, CUT_MS = (40, 70), 75
BARS = (RowKind.KERNELS, RowKind.KERNEL_NAME, RowKind.STREAM)


def made_trace(ranks=4):
    """Kernels that begin on ticks, and gaps between them."""
    maker = TraceMaker(session_ns=83 * MS)
    for rank in range(ranks):
        for start in BEGINS_MS:
            maker.kernel(start * MS, (start + 11) * MS, "gemm", process=rank)
    return maker.trace()


def nearest(value):
    """Round a device coordinate, halves up."""
    return int(np.floor(value + 0.5))


def starts(on):
    """Where runs of True begin."""
    return np.flatnonzero(on & ~np.concatenate(([False], on[:-1])))


class Picture:
    """The window as it is on the screen."""

    def __init__(self, window):
        self.window, self.dpr = window, window.devicePixelRatioF()
        self.timeline = window.timeline
        window.repaint()
        self.argb = pixels(window.screen().grabWindow(window.winId()).toImage())

    def of(self, widget, top=0.0, bottom=None):
        """The device pixels from logical `top` to `bottom` of a widget, from its own left edge on to the
        window's right edge.
        """
        at = widget.mapTo(self.window, QPoint())
        ends = (at.y() + top, at.y() + (widget.height() if bottom is None else bottom))
        y0, y1 = (nearest(y * self.dpr) for y in ends)
        return self.argb[y0:y1, nearest(at.x() * self.dpr) :]

    def left(self, widget):
        """The device column in which a widget begins."""
        return nearest(widget.mapTo(self.window, QPoint()).x() * self.dpr)

    def cut(self, widget, bottom=None):
        """The column of the dotted line: the one with the most dots, for the squares that stand on it have
        sides of its colour too.
        """
        dots = self.of(widget, 0, bottom) == LIGHT.cursor
        return int(np.argmax((dots[1:] & ~dots[:-1]).sum(axis=0)))

    def ticks(self):
        """The columns in which ticks of the ruler begin."""
        ruler = self.timeline.ruler
        foot = self.of(ruler, ruler.height() - 3, ruler.height() - 1)
        return starts((foot == LIGHT.line).all(axis=0) | (foot == LIGHT.text_faint).all(axis=0))

    def bars(self, canvas):
        """The columns in which bars begin, of every row of kernels that is wholly in view."""
        scene = self.timeline.scene
        name = scene.study.trace.kernels.name_id[0]
        colour = scene.palette.argb(LIGHT)[scene.palette.index[name]]
        # The rank at the top lies over the first rows.
        sticky = self.timeline.sticky
        top = sticky.header.height() if sticky.row is not None and canvas is self.timeline.canvas else 0
        for placed in canvas.placed:
            if placed.row.kind in BARS and placed.y >= top and placed.y + placed.height <= canvas.height():
                lane = self.of(canvas, placed.y, placed.y + placed.height)
                yield starts((lane == colour).sum(axis=0) > lane.shape[0] // 3)

    def selection(self, widget, top=0):
        """The columns in which the lines at the two ends of the selection begin."""
        part = self.of(widget, top)
        return starts((part == LIGHT.selection_edge).mean(axis=0) > 0.4)

    def begins_in_overview(self):
        """Where kernels begin on the strip of the first GPU, from how its colours are mixed; float."""
        strip = self.of(self.timeline.overview, 8, 9)[0].astype(np.uint32)
        busy, idle = ((np.uint32(c) >> 8 & 0xFF).astype(float) for c in (LIGHT.parts[0], LIGHT.panel))
        share = ((strip >> 8 & 0xFF) - idle) / (busy - idle)
        whole = starts(strip == LIGHT.parts[0])
        return whole - np.clip(share[whole - 1], 0, 1)


class Sweep:
    """The window, and what was found."""

    def __init__(self, renderer, folder):
        self.app = QApplication.instance()
        self.window = MainWindow(Settings(), ThemeManager(self.app, "light"), CrashGuard(folder), renderer)
        self.window.show()
        study = study_of(made_trace())
        self.window.trace_controller.show(LoadedTrace(study, build_rows(study)))
        self.window.state.set_overlays(frozenset())
        self.timeline, self.state = self.window.timeline, self.window.state
        # Its card lies over the strips.
        self.timeline.cards.selection.show_range = lambda *_: None
        self.compared, self.with_bar, self.wrong = 0, 0, []

    def sort_events(self):
        """Let the window be laid out and painted."""
        for _ in range(3):
            QCoreApplication.processEvents()

    def drag_to(self, chance):
        """Take another size, other docks, pins, folds and another place of the rows."""
        window, state, roots = self.window, self.state, self.state.rows.roots
        window.resize(chance.randint(1000, 1700), chance.randint(640, 1050))
        window.resizeDocks([window.docks[0]], [chance.randint(60, 500)], Qt.Orientation.Vertical)
        bars = [r for root in roots for r in root.walk() if r.kind in BARS]
        pins = {row.key for row in chance.sample(bars, chance.randint(0, 3))}
        for key in {*state.rows.pinned} ^ pins:
            state.rows.set_pinned(key, key in pins)
        unfolded = chance.choice(([], roots[:1], roots))
        for root in roots:
            state.rows.set_expanded([r.key for r in root.walk()], root in unfolded)
        if chance.random() < 0.3:
            self.timeline.place.set_header_width(chance.randint(150, 420))
        self.sort_events()
        bar = self.timeline.scroll_bar
        bar.setValue(chance.randint(0, bar.maximum()))
        state.axis.go(*state.axis.limits)
        state.set_hover(Hover(CUT_MS * MS))
        state.select(None)
        self.sort_events()

    def check(self, what, strip, found, expected, within=0.0):
        """Note a place that is not where it belongs."""
        self.compared += 1
        if not any(abs(place - expected) <= within for place in np.atleast_1d(found)):
            size = f"{self.window.width()}x{self.window.height()}"
            near = min(np.atleast_1d(found).tolist(), key=lambda p: abs(p - expected), default=None)
            self.wrong.append(f"{size}: {what} on {type(strip).__name__} at {near} instead of {expected}")

    def look(self):
        """Compare the strips with each other, and with where things belong."""
        timeline, picture = self.timeline, Picture(self.window)
        strips = [timeline.ruler, timeline.pinned, timeline.sticky.strip, timeline.canvas]
        shown = [s for s in (timeline.overview, *strips) if s.isVisible() and s.height()]
        low, high = self.state.axis.limits
        columns = nearest(self.right_px()) - picture.left(timeline.canvas)
        self.with_bar += timeline.scroll_bar.isVisible()
        for strip in shown:
            self.check("left edge", strip, picture.left(strip), picture.left(timeline.ruler))

        def column(ms):
            return nearest((ms * MS - low) * columns / (high - low))

        for strip in shown[1:]:
            tall = 15 if strip is timeline.ruler else None
            self.check("cut", strip, picture.cut(strip, tall), column(CUT_MS))
        for ms in BEGINS_MS:
            self.check(f"tick {ms}", timeline.ruler, picture.ticks(), column(ms))
            for canvas in shown[2:]:
                for begins in picture.bars(canvas):
                    self.check(f"bar {ms}", canvas, begins, column(ms))
            self.check(f"bar {ms}", timeline.overview, picture.begins_in_overview(), column(ms), 0.55)
        self.state.select(tuple(ms * MS for ms in SELECTED_MS))
        self.sort_events()
        chosen = Picture(self.window)
        line = max(1, int(picture.dpr))
        # The end is the edge that the arrow keys move: it is three times as broad.
        for ms, half in zip(SELECTED_MS, (line // 2, 3 * line // 2), strict=True):
            for strip in shown[1:]:
                top = 18 if strip is timeline.ruler else 0
                self.check(f"selection {ms}", strip, chosen.selection(strip, top), column(ms) - half)
        tinted = (picture.of(timeline.overview, 2, 4) != chosen.of(timeline.overview, 2, 4)).any(axis=0)
        ends = np.flatnonzero(tinted)
        for ms, found in zip(SELECTED_MS, (ends[:1], ends[-1:] + 1), strict=True):
            self.check(f"selection {ms}", timeline.overview, found, column(ms))

    def right_px(self):
        """Return where the time axis ends by the canvas's own place, device pixels of the window."""
        canvas = self.timeline.canvas
        at = canvas.mapTo(self.window, QPoint(canvas.width(), 0))
        return at.x() * self.window.devicePixelRatioF()


def main(renderer, sizes, folder):
    """Look at so many sizes; the same ones each time."""
    app = QApplication([])
    app.setStyle("Fusion")
    chance = random.Random(7)
    sweep = Sweep(renderer, Path(folder))
    sweep.sort_events()
    for _ in range(int(sizes)):
        sweep.drag_to(chance)
        sweep.look()
    print(*sweep.wrong, sep="\n")
    scale = sweep.window.devicePixelRatioF()
    print(scale, sizes, sweep.with_bar, sweep.compared, len(sweep.wrong), sweep.timeline.renderer)
    sweep.window.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
