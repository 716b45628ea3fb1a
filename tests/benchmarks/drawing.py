"""How long a frame's rectangles take: 60 rows, 14 million appearances of events, at every zoom.

Run by hand: ``python tests/benchmarks/drawing.py [--events 580000] [--width 1600]``. The budget is 8 to
10 ms a frame.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd

from viewer.analysis.study import Study
from viewer.drawing import Scale, Scene, place
from viewer.rows import RowKind, build_rows
from viewer.trace import Events, Gpu, Kind, Names, Process, Session, Stream, Thread, Trace

RANKS = 8
KERNELS = [f"void gemm_{i}<float>(int)" for i in range(30)] + ["ncclDevKernel_AllReduce"]
ZOOMS = (1, 2, 3, 5, 8, 10, 15, 30, 1000, 100_000)
SHOWN = (RowKind.KERNELS, RowKind.STREAM, RowKind.API, RowKind.MEMORY)


def busy_lane(rng, count, span_ns):
    """Disjoint events in bursts, with holes between them."""
    gap = rng.exponential(1.0, count)
    gap[:: max(count // 200, 1)] += count / 400
    length = rng.exponential(3.0, count)
    edges = np.cumsum(np.stack((gap, length), axis=1).ravel())
    edges = (edges * (span_ns / edges[-1])).astype(np.int64)
    return edges[::2], edges[1::2]


def table(kind, lanes, names, columns):
    """Stack lanes, one an owner."""
    start, end = (np.concatenate(side) for side in zip(*lanes, strict=True))
    offsets = np.concatenate(([0], np.cumsum([len(lane[0]) for lane in lanes])))
    return Events(kind, start, end, names, offsets, columns(len(start)))


def trace(count, span_ns=218_000_000_000):
    """Eight ranks: a stream of kernels, one of communication, one of copies, a thread of API calls."""
    rng = np.random.default_rng(1)
    kernels, copies, calls, names = [], [], [], []
    for _ in range(RANKS):
        for share, name in ((0.9, None), (0.1, len(KERNELS))):
            size = int(count * share)
            kernels.append(busy_lane(rng, size, span_ns))
            names.append(np.full(size, name) if name else rng.integers(1, len(KERNELS), size))
        kernels.append((np.empty(0, np.int64),) * 2)
        copies += [(np.empty(0, np.int64),) * 2] * 2 + [busy_lane(rng, count // 20, span_ns)]
        calls.append(busy_lane(rng, count, span_ns))
    texts = ["", *KERNELS, "Memcpy HtoD", "cudaLaunchKernel"]
    name_id = np.concatenate(names).astype(np.uint32)
    kernel = table(Kind.KERNEL, kernels, name_id, lambda n: {"short_id": name_id[:n]})
    copied = sum(len(lane[0]) for lane in copies)
    events = {kind: Events.empty(kind, RANKS * 3) for kind in Kind}
    events[Kind.KERNEL] = kernel
    events[Kind.MEMCPY] = table(Kind.MEMCPY, copies, np.full(copied, len(texts) - 2, np.uint32), lambda n: {})
    events[Kind.API] = table(Kind.API, calls, np.full(count * RANKS, len(texts) - 1, np.uint32), lambda n: {})
    return Trace(
        Path("benchmark"),
        Session(span_ns),
        Names(texts),
        tuple(Process(r, 40_000 + r, "python", r, r) for r in range(RANKS)),
        tuple(Gpu(r, r, 0, "H200") for r in range(RANKS)),
        tuple(Stream(i, i // 3, 1, (7, 20, 21)[i % 3]) for i in range(RANKS * 3)),
        tuple(Thread(r, r, 40_000 + r, "main") for r in range(RANKS)),
        (),
        events,
        {},
        pd.DataFrame(),
    )


def timed(call, before, runs=9):
    """Return the median time of a call in ms."""
    out = []
    for _ in range(runs):
        before()
        begun = time.perf_counter()
        call()
        out.append((time.perf_counter() - begun) * 1000)
    return statistics.median(out)


def main():
    """Print a table: zoom, ms for the rectangles, ms for the state lanes, rectangles, labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=580_000, help="kernels a GPU")
    parser.add_argument("--width", type=int, default=1600)
    options = parser.parse_args()
    study = Study(trace(options.events))
    roots = build_rows(study)
    scene = Scene(study)
    rows = [row for root in roots for row in root.walk() if row.kind in SHOWN]
    folded = [(root, False) for root in roots]
    placed = place(folded + [(row, False) for row in rows])
    begun = time.perf_counter()
    for row in rows:
        for lane in scene.lanes(row):
            lane.grid  # noqa: B018
    appearances = sum(len(row.events) for row in rows)
    lanes = sum(len(scene.lanes(row)) for row in rows)
    took = time.perf_counter() - begun
    print(f"{len(placed)} rows, {lanes} lanes, {appearances:,} appearances, prepared in {took:.2f} s")
    low, high = study.trace.window_ns
    for zoom in ZOOMS:
        length = (high - low) // zoom
        scale = Scale(low + (high - low) // 3, low + (high - low) // 3 + length, options.width)
        scale = Scale(low, high, options.width) if zoom == 1 else scale
        whole = timed(lambda s=scale: scene.draw_list(placed, s), lambda: forget(scene, states=True))
        lanes_only = timed(lambda s=scale: scene.draw_list(placed, s), lambda: forget(scene, states=False))
        labels = timed(lambda s=scale: scene.labels(placed, s), lambda: None)
        count = len(scene.draw_list(placed, scale))
        print(
            f"1/{zoom:<7} {whole:6.1f} ms (without states {lanes_only:5.1f})"
            f"  labels {labels:5.1f} ms  {count:6,} rectangles"
        )


def forget(scene, states):
    """Drop what is kept of the last frame."""
    scene._last = None
    if states:
        scene._states.clear()


if __name__ == "__main__":
    main()
