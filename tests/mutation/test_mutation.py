"""What faults are made, which tests concern them, and how their fall is seen."""

import ast
import textwrap
from pathlib import Path

import pytest

from tests.mutation import tree
from tests.mutation.__main__ import sampled
from tests.mutation.faults import faults_of

SHARING = """
    import sys
    sys.path.insert(0, "")
    import pytest
    from viewer.long import is_long

    @pytest.fixture(scope="module")
    def short():
        return is_long(-1)

    def test_first(short):
        assert not short

    def test_second(short):
        assert not short

    def test_own():
        assert is_long(10)
    """


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


def test_a_fault_lies_in_a_statement_or_its_head():
    source = "if (a <\n    b):\n    c = (\n        d\n        - e)\nelse:\n    f(1)\n"
    found = {fault.what: fault.statement for fault in faults_of(source)}
    assert found == {"< → <=": (1, 2), "- → +": (3, 5), "statement dropped": (7, 7), "1 → 2": (7, 7)}


def test_the_mirror_comes_first_then_the_quickest_that_run_the_line():
    watched = tree.Watched()
    named, near = "tests/rows/test_tree.py::a", "tests/rows/test_nesting.py::b"
    slow, quick = ("tests/app/test_a.py::c", "tests/app/test_a.py::d"), "tests/app/test_b.py::e"
    seconds = {near: 1, named: 9, slow[0]: 3, slow[1]: 2, quick: 4}
    lines = {7: [near, named, *slow, quick], 8: [near], 9: [""], 12: [slow[1], near]}
    watched.add(
        {"seconds": seconds, "modules": {"viewer/rows/tree.py": {str(k): v for k, v in lines.items()}}}
    )
    of = lambda first, last, most: watched.concerned("viewer/rows/tree.py", (first, last), most)  # noqa: E731
    assert of(7, 7, 100) == [named, near, quick, *slow]
    assert of(7, 7, 6) == [named, near, quick, slow[1]]
    assert of(8, 8, 100) == [near]
    assert of(8, 12, 100) == of(9, 9, 100), "the statement runs as the module is imported"
    assert of(9, 9, 100) == of(7, 7, 100), "which concerns all of its tests"
    assert of(10, 12, 100) == [near, slow[1]]
    assert of(10, 11, 100) == [], "no test runs it"
    assert watched.concerned("viewer/rows/unknown.py", (1, 1), 100) == []


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


def test_a_fault_is_killed_survives_or_never_ends(small, monkeypatch):
    copy, source = small
    monkeypatch.setattr(tree, "LEAST_PATIENCE_S", 1)
    tests = ["tests/test_long.py::test_nine_is_not_long"]
    asked = {
        source: "survived",
        source.replace("> 9", ">= 9"): "killed",
        source.replace("> 9", "> 10"): "survived",
        source.replace("+= 1", "-= 1"): "timeout",
        source.replace("def", "fed"): "killed",
    }
    for text, expected in asked.items():
        assert copy.outcome("viewer/long.py", text, tests, {tests[0]: 0.1}) == expected
    assert (copy.root / "viewer" / "long.py").read_text() == source
    assert copy.outcome("viewer/long.py", source.replace("> 9", ">= 9"), [], {}) == "survived"


def test_waiting_for_what_never_comes_ends(small, monkeypatch):
    copy, source = small
    monkeypatch.setattr(tree, "HANG_S", 3)
    text = source.replace("a += 1", "__import__('threading').Event().wait()")
    assert (
        copy.outcome("viewer/long.py", text, ["tests/test_long.py::test_nine_is_not_long"], {}) == "timeout"
    )


def test_only_the_tests_of_a_fault_are_run(small):
    copy, source = small
    file = copy.root / "tests" / "test_long.py"
    file.write_text(f"{file.read_text()}\ndef test_ten_is_long():\n    assert is_long(10)\n")
    text = source.replace("> 9", "> 10")
    assert (
        copy.outcome("viewer/long.py", text, ["tests/test_long.py::test_nine_is_not_long"], {}) == "survived"
    )
    assert copy.outcome("viewer/long.py", text, ["tests/test_long.py::test_ten_is_long"], {}) == "killed"


def test_tests_that_cannot_be_run_see_no_fault(small):
    copy, source = small
    with pytest.raises(RuntimeError, match="pytest ended with 4"):
        copy.outcome("viewer/long.py", source, ["tests/absent.py::test_a"], {})


def test_what_is_shared_concerns_all_that_get_it(small):
    copy, _ = small
    (copy.root / "tests" / "test_long.py").write_text(textwrap.dedent(SHARING))
    (copy.root / "tests" / "conftest.py").touch()
    (copy.root / "tests" / "mutation").symlink_to(Path(__file__).parent)
    watched = copy.watch(["."], ["tests"])
    first, second, own = (f"tests/test_long.py::test_{name}" for name in ("first", "second", "own"))
    assert set(watched.seconds) == {first, second, own}
    assert watched.concerned("viewer/long.py", (3, 3), 9) == [first, second]
    assert watched.concerned("viewer/long.py", (4, 4), 9) == [first, second, own]
