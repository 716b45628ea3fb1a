"""The interner of names: equal texts get one id, also across tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from viewer.readers.errors import Cancel
from viewer.readers.tables import Column, Field, Tables
from viewer.trace.events import AnyArray, UInt32
from viewer.trace.names import Names

NO_STRING = 0xFFFFFFFF
"""The value that stands for a NULL reference to StringIds."""


class Interner:
    """Collects texts under provisional ids; `finish` makes one `Names` of the texts that events use.

    Provisional id 0 is "".
    """

    def __init__(self) -> None:
        self._pieces: list[pa.Array] = [pa.array([""], pa.large_string())]
        self._size = 1
        self._names: pa.Array = self._pieces[0]

    def add(self, texts: pa.Array | pa.ChunkedArray | Iterable[str]) -> int:
        """Add texts; return the provisional id of the first. The others get the ids that follow it."""
        if isinstance(texts, pa.ChunkedArray):
            texts = pa.concat_arrays(texts.chunks) if texts.chunks else pa.array([], pa.large_string())
        elif not isinstance(texts, pa.Array):
            texts = pa.array(list(texts), pa.large_string())
        base = self._size
        self._pieces.append(texts)
        self._size += len(texts)
        return base

    def text(self, provisional: int) -> str:
        """Return one text by its provisional id."""
        for piece in self._pieces:
            if provisional < len(piece):
                return str(piece[provisional].as_py())
            provisional -= len(piece)
        raise IndexError(provisional)

    def finish(self, used: Sequence[AnyArray]) -> tuple[Names, UInt32]:
        """Intern the texts whose provisional ids occur in `used`; the ids of earlier calls do not change.

        Returns
        -------
        Names
        ndarray of uint32
            The final id of each provisional one; 0 for unused ones.
        """
        # Provisional id 0 is "": it is always used, so that "" has the final id 0 too.
        marked = np.zeros(self._size, bool)
        marked[0] = True
        for ids in used:
            marked[ids] = True
        kept = [self._names]
        begin = 0
        for piece in self._pieces:
            kept.append(piece.filter(pa.array(marked[begin : begin + len(piece)])))
            begin += len(piece)
        # The names of the previous call come first: dictionary_encode numbers in order of appearance, so
        # they keep their ids. Their own indices are cut off again below.
        encoded = pa.concat_arrays(kept).dictionary_encode()
        final = np.zeros(self._size, np.uint32)
        final[marked] = encoded.indices.to_numpy()[len(self._names) :]
        self._names = encoded.dictionary
        return Names(encoded.dictionary), final


class StringTable:
    """The StringIds of a file: from a reference to a provisional id, or to the text itself."""

    def __init__(self, tables: Tables, interner: Interner, cancelled: Cancel | None = None) -> None:
        ids = tables.integers("StringIds", [Field("id", np.int64, -1)], cancelled).take("id")
        texts = tables.texts("StringIds", "value", cancelled)
        self._texts = pa.concat_arrays(texts.chunks) if len(texts) else pa.array([], pa.large_string())
        # A damaged file may have fewer texts than ids: rows without a text count as unknown strings.
        ids = ids[: len(self._texts)]
        base = interner.add(self._texts)
        provisional = np.arange(base, base + len(ids), dtype=np.uint32)
        self._base = base
        # Ids mostly count from 0, so a table indexed by the id is small and needs one access per
        # reference. Sparse or negative ids would make it huge: those are searched in sorted order.
        if len(ids) and ids.min() >= 0 and int(ids.max()) <= 16 * len(ids) + 1024:
            self._dense: UInt32 | None = np.zeros(int(ids.max()) + 1, np.uint32)
            self._dense[ids] = provisional
        else:
            self._dense = None
            order = np.argsort(ids, kind="stable")
            self._ids, self._provisional = ids[order], provisional[order]

    def __len__(self) -> int:
        return len(self._texts)

    def provisional(self, references: Column) -> UInt32:
        """Return the provisional ids of references to StringIds, 0 for references to no string."""
        if self._dense is not None:
            if not len(references) or (references.min() >= 0 and references.max() < len(self._dense)):
                return self._dense[references]
            # NO_STRING and references to missing strings are outside: look up 0 instead, then clear.
            inside = (references >= 0) & (references < len(self._dense))
            provisional: UInt32 = self._dense[np.where(inside, references, 0)]
            provisional[~inside] = 0
            return provisional
        if not len(self._ids):
            return np.zeros(len(references), np.uint32)
        position = np.minimum(np.searchsorted(self._ids, references), len(self._ids) - 1)
        return np.where(self._ids[position] == references, self._provisional[position], 0).astype(np.uint32)

    def text(self, reference: object) -> str:
        """Return the string of a reference, "" if there is none."""
        if not isinstance(reference, int):
            return ""
        [text] = self.texts(np.array([reference], np.int64))
        return text

    def texts(self, references: Column) -> list[str]:
        """Return the strings of many references, "" for references to no string."""
        # The texts of StringIds have consecutive provisional ids from `_base`; 0 means that there is none.
        provisional = self.provisional(references).astype(np.int64)
        positions = np.maximum(provisional - self._base, 0)
        if not len(self._texts):
            return [""] * len(references)
        texts = self._texts.take(pa.array(positions)).to_pylist()
        return [text if known else "" for text, known in zip(texts, provisional, strict=True)]


def distinct(values: Column) -> tuple[npt.NDArray[np.int32], Column]:
    """Return each value's code (int32, in order of first appearance), and the distinct values by code."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_numpy()
