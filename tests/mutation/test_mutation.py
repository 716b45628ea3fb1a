"""What faults are made, which tests concern them, and how their fall is seen."""

import ast
import textwrap

import pytest

from tests.mutation import tree
from tests.mutation.__main__ import sampled
from tests.mutation.faults import faults_of


def faulty(text):
    """Return each faulty version of a text in one line."""
    return [fault.applied(text).strip() for fault in faults_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a <= b"]),
        ("a <= b < c", ["a < b < c", "a <= b <= c"]),
        ("a is not b", ["a is b"]),
        ("(a) == (b)", ["(a) != (b)"]),
        ("a and b or c", ["a or b or c", "a and b and c"]),
        ("not a", ["(a)"]),
        ("x = ~a & b", ["x = (a) & b", "x = ~a | b"]),
        ("x = 3", ["x = 4"]),
        ("x = True", ["x = False"]),
        ("x = a if b else c", ["x = a if (not (b)) else c"]),
        ("x = np.clip(a, b, c)", ["x = (a)"]),
        ("x = np.minimum(a, b)", ["x = np.maximum(a, b)"]),
        ("x = find(a, side='left')", ["x = find(a, side='right')"]),
        ("a += b", ["pass", "a -= b"]),
        ("go(b)", ["pass"]),
        ("x[a] = b", ["pass"]),
        ("x = ä - b", ["x = ä + b"]),
    ],
)
def test_each_place_is_changed_alone(text, expected):
    assert sorted(faulty(text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        '"""A text: a < b."""',
        "def f(a: int | None) -> list[int] | None: ...",
        "x: tuple[int, ...] | None",
        "if TYPE_CHECKING:\n    import a",
        "raise Error(1 + a)",
        'log.debug("%d", 1)',
        'x = f"{a:>{1}}" + "b"',
        "@dataclass(frozen=True)\nclass A: ...",
        "x = zip(a, b, strict=True)",
    ],
)
def test_what_changes_no_result_is_left_alone(text):
    assert faulty(text) == []


def test_every_fault_of_the_program_is_still_a_program():
    chosen, count = sampled(tree.ROOT, ["rows"], 60, 1)
    assert (len(chosen), count > 300) == (60, True)
    assert chosen == sampled(tree.ROOT, ["rows"], 60, 1)[0]
    assert chosen != sampled(tree.ROOT, ["rows"], 60, 2)[0]
    for module, fault in chosen:
        source = (tree.ROOT / module).read_text("utf-8")
        changed = fault.applied(source)
        ast.parse(changed)
        assert changed != source


def test_the_mirror_comes_first_then_the_quickest_that_run_the_line():
    watched = tree.Watched()
    near, other = "tests/rows/test_tree.py", "tests/rows/test_nesting.py"
    watched.seconds |= {near: 9, other: 1, "tests/app/test_a.py": 5, "tests/app/test_b.py": 3}
    watched.files["viewer/rows/tree.py"] |= {
        7: {near, other, "tests/app/test_a.py", "tests/app/test_b.py"},
        8: {other},
        9: set(),
    }
    of = lambda line, most: watched.concerned("viewer/rows/tree.py", line, most)  # noqa: E731
    assert of(7, 100) == [near, other, "tests/app/test_b.py", "tests/app/test_a.py"]
    assert of(7, 4) == [near, other, "tests/app/test_b.py"]
    assert of(8, 100) == [near, other]
    assert of(1, 100) == of(7, 100), "a line that runs as the module is imported concerns all of its tests"
    assert watched.concerned("viewer/rows/unknown.py", 1, 100) == []


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A checkout with one function and one test of it."""
    root = tmp_path / "small"
    (root / "viewer").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "viewer" / "__init__.py").touch()
    source = "def is_long(a):\n    while a < 0:\n        a += 1\n    return a > 9\n"
    (root / "viewer" / "long.py").write_text(source)
    test = """
    import sys
    sys.path.insert(0, "")
    from viewer.long import is_long

    def test_nine_is_not_long():
        assert not is_long(9)
        assert not is_long(-1)
    """
    (root / "tests" / "test_long.py").write_text(textwrap.dedent(test))
    monkeypatch.setattr(tree, "ROOT", root)
    monkeypatch.setattr(tree, "COPIED", ("viewer", "tests"))
    return tree.Tree(tmp_path), source


def test_a_fault_is_killed_survives_or_never_ends(small):
    copy, source = small
    files = ["tests/test_long.py"]
    asked = {
        source: "survived",
        source.replace("> 9", ">= 9"): "killed",
        source.replace("> 9", "> 10"): "survived",
        source.replace("+= 1", "-= 1"): "timeout",
    }
    for text, expected in asked.items():
        assert copy.outcome("viewer/long.py", text, files, 5 if expected == "timeout" else 120) == expected
    assert (copy.root / "viewer" / "long.py").read_text() == source
    assert copy.outcome("viewer/long.py", source.replace("> 9", ">= 9"), [], 5) == "survived"


def test_tests_that_cannot_be_run_see_no_fault(small):
    copy, source = small
    with pytest.raises(RuntimeError, match="pytest ended with 4"):
        copy.outcome("viewer/long.py", source, ["tests/absent.py"], 60)
