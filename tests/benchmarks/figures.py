"""What the benchmarks measure: a figure, its budget where it has one, and how both are printed."""

from __future__ import annotations

import json
import re
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One measured figure; `budget` is the most it may be, None where it is only told."""

    group: str
    name: str
    value: float
    unit: str
    budget: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the budget is held; None without one."""
        return None if self.budget is None else self.value <= self.budget


def timed(work: Callable[[], object], times: int = 1) -> list[float]:
    """Return how long each of several runs takes, ms."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        spent.append((time.perf_counter() - began) * 1e3)
    return spent


def median(spent: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(spent)


def p95(spent: Sequence[float]) -> float:
    """Return the 95th percentile."""
    ordered = sorted(spent)
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def private_bytes() -> int:
    """Return the memory that is this process's own; pages of mapped files are not."""
    text = Path("/proc/self/smaps_rollup").read_text()
    [found] = re.findall(r"^Anonymous:\s+(\d+) kB", text, re.MULTILINE)
    return int(found) * 1024


def peak_bytes() -> int:
    """Return the most memory this process has had, mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def print_json(found: Sequence[Figure]) -> None:
    """Print figures for `read_json`; a measuring process ends with it."""
    print(json.dumps([asdict(figure) for figure in found]))


def read_json(text: str) -> list[Figure]:
    """Read what a measuring process has printed last."""
    return [Figure(**one) for one in json.loads(text.strip().splitlines()[-1])]


def table(found: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table with the verdict on each."""
    lines = ["| | | measured | budget | |", "|---|---|---:|---:|---|"]
    said = {True: "holds", False: "**missed**", None: ""}
    group = ""
    for figure in found:
        budget = "" if figure.budget is None else f"{figure.budget:g} {figure.unit}"
        head = figure.group if figure.group != group else ""
        value = f"{figure.value:,.{2 if abs(figure.value) < 100 else 0}f} {figure.unit}"
        lines.append(f"| {head} | {figure.name} | {value} | {budget} | {said[figure.holds]} |")
        group = figure.group
    return "\n".join(lines)


def verdict(found: Sequence[Figure]) -> str:
    """Return in one line how many budgets hold."""
    judged = [figure for figure in found if figure.budget is not None]
    missed = [f"{figure.group}: {figure.name}" for figure in judged if not figure.holds]
    held = f"{len(judged) - len(missed)} of {len(judged)} budgets hold"
    return f"{held}; missed: {'; '.join(missed)}" if missed else held
