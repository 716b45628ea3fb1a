"""Everything known about one stall, in words (docs/definitions.md, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.analysis.core.units import duration_text
from viewer.analysis.stalls.causes import ON_GPU_SIDE, WAITING
from viewer.analysis.stalls.words import cause_text
from viewer.trace import GPU_KINDS, Kind, Trace

if TYPE_CHECKING:
    from viewer.analysis.stalls.stalls import Stalls

SHARE_TEXT = {
    "blocking_ns": "in a call that waits for the GPU",
    "other_call_ns": "in other CUDA calls",
    "profiler_ns": "in the profiler's own work",
    "off_cpu_ns": "off the CPU",
    "preempted_ns": "ready to run, without a CPU",
    "host_ns": "on the CPU outside CUDA",
    "unknown_ns": "not recorded",
    "launch_to_start_ns": "from the launch to the start",
    "gpu_side_ns": "queued on the GPU",
}
"""The parts of an idle stall, by `viewer.analysis.stalls.causes.SHARES`, in words."""
_COMM_TEXT = {
    "wait_ns": "waiting for a later rank",
    "transfer_ns": "collective running",
    "unmatched_ns": "in collectives that are not matched",
}
NO_OPERATION = "no operation follows in this recording"
NO_LAUNCH = "no launch record of the operation after"
NOT_RECORDED = "host code or waiting: neither context switches nor operating system calls were recorded"

CardText = list[tuple[str, str]]


def stall_facts(stalls: Stalls, number: int) -> CardText:
    """Return labels and values of a stall, for a card or a panel; an unknown cause says why it is unknown."""
    trace, row, words = stalls.trace, stalls.table.iloc[number], stalls.words(number)
    facts = [
        ("Stall", f"{words['kind']}, {duration_text(int(row['duration_ns']))}"),
        ("GPU", words["gpu"]),
        ("Iteration", f"{words['iteration']} ({words['place']})" if words["iteration"] else words["place"]),
        ("Cause", _cause(trace, row, words)),
    ]
    facts += [("Of which", text) for text in _shares(row, words["cause"])]
    facts += [
        ("Inside", words["inside"]),
        ("Blocking call", words["drained_by"]),
        ("Waits for", words["waits_for"]),
        ("Copies", _copies(row, words)),
        ("Before", words["before"]),
        ("After", words["after"]),
        ("Launched by", _launch(trace, row)),
    ]
    facts += [("Called from", frame) for frame in _chain(trace, row)]
    return [(label, value) for label, value in facts if value]


def call_chain(trace: Trace, api_index: int) -> list[str]:
    """Return the call chain of an API call, innermost frame first; nothing where it is not recorded."""
    source = trace.source
    if source is None or api_index < 0 or "call-chains" not in trace.session.recorded:
        return []
    return source.call_chain(Kind.API, int(trace.api.columns["file_row"][api_index]))


def _cause(trace: Trace, row: Any, words: Any) -> str:
    """Return the cause of a stall, the call that it names and its share."""
    cause = str(words["cause"])
    if cause == "unknown":
        if int(row["after_index"]) < 0:
            return f"{cause}: {NO_OPERATION}"
        return f"{cause}: {NO_LAUNCH if int(row['launch']) < 0 else NOT_RECORDED}"
    call = words["call"]
    if cause == WAITING and call:
        parts = [f"CPU blocked in {call}"]
    else:
        parts = [cause_text(cause)]
        if call:
            parts.append(f"{'after' if cause == ON_GPU_SIDE else 'in'} {call}")
    parts.append(f"{100 * float(words['share']):.0f} % of the stall")
    if int(row["followed"]) >= 0:
        parts.append(f"by {_thread(trace, int(row['followed']))}, for which the launching thread waited")
    return ", ".join(parts)


def _shares(row: Any, cause: str) -> list[str]:
    table = _COMM_TEXT if row["kind"] == "exposed_comm" else SHARE_TEXT
    if row["kind"] == "copy_only" or cause == "unknown":
        return []
    parts = sorted(((int(row[name]), text) for name, text in table.items() if row[name]), reverse=True)
    return [f"{duration_text(ns)} {text}" for ns, text in parts]


def _copies(row: Any, words: Any) -> str:
    count = int(row["copies"])
    return f"{words['copies']} ({count:,} in all)" if count > 1 else str(words["copies"])


def _launch(trace: Trace, row: Any) -> str:
    call = int(row["launch"])
    if call < 0:
        return ""
    name = trace.names[int(trace.api.name_id[call])]
    after = trace.events[GPU_KINDS[int(row["after_kind"])]]
    before = int(after.start_ns[int(row["after_index"])]) - int(trace.api.start_ns[call])
    return f"{name} on {_thread(trace, int(row['thread']))}, {duration_text(before)} before the start"


def _thread(trace: Trace, thread: int) -> str:
    owner = trace.threads[thread]
    return owner.name or f"thread {owner.tid}"


def _chain(trace: Trace, row: Any) -> list[str]:
    """Return the call chain of the blocking call that explains a stall, as far as one is recorded."""
    for name in ("blocking_call", "drained_by"):
        if chain := call_chain(trace, int(row[name])):
            return chain
    return []
