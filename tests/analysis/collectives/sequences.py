"""Sequences of communication kernels, made of the times of each."""

import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.pairs import KernelSequence

NAME = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def sequences_of(times, gpus=None, name=NAME):
    """Return a trace of kernels (start, end) in several lists, and each list as a sequence.

    `gpus` is the GPU, and the process, of each; by default each is on a GPU of its own. Each is on a stream
    of its own.
    """
    maker = TraceMaker()
    gpus = range(len(times)) if gpus is None else gpus
    streams = [maker.stream(gpu, 0, 20 + number) for number, gpu in enumerate(gpus)]
    for number, (gpu, kernels) in enumerate(zip(gpus, times, strict=True)):
        for start, end in kernels:
            maker.kernel(int(start), int(end), name, stream=20 + number, process=gpu)
    trace = maker.trace()
    return trace, tuple(
        KernelSequence(
            trace.streams[s].gpu, s, maker.name(name), trace.kernels.rows_of([s]).astype(np.int64), None
        )
        for s in streams
    )
