"""Each option does what it says, and no more."""

import hashlib
import sqlite3

import numpy as np
import pytest

from tests.demo.load import calls, operations, table, tables
from viewer.cli.choices import DemoFault
from viewer.demo import DemoOptions, default_demo, ground_truth, job, make_demo
from viewer.demo.injected_faults import FAULTS


def contents(path):
    with sqlite3.connect(path) as db:
        return hashlib.sha256("\n".join(db.iterdump()).encode()).hexdigest()


def test_same_options_same_file_and_another_seed_another(tmp_path):
    small = {"iterations": 2, "ranks": 2}
    one = contents(make_demo(tmp_path / "a.sqlite", DemoOptions(**small)))
    assert contents(make_demo(tmp_path / "b.sqlite", DemoOptions(**small))) == one
    assert contents(make_demo(tmp_path / "c.sqlite", DemoOptions(**small, seed=2))) != one


def test_clean_is_healthy(make):
    path = make(clean=True)
    ranges = table(path, "NVTX_EVENTS")
    assert "save_checkpoint" not in set(ranges.name)
    waits = ranges[ranges.name == "dataloader.next"]
    assert (waits.end - waits.start).max() < 1_000_000
    lengths = np.diff(ground_truth(job(DemoOptions(clean=True))).iteration_start_ns, axis=1)
    assert lengths.max() / lengths.min() < 1.05
    kernels = operations(path)
    kernels = kernels[kernels.kind == "KERNEL"]
    work = (kernels.end - kernels.start)[~kernels.name.str.startswith("nccl")].groupby(kernels["rank"]).sum()
    assert work.max() / work.min() < 1.01


def test_clean_hides_the_batch(make):
    frame = operations(make(clean=True))
    batch = frame[(frame.copyKind == 1)]
    kernels = frame[(frame.kind == "KERNEL") & (frame["rank"] == 0)]
    own = batch[batch["rank"] == 0]
    covered = [((kernels.start <= s) & (kernels.end >= s)).any() for s in own.start]
    assert np.mean(covered) > 0.9


@pytest.mark.parametrize("iterations", [15, 17, None])
def test_distca_is_recorded_as_the_users_trace(make, iterations):
    path = make(like="distca", iterations=iterations)
    ranges = table(path, "NVTX_EVENTS")
    own = ranges[(ranges["rank"] == 0) & (ranges.domainId == 0)].sort_values("start")
    samples = 3 if iterations == 15 else 4
    assert own.name.tolist() == [f"sample_{i}(repeat=5)" for i in range(samples)]
    assert "OSRT_API" not in tables(path)
    assert len(table(path, "SCHED_EVENTS")) > 100
    gaps = own.start.to_numpy()[1:] - own.end.to_numpy()[:-1]
    assert gaps.min() > 50_000_000
    frame = operations(path)
    frame = frame[frame["rank"] == 0]
    kernels = frame[frame.kind == "KERNEL"]
    assert kernels.groupby("streamId").size().idxmax() != 7
    assert set(frame[frame.kind == "MEMCPY"].streamId) == {7, 31}
    for start, end in zip(own.start, own.end, strict=True):
        launched = calls(path)
        launched = launched[(launched["rank"] == 0) & (launched.start > start) & (launched.end < end)]
        inside = kernels[kernels.correlationId.isin(launched.correlationId)].sort_values("correlationId")
        iterations = np.split(inside.name.to_numpy(), 5)
        assert all((iteration == iterations[0]).all() for iteration in iterations)


def test_a_shifted_clock_moves_only_its_gpu_rows(make):
    plain, moved = make(iterations=2), make(iterations=2, shift={3: -12_000_000})
    before, after = operations(plain), operations(moved)
    difference = (after.start - before.start).groupby(before["rank"]).unique()
    assert {r: d.tolist() for r, d in difference.items()} == {
        r: [-12_000_000 if r == 3 else 0] for r in range(8)
    }
    assert (after.end - after.start).equals(before.end - before.start)
    assert calls(plain).equals(calls(moved))


def test_lost_rows_are_missing_without_a_word(make):
    plain, lost = make(iterations=2), make(iterations=2, lose={1: 1.0, 6: 0.4})
    kept = operations(lost).groupby("rank").size() / operations(plain).groupby("rank").size()
    assert 1 not in operations(lost)["rank"].unique()
    assert kept[6] == pytest.approx(0.6, abs=0.03)
    assert (kept.drop([1, 6]) == 1).all()
    assert calls(plain).equals(calls(lost))
    assert table(plain, "DIAGNOSTIC_EVENT").equals(table(lost, "DIAGNOSTIC_EVENT"))


@pytest.mark.parametrize("events", [50_000, 300_000])
def test_the_size_is_about_what_was_asked_for(make, events):
    path = make(events=events)
    rows = sum(
        len(table(path, name)) for name in tables(path) if not name.startswith(("ENUM", "TARGET", "META"))
    )
    assert rows == pytest.approx(events, rel=0.15)


@pytest.mark.parametrize("ranks", [1, 2, 5, 16])
def test_any_number_of_ranks(make, ranks):
    frame = operations(make(ranks=ranks, iterations=1))
    assert sorted(frame["rank"].unique()) == list(range(ranks))


@pytest.mark.parametrize(
    "options", [{"ranks": 0}, {"iterations": 0}, {"like": "horovod"}, {"shift": {8: 1}}, {"lose": {-1: 0.5}}]
)
def test_nonsense_is_refused(options):
    with pytest.raises(ValueError, match=r"not|no rank"):
        DemoOptions(**options)


def test_the_default_demo_is_made_once_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LIGHTBOX_CACHE_DIR", str(tmp_path / "cache"))
    path = default_demo()
    made = path.stat().st_mtime_ns
    assert path.parent.parent == tmp_path / "cache" / "demo"
    assert default_demo() == path
    assert path.stat().st_mtime_ns == made
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_failure_leaves_neither_a_part_nor_the_old_file_changed(tmp_path, monkeypatch):
    target = tmp_path / "demo.sqlite"
    target.write_text("what was there")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("viewer.demo.make.closing", full)
    with pytest.raises(OSError, match="No space"):
        make_demo(target, DemoOptions(ranks=1, iterations=1))
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["demo.sqlite"]
    assert target.read_text() == "what was there"


def test_the_command_line_offers_every_fault():
    assert tuple(DemoFault) == FAULTS
