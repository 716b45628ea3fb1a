"""Without a change the replay is the recording, to the nanosecond."""

import pytest

TRACES = (
    "gpuid-is-not-cudaid",
    "inference-2xh100",
    "jacobi-1process-2gpus",
    "power-iteration-t4",
    "pytorch-a100-nvtx",
    "single-gpu-2024.6",
    "torchrun-2xh100-nccl",
    "all-tables-empty",
    "nothing-recorded-2026",
    "cupti-events-missing",
)


@pytest.mark.parametrize("name", TRACES)
def test_the_replay_of_a_real_trace_is_the_recording(real_study, name):
    replay = real_study(name).replay
    assert replay.error_ns == 0
    assert replay.network.dropped == 0


@pytest.mark.parametrize(
    "options",
    [
        {"iterations": 3},
        {"iterations": 3, "clean": True},
        {"iterations": 3, "fault": "item"},
        {"iterations": 3, "fault": "broadcast"},
        {"iterations": 5, "like": "distca"},
        {"iterations": 3, "shift": {3: 400_000}, "drift": {5: 20_000}},
        {"iterations": 3, "shift": {1: -300_000, 6: 5_000}},
    ],
)
def test_the_replay_of_a_demo_is_the_recording(demo_of, options):
    assert demo_of(**options).replay.error_ns == 0
