"""The critical path of a simulated iteration, along what the simulation says held up each step."""

from dataclasses import dataclass

from viewer.demo.program import ON_GPU, Do
from viewer.demo.truth import Dependencies

OF_OPERATION = {Do.KERNEL: "compute", Do.COLLECTIVE: "transfer", Do.COPY: "copy", Do.SET: "copy"}


@dataclass(frozen=True)
class Piece:
    """A part of the path: an operation, or the time between two that the host or the GPU took.

    `kind` is compute, transfer, copy, launch (call to start), stream gap, foreign (an event of another GPU),
    call, return (end of an operation to the return of the call that waited for it), host (between calls) or
    earlier (what an earlier iteration still did). `correlation` is that of the operation or call, or 0.
    """

    kind: str
    rank: int
    correlation: int
    start_ns: int
    end_ns: int


def critical_path(truth: Dependencies) -> list[Piece]:
    """The pieces from the first start of an operation on any GPU to the last end, in order, without a gap."""
    run, steps = truth.iteration, truth.iteration.program.steps
    on_gpu = [i for i, s in enumerate(steps) if s.do in ON_GPU]
    step_of = {(r, int(run.correlation[i, r])): i for i in on_gpu for r in range(run.correlation.shape[1])}
    begin = int(run.gpu_start_ns[on_gpu].min())
    rank = int(run.gpu_end_ns.max(axis=0).argmax())
    i = int(run.gpu_end_ns[:, rank].argmax())
    pieces, now, on_host = [], int(run.gpu_end_ns[i, rank]), False

    def piece(kind, start, correlation=0):
        nonlocal now
        pieces.append(Piece(kind, rank, correlation, max(int(start), begin), now))
        now = max(int(start), begin)

    while now > begin:
        step, own = steps[i], int(run.correlation[i, rank])
        if not on_host:
            if truth.last_member[i, rank] >= 0:
                # The data moved from when the last member was there: go on with what held that one.
                last = int(truth.last_member[i, rank])
                last = rank if run.gpu_start_ns[i, last] < run.gpu_start_ns[i, rank] else last
                piece("transfer", run.gpu_start_ns[i, last], own)
                rank, own = last, int(run.correlation[i, last])
            else:
                piece(OF_OPERATION[step.do], run.gpu_start_ns[i, rank], own)
            holder = int(truth.held_by[i, rank])
            if holder < 0:
                piece("foreign" if truth.is_foreign[i, rank] else "launch", run.call_start_ns[i, rank], own)
                on_host, i = True, i - 1
                continue
        else:
            if i < 0:
                piece("earlier", begin)
                break
            piece("host", run.call_end_ns[i, rank])
            holder = int(truth.returned_by[i, rank])
            if holder < 0:
                piece("call", run.call_start_ns[i, rank], own)
                i -= 1
                continue
        if (rank, holder) not in step_of:
            piece("earlier", begin)
            break
        kind = "return" if on_host else "stream gap"
        i, on_host = step_of[rank, holder], False
        piece(kind, run.gpu_end_ns[i, rank], holder)
    return [p for p in reversed(pieces) if p.end_ns > p.start_ns]
