"""The report's numbers of collectives (docs/definitions.md, section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.core.intervals import window

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_OF_RANK = ("sets", "wait_ns", "transfer_ns", "last", "others_waited_ns", "last_share", "pattern")


def collective_facts(study: Study) -> dict[str, Any]:
    """Return the key `collectives`: groups, the numbers of each rank, and what is not matched.

    They are over the whole trace, whatever the report's window.
    """
    collectives, trace = study.collectives, study.trace
    group_rows = collectives.groups_table.to_dict("records")
    rank_rows = collectives.table.to_dict("records")
    return {
        "collectives": {
            "groups": [
                {
                    "name": trace.names[group.name_id],
                    "gpus": [_gpu(study, g) for g in group.gpus],
                    "found_by": group.how,
                    "sets": row["sets"],
                    "matched": row["matched"],
                    "wait_ns": row["wait_ns"],
                    "last": _gpu(study, row["last_gpu"]) if row["last_gpu"] >= 0 else None,
                    "last_share": row["last_share"],
                    "pattern": row["pattern"],
                }
                for group, row in zip(collectives.groups, group_rows, strict=True)
            ],
            "ranks": [
                {**_gpu(study, row["gpu"]), **{name: row[name] for name in _OF_RANK}} for row in rank_rows
            ],
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
