import numpy as np
import pytest

from viewer.analysis.stalls.causes import SHARES
from viewer.analysis.stalls.stall_kinds import COMM_COLUMNS
from viewer.analysis.stalls.stalls import IDLE, STALL_KINDS, find_stalls
from viewer.trace import Kind

TRACES = (
    "torchrun-2xh100-nccl",
    "inference-2xh100",
    "pytorch-a100-nvtx",
    "jacobi-1process-2gpus",
    "power-iteration-t4",
    "all-tables-empty",
)


def named(stalls, column="inside", kind=Kind.NVTX):
    """Return the text of a column of indices, for every stall."""
    index = stalls.table[column].to_numpy()
    names = stalls.trace
    ids = names.events[kind].name_id
    return np.array([names.names[ids[i]] if i >= 0 else "" for i in index], object)


@pytest.fixture(scope="module")
def demo_stalls(demo_study):
    return demo_study.stalls()


@pytest.fixture(scope="module", params=TRACES)
def any_study(request, real_study):
    return real_study(request.param)


def test_stalls_long_and_short_are_the_parts_of_each_gpu(any_study):
    stalls = any_study.stalls()
    for gpu in any_study.trace.gpus:
        for kind in STALL_KINDS:
            rows = stalls.select(kinds=[kind], gpus=[gpu.index])
            held = stalls.table["duration_ns"].to_numpy()[rows].sum()
            short = stalls.short[(stalls.short["kind"] == kind) & (stalls.short["gpu"] == gpu.index)]
            parts = any_study.parts[gpu.index].intervals(kind)
            assert held + short["total_ns"].sum() == parts.total()
            assert len(rows) + short["count"].sum() == len(parts)


def test_shares_sum_to_the_stall(any_study):
    table = any_study.stalls().table
    idle = table[table["kind"] == IDLE]
    assert (idle[list(SHARES)].sum(axis=1) == idle["duration_ns"]).all()
    assert (table[list(SHARES)] >= 0).all(axis=None)
    exposed = table[table["kind"] == "exposed_comm"]
    assert (exposed[list(COMM_COLUMNS)].sum(axis=1) == exposed["duration_ns"]).all()
    assert table["cause"].notna().all()


def test_neighbours_touch_the_idle_stall(any_study):
    stalls, trace = any_study.stalls(), any_study.trace
    idle = stalls.table[stalls.table["kind"] == IDLE]
    for row in idle.sample(min(len(idle), 200), random_state=1).itertuples():
        if row.before_index >= 0:
            assert trace.events[tuple(Kind)[row.before_kind]].end_ns[row.before_index] == row.start_ns
        if row.after_index >= 0:
            assert trace.events[tuple(Kind)[row.after_kind]].start_ns[row.after_index] == row.end_ns


def test_the_data_loader_of_a_real_training_is_named(real_study):
    stalls = real_study("pytorch-a100-nvtx").stalls()
    idle = stalls.table["kind"] == IDLE
    loader = np.array(["DataLoader" in text for text in named(stalls)])
    length = stalls.table["duration_ns"]
    assert length[idle & loader].sum() > 0.8 * length[idle].sum()
    waits = stalls.totals().set_index(["kind", "cause"])
    assert waits.loc[("idle", "waiting"), "share"] > 0.9


def test_the_file_io_of_a_real_trace_is_named(real_study):
    stalls = real_study("power-iteration-t4").stalls()
    length = stalls.table["duration_ns"]
    io = np.array([text.startswith("IO") for text in named(stalls)])
    assert length[io].sum() > 0.9 * length[stalls.table["kind"] == IDLE].sum()


def test_the_copies_of_a_real_inference_are_named(real_study):
    study = real_study("inference-2xh100")
    stalls = study.stalls()
    rows = stalls.select(kinds=["copy_only"])
    table = stalls.table.iloc[rows]
    assert (table["copies"] > 0).all()
    assert table["throughput_gb_s"].median() > 1
    assert stalls.shown["copies"].iloc[rows].str.contains(r"GB/s on stream (?:7|15)\b").all()


def test_the_loader_s_tax_of_the_demo_is_waiting_between_iterations(demo_study, demo_stalls):
    loader = named(demo_stalls) == "dataloader.next"
    found = demo_stalls.table[loader & (demo_stalls.table["duration_ns"] > 5_000_000)]
    iterations = demo_study.iterations().count
    assert len(found) >= (iterations - 1) * len(demo_study.trace.gpus) * 0.5
    assert set(found["cause"]) == {"waiting"}
    assert set(found["place"]) == {"between"}
    poll = demo_study.trace.events[Kind.OSRT].name_id[found["os_call"].to_numpy()]
    assert {demo_study.trace.names[i] for i in poll} == {"poll"}


def test_the_demo_s_batch_stands_in_front_of_each_iteration(demo_study, demo_stalls):
    table = demo_stalls.table
    front = table[table["in_front"]]
    assert front["pageable"].all()
    assert front.groupby("gpu", observed=True).size().ge(demo_study.iterations().count - 1).all()


def test_a_cold_demo_is_slow_calls(demo_study, demo_stalls):
    slow = demo_stalls.table[demo_stalls.table["cause"] == "slow CUDA call"]
    names = {demo_study.trace.names[demo_study.trace.api.name_id[i]] for i in slow["other_call"] if i >= 0}
    assert {"cuLibraryLoadData", "cudaMalloc"} <= names
    assert set(slow["lap"]) <= {0}


def test_the_slow_rank_is_waited_for(demo_study, demo_stalls):
    table = demo_stalls.table
    waits = table[(table["cause"] == "waiting for a rank") & (table["lap"] > 0)]
    lost = waits.groupby("waits_for")["wait_ns"].sum()
    slow, partner = (
        next(g.index for g in demo_study.trace.gpus if demo_study.trace.processes[g.process].rank == rank)
        for rank in (5, 4)
    )
    assert lost.idxmax() == slow
    assert lost[slow] + lost[partner] > 0.8 * lost.sum(), "its partner is held up in every layer"


def test_the_checkpoint_is_named(tmp_path_factory):
    from viewer.analysis.study import Study
    from viewer.demo import DemoOptions, make_demo
    from viewer.readers import read

    path = make_demo(tmp_path_factory.mktemp("demo") / "d.sqlite", DemoOptions(ranks=2, slow_rank=None))
    stalls = Study(read(path, cache=False)).stalls()
    saving = named(stalls) == "save_checkpoint"
    idle = stalls.table[saving & (stalls.table["kind"] == IDLE)]
    assert idle["duration_ns"].max() > 40_000_000
    assert idle.loc[idle["duration_ns"].idxmax(), "cause"] == "waiting"


def test_a_healthy_job_has_no_long_idle_stall(tmp_path_factory):
    from viewer.analysis.study import Study
    from viewer.demo import DemoOptions, make_demo
    from viewer.readers import read

    path = make_demo(tmp_path_factory.mktemp("demo") / "c.sqlite", DemoOptions(iterations=4, clean=True))
    study = Study(read(path, cache=False))
    table = study.stalls().table
    idle = table[(table["kind"] == IDLE) & (table["place"] != "outside")]
    assert idle["duration_ns"].max() < 500_000
    assert not named(study.stalls())[table["duration_ns"] > 500_000].tolist().count("dataloader.next")
    assert not (table["cause"] == "waiting for a rank").sum() > len(table) / 10
    patterns = set(study.collectives.table["pattern"])
    # The waits are too short to say of anybody that it is late persistently.
    assert patterns <= {"rotating", ""}


def test_without_iterations_places_are_left_open(demo_study):
    table = find_stalls(demo_study.stall_inputs, None).table
    assert set(table["place"]) == {""}
    assert (table["lap"] == -1).all()
