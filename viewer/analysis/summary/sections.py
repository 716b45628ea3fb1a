"""The sections of the summary, in their order."""

from __future__ import annotations

from viewer.analysis.summary.metric import Section

TIME = Section("time")
ABSENT = Section("compute absent")
KERNELS = Section("kernels")
PHASES = Section(
    "phases",
    "No iterations were found, so there are no phases of one: choose a marker in Iterations.",
    first="backward_to_forward",
    needs_iterations=True,
)
ITERATIONS = Section(
    "iterations", "No iterations were found: choose a marker in Iterations.", needs_iterations=True
)
BURSTS = Section("small-kernel bursts")
COPIES = Section("copies", first="copies_in_front")
SYNCHRONISATION = Section("synchronisation")
DEPENDENCIES = Section("dependencies")
RANKS = Section(
    "ranks",
    "There are no two GPUs that do the same work in whole iterations of this time to compare.",
    needs_iterations=True,
)

SECTIONS = (
    TIME,
    ABSENT,
    KERNELS,
    PHASES,
    ITERATIONS,
    BURSTS,
    COPIES,
    SYNCHRONISATION,
    DEPENDENCIES,
    RANKS,
)
