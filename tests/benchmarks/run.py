"""How fast, and how large in memory, Lightbox is on one trace, side by side with what people use today.

    python tests/benchmarks/run.py [--trace PATH | --events N] [--json]
    python tests/benchmarks/run.py --growth docs/growth.svg

Without a trace it measures the demo at ten million events, which is made once and kept. Each group runs in a
process of its own, on a screen of its own, with an empty store of traces. `docs/performance.md` holds a run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks import peers  # noqa: E402
from tests.benchmarks.figures import Figure, read_json, table, verdict  # noqa: E402
from tests.benchmarks.growth import growth_picture  # noqa: E402
from viewer.demo import DemoOptions, make_demo  # noqa: E402
from viewer.readers.cache import cache_folder  # noqa: E402

EVENTS = 10_000_000
GROWING = (1_000_000, 3_000_000, 10_000_000)


def demo(events: int) -> Path:
    """Return the demo with about so many events, made once."""
    path = cache_folder() / "benchmarks" / f"demo-{events}.sqlite"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        say(f"making a demo of {events:,} events")
        make_demo(path, DemoOptions(events=events))
    return path


def say(text: str) -> None:
    """Tell on stderr what is being done."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def screen() -> Iterator[dict[str, str]]:
    """Yield what the environment needs for windows: a virtual X screen, or none where there is no Xvfb."""
    if shutil.which("Xvfb") is None:
        yield {"QT_QPA_PLATFORM": "offscreen"}
        return
    read_end, write_end = os.pipe()
    command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "3840x3200x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write_end], stderr=subprocess.DEVNULL)
    os.close(write_end)
    try:
        with os.fdopen(read_end) as told:
            number = told.readline().strip()
        yield {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb", "WAYLAND_DISPLAY": ""}
    finally:
        server.terminate()
        server.wait()


class Runner:
    """Runs measuring processes that share one store of traces."""

    def __init__(self, path: Path, folder: Path, environment: dict[str, str]) -> None:
        self.path = path
        own = {name: str(folder / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
        store = {"LIGHTBOX_CACHE_DIR": str(folder / "store"), "PYTHONPATH": str(ROOT)}
        self._environment = {**os.environ, **environment, **own, **store}

    def __call__(self, module: str, *arguments: str, scale: float = 1) -> list[Figure]:
        """Run a module of this folder; a process that fails ends the run."""
        say(f"{module} {' '.join(arguments)}")
        command = [sys.executable, "-m", f"tests.benchmarks.{module}", str(self.path), *arguments]
        environment = {**self._environment, "QT_SCALE_FACTOR": f"{scale:g}"}
        done = subprocess.run(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        return read_json(done.stdout)


def scanned(path: Path) -> tuple[float, int]:
    """Return the faster of two scans: the first may have to fetch the file from the disk."""
    say("SQLite's own scan")
    first, second = peers.scan(path), peers.scan(path)
    return min(first, second)


def whole_s(opened: list[Figure]) -> float:
    """Return when the whole picture stood, s."""
    return next(figure.value for figure in opened if figure.name == "whole picture")


def first_opened(path: Path, environment: dict[str, str], run: Runner) -> list[Figure]:
    """Open a trace twice with nothing stored: the faster, like the scan; the longer block, the most memory.

    The first has to get from the system the memory that the second finds free.
    """
    with tempfile.TemporaryDirectory(prefix="lightbox-bench-") as folder:
        tries = [Runner(path, Path(folder), environment)("opening", "first"), run("opening", "first")]
    worst = {figure.name: max(figure.value, other.value) for figure, other in zip(*tries, strict=True)}
    return [
        replace(figure, value=worst[figure.name]) if figure.budget is not None else figure
        for figure in min(tries, key=whole_s)
    ]


def measure(path: Path) -> list[Figure]:
    """Measure everything on one trace."""
    scan_s, rows = scanned(path)
    found = [Figure("trace", "rows", rows, ""), Figure("trace", "SQLite's own scan", scan_s, "s")]
    with tempfile.TemporaryDirectory(prefix="lightbox-bench-") as folder, screen() as environment:
        run = Runner(path, Path(folder), environment)
        first = first_opened(path, environment, run)
        found += [
            *first,
            Figure("first open", "whole picture over the scan", whole_s(first) / scan_s, "times", 2),
        ]
        found += run("opening", "second")
        found += run("frames", "raster", "1") + run("frames", "raster", "2", scale=2)
        found += run("frames", "gl", "1")
        found += run("calculations")
    say("pandas and nsys")
    found.append(Figure("others", "pandas.read_sql of the same columns", peers.pandas_read(path), "s"))
    if (spent := peers.nsys_stats(path)) is not None:
        found.append(Figure("others", "nsys stats --report gpukernsum", spent, "s"))
    return found


def grow(out: Path) -> list[Figure]:
    """Measure opening, frames and selection at one, three and ten million events, and draw how they grow."""
    found: dict[int, list[Figure]] = {}
    with screen() as environment:
        for events in GROWING:
            path = demo(events)
            with tempfile.TemporaryDirectory(prefix="lightbox-bench-") as folder:
                run = Runner(path, Path(folder), environment)
                scan_s, rows = scanned(path)
                found[rows] = [Figure("trace", "SQLite's own scan", scan_s, "s")]
                found[rows] += first_opened(path, environment, run)
                found[rows] += run("opening", "second") + run("frames", "raster", "1") + run("calculations")
    out.write_bytes(growth_picture(found))
    return [Figure(f"{rows:,} rows: {f.group}", *(f.name, f.value, f.unit, f.budget))
            for rows, figures in found.items() for f in figures]  # fmt: skip


def main() -> int:
    """Measure and print; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--trace", type=Path, metavar="PATH", help="an SQLite export")
    chosen.add_argument("--events", type=int, default=EVENTS, metavar="N", help="of the demo")
    chosen.add_argument("--growth", type=Path, metavar="SVG", help="draw how opening and frames grow")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    found = grow(options.growth) if options.growth else measure(options.trace or demo(options.events))
    machine = f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {platform.platform()}"
    if options.json:
        print(
            json.dumps({"machine": machine, "verdict": verdict(found), "figures": [asdict(f) for f in found]})
        )
    else:
        print(f"{table(found)}\n\n{verdict(found)}\n{machine}")
    return 0 if all(figure.holds is not False for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
