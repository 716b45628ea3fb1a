"""Presets: which rows are unfolded and hidden, for the views that one returns to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from viewer.rows.kinds import RowKind
from viewer.rows.row import Role, Row

Choice = tuple[frozenset[str], frozenset[str]]
"""Keys of the rows that are unfolded, and of those that are hidden."""

FEW_ROWS = 24
"""So many rows fit into a window of common size."""


def everything(roots: tuple[Row, ...]) -> Choice:
    """Unfold processes, GPUs and threads; families of kernels stay folded under their GPU's kernels."""
    doubled = frozenset(row.key for row in _all_rows(roots) if row.gathers)
    return frozenset(row.key for row in _all_rows(roots) if row.kind.traits.holds_rows), doubled


def lanes(roots: tuple[Row, ...]) -> Choice:
    """Fold all processes: each is its outline and the state lanes of its GPUs, one under another.

    The GPUs are unfolded below, so that a process shows its streams as soon as it is unfolded.
    """
    gpus = (row for row in _all_rows(roots) if row.kind is RowKind.GPU)
    return frozenset(row.key for row in gpus), hidden_at_first(roots)


def first_view(roots: tuple[Row, ...]) -> Choice:
    """Show lanes; what is under them too of one process, or where so few rows leave the window empty."""
    unfolded, hidden = lanes(roots)
    with_gpus = {root.key for root in roots if any(c.kind is RowKind.GPU for c in root.children)}
    opened = unfolded | with_gpus
    if len(with_gpus) == 1:
        return opened, hidden
    shown = [row for row in _all_rows(roots) if {step.key for step in row.path()[:-1]} <= opened]
    return (opened if len(shown) <= FEW_ROWS else unfolded), hidden


def compute_and_communication(roots: tuple[Row, ...]) -> Choice:
    """Show of every GPU its state, the stream that computes most, and those that communicate."""
    unfolded, hidden = set(), set()
    for root in (root for root in roots if root.kind is RowKind.PROCESS):
        unfolded.add(root.key)
        for row in root.children:
            if row.kind is not RowKind.GPU:
                hidden.add(row.key)
                continue
            unfolded.add(row.key)
            kept = _main_streams(row)
            hidden.update(child.key for child in row.children if child.key not in kept)
    return frozenset(unfolded), frozenset(hidden)


PRESETS: dict[str, Callable[[tuple[Row, ...]], Choice]] = {
    "everything": everything,
    "lanes": lanes,
    "compute + communication": compute_and_communication,
}
"""By name, the function that returns the keys to unfold and those to hide; the first view is "lanes"."""


def launch_rows(roots: tuple[Row, ...]) -> list[str]:
    """Return the keys of the rows of launch latency: one key of the keyboard shows and hides them."""
    return [row.key for row in _all_rows(roots) if row.kind is RowKind.LAUNCHES]


def hidden_at_first(roots: tuple[Row, ...]) -> frozenset[str]:
    """Return the keys of the rows that stay hidden until they are asked for."""
    return frozenset(row.key for row in _all_rows(roots) if not row.kind.traits.shown_at_first)


def _all_rows(roots: tuple[Row, ...]) -> Iterator[Row]:
    return (row for root in roots for row in root.walk())


def _main_streams(gpu: Row) -> set[str]:
    """Return the keys of the stream that computes most, and of those that communicate: the last as one."""
    streams = [row for row in gpu.children if row.kind is RowKind.STREAM]
    compute = [row for row in streams if row.role is not Role.COMMUNICATION]
    # One that copies is shown where none computes: of many that compute, each may take less than the copies.
    most = max(compute, key=lambda row: (row.role is Role.COMPUTE, row.share or 0.0), default=None)
    rest = [row for row in gpu.children if row.gathers]
    gathered = frozenset[str]().union(*(row.gathers for row in rest))
    talking = {row.key for row in streams if row.role is Role.COMMUNICATION and row.key not in gathered}
    return talking | {row.key for row in (most, *rest) if row is not None}
