"""What NCCL's own NVTX ranges say of a collective: its communicator (docs/definitions.md, section 8)."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np

from viewer.analysis.launches.attribution import Indices, outermost, ranges_of
from viewer.analysis.launches.launches import Launches
from viewer.trace import Kind

_SAMPLES = 5
_COMMUNICATOR = re.compile(r'"[^"]*communicator[^"]*"\s*:\s*"?(0x[0-9a-f]+|\d+)', re.IGNORECASE)


class Payloads:
    """Reads communicators from the payloads of NCCL's own NVTX ranges around the launches."""

    def __init__(self, launches: Launches) -> None:
        trace = launches.trace
        self._launches, self._trace = launches, trace
        self._tracks: dict[int, list[int]] = defaultdict(list)
        if trace.source is not None:
            for track in trace.tracks:
                if "nccl" in track.domain.casefold():
                    self._tracks[track.thread].append(track.index)
        self._rows_read = self._rows_with_communicator = 0

    def communicator(self, rows: Indices) -> int | None:
        """Return the communicator of some kernels by a few of them; None where these do not agree."""
        if not self._tracks or not len(rows):
            return None
        # Reading a row is slow: without a communicator in the first ones there is none in the others.
        if self._rows_read >= _SAMPLES and not self._rows_with_communicator:
            return None
        calls = self._launches.api_of(Kind.KERNEL)
        # Spread over the whole recording: a stream may serve two communicators one after the other.
        sample = rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLES).astype(np.int64))]
        communicators = {self._of_call(int(calls[row])) for row in sample.tolist()}
        return communicators.pop() if len(communicators) == 1 else None

    def _of_call(self, call: int) -> int | None:
        """Return the communicator in the innermost NCCL range around a call that names one."""
        if call < 0:
            return None
        api, nvtx = self._trace.api, self._trace.nvtx
        start, end = api.start_ns[call : call + 1], api.end_ns[call : call + 1]
        for track in self._tracks.get(api.owner_of(call), ()):
            ranges = ranges_of(self._trace, track)
            around = int(outermost(nvtx.start_ns[ranges], nvtx.end_ns[ranges], start, end)[0])
            if around < 0:
                continue
            # All ranges around the call, the last of which is the innermost: NCCL nests the group around its
            # parts.
            inner = ranges[(nvtx.start_ns[ranges] <= start[0]) & (nvtx.end_ns[ranges] >= end[0])]
            for row in inner[::-1].tolist():
                if (known := self._of_range(int(nvtx.columns["file_row"][row]))) is not None:
                    return known
        return None

    def _of_range(self, file_row: int) -> int | None:
        assert self._trace.source is not None
        row: dict[str, Any] = self._trace.source.row(Kind.NVTX, file_row)
        match = _COMMUNICATOR.search(f"{row.get('jsonText') or ''} {row.get('jsonTextId') or ''}")
        self._rows_read += 1
        self._rows_with_communicator += match is not None
        return int(match[1], 0) if match else None
