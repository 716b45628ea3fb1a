"""The collectives' part of the report (docs/definitions.md, section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.core.intervals import window

if TYPE_CHECKING:
    from viewer.analysis.study import Study

_OF_RANK = ("sets", "wait_ns", "transfer_ns", "last", "others_waited_ns", "last_share", "pattern")


def collective_facts(study: Study) -> dict[str, Any]:
    """Return the key `collectives`: groups, the figures of each rank, and what is not matched.

    They speak of the whole trace, whatever the report's window.
    """
    held, trace = study.collectives, study.trace
    of_group = held.groups_table.to_dict("records")
    of_rank = held.table.to_dict("records")
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
                for group, row in zip(held.groups, of_group, strict=True)
            ],
            "ranks": [
                {**_gpu(study, row["gpu"]), **{name: row[name] for name in _OF_RANK}} for row in of_rank
            ],
            "not_matched": list(held.notes),
        }
    }


def exposed_facts(study: Study, gpu: int, start_ns: int, end_ns: int) -> dict[str, int]:
    """Return what the exposed communication of a GPU in a window is made of, ns; the three sum to it."""
    wait, transfer, unmatched = study.collectives.exposed(gpu, window(start_ns, end_ns))
    return {
        "exposed_wait_ns": wait,
        "exposed_transfer_ns": transfer,
        "exposed_unmatched_ns": unmatched,
    }


def _gpu(study: Study, gpu: int) -> dict[str, Any]:
    one = study.trace.gpus[gpu]
    process = study.trace.processes[one.process]
    return {"rank": process.rank, "pid": process.pid, "device": one.device}
