"""Times that are bounds are called so wherever they stand."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.analysis.summary.sections import TIME
from viewer.analysis.summary.summary import summary
from viewer.cli.report_tables import report_tables
from viewer.drawing.summary_tables import section_tables
from viewer.rows import RowKind, build_rows
from viewer.timeline.headers.header_values import figures_in


def texts(study):
    facts = report(study)
    measured = summary(study, study.iterations(), None)
    return facts, measured, "\n".join(str(part) for part in _rendered(study, facts, measured))


def _rendered(study, facts, measured):
    for part in report_tables(study, facts, measured, None):
        if hasattr(part, "rows"):
            yield from ("  ".join(map(str, row)) for row in part.rows)
        else:
            yield part


def graphs_on_the_first():
    maker = TraceMaker(session_ns=1_000).graph(0, 100).kernel(100, 200, "ncclDevKernel_AllReduce", stream=20)
    return Study(maker.kernel(0, 50, process=1).trace(), Rules.builtin())


def test_whole_graphs_make_exposed_communication_a_lower_bound_on_their_gpu():
    study = graphs_on_the_first()
    assert (study.bounds.exposed, study.bounds.idle) == (frozenset({0}), frozenset())
    assert study.known_bounds == study.bounds
    facts, measured, text = texts(study)
    assert [gpu["bounds"] for gpu in facts["gpus"]] == [{"exposed_comm_ns": "at least"}, {}]
    assert measured["exposed_comm"].title == "exposed communication (at least)"
    assert measured["idle"].title == "idle"
    heads = [head.title for band in section_tables(measured, TIME) for table in band for head in table.heads]
    assert "exposed comm. (at least)" in heads
    assert "≥ 100 ns" in text
    assert "Exposed communication is a lower bound" in text
    assert "≤" not in text


def test_lost_rows_make_idle_an_upper_bound_on_their_gpu(demo_of):
    study = demo_of(iterations=3, lose={2: 0.05})
    assert (study.bounds.exposed, study.bounds.idle) == (frozenset(), frozenset({2}))
    facts, measured, text = texts(study)
    marked = {"idle_ns": "at most", "no_kernel_ns": "at most"}
    assert [gpu["bounds"] for gpu in facts["gpus"]] == [marked if n == 2 else {} for n in range(8)]
    assert measured["idle"].title == "idle (at most)"
    assert measured["no_kernel"].title == "no kernel running (at most)"
    assert "Idle is an upper bound where rows were lost." in text
    assert "≤" in text


@pytest.mark.parametrize("options", [{}, {"clean": True}, {"like": "distca"}])
def test_a_sound_trace_has_no_bounds(demo_of, options):
    study = demo_of(iterations=3, **options)
    assert study.bounds.texts == ()
    assert study.bounds.titled("idle", "idle") == "idle"
    assert not any(gpu["bounds"] for gpu in report(study)["gpus"])


def test_lost_rows_are_known_once_the_diagnostics_are(demo_of):
    sound = demo_of(iterations=3, lose={2: 0.05})
    fresh = Study(sound.trace, sound.rules)
    assert fresh.known_bounds.idle == frozenset()
    assert fresh.diagnostics
    assert fresh.known_bounds == fresh.bounds == sound.bounds


def headers(study):
    rows = (row for row in build_rows(study) if row.kind is RowKind.PROCESS)
    return [figures_in(study, row, study.trace.window_ns) for row in rows]


def test_headers_of_rows_mark_bounds(demo_of):
    assert [figures[1][:1] for figures in headers(graphs_on_the_first())] == ["≥", "0"]
    lost = demo_of(iterations=3, lose={2: 0.05})
    assert lost.diagnostics
    assert [busy.startswith("≥ ") for busy, _ in headers(lost)] == [number == 2 for number in range(8)]
