"""The operations of the GPUs are handed over before the rest is read."""

import numpy as np
import pytest

from viewer.readers import read
from viewer.trace import GPU_KINDS, Kind


@pytest.mark.parametrize("name", ["pytorch-a100-nvtx", "torchrun-2xh100-nccl", "demo"])
def test_what_is_handed_over_early_is_what_the_whole_trace_holds(name, request):
    file = request.getfixturevalue("demo_path" if name == "demo" else "shared_trace")
    file = file if name == "demo" else file(name)
    early = []
    whole = read(file, cache=False, early=early.append)
    [partial] = early
    assert [(s.context, s.stream_id) for s in partial.streams] == [
        (s.context, s.stream_id) for s in whole.streams
    ]
    for kind in Kind:
        few, every = partial.events[kind], whole.events[kind]
        if kind not in GPU_KINDS:
            assert len(few) == 0
            continue
        for column in ("start_ns", "end_ns", "offsets"):
            assert np.array_equal(getattr(few, column), getattr(every, column))
        for column, values in every.columns.items():
            if column != "short_id":
                assert np.array_equal(few.columns[column], values)
        assert partial.names.take(few.name_id) == whole.names.take(every.name_id)
    assert partial.window_ns == whole.window_ns


def test_a_stored_trace_is_there_at_once(demo_path):
    read(demo_path)
    early = []
    read(demo_path, early=early.append)
    assert early == []


def test_a_trace_without_gpu_rows_has_no_early_part(shared_trace):
    early = []
    read(shared_trace("nothing-recorded-2026"), cache=False, early=early.append)
    assert early == []
