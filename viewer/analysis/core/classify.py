"""Kernel classes: what kind of work a kernel does, by rules on its name (docs/definitions.md, section 3)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from platformdirs import user_config_dir

from viewer.assets import asset
from viewer.trace import Trace
from viewer.trace.names import base_name

CLASSES = (
    "communication",
    "attention",
    "mixture-of-experts",
    "matrix multiply",
    "normalisation",
    "optimizer",
    "reduction",
    "elementwise",
    "waiting",
    "other",
)
CLASS_LABELS = {"matrix multiply": "GEMM"}
"""Classes whose label differs from their name; the name stands in the rule file, in JSON and in CSV."""
COMMUNICATION = CLASSES.index("communication")
WAITING = CLASSES.index("waiting")
OTHER = CLASSES.index("other")

_FILE = "kernel-classes.txt"
_FULL = "full:"
_HEADING = re.compile(r"\[(.+)\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and the class of the kernels in whose name it is found.

    Attributes
    ----------
    kernel_class : int
        Position in `CLASSES`.
    pattern : Pattern
        Searched for, in any case.
    full : bool
        Whether it sees the whole demangled name; the others see the qualified base name.
    line : int
        Number of its line in the table, from 1.
    """

    kernel_class: int
    pattern: re.Pattern[str]
    full: bool
    line: int

    def __str__(self) -> str:
        return f"{_FULL} {self.pattern.pattern}" if self.full else self.pattern.pattern


@dataclass(frozen=True, slots=True)
class RuleError:
    """A line of a rule table that is no rule, its number (from 1) and why."""

    line: int
    text: str
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Rules:
    """A table of rules; the first that matches a kernel decides its class.

    Attributes
    ----------
    origin : str
        "builtin", or the path of the user's table.
    errors : tuple of RuleError
        The lines that are no rules; classification ignores them.
    hash : str
        Twelve hex digits: equal for equal rules in equal order, whatever the comments.
    """

    rules: tuple[Rule, ...]
    errors: tuple[RuleError, ...]
    origin: str
    hash: str

    @classmethod
    def parse(cls, text: str, origin: str) -> Rules:
        """Read a table; lines that are no rules become `errors`."""
        rules: list[Rule] = []
        errors: list[RuleError] = []
        # Errors are gathered, not raised: one bad line must not take a user's other hundred rules away.
        heading: int | None = None
        for number, raw in enumerate(text.splitlines(), start=1):
            line = raw.strip()
            if not line or line.startswith("#"):
                continue
            try:
                if match := _HEADING.fullmatch(line):
                    # An unknown heading raises: the rules below it must not fall to the class above it.
                    heading = None
                    heading = _class_named(match[1])
                else:
                    rules.append(_rule(line, heading, number))
            except (ValueError, re.error) as problem:
                errors.append(RuleError(number, line, str(problem)))
        # Of what the rules say, not of the file: comments and blank lines make no other table.
        content = "\n".join(f"{CLASSES[rule.kernel_class]}\t{rule}" for rule in rules)
        return cls(tuple(rules), tuple(errors), origin, hashlib.sha256(content.encode()).hexdigest()[:12])

    @classmethod
    def builtin(cls) -> Rules:
        """Return the table that comes with the program."""
        return cls.parse(cls.builtin_text(), "builtin")

    @classmethod
    def load(cls, path: Path) -> Rules:
        """Read a table from a file; its lines that are no rules become `errors`.

        Raises
        ------
        OSError
            If the file cannot be read.
        """
        return cls.parse(path.read_text("utf-8", errors="replace"), str(path))

    @classmethod
    def current(cls) -> Rules:
        """Return the user's own table where there is one that can be read, else the built-in one."""
        try:
            return cls.load(cls.user_path())
        except OSError:
            return cls.builtin()

    @staticmethod
    def user_path() -> Path:
        """Return the path of the user's own table, whether or not the file exists."""
        return Path(user_config_dir("lightbox", appauthor=False)) / _FILE

    @staticmethod
    def builtin_text() -> str:
        """Return the text of the table that comes with the program."""
        return asset(_FILE).read_text("utf-8")

    @classmethod
    def current_text(cls) -> str:
        """Return the text of the user's own table where one can be read, else of the built-in one."""
        try:
            return cls.user_path().read_text("utf-8", errors="replace")
        except OSError:
            return cls.builtin_text()

    @classmethod
    def keep_text(cls, text: str) -> None:
        """Make a text the user's own table; one equal to the built-in table removes it.

        Raises
        ------
        OSError
            It cannot be written.
        """
        path = cls.user_path()
        # A copy of the built-in table would shadow it for good, and miss the rules that later versions add.
        if text == cls.builtin_text():
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # Replaced as a whole: a crash leaves the old table or the new one, never half of it.
        part = path.with_name(f"{path.name}.part")
        part.write_text(text, "utf-8")
        part.replace(path)

    def match(self, name: str) -> int:
        """Return the position of the first rule that matches a kernel's full name, -1 if none does."""
        # Without template arguments: those of a compute kernel may hold the word of any class.
        base = base_name(name)
        # The first match and not the best one: who edits the table can tell from its order what will happen.
        for position, rule in enumerate(self.rules):
            if rule.pattern.search(name if rule.full else base):
                return position
        return -1


@dataclass(frozen=True, slots=True)
class KernelClasses:
    """The class of every kernel name (docs/definitions.md, section 3).

    Attributes
    ----------
    class_of : ndarray of uint8, shape (names,)
        Position in `CLASSES`; "other" for names that no rule matches or that no kernel has.
    rule_of : ndarray of int16, shape (names,)
        Position in ``rules.rules`` of the rule that matched first, -1 for none.
    present : tuple of str
        The classes that kernels of the trace have, in order of `CLASSES`.
    """

    rules: Rules
    class_of: npt.NDArray[np.uint8]
    rule_of: npt.NDArray[np.int16]
    present: tuple[str, ...]

    def is_comm(self, name_id: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Return which of some names are communication kernels', a mask of the shape of `name_id`."""
        return np.asarray(self.class_of[name_id] == COMMUNICATION)

    def class_name(self, name_id: int) -> str:
        """Return the class of one kernel name."""
        return CLASSES[self.class_of[name_id]]

    def rule(self, name_id: int) -> Rule | None:
        """Return the rule that gave one kernel name its class, None for "other"."""
        position = int(self.rule_of[name_id])
        return self.rules.rules[position] if position >= 0 else None


def classify(trace: Trace, rules: Rules) -> KernelClasses:
    """Return the class of every kernel name of a trace.

    The rules see each distinct name once, however many kernels have it.
    """
    # The names of ranges and calls are in the same table; the rules would match some of them.
    used = np.flatnonzero(np.bincount(trace.kernels.name_id, minlength=len(trace.names)))
    # By name id, so that the class of a million kernels is one indexing.
    rule_of = np.full(len(trace.names), -1, np.int16)
    rule_of[used] = [rules.match(name) for name in trace.names.take(used)]
    # "Other" stands last, where the -1 of a name without a rule points.
    class_of_rule = np.array([*(rule.kernel_class for rule in rules.rules), OTHER], np.uint8)
    class_of = class_of_rule[rule_of]
    present = tuple(CLASSES[number] for number in np.unique(class_of[used]))
    return KernelClasses(rules, class_of, rule_of, present)


def _class_named(text: str) -> int:
    name = text.strip().lower()
    if name not in CLASSES:
        raise ValueError(f"no such class; there are {', '.join(CLASSES)}")
    return CLASSES.index(name)


def _rule(line: str, heading: int | None, number: int) -> Rule:
    if heading is None:
        raise ValueError("stands under no class, so it is left out")
    full = line.startswith(_FULL)
    pattern = line.removeprefix(_FULL).strip()
    return Rule(heading, re.compile(pattern, re.IGNORECASE), full, number)
