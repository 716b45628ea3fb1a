"""GPU operations in words: what they are, and where they run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.collective_kinds import collective_kind
from viewer.analysis.core.classify import CLASS_LABELS
from viewer.analysis.dependencies.graph import Rows
from viewer.analysis.dependencies.stall_reasons import StallReasons
from viewer.analysis.launches.attribution import Indices
from viewer.trace import Kind
from viewer.trace.names import short_name


class Speller:
    """Operations in words; each name on each stream is spelled once."""

    def __init__(self, reasons: StallReasons) -> None:
        self._trace, self._classes, self._graph = reasons.trace, reasons.classes, reasons.graph

    def of_gpu(self, number: int) -> str:
        """Return "ReduceScatter of Rank 5, stream 20"."""
        gpu = self._trace.streams[int(self._graph.operations.stream[number])].gpu
        process = self._trace.gpus[gpu].process
        alone = len(self._trace.gpus_of(process)) == 1
        owner = self._trace.process_label(process) if alone else self._trace.gpu_label(gpu)
        return f"{self.what(number)} of {owner}, stream {self.stream(number)}"

    def texts(self, numbers: Indices | Rows, spell: Callable[[int], str]) -> npt.NDArray[np.object_]:
        """Return the text of each operation, "" for -1."""
        streams, kernels = len(self._trace.streams), self._trace.kernels
        clipped = np.maximum(numbers, 0).astype(np.int64)
        # What is spelled alike has one key: the name of a kernel, of others the place of their kind.
        kind = np.searchsorted(self._graph.operations.first, clipped, side="right") - 1
        name = len(self._trace.names) + kind
        is_kernel = clipped < len(kernels)
        name[is_kernel] = kernels.name_id[clipped[is_kernel]]
        key = np.where(numbers >= 0, name * streams + self._graph.operations.stream[clipped], -1)
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        spelled = [spell(n) if n >= 0 else "" for n in np.asarray(numbers)[first].tolist()]
        # NumPy 2.0 alone gave the inverse in the shape of its input.
        return np.array(spelled, object)[place.reshape(-1)]

    def what(self, number: int) -> str:
        """Return "ReduceScatter" of a collective, "GEMM" or "normalisation kernel" of others, "copy"."""
        kind, index = self._graph.operations.event_of(number)
        if kind is not Kind.KERNEL:
            return {Kind.GRAPH: "CUDA graph", Kind.MEMSET: "memory set"}.get(kind, "copy")
        name_id = int(self._trace.kernels.name_id[index])
        class_name = self._classes.class_name(name_id)
        if class_name == "communication":
            name = self._trace.names[name_id]
            collective = collective_kind(name)
            return short_name(name) if collective == "other" else collective
        label = CLASS_LABELS.get(class_name, class_name)
        return label if label == "GEMM" else f"{label} kernel"

    def stream(self, number: int) -> str:
        """Return the number of an operation's stream."""
        return self._trace.streams[int(self._graph.operations.stream[number])].label

    def placed(self, number: int) -> str:
        """Return "GEMM on stream 7"."""
        return f"{self.what(number)} on stream {self.stream(number)}"
