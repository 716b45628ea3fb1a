"""Stalls in words: each distinct text is stored once, and a stall has the positions of its texts.

See docs/definitions.md, section 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.analysis.core.prefix_sums import coded
from viewer.analysis.launches.attribution import Indices
from viewer.analysis.stalls.stall_kinds import COMM_CAUSES, COMM_COLUMNS, COPY_CAUSE
from viewer.trace import GPU_KINDS, Kind, Trace
from viewer.trace.events import UInt32
from viewer.trace.names import short_name

if TYPE_CHECKING:
    from viewer.analysis.stalls.stalls import Stalls

KIND_TEXT = {"idle": "idle", "copy_only": "copy only", "exposed_comm": "exposed communication"}
PLACE_TEXT = {
    "inside": "inside iterations",
    "between": "between iterations",
    "outside": "outside all iterations",
    "": "",
}
_CAUSE_TEXT = {"transfer": "collective running"}
_EVIDENCE_OF = {
    "synchronise": ("blocking_ns",),
    "slow CUDA call": ("other_call_ns",),
    "waiting": ("off_cpu_ns",),
    "preempted": ("preempted_ns",),
    "profiler": ("profiler_ns",),
    "host code": ("host_ns",),
    "unknown": ("unknown_ns",),
    "launch-bound": ("other_call_ns", "host_ns", "launch_to_start_ns", "unknown_ns"),
    "GPU side": ("gpu_side_ns", "launch_to_start_ns"),
    COPY_CAUSE: ("duration_ns",),
    **{cause: (column,) for cause, column in zip(COMM_CAUSES, COMM_COLUMNS, strict=True)},
}
_CALL_OF = {
    "synchronise": ("blocking_call", Kind.API),
    "slow CUDA call": ("other_call", Kind.API),
    "launch-bound": ("launch", Kind.API),
    "waiting": ("os_call", Kind.OSRT),
    "GPU side": ("awaited", Kind.API),
}
_NO_NAME = 0
"""The id of the empty name."""

Rows = Indices | slice
EVERY = slice(None)


@dataclass(frozen=True)
class Texts:
    """A column of texts.

    Attributes
    ----------
    texts : list of str
        Each once.
    code : ndarray of int, shape (rows,)
        Positions in `texts`.
    """

    texts: list[str]
    code: npt.NDArray[np.signedinteger[Any]]

    @classmethod
    def of(cls, texts: Iterable[str], code: npt.NDArray[Any]) -> Texts:
        """Return the column of texts, which may be equal, at some positions in them; -1 is the last text."""
        place: dict[str, int] = {}
        places = [place.setdefault(text, len(place)) for text in texts]
        # Signed, and as small as will do: a million stalls with a dozen columns would take a hundred
        # megabytes in int64.
        small = np.promote_types(np.int8, np.min_scalar_type(len(place)))
        return cls(list(place), np.array(places, small)[code])

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, row: int) -> str:
        return self.texts[int(self.code[row])]

    def series(self) -> pd.Series:
        """Return the column for a table."""
        return pd.Series(pd.Categorical.from_codes(self.code, pd.Index(self.texts, dtype="str")))


def cause_text(cause: str) -> str:
    """Return a cause as the window shows it; tables, filters and files keep the identifier."""
    return _CAUSE_TEXT.get(cause, cause)


def words(stalls: Stalls, rows: Rows = EVERY) -> dict[str, Any]:
    """Return some stalls in words: for each column a `Texts` or an array.

    `kind`, `gpu`, `start_ns`, `duration_ns`, `place`, `iteration` ("7", or "7 → 8"; with "?" where the
    iterations are derived or guessed), `cause`, `share` (of the stall's length, the evidence of the cause),
    `inside`, `drained_by`, `call` (the longest of the kind that the cause names; of the GPU side the wait for
    an event), `before`, `after`, `copies`, `waits_for`.
    """
    table, trace = _Picked(stalls.table, rows), stalls.trace
    labels = [*(trace.gpu_label(g.index) for g in trace.gpus), ""]
    return {
        "kind": Texts.of(map(KIND_TEXT.__getitem__, table.categories("kind")), table["kind"]),
        "gpu": Texts.of(labels, table["gpu"]),
        "start_ns": table["start_ns"],
        "duration_ns": table["duration_ns"],
        "place": Texts.of(map(PLACE_TEXT.__getitem__, table.categories("place")), table["place"]),
        "iteration": _iterations(table, "?" if stalls.in_doubt else ""),
        "cause": Texts.of(table.categories("cause"), table["cause"]),
        "share": _shares(table),
        "inside": named(trace, _ids(trace, Kind.NVTX, table["inside"])),
        "drained_by": named(trace, _ids(trace, Kind.API, table["drained_by"])),
        "call": named(trace, _calls(trace, table)),
        "before": _operations(trace, table, "before"),
        "after": _operations(trace, table, "after"),
        "copies": _copies(trace, table),
        "waits_for": Texts.of(labels, table["waits_for"]),
    }


def frame_of(stalls: Stalls, rows: Rows = EVERY) -> pd.DataFrame:
    """Return some stalls in words as a table; its texts are categories."""
    columns = words(stalls, rows)
    return pd.DataFrame({k: v.series() if isinstance(v, Texts) else v for k, v in columns.items()})


class _Picked:
    """Some rows of a table, one column at a time; categories as codes."""

    def __init__(self, table: pd.DataFrame, rows: Rows) -> None:
        self._table, self._rows = table, rows

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        column = self._table[name]
        codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        return codes.to_numpy()[self._rows]

    def categories(self, name: str) -> list[str]:
        return list(self._table[name].cat.categories)


def _ids(trace: Trace, kind: Kind, index: Indices) -> UInt32:
    """Return the ids of the names of events of one table, that of "" for an index of -1."""
    # Ids before texts: there are few names, and each is spelled once however many stalls have it.
    ids = np.full(len(index), _NO_NAME, np.uint32)
    known = index >= 0
    ids[known] = trace.events[kind].name_id[index[known]]
    return ids


def named(trace: Trace, ids: UInt32) -> Texts:
    """Return names by their ids."""
    used, code = coded(ids)
    return Texts.of(trace.names.take(used), code)


def _iterations(table: _Picked, mark: str) -> Texts:
    """Return "7" where the operations around a stall are of one iteration, else "7 → 8", and a mark."""
    before, after = table["lap"].astype(np.int64), table["lap_after"].astype(np.int64)
    # Both numbers in one integer: few pairs differ, and each is spelled once. Either may be -1, so the lower
    # half is read back as a signed number.
    code, pairs = pd.factorize((before << 32) + after)
    lower = (pairs + 2**31) % 2**32 - 2**31
    both = zip(((pairs - lower) >> 32).tolist(), lower.tolist(), strict=True)
    texts = (
        " → ".join(f"{iteration}{mark}" for iteration in dict.fromkeys(iterations) if iteration >= 0)
        for iterations in both
    )
    return Texts.of(texts, code)


def _shares(table: _Picked) -> npt.NDArray[np.float64]:
    """Return the share of each stall's length that is evidence of its cause."""
    cause, length = table["cause"], table["duration_ns"]
    # Filled cause by cause: which columns are evidence depends on the cause alone.
    evidence = np.zeros(len(cause), np.int64)
    for position, name in enumerate(table.categories("cause")):
        rows = np.flatnonzero(cause == position)
        for column in _EVIDENCE_OF[name] if len(rows) else ():
            evidence[rows] += table[column][rows]
    return np.asarray(evidence / np.maximum(length, 1), np.float64)


def _calls(trace: Trace, table: _Picked) -> UInt32:
    """Return the ids of the names of the calls that the causes name."""
    cause = table["cause"]
    ids = np.full(len(cause), _NO_NAME, np.uint32)
    # The cause says in which of the columns its call stands, and so in which table.
    for name, (column, kind) in _CALL_OF.items():
        rows = np.flatnonzero(cause == table.categories("cause").index(name))
        ids[rows] = _ids(trace, kind, table[column][rows])
    return ids


def _operations(trace: Trace, table: _Picked, which: str) -> Texts:
    """Return the names of the operations before or after, kernels by their short names, "" for none."""
    kinds, index = table[f"{which}_kind"], table[f"{which}_index"]
    position = np.full(len(kinds), -1, np.int32)
    texts: list[str] = []
    for number, kind in enumerate(GPU_KINDS):
        rows = np.flatnonzero(kinds == number)
        ids, code = coded(trace.events[kind].name_id[index[rows]])
        # Codes of each kind behind those of the kinds before, in one list of texts.
        position[rows] = code.astype(np.int32) + len(texts)
        texts += [short_name(n) if kind is Kind.KERNEL else n for n in trace.names.take(ids)]
    return Texts.of([*texts, ""], position)


def _copies(trace: Trace, table: _Picked) -> Texts:
    """Return the kind, size and throughput of each stall's copy; equal texts are spelled once."""
    rows = np.flatnonzero(table["copies"] > 0)
    kinds, index = table["copy_kind"][rows], table["copy_index"][rows]
    name, owner = np.zeros(len(rows), np.uint32), np.zeros(len(rows), np.int64)
    for number, kind in enumerate(GPU_KINDS):
        of_kind, events = kinds == number, trace.events[kind]
        name[of_kind] = events.name_id[index[of_kind]]
        owner[of_kind] = np.searchsorted(events.offsets, index[of_kind], side="right") - 1
    size = _formatted(table["bytes"][rows] / 1e6)
    rate = _formatted(table["throughput_gb_s"][rows])
    flags = {name: table[name][rows] for name in ("pageable", "in_front")}
    # Rows with equal facts have equal texts: spell one of each, and point at it.
    facts = pd.DataFrame({"name": name, "stream": owner, "size": size.code, "rate": rate.code, **flags})
    code = facts.groupby(list(facts.columns), sort=False).ngroup().to_numpy()
    texts = []
    for what, stream, mb, gb_s, pageable, front in facts.drop_duplicates().itertuples(index=False):
        text, label = trace.names[what].removeprefix("Memcpy "), trace.streams[stream].label
        parts = [f"{text} {size.texts[mb]} MB at {rate.texts[gb_s]} GB/s on stream {label}"]
        parts += ["pageable"] * bool(pageable) + ["before the iteration's first kernel"] * bool(front)
        texts.append(", ".join(parts))
    position = np.full(len(table["copies"]), -1, np.int64)
    position[rows] = code
    return Texts.of([*texts, ""], position)


def _formatted(values: npt.NDArray[np.float64]) -> Texts:
    """Return numbers with four significant digits."""
    # Sizes and rates of copies repeat a lot; to format a number costs a thousand times what looking it up
    # does.
    code, distinct = pd.factorize(values)
    return Texts.of((f"{value:,.4g}" for value in distinct.tolist()), code)
