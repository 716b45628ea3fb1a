"""A finding: a measured phenomenon, where it is, what mending it wins, and what usually helps.

See docs/definitions.md, section 14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from viewer.analysis.core.location import Location
from viewer.analysis.core.units import duration_text, share_text
from viewer.analysis.replay.changes import Change

WinGrade = Literal["replayed", "ceiling", "measured"]
LEAST_SHARE = 0.005
"""What wins less than this share of the iteration is no finding."""
MOST = 7
"""How many findings there are at most."""
COUNT_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven")


@dataclass(frozen=True)
class Finding:
    """One thing to mend.

    Attributes
    ----------
    id : str
        Its kind, then what it is about: "slow-call:cudaMalloc".
    title : str
        The phenomenon, a sentence without a full stop.
    what : str
        What was measured over which time, a sentence.
    gpus : tuple of int
        The GPUs concerned; all of them where they stand still together.
    location : Location or None
        Where it is best seen.
    time_ns : int
        What it takes of an iteration, median; without iterations of the whole recording.
    win_ns : int or None
        What mending it takes off an iteration, once the findings before it are mended; None where there are
        no iterations.
    win_range_ns : (int, int) or None
        The least and the most of that over the iterations.
    grade : {"replayed", "ceiling", "measured"}
        Whether `win_ns` is of a replay, is the most that it can be, or is not known.
    evidence, next_step : str
        What shows it, and what usually helps.
    share : float
        `win_ns`, or `time_ns` where that is not known, of the iteration or of the recording.
    changes : tuple of Change
        The changes whose replay wins that; () where no replay can tell.
    """

    id: str
    title: str
    what: str
    gpus: tuple[int, ...]
    location: Location | None
    time_ns: int
    win_ns: int | None
    win_range_ns: tuple[int, int] | None
    grade: WinGrade
    evidence: str
    next_step: str
    share: float
    changes: tuple[Change, ...] = ()

    @property
    def win_text(self) -> str:
        """The win as it stands in a list: "−4.400 ms", "at most −4.400 ms", "12.30 ms in all"."""
        if self.win_ns is None:
            return f"{duration_text(self.time_ns)} in all"
        most = "at most " if self.grade == "ceiling" else ""
        return f"{most}−{duration_text(self.win_ns)}"


@dataclass(frozen=True)
class Findings:
    """What to mend first.

    Attributes
    ----------
    items : tuple of Finding
        Most worth first, `MOST` at most.
    recorded_ns, together_ns : int or None
        The median iteration as it is, and with all findings mended; None without iterations.
    more : int
        How many findings are left out, because there are `MOST`.
    other_limits : tuple of str
        What the rest of the iteration goes to that is no fault by itself, a sentence each.
    why_ceilings : str
        Why no win is replayed, a sentence, "" where they can be.
    missing : tuple of str
        What the recording lacks, or has wrong, so that there may be more to find; a sentence each.
    """

    items: tuple[Finding, ...]
    recorded_ns: int | None
    together_ns: int | None
    more: int = 0
    why_ceilings: str = ""
    other_limits: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is missing, and why wins are ceilings: what a reader has to know beside the heading."""
        shown = (self.why_ceilings,) if self.why_ceilings and self.items else ()
        return (*self.missing, *shown)

    @property
    def verdict(self) -> Literal["findings", "nothing", "unknown"]:
        """Whether there is something to mend, nothing, or the recording cannot tell."""
        if self.items:
            return "findings"
        return "unknown" if self.missing else "nothing"

    @property
    def heading(self) -> str:
        """The answer in a sentence or two."""
        if self.verdict == "unknown":
            return "The recording cannot tell what to mend first."
        least = share_text(LEAST_SHARE)
        if not self.items:
            return f"Nothing is worth mending first: no fault costs more than {least} of the iteration."
        rest = f"{self.more} more are not listed." if self.more else f"Nothing else wins more than {least}."
        if self.recorded_ns is None or self.together_ns is None:
            return f"What a change wins is not known without iterations; {rest[:1].lower()}{rest[1:]}"
        won = self.recorded_ns - self.together_ns
        change = (
            f"{duration_text(self.recorded_ns)} → {duration_text(self.together_ns)}, "
            f"−{duration_text(won)} ({share_text(won / max(self.recorded_ns, 1))} of the iteration)"
        )
        most = " at most" if any(item.grade == "ceiling" for item in self.items) else ""
        who = {1: "", 2: "Both together: "}.get(
            len(self.items), f"All {COUNT_WORDS[len(self.items)]} together: "
        )
        return f"{who}{change}{most}. {rest}"
