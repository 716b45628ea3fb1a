"""What numbers are taken over: clipped to the recording in one place, and what they leave out."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.core.units import duration_text
from viewer.analysis.study import Study
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.measure import clip_window
from viewer.analysis.time.scope import iteration_scope, left_out, ranges_scope
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read


def one_kernel():
    return Study(TraceMaker(session_ns=1_000).kernel(400, 500).trace(), Rules.builtin())


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = make_demo(tmp_path_factory.mktemp("scope") / "demo.sqlite", DemoOptions(iterations=12))
    return Study(read(path, cache=False), Rules.builtin())


def test_a_range_is_clipped_once_for_everything_and_says_so():
    scope = one_kernel().range_scope(-100, 5_000)
    assert scope.hull == (0, 1_000) == clip_window(one_kernel().trace, -100, 5_000)[:2]
    assert scope.what == "range, clipped to the recording"
    assert scope.notes == ("Range clipped to the recording: 0 to 1.000 µs.",)
    assert one_kernel().range_scope(0, 1_000).notes == ()
    with pytest.raises(ValueError, match="nothing was recorded"):
        one_kernel().range_scope(2_000, 3_000)


def test_a_range_in_which_no_gpu_does_anything_says_where_they_do():
    (note,) = one_kernel().range_scope(500, 900).notes
    assert note == "No GPU does anything in this range; the GPU operations lie from 400 ns to 500 ns."
    assert one_kernel().range_scope(499, 900).notes == ()


def test_all_that_numbers_leave_out_is_counted(demo):
    iterations = demo.iterations()
    scope = demo.default_scope(iterations)
    rest = [iteration for iteration in range(iterations.count) if iteration not in scope.iterations]
    assert rest
    assert iterations.steady
    said = left_out(demo.trace, demo.parts, iterations, scope)
    gpus, recording = len(demo.trace.gpus), demo.trace.span_ns[1]
    before, after = int(iterations.starts[:, 0].sum()), int((recording - iterations.starts[:, -1]).sum())
    between = iteration_scope(iterations, rest).total_ns
    assert before + between + after + scope.total_ns == gpus * recording
    share = 100 * (before + between + after) / (gpus * recording)
    assert said.startswith(
        f"Left out: {share:.1f} % of the recording (before the first iteration "
        f"{duration_text(before / gpus)}; {len(rest)} of {iterations.count} iterations ("
    )
    assert "1 warm-up" in said
    assert f"{sum(f == 'checkpoint' for f in iterations.flags)} checkpoint" in said
    assert f"after the last one {duration_text(after / gpus)}), idle " in said
    whole = sum(int(parts.totals(0, recording)[4]) for parts in demo.parts)
    idle = whole - int(scope.parts(demo.parts)[:, 4].sum())
    assert said.endswith(f"idle {100 * idle / (before + between + after):.1f} %.")
    assert summary(demo, iterations).notes == (said,)


def test_what_lies_before_and_after_counts_where_no_iteration_is_left_out(demo):
    iterations = demo.iterations()
    said = left_out(demo.trace, demo.parts, iterations, iteration_scope(iterations, range(iterations.count)))
    assert "before the first iteration" in said
    assert f"of {iterations.count} iterations" not in said


def test_nothing_is_left_out_of_a_range_or_of_one_iteration(demo):
    iterations = demo.iterations()
    assert left_out(demo.trace, demo.parts, iterations, iteration_scope(iterations, [3])) == ""
    assert left_out(demo.trace, demo.parts, iterations, demo.range_scope(*demo.trace.window_ns)) == ""
    assert left_out(demo.trace, demo.parts, None, demo.default_scope(None)) == ""


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (2, "0 to 10 ns, 20 ns to 30 ns."),
        (3, "0 to 10 ns, 20 ns to 30 ns, 40 ns to 50 ns."),
        (5, "0 to 10 ns, 20 ns to 30 ns, 40 ns to 50 ns and 2 more."),
    ],
)
def test_the_first_of_several_ranges_are_named_where_they_were_clipped(count, text):
    study = Study(TraceMaker(session_ns=1_000).kernel(0, 500).trace(), Rules.builtin())
    windows = [(-5 if number == 0 else 20 * number, 20 * number + 10) for number in range(count)]
    (note,) = ranges_scope(study.trace, study.parts, windows).notes
    assert note == f"Range clipped to the recording: {text}"
