import shutil
import sqlite3
from contextlib import closing

import pytest

from viewer.analysis.stalls.stall_details import call_chain, stall_facts
from viewer.analysis.study import Study
from viewer.readers import read
from viewer.trace import Kind

FRAMES = ["cudaMemcpyAsync", "at::native::_local_scalar_dense_cuda", "train_step"]


@pytest.fixture
def study(demo_path, tmp_path):
    """The demo, with a call chain at every call of which a call chain is of use."""
    path = tmp_path / "chains.sqlite"
    shutil.copyfile(demo_path, path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER)"
        )
        top = db.execute("SELECT max(id) FROM StringIds").fetchone()[0]
        for depth, text in reversed(list(enumerate(FRAMES))):
            db.execute("INSERT INTO StringIds (id, value) VALUES (?, ?)", (top + 1 + depth, text))
            db.execute("INSERT INTO CUDA_CALLCHAINS VALUES (7, ?, NULL, ?)", (top + 1 + depth, depth))
            db.execute("INSERT INTO CUDA_CALLCHAINS VALUES (8, ?, NULL, ?)", (top + 1, depth))
        db.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = 7 WHERE nameId IN"
            " (SELECT id FROM StringIds WHERE value LIKE 'cudaMemcpyAsync%' OR value LIKE '%Synchronize%')"
        )
    return Study(read(path, cache=False))


def test_the_frames_come_innermost_first(study):
    trace = study.trace
    assert "call-chains" in trace.session.recorded
    names = trace.names.take(trace.api.name_id)
    with_chain, without = names.index("cudaMemcpyAsync"), names.index("cudaLaunchKernel")
    assert call_chain(study.trace, with_chain) == FRAMES
    assert call_chain(study.trace, without) == []
    assert call_chain(study.trace, -1) == []
    assert trace.source.call_chain(Kind.KERNEL, 1) == []


def test_a_stall_says_which_line_blocked(study):
    stalls = study.stalls()
    drained = int((stalls.table["drained_by"] >= 0).to_numpy().argmax())
    facts = stall_facts(stalls, drained)
    assert [value for label, value in facts if label == "Called from"] == FRAMES


def test_without_chains_nothing_is_said(demo_study):
    assert call_chain(demo_study.trace, 0) == []
