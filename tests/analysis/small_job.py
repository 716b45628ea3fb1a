"""A job of two ranks and four steps that is small enough to count by hand."""

from tests.analysis.make import TraceMaker

US = 1000
STEPS = 4
# By rank: when the copy before the first kernel, the backward kernel's end, and the collective begin, µs.
RANKS = ((100, 450, 400), (105, 460, 410))


def add_step(maker, process, step):
    copy_start, backward_end, comm_start = RANKS[process]
    begin = 1000 * step
    work = [
        # Where it is launched, where it runs, and on which stream.
        (10, copy_start, 150, 13, "Memcpy HtoD", {"bytes": 1 << 20, "copy_kind": 1, "src_kind": 1}),
        (25, 150, 250, 7, "gemm_forward", {}),
        (45, 200, 230, 14, "Memcpy DtoH", {"bytes": 4096, "copy_kind": 2, "dst_kind": 1}),
        (55, 250, backward_end, 7, "gemm_backward", {}),
        (65, comm_start, 550, 20, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", {}),
        (90, 600, 640, 7, "multi_tensor_apply_adam", {}),
    ]
    for start, end, name in (
        (0, 900, f"step {step}"),
        (20, 40, "forward"),
        (50, 80, "backward"),
        (85, 95, "optimizer"),
    ):
        maker.range((begin + start) * US, (begin + end) * US, name, process=process)
    for number, (call, start, end, stream, name, columns) in enumerate(work):
        identity = 1 + 10 * step + number
        launch = "cudaMemcpyAsync" if columns else "cudaLaunchKernel"
        maker.call(
            (begin + call) * US, (begin + call + 2) * US, launch, process=process, correlation=identity
        )
        add = maker.copy if columns else maker.kernel
        add(
            (begin + start) * US, (begin + end) * US, name=name, stream=stream, process=process,
            device=process, correlation=identity, **columns,
        )  # fmt: skip
    maker.call((begin + 700) * US, (begin + 720) * US, "cudaDeviceSynchronize", process=process)


def small_job():
    """Return what makes its trace."""
    maker = TraceMaker()
    for process in range(len(RANKS)):
        for step in range(STEPS):
            add_step(maker, process, step)
    return maker
