"""What can be changed in a module: each fault is one small change of its text."""

import ast
from dataclasses import dataclass
from itertools import pairwise

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.BitAnd: "|",
    ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
SWAPPED = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any",
    "argmin": "argmax", "argmax": "argmin",
}  # fmt: skip
SIDES = {"left": "right", "right": "left"}
INDIFFERENT = {"strict", "frozen", "slots", "eq", "repr", "copy", "maxsize", "dtype", "default_factory"}
"""Keyword arguments that change no result, or whose change is no small fault."""
SAID = {"debug", "info", "warning", "exception", "getLogger"}
"""Calls of a logger."""


@dataclass(frozen=True, order=True)
class Fault:
    """A change of a module: the text from `start` to `end`, byte offsets, becomes `text`.

    `statement` holds the first and the last line of the statement, or of its head, in which it lies.
    """

    line: int
    start: int
    end: int
    text: str
    what: str
    statement: tuple[int, int]

    def applied(self, source):
        """Return the module with the fault."""
        content = source.encode()
        return (content[: self.start] + self.text.encode() + content[self.end :]).decode()


def faults_of(source):
    """Return the faults that a module's source can be given, in order of their place."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(set(finder.found))


class _Finder(ast.NodeVisitor):
    """Walks over all that runs; annotations, decorators, raised messages and docstrings are left out."""

    def __init__(self, source):
        self.source = source
        lengths = [len(line.encode()) for line in source.splitlines(keepends=True)]
        self.line_starts = [0]
        for length in lengths:
            self.line_starts.append(self.line_starts[-1] + length)
        self.found = []
        self.statement = (1, 1)

    def visit(self, node):
        """Visit a node, and know in which statement it lies."""
        if not isinstance(node, ast.stmt):
            super().visit(node)
            return
        outer, body = self.statement, getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
        self.statement = (node.lineno, last)
        super().visit(node)
        self.statement = outer

    def add(self, node, text, what):
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset)
        self.found.append(Fault(node.lineno, start, end, text, what, self.statement))

    def between(self, left, right, old, new):
        """Change an operator: it stands between two nodes, beside brackets, blanks and comments."""
        start = self._offset(left.end_lineno, left.end_col_offset)
        end = self._offset(right.lineno, right.col_offset)
        gap = self.source.encode()[start:end].decode()
        if gap.count(old) == 1 and "#" not in gap:
            at = start + len(gap[: gap.index(old)].encode())
            line = left.end_lineno + gap[: gap.index(old)].count("\n")
            self.found.append(Fault(line, at, at + len(old), new, f"{old} → {new}", self.statement))

    def _offset(self, line, column):
        return self.line_starts[line - 1] + column

    def visit_FunctionDef(self, node):
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node):
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node):
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Raise(self, node):
        """Leave out what is raised, and its message."""

    def visit_Assert(self, node):
        """Leave out what must hold anyway."""

    def visit_Subscript(self, node):
        """Leave out what looks like a type: ``NDArray[np.int64]``, ``dict[str, int]``."""
        name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if not (name[:1].isupper() or name in {"dict", "list", "tuple", "set"}):
            self.generic_visit(node)

    def visit_Compare(self, node):
        terms = [node.left, *node.comparators]
        for (left, right), operator in zip(pairwise(terms), node.ops, strict=True):
            old = {"<=": "<", "<": "<=", ">=": ">", ">": ">=", "!=": "==", "==": "!=", "is not": "is",
                   "is": "is not", "not in": "in", "in": "not in"}[COMPARISONS[type(operator)]]  # fmt: skip
            self.between(left, right, old, COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BinOp(self, node):
        new = OPERATORS.get(type(node.op))
        is_text = any(
            isinstance(side, ast.JoinedStr)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in (node.left, node.right)
        )
        if new is not None and not is_text:
            old = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b"))).split()[1]
            self.between(node.left, node.right, old, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self.between(left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if not isinstance(node.op, ast.UAdd) and not isinstance(node.operand, ast.Constant):
            sign = {ast.Not: "not", ast.Invert: "~", ast.USub: "-"}[type(node.op)]
            self.add(node, f"({ast.unparse(node.operand)})", f"{sign} dropped")
        self.generic_visit(node)

    def visit_IfExp(self, node):
        self.add(node.test, f"(not ({ast.unparse(node.test)}))", "condition turned")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.add(node, str(not node.value), f"{node.value} → {not node.value}")
        elif isinstance(node.value, (int, float)):
            self.add(node, str(node.value + 1), f"{node.value} → {node.value + 1}")

    def visit_JoinedStr(self, node):
        """Leave out texts."""

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SAID:
            return
        if name in SWAPPED:
            called = ast.unparse(node.func)[: -len(name)] + SWAPPED[name]
            self.add(node.func, called, f"{name} → {SWAPPED[name]}")
        if name == "clip" and node.args:
            self.add(node, f"({ast.unparse(node.args[0])})", "clip dropped")
        self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg == "side" and isinstance(value, ast.Constant):
                self.add(value, repr(SIDES[value.value]), f"{value.value} → {SIDES[value.value]}")
            elif keyword.arg not in INDIFFERENT:
                self.visit(value)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        is_said = isinstance(node.value, ast.Call) and getattr(node.value.func, "attr", "") in SAID
        if isinstance(node.value, ast.Call) and not is_said:
            self.add(node, "pass", "statement dropped")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.add(node, "pass", "statement dropped")
        new = OPERATORS.get(type(node.op))
        if new is not None:
            old = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b"))).split()[1]
            self.between(node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def visit_Assign(self, node):
        if all(isinstance(target, (ast.Subscript, ast.Attribute)) for target in node.targets):
            self.add(node, "pass", "statement dropped")
        self.generic_visit(node)

    def visit_Continue(self, node):
        self.add(node, "pass", "statement dropped")

    def visit_Break(self, node):
        self.add(node, "pass", "statement dropped")
