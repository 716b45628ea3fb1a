"""The report's numbers of collectives (docs/definitions.md, section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.collectives.collective_tables import group_rows, rank_rows
from viewer.analysis.core.intervals import window

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_OF_RANK = (
    "sets", "partial", "wait_ns", "transfer_ns", "last", "others_waited_ns", "last_share", "pattern",
    "is_bound",
)  # fmt: skip


def collective_facts(study: Study, within: tuple[int, int] | None = None) -> dict[str, Any]:
    """Return the key `collectives`: groups, the numbers of each rank, and what is not matched.

    Parameters
    ----------
    within : (int, int), optional
        A time range [start, end), ns; by default they are over the whole trace.
    """
    collectives, trace = study.collectives, study.trace
    groups = collectives.groups_table if within is None else group_rows(collectives, within)
    ranks = collectives.table if within is None else rank_rows(collectives, within)
    return {
        "collectives": {
            "groups": [
                {
                    "name": trace.names[group.name_id],
                    "kind": group.kind,
                    "gpus": [_gpu(study, g) for g in group.gpus],
                    "found_by": group.how,
                    "communicator": None if group.communicator is None else hex(group.communicator),
                    "sets": row["sets"],
                    "matched": row["matched"],
                    "partial": row["partial"],
                    "wait_ns": row["wait_ns"],
                    "last": _gpu(study, row["last_gpu"]) if row["last_gpu"] >= 0 else None,
                    "last_share": row["last_share"],
                    "pattern": row["pattern"],
                }
                for group, row in zip(collectives.groups, groups.to_dict("records"), strict=True)
            ],
            "ranks": [
                {**_gpu(study, row["gpu"]), **{name: row[name] for name in _OF_RANK}}
                for row in ranks.to_dict("records")
            ],
            "stages": [[_gpu(study, g) for g in stage] for stage in collectives.stages],
            "not_matched": list(collectives.notes),
        }
    }


def exposed_facts(study: Study, gpu: int, start_ns: int, end_ns: int) -> dict[str, int]:
    """Return the wait, transfer and unmatched time in a GPU's exposed communication, ns; they sum to it."""
    wait, transfer, unmatched = study.collectives.exposed(gpu, window(start_ns, end_ns))
    return {
        "exposed_wait_ns": wait,
        "exposed_transfer_ns": transfer,
        "exposed_unmatched_ns": unmatched,
    }


def _gpu(study: Study, gpu: int) -> dict[str, Any]:
    device = study.trace.gpus[gpu]
    process = study.trace.processes[device.process]
    return {"rank": process.rank, "pid": process.pid, "device": device.device}
