"""The critical path: it fills its iteration, and is the chain of what bound the simulated job."""

import numpy as np
import pytest

from viewer.analysis.replay.critical_path import PIECE_KINDS
from viewer.analysis.replay.path_table import path_table
from viewer.demo import DemoOptions
from viewer.demo.make import job
from viewer.demo.program import Do
from viewer.demo.truth import dependencies

TRACES = ("inference-2xh100", "power-iteration-t4", "pytorch-a100-nvtx", "torchrun-2xh100-nccl")
JOBS = (
    {"iterations": 4},
    {"iterations": 4, "slow_rank": None},
    {"iterations": 4, "fault": "item"},
    {"iterations": 4, "fault": "tiny-kernels", "clean": True},
    {"iterations": 4, "fault": "malloc"},
    {"iterations": 4, "fault": "needless-wait"},
)
DAMAGED = (
    {"iterations": 4, "shift": {2: 300_000, 6: -200_000}},
    {"iterations": 4, "lose": {3: 0.01}},
)


def fills(study):
    iterations = study.iterations()
    paths = study.critical_paths()
    assert [path.iteration for path in paths] == list(range(iterations.count))
    for path in paths:
        low, high = iterations.edges_ns[path.iteration : path.iteration + 2].tolist()
        assert path.start_ns[0] == low
        assert path.end_ns[-1] == high
        np.testing.assert_array_equal(path.start_ns[1:], path.end_ns[:-1])
        assert (path.end_ns > path.start_ns).all()
        assert path.length_ns == high - low == sum(path.sums.values())


@pytest.mark.parametrize("name", TRACES)
def test_the_pieces_fill_the_iterations_of_a_real_trace(real_study, name):
    fills(real_study(name))


@pytest.mark.parametrize(
    "options",
    [*JOBS, {"iterations": 4, "shift": {2: 300_000, 6: -200_000}}, {"iterations": 4, "lose": {3: 0.01}}],
)
def test_the_pieces_fill_the_iterations_of_a_demo(demo_of, options):
    fills(demo_of(**options))


class Truth:
    """What bound the times of a simulated job, walked by itself."""

    def __init__(self, options):
        self.found = list(dependencies(job(DemoOptions(**options))))
        self.place = {
            (rank, int(one.iteration.correlation[step, rank])): (k, step)
            for k, one in enumerate(self.found)
            for step in np.flatnonzero(one.iteration.gpu_start_ns[:, 0] >= 0).tolist()
            for rank in range(one.iteration.gpu_start_ns.shape[1])
        }

    def sums(self, iteration, begin, end):
        """Return the time of each part on the path back from the last operation of an iteration."""
        ends = self.found[iteration].iteration.gpu_end_ns
        step, rank = np.unravel_index(int(ends.argmax()), ends.shape)
        if ends.max() < end and iteration + 1 < len(self.found):
            starts = self.found[iteration + 1].iteration.gpu_start_ns
            starts = np.where(starts >= 0, starts, np.iinfo(np.int64).max)
            step, rank = np.unravel_index(int(starts.argmin()), starts.shape)
            at = ("start", iteration + 1, int(step), int(rank))
        else:
            at = ("end", iteration, int(step), int(rank))
        parts = dict.fromkeys(("compute", "communication", "copy", "host", "gap"), 0)
        time = end
        while time > begin:
            at, pieces = self.step(*at)
            for part, start in pieces:
                start = max(begin, min(start, time))
                parts[part] += time - start
                time = start
        return parts

    def step(self, where, k, step, rank):
        one = self.found[k]
        timed, kind = one.iteration, one.iteration.program.steps[step].do
        if where == "end":
            part = {Do.KERNEL: "compute", Do.COLLECTIVE: "communication"}.get(kind, "copy")
            last = int(one.last_member[step, rank]) if kind is Do.COLLECTIVE else rank
            return ("start", k, step, last), [(part, int(timed.gpu_start_ns[step, last]))]
        if where == "start":
            held = int(one.held_by[step, rank])
            if held >= 0:
                at = self.place[rank, held]
                return ("end", *at, rank), [("gap", int(self.found[at[0]].iteration.gpu_end_ns[at[1], rank]))]
            start, returned = int(timed.gpu_start_ns[step, rank]), int(timed.call_end_ns[step, rank])
            return ("called", k, step, rank), [
                ("gap", min(returned, start)),
                ("host", int(timed.call_start_ns[step, rank])),
            ]
        if where == "called":
            # The host goes through the steps one after another, whatever thread they are of.
            k, step = (k, step - 1) if step else (k - 1, len(self.found[k - 1].iteration.program.steps) - 1)
            return ("returned", k, step, rank), [
                ("host", int(self.found[k].iteration.call_end_ns[step, rank]))
            ]
        by = int(one.returned_by[step, rank])
        if by >= 0:
            at = self.place[rank, by]
            return ("end", *at, rank), [("host", int(self.found[at[0]].iteration.gpu_end_ns[at[1], rank]))]
        return ("called", k, step, rank), [("host", int(timed.call_start_ns[step, rank]))]


@pytest.mark.parametrize("options", JOBS)
def test_the_path_is_what_bound_the_simulated_job(demo_of, options):
    study, truth = demo_of(**options), Truth(options)
    edges = study.iterations().edges_ns
    for path in study.critical_paths()[1:]:
        begin, end = edges[path.iteration : path.iteration + 2].tolist()
        expected = truth.sums(path.iteration, begin, end)
        assert path.sums == {f"{part}_ns": ns for part, ns in expected.items()}
        assert path.explained == path.starts


def test_the_table_of_a_path_adds_up(demo_of):
    study = demo_of(iterations=4)
    path = study.critical_paths()[2]
    table = path_table(study.replay, path, study.phases())
    assert table["duration_ns"].sum() == path.length_ns
    for key, ns in path.sums.items():
        assert table.loc[table["part"] == key.removesuffix("_ns"), "duration_ns"].sum() == ns
    assert set(table["kind"]) <= set(PIECE_KINDS)
    assert set(table["rank"]) <= {f"Rank {rank}" for rank in range(8)}
    compute = table[table["part"] == "compute"]
    assert (compute["class"] != "").all()
    assert set(compute["phase"]) == {"forward", "backward", "optimizer"}
    assert "dataloader.next" in set(table.loc[table["kind"] == "host code", "name"])
    # Rank 5 computes longest, and all wait for it.
    assert table.groupby("rank")["duration_ns"].sum().idxmax() == "Rank 5"
