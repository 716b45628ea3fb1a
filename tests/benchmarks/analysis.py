"""How long the numbers take: five parts, launches and the selection card; eight GPUs, 9.3 million events.

Run by hand: ``python tests/benchmarks/analysis.py [--events 580000]``. The parts of a dragged range on eight
GPUs have a budget of 1 ms.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from viewer.analysis.classify import Rules
from viewer.analysis.measure import measure, parts_of
from viewer.analysis.study import Study
from viewer.trace import GPU_KINDS, Events, Gpu, Kind, Names, Process, Session, Stream, Thread, Trace

RANKS = 8
TEXTS = ("", *(f"void kernel_{i}<int>(float *)" for i in range(180)), "ncclDevKernel_AllReduce(int)")


def trace(count):
    """Eight ranks: one stream of kernels, one of communication, one thread that launches both."""
    rng = np.random.default_rng(1)
    kernels, calls = [], []
    for _ in range(RANKS):
        start = np.cumsum(rng.integers(2_000, 400_000, count))
        end = start + rng.integers(1_500, 300_000, count)
        correlation = np.arange(1, count + 1)
        is_comm = rng.random(count) < 0.1
        name = np.where(is_comm, len(TEXTS) - 1, rng.integers(1, len(TEXTS) - 1, count))
        for rows in (~is_comm, is_comm):
            own = start[rows]
            until = np.minimum(end[rows], np.append(own[1:], 2**62))
            kernels.append((own, until, name[rows], correlation[rows]))
        calls.append((start - 20_000, start - 15_000, np.zeros(count), correlation))
    streams = tuple(Stream(i, i // 2, 1, 7 + i % 2) for i in range(2 * RANKS))
    events = {k: Events.empty(k, len(streams) if k in GPU_KINDS else RANKS) for k in Kind}
    events |= {Kind.KERNEL: table(Kind.KERNEL, kernels), Kind.API: table(Kind.API, calls)}
    return Trace(
        path=Path("benchmark"),
        session=Session(),
        names=Names(TEXTS),
        processes=tuple(Process(i, i, "python", i, i) for i in range(RANKS)),
        gpus=tuple(Gpu(i, i, 0, "H200") for i in range(RANKS)),
        streams=streams,
        threads=tuple(Thread(i, i, i, "") for i in range(RANKS)),
        tracks=(),
        events=events,
        counts={},
        diagnostics=pd.DataFrame(),
    )


def table(kind, lanes):
    """Stack lanes, one an owner."""
    start, end, name, correlation = (np.concatenate(column) for column in zip(*lanes, strict=True))
    offsets = np.concatenate(([0], np.cumsum([len(lane[0]) for lane in lanes])))
    name = name.astype(np.uint32)
    columns = {"short_id": name, "correlation": correlation.astype(np.uint32)}
    return Events(kind, start, end, name, offsets, columns)


def timed(what, work, times=1):
    """Print how long some work takes, in ms."""
    begun = time.perf_counter()
    for _ in range(times):
        work()
    print(f"{what:<40}{(time.perf_counter() - begun) / times * 1e3:10.2f} ms")


def main():
    """Time everything once, and what follows the mouse often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=580_000, help="kernels a rank, and as many calls")
    study = Study(trace(parser.parse_args().events), Rules.builtin())
    low, high = study.trace.window_ns
    middle = (low + high) // 2
    timed("kernel classes", lambda: study.classes)
    timed("five parts of all GPUs", lambda: study.parts)
    held = sum(i.start_ns.nbytes + i.end_ns.nbytes for parts in study.parts for i in parts.busy)
    print(f"{'  they hold':<40}{held / 1e6:10.2f} MB")
    timed("launches", lambda: study.launches.api_of(Kind.KERNEL))
    timed("what a selection asks for", study.prepare)
    parts_of(study, low, high)
    timed("parts of a range, all GPUs", lambda: parts_of(study, low + 12_345, middle), 200)
    timed("card of half the trace", lambda: measure(study, low + 12_345, middle), 20)
    timed("card of 100 ms", lambda: measure(study, middle, middle + 10**8), 50)
    timed("next idle slice", lambda: study.parts[0].next_slice(("idle",), middle, 1, 10_000), 5)


if __name__ == "__main__":
    main()
