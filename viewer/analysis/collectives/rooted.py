"""The groups of broadcasts and reductions, whose members need not end together.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from collections import defaultdict

from viewer.analysis.collectives.collective_kinds import ROOTED, collective_kind
from viewer.analysis.collectives.groups import FoundGroup
from viewer.analysis.collectives.pairs import KernelSequence
from viewer.analysis.collectives.sets import sets_of
from viewer.trace import Trace


def with_roots(trace: Trace, sequences: list[KernelSequence], groups: list[FoundGroup]) -> list[FoundGroup]:
    """Return the groups with those of broadcasts and reductions put right or added.

    A member that comes after the root ends after the others, so that timing joins some of them at most. They
    run on the streams of another collective's group, which they share; without one, those of all GPUs that
    run as many belong together.
    """
    rooted = [
        s for s in sequences if s.communicator is None and collective_kind(trace.names[s.name_id]) in ROOTED
    ]
    if not rooted:
        return groups
    names = {s.name_id for s in rooted}
    kept = [g for g in groups if g.how == "communicator" or g.members[0].name_id not in names]
    group_of_stream: dict[int, int] = {}
    for number, group in enumerate(kept):
        for member in group.members:
            group_of_stream.setdefault(member.stream, number)
    together: dict[tuple[int, int, int], list[KernelSequence]] = defaultdict(list)
    for sequence in rooted:
        number = group_of_stream.get(sequence.stream, -1)
        together[sequence.name_id, number, len(sequence.rows) if number < 0 else 0].append(sequence)
    for members in together.values():
        ordered = tuple(sorted(members, key=lambda s: s.gpu))
        if len(members) > 1 and len({s.gpu for s in members}) == len(members):
            kept.append(FoundGroup(ordered, "timing", sets_of(trace.kernels, ordered, 0.0)))
    return kept
