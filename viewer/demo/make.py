"""Writing the demo trace to a file; the default one is written once into the cache folder."""

from __future__ import annotations

import errno
import os
from itertools import chain
from pathlib import Path

import platformdirs

from viewer.demo.capture import closing, opening
from viewer.demo.cuda_tables import CudaTables
from viewer.demo.export_writer import FAILURES, ExportWriter
from viewer.demo.host_tables import HostTables
from viewer.demo.ids import Strings
from viewer.demo.loops import SAMPLE_ITERATIONS
from viewer.demo.oddities import write_oddities
from viewer.demo.options import DemoOptions
from viewer.demo.simulation import SimulatedJob

DEFAULT_ITERATIONS = {"megatron": 8, "distca": 20, "pipeline": 8}
_SESSION_TAIL_NS = 18_000_000


def job(options: DemoOptions) -> SimulatedJob:
    """Return the job of these options, with its number of iterations.

    For ``distca`` the number is rounded up to whole samples.
    """
    iterations = options.iterations or DEFAULT_ITERATIONS[options.like]
    if options.events is not None:
        iterations = max(1, round(options.events / _rows_of_an_iteration(options)))
    if options.like == "distca":
        iterations = -(-iterations // SAMPLE_ITERATIONS) * SAMPLE_ITERATIONS
    return SimulatedJob(options, iterations)


def _rows_of_an_iteration(options: DemoOptions) -> int:
    strings = Strings()
    tables = (CudaTables(options, strings), HostTables(options, strings))
    *_, iteration = SimulatedJob(options, 2).run()
    return sum(
        max(len(c) for c in rows.values() if not isinstance(c, int))
        for t in tables
        for _, rows in t.of(iteration)
    )


def make_demo(path: str | os.PathLike[str], options: DemoOptions | None = None) -> Path:
    """Write the demo trace as an nsys SQLite export of schema 3.24.

    Parameters
    ----------
    path : path
        The file to write. An existing file is replaced in one step once the new one is complete.
    options : DemoOptions, optional
        The options of the job.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path, options = Path(path), options or DemoOptions()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    try:
        _write(unfinished, options)
        if options.oddities:
            write_oddities(unfinished, options.oddities, options.ranks)
        os.replace(unfinished, path)
    except FAILURES as error:
        code = errno.ENOSPC if "full" in str(error) else errno.EIO
        raise OSError(code, os.strerror(code), os.fspath(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _write(path: Path, options: DemoOptions) -> None:
    strings = Strings()
    cuda, host = CudaTables(options, strings), HostTables(options, strings)
    end_ns = 0
    with ExportWriter(path) as writer:
        for table, rows in opening(options, strings):
            writer.add(table, rows)
        for iteration in job(options).run():
            for table, rows in chain(cuda.of(iteration), host.of(iteration)):
                writer.add(table, rows)
            end_ns = max(end_ns, int(iteration.call_end_ns.max()), int(iteration.gpu_end_ns.max()))
        for table, rows in closing(options, end_ns + _SESSION_TAIL_NS):
            writer.add(table, rows)
        writer.add("StringIds", {"id": list(strings.texts.values()), "value": list(strings.texts)})


def default_demo() -> Path:
    """Return the path of the default demo in the user's cache folder; write it if it is missing."""
    cache = os.environ.get("LIGHTBOX_CACHE_DIR") or platformdirs.user_cache_path("lightbox", appauthor=False)
    options = DemoOptions()
    # The folder tells the options apart: the file's name is what windows, pages and pictures call the trace.
    path = Path(cache) / "demo" / options.key / "demo.sqlite"
    return path if path.is_file() else make_demo(path, options)
