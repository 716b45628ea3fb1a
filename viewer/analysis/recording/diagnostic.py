"""A diagnostic: one thing that is wrong with a recording or missing in it, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that whoever reads the trace has to know.

    Attributes
    ----------
    kind : str
        "lost-rows": ``diagnostic.lost-rows`` in docs/definitions.md says when it is found and what it means.
    severity : {"error", "warning", "info"}
        An error makes numbers wrong, a warning doubtful; info says what is not there to be known.
    title : str
        What it is, in a line.
    meaning : str
        What it means for reading.
    where : str
        The process or GPU concerned, "" for the whole recording.
    gpu : int or None
    align_ns : int or None
        What `alignment.align` would add to the times of `gpu`.
    time_ns : int or None
        A moment at which it can be seen.
    process : int or None
        The one whose rows were lost.
    """

    kind: str
    severity: Severity
    title: str
    meaning: str
    where: str = ""
    gpu: int | None = None
    time_ns: int | None = None
    align_ns: int | None = None
    process: int | None = None

    @property
    def spoils(self) -> bool:
        """Whether it makes the numbers of its GPU doubtful."""
        return self.severity == "error" and self.gpu is not None

    @property
    def text(self) -> str:
        """All of it as sentences, each with one full stop."""
        title = self.title if self.title.endswith((".", "?", "!")) else f"{self.title}."
        return f"{title} {self.meaning}".rstrip()
