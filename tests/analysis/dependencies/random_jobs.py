"""Small random jobs with random dependencies, to be looked at nanosecond by nanosecond."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade
from viewer.analysis.study import Study
from viewer.trace import Kind

KINDS = (EdgeKind.EVENT, EdgeKind.QUEUE, EdgeKind.DEFAULT_STREAM, EdgeKind.GRAPH)
NAMES = ("gemm", "layer_norm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "Memcpy HtoD")


def random_trace(rng, processes=2, devices=2, length=150, operations=40):
    """Return a trace of short operations on a few streams, most of them with a launch record."""
    make = TraceMaker(session_ns=length)
    correlation = 0
    for process in range(processes):
        for device in range(devices):
            for stream in (7, 20, 21):
                end = int(rng.integers(0, 20))
                for _ in range(int(rng.integers(1, operations // 4))):
                    start = end + int(rng.integers(0, 12))
                    end = start + int(rng.integers(0, 15))
                    if end > length:
                        break
                    correlation += 1
                    has_call = rng.random() < 0.9
                    name = NAMES[int(rng.integers(len(NAMES)))]
                    if name.startswith("Memcpy"):
                        make.copy(
                            start, end, stream=stream, process=process, device=device,
                            correlation=correlation if has_call else 0,
                        )  # fmt: skip
                    else:
                        make.kernel(
                            start, end, name, stream=stream, process=process, device=device,
                            correlation=correlation if has_call else 0,
                        )  # fmt: skip
                    if has_call:
                        called = max(start - int(rng.integers(-3, 25)), 0)
                        make.call(
                            called, called + int(rng.integers(1, 12)), tid=10 * process + 1,
                            process=process, correlation=correlation,
                        )  # fmt: skip
    return make.trace()


def random_graph(rng, study, edges=60):
    """Return a graph whose edges lead from operations of a process to later ones of the same."""
    ops = study.dependencies.operations
    owner = np.array([study.trace.gpus[s.gpu].process for s in study.trace.streams])[ops.stream]
    found = set()
    for _ in range(edges):
        source, target = (int(n) for n in rng.integers(0, len(ops), 2))
        if owner[source] == owner[target] and ops.start_ns[source] < ops.start_ns[target]:
            found.add((target, source))
    pairs = np.array(sorted(found), np.int32).reshape(-1, 2)
    kind = rng.choice([int(k) for k in KINDS], len(pairs)).astype(np.uint8)
    grade = rng.choice([int(g) for g in (Grade.TIMING, Grade.HANDLE, Grade.PROVEN)], len(pairs))
    edges = Edges(pairs[:, 0], pairs[:, 1], kind, grade.astype(np.uint8))
    return replace(study.dependencies, op_edges=edges)


def random_waits(rng, study):
    """Return stand-ins of matched collectives: of each kernel the wait, at most its duration, or unknown."""
    kernels = study.trace.kernels
    wait = rng.integers(-1, kernels.end_ns - kernels.start_ns + 1)
    return SimpleNamespace(wait_ns=wait)


def random_study(seed, edges=60):
    """Return a study of a random trace, a random graph of it, and random waits of its collectives."""
    rng = np.random.default_rng(seed)
    study = Study(random_trace(rng))
    return study, random_graph(rng, study, edges), random_waits(rng, study), rng


def is_compute(study, kind, index):
    """Whether an operation is compute: a kernel that is not communication, or a whole graph."""
    if kind is Kind.GRAPH:
        return True
    if kind is not Kind.KERNEL:
        return False
    return "nccl" not in study.trace.names[int(study.trace.kernels.name_id[index])]
