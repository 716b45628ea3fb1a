"""What findings are looked for in, against plain loops over stalls of random jobs."""

import random
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.intervals import union, window
from viewer.analysis.core.location import Location
from viewer.analysis.findings import finding_inputs
from viewer.analysis.findings.finding_inputs import FindingInputs, spans_of
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.late_ranks.late_verdicts import Verdict
from viewer.analysis.stalls.causes import LAUNCH_BOUND
from viewer.trace import GPU_KINDS, Kind

RANGES = ("step", "load 3", "load 4", "optimizer", "copy fp16")
TEXTS = {0: "", 1: "load #", 2: "load #", 3: "optimizer", 4: "copy fp16", -1: ""}
"""The text of each range, and of none; "step" marks the iterations."""


def trace_of(gpus):
    maker = TraceMaker(session_ns=1_000)
    for process in range(gpus):
        maker.kernel(100, 900, process=process)
    for k, name in enumerate(RANGES):
        maker.range(k, 900 - k, name)
    return maker.trace()


def inputs_of(gpus=3, starts=None, used=(), table=None, errors=(), optimizer=None):
    """Return the inputs of a study that is made up: its iterations, stalls and diagnostics."""
    trace = trace_of(gpus)
    iterations = None
    if starts is not None:
        lengths = np.diff(np.min(starts, axis=0))
        iterations = SimpleNamespace(
            starts=starts,
            basis=tuple(used),
            marker="step",
            median_of=lambda chosen: int(np.median(lengths[list(chosen)])),
        )
    phase = SimpleNamespace(kernels=optimizer) if optimizer is not None else None
    study = SimpleNamespace(
        trace=trace,
        iterations=lambda candidate: iterations,
        stalls=lambda candidate: SimpleNamespace(table=table),
        diagnostics=[
            SimpleNamespace(severity=severity, gpu=gpu, process=process) for severity, gpu, process in errors
        ],
        phases_of=lambda _: SimpleNamespace(phase=lambda name: phase if name == "optimizer" else None),
        default_scope=lambda _: None,
        parts=None,
        collectives=None,
    )
    return FindingInputs(study)


STARTS = np.array([[0, 100, 250, 300, 500], [10, 120, 240, 330, 510], [0, 90, 260, 300, 490]])


def random_stalls(seed, count=300):
    """Return stalls on three GPUs; every tenth ends or begins at an edge."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        gpu, begin, length = rng.randrange(3), rng.randrange(-50, 560), rng.randrange(1, 60)
        if rng.random() < 0.3:
            # Its middle lies at an edge, or an instant before it.
            edge = int(rng.choice(STARTS[gpu]))
            begin = edge - length // 2 - rng.randrange(2)
        kind, cause = rng.choice(("idle", "copy_only")), rng.choice((LAUNCH_BOUND, "slow call"))
        after = rng.choice((Kind.KERNEL, Kind.MEMCPY))
        rows.append(
            (gpu, begin, begin + length, length, kind, rng.randrange(-1, len(RANGES)), cause,
             GPU_KINDS.index(after), rng.randrange(5))
        )  # fmt: skip
    names = [
        "gpu",
        "start_ns",
        "end_ns",
        "duration_ns",
        "kind",
        "inside",
        "cause",
        "after_kind",
        "after_index",
    ]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.parametrize(
    ("seed", "used", "spoiled"),
    [(1, (0, 1, 2, 3), ()), (2, (1, 3), (1,)), (3, (2,), ()), (4, (0, 3), (0, 2))],
)
def test_stalls_count_where_their_middle_is_in_a_used_iteration(seed, used, spoiled):
    table = random_stalls(seed)
    errors = [("error", gpu, None) for gpu in spoiled]
    inputs = inputs_of(starts=STARTS, used=used, table=table, errors=errors, optimizer=[np.array([2, 4])])
    for kind, found in (("idle", inputs.idle_stalls), ("copy_only", inputs.copy_stalls)):
        expected = []
        for row in table.itertuples():
            middle = (row.start_ns + row.end_ns) // 2
            edges = STARTS[row.gpu].tolist()
            if row.kind != kind or row.gpu in spoiled:
                continue
            if any(edges[i] <= middle < edges[i + 1] for i in used):
                is_kernel = row.after_kind == GPU_KINDS.index(Kind.KERNEL)
                in_optimizer = is_kernel and row.after_index in (2, 4)
                expected.append((row.Index, TEXTS[row.inside], in_optimizer))
        assert list(zip(found.index, found["range"], found["in_optimizer"], strict=True)) == expected
        assert expected


def test_without_iterations_all_stalls_of_the_recording_count():
    table = random_stalls(5)
    inputs = inputs_of(table=table)
    start, end = inputs.trace.window_ns
    middle = (table["start_ns"] + table["end_ns"]) // 2
    inside = (table["kind"] == "idle") & (middle >= start) & (middle < end)
    assert inputs.idle_stalls.index.tolist() == table.index[inside].tolist()
    # Nothing marks iterations: that range is one like the others.
    texts = {**TEXTS, 0: "step"}
    assert inputs.idle_stalls["range"].tolist() == [texts[i] for i in table["inside"][inside]]
    assert not inputs.idle_stalls["in_optimizer"].any()
    assert inputs.used == ()
    assert [edges.tolist() for edges in inputs.windows] == [[[start]] * 3, [[end]] * 3]
    assert inputs.length_ns == end - start
    assert inputs.late_hosts == ()


def test_no_kernel_is_of_an_optimizer_that_is_not_known():
    inputs = inputs_of(starts=STARTS, used=(0, 1), table=random_stalls(6))
    assert not inputs.idle_stalls["in_optimizer"].any()


def test_units_are_the_used_iterations_of_each_gpu():
    inputs = inputs_of(starts=STARTS, used=(1, 3))
    assert inputs.windows[0].tolist() == [[100, 300], [120, 330], [90, 300]]
    assert inputs.windows[1].tolist() == [[250, 500], [240, 510], [260, 490]]
    # From 90 to 240 and from 300 to 490.
    assert inputs.length_ns == 170
    assert inputs.least_ns == pytest.approx(0.85)
    spans = {2: window(95, 305), 0: union(np.array([90, 240]), np.array([110, 260]))}
    # Of GPU 0 from 100 to 110 and from 240 to 250; of GPU 2 from 95 to 260 and from 300 to 305.
    assert inputs.per_unit(spans).tolist() == [[20, 0], [165, 5]]
    assert inputs.per_unit({}).shape == (0, 2)
    # Found, but none that numbers are taken from: the whole recording.
    none_used = inputs_of(starts=STARTS)
    start, end = none_used.trace.window_ns
    assert none_used.length_ns == end - start
    assert none_used.windows[0].tolist() == [[start]] * 3


def late(monkeypatch, inputs, *verdicts):
    """Let these be the verdicts on the ranks."""
    monkeypatch.setattr(finding_inputs, "compare_ranks", lambda *_: ())
    monkeypatch.setattr(
        finding_inputs,
        "late_ranks",
        lambda *_: SimpleNamespace(verdicts=[Verdict(*verdict, 0.1, "") for verdict in verdicts]),
    )
    return inputs


def test_hosts_are_late_by_what_each_of_the_others_waits(monkeypatch):
    # The least is half a per cent of 170 ms: 0.85 ms for each other GPU.
    def inputs():
        return inputs_of(starts=STARTS * 10**6, used=(1, 3))

    assert inputs().lateness_ns(Verdict("host", (0,), 900, 0.1, "")) == 450
    assert inputs().lateness_ns(Verdict("host", (0, 1), 900, 0.1, "")) == 900
    assert inputs().lateness_ns(Verdict("host", (0, 1, 2), 900, 0.1, "")) == 900
    assert inputs().lateness_ns(Verdict("host", (0,), None, 0.1, "")) == 0
    enough, little = 2 * 850_000, 2 * 850_000 - 2
    assert late(monkeypatch, inputs(), ("host", (0,), enough)).late_hosts == (0,)
    assert late(monkeypatch, inputs(), ("host", (0,), little)).late_hosts == ()
    assert late(monkeypatch, inputs(), ("ranks", (0,), enough)).late_hosts == ()
    assert late(monkeypatch, inputs(), ("host", (0, 2), enough), ("host", (1,), enough)).late_hosts == (
        0,
        2,
        1,
    )
    two = inputs_of(gpus=2, starts=STARTS[:2], used=(1,))
    assert late(monkeypatch, two, ("host", (1,), 10**9)).late_hosts == (1,)
    one = inputs_of(gpus=1, starts=STARTS[:1], used=(1,))
    assert late(monkeypatch, one, ("host", (0,), 10**9)).late_hosts == ()


@pytest.mark.parametrize(
    ("errors", "spoiled"),
    [
        ([("error", 1, None)], {1}),
        ([("warning", 1, None), ("info", 0, 0)], set()),
        ([("error", None, 2)], {2}),
        # Of a GPU alone, though its process is named too.
        ([("error", 0, 1)], {0}),
        ([("error", None, None)], set()),
        ([("error", None, 0), ("error", 2, None), ("warning", None, 1)], {0, 2}),
    ],
)
def test_errors_spoil_their_gpu_or_those_of_their_process(errors, spoiled):
    assert inputs_of(errors=errors).spoiled == spoiled


def test_gpus_are_named_few_by_few():
    inputs = inputs_of(gpus=5)
    assert inputs.who((0, 1, 2, 3, 4)) == "all GPUs"
    assert inputs.who((0, 1, 2, 4)) == "4 of 5 GPUs"
    assert inputs.who((0, 1, 4)) == "ranks 0, 1 and 4"
    assert inputs.who((3,)) == "rank 3"
    assert inputs_of(gpus=1).who((0,)) == "the GPU"


def test_the_longest_stall_and_the_stalls_of_each_gpu():
    table = random_stalls(7, 40)
    longest = max(table.itertuples(), key=lambda row: row.duration_ns)
    found = inputs_of().longest(table)
    assert found == Location(longest.start_ns, longest.end_ns, longest.gpu)
    spans = spans_of(table[table["gpu"] != 1])
    assert set(spans) == {0, 2}
    for gpu, of_gpu in spans.items():
        own = table[table["gpu"] == gpu]
        covered = {t for row in own.itertuples() for t in range(row.start_ns, row.end_ns)}
        pairs = zip(of_gpu.start_ns.tolist(), of_gpu.end_ns.tolist(), strict=True)
        assert [t for low, high in pairs for t in range(low, high)] == sorted(covered)


def test_what_others_have_won_is_not_won_again():
    def share(spans, taken):
        return Proposal("", "", "", (), None, "", "", np.zeros(1, np.int64), (), spans).outside(taken)

    spans = {0: window(0, 30), 1: window(0, 10)}
    assert share(spans, {}) == 1
    assert share(spans, {0: window(20, 99)}) == 0.75
    assert share(spans, {0: window(-5, 31), 1: window(5, 7)}) == 0.2
    assert share(spans, {2: window(0, 99)}) == 1
    assert share({}, {0: window(0, 99)}) == 1
