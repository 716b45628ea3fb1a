"""`lightbox doctor`: what this machine has, and what a trace lacks."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.table import Table

from viewer import __version__
from viewer.cli.console import plain_console
from viewer.cli.open_study import open_study
from viewer.cli.qt import ask_renderer, drawing_problem, has_display, is_installed, window_problem
from viewer.drawing.format import format_bytes, format_ns, format_share
from viewer.printable import counted

PACKAGES = (
    "PySide6-Essentials",
    "pyqtgraph",
    "numpy",
    "pandas",
    "pyarrow",
    "adbc-driver-sqlite",
    "fontpkg-inter",
)

TITLE_WIDTH = 16


def print_doctor(trace: Path | None) -> int:
    """Print the versions, the renderer and the nsys of this machine; with a trace, its diagnostics.

    Returns
    -------
    int
        The exit code: 1 if Qt is installed but cannot draw, or the named display does not work.
    """
    console = plain_console()
    drawing = drawing_problem()
    display = window_problem() if not drawing and has_display() else ""
    for title, text in (*_machine(drawing, display), *(_trace(trace) if trace else ())):
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_column(width=TITLE_WIDTH, no_wrap=True)
        line.add_column(overflow="fold")
        line.add_row(title, text)
        console.print(line)
    return 1 if (drawing and is_installed()) or display else 0


def _machine(drawing: str, display: str) -> Iterator[tuple[str, str]]:
    yield "lightbox", f"{__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield "packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    yield "Qt", drawing or "draws"
    if not drawing:
        none = "none: `report` and `shot` work, the window does not"
        yield "display", display or ("found" if has_display() else none)
        if has_display() and not display:
            yield "renderer", _renderer()
    from viewer.readers.cache import cache_folder, entries
    from viewer.readers.nsys import find_nsys

    nsys = find_nsys()
    yield (
        "nsys",
        (
            f"{nsys.version}, {nsys.path}"
            if nsys
            else "not found: .sqlite and Parquet exports open, .nsys-rep do not"
        ),
    )
    stored = entries()
    size = format_bytes(sum(entry.size_bytes for entry in stored))
    yield "cache", f"{cache_folder()}: {counted(len(stored), 'trace')}, {size}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def print_renderer() -> None:
    """Print OpenGL's name of its renderer; an empty line without one."""
    from PySide6.QtGui import QGuiApplication

    from viewer.timeline.strips.gl_bars import renderer_name

    app = QGuiApplication.instance() or QGuiApplication([])
    print(renderer_name(), flush=True)  # noqa: T201
    del app


def _renderer() -> str:
    name = ask_renderer()
    if name is None:
        return "raster: OpenGL does not answer"
    from viewer.timeline.strips.gl_bars import is_hardware

    if is_hardware(name):
        return f"gl: {name}"
    return f"raster: OpenGL is {name}, which is slower" if name else "raster: there is no OpenGL 3.3"


def _trace(path: Path) -> Iterator[tuple[str, str]]:
    study = open_study(path, "own")
    trace = study.trace
    session = trace.session
    yield "trace", str(trace.path)
    yield "recorded by", f"nsys {session.recorded_version}" if session.recorded_version else "unknown"
    yield (
        "exported by",
        f"nsys {session.nsys_version or 'unknown'}, schema {session.schema_version or 'none'}",
    )
    yield "lasts", format_ns(session.duration_ns) if session.duration_ns is not None else "unknown"
    yield "recorded", ", ".join(sorted(session.recorded)) or "nothing"
    yield (
        "holds",
        ", ".join(
            (
                counted(len(trace.processes), "process", "processes"),
                counted(len(trace.gpus), "GPU"),
                counted(len(trace.streams), "stream"),
                counted(len(trace.threads), "thread"),
                counted(sum(len(events) for events in trace.events.values()), "event"),
            )
        ),
    )
    edges = study.dependencies.counts
    if edges.explained_share is not None:
        waits, unknown = len(study.dependencies.waits), edges.unknown
        lost = f"; {unknown:,} of {counted(waits, 'stream wait')} for an unknown event" if unknown else ""
        yield "explained", f"{format_share(edges.explained_share)} of starts{lost}"
    for process in trace.processes:
        if process.rank is not None:
            yield "rank", f"{process.rank}: {process.name} [{process.pid}], by {process.rank_from}"
    for diagnostic in study.diagnostics:
        yield diagnostic.severity, diagnostic.text
