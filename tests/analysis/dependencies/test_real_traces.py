"""How much of real traces their dependencies explain."""

import pytest

# The share of starts explained, and how many waits of streams have no record of their event in the file.
# In the last one copies between two GPUs start 10 to 15 µs after one another.
TRACES = {
    "gpuid-is-not-cudaid": (1.0, 0),
    "pytorch-a100-nvtx": (0.9999, 0),
    "power-iteration-t4": (1.0, 0),
    "single-gpu-2024.6": (1.0, 0),
    "inference-2xh100": (0.9975, 236),
    "torchrun-2xh100-nccl": (0.9687, 200),
    "jacobi-1process-2gpus": (0.9134, 0),
}


@pytest.mark.parametrize("name", TRACES)
def test_the_share_explained(real_study, name):
    share, unknown = TRACES[name]
    counts = real_study(name).dependencies.counts
    assert counts.explained_share == pytest.approx(share, abs=0.0005)
    assert counts.unknown == unknown


@pytest.mark.parametrize("name", ["gpuid-is-not-cudaid", "pytorch-a100-nvtx"])
def test_with_rows_for_all_records_98_percent_are_explained(real_study, name):
    study = real_study(name)
    recorded = [n for n in study.trace.names.take(study.trace.api.name_id) if n.startswith("cudaEventRecord")]
    assert len(study.trace.event_records) == len(recorded) > 0
    assert study.dependencies.counts.explained_share > 0.98


@pytest.mark.parametrize("name", ["gpuid-is-not-cudaid", "pytorch-a100-nvtx", "torchrun-2xh100-nccl"])
def test_calls_that_wait_return_after_what_they_wait_for(real_study, name):
    study = real_study(name)
    graph, api = study.dependencies, study.trace.api
    edges = graph.return_edges
    late = graph.operations.end_ns[edges.source] - api.end_ns[edges.target]
    assert len(edges) > 10
    # The clocks of the GPU and of the CPU agree to some microseconds.
    assert late.max() < 100_000
