"""Names interned once across all tables: a text has one id, wherever it came from."""

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
"""What a NULL reference to StringIds is read as."""


class Interner:
    """Collects texts under provisional ids; `finish` makes one `Names` out of those that are used.

    Provisional id 0 is "".
    """

    def __init__(self) -> None:
        self._pieces: list[pa.Array] = [pa.array([""], pa.large_string())]
        self._size = 1
        self._names: pa.Array = self._pieces[0]

    def add(self, texts: pa.Array | pa.ChunkedArray | Iterable[str]) -> int:
        """Add texts; the provisional id of the first is returned, the others follow."""
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
        """Intern the texts whose provisional ids occur in `used`; ids that were given before stay.

        Returns
        -------
        Names
        ndarray of uint32
            The final id of each provisional one; 0 for those that are not used.
        """
        marked = np.zeros(self._size, bool)
        marked[0] = True
        for ids in used:
            marked[ids] = True
        kept = [self._names]
        begin = 0
        for piece in self._pieces:
            kept.append(piece.filter(pa.array(marked[begin : begin + len(piece)])))
            begin += len(piece)
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
        ids = ids[: len(self._texts)]
        base = interner.add(self._texts)
        provisional = np.arange(base, base + len(ids), dtype=np.uint32)
        self._base = base
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
        """Return the provisional ids of references to StringIds, 0 where there is no such string."""
        if self._dense is not None:
            if not len(references) or (references.min() >= 0 and references.max() < len(self._dense)):
                return self._dense[references]
            inside = (references >= 0) & (references < len(self._dense))
            found: UInt32 = self._dense[np.where(inside, references, 0)]
            found[~inside] = 0
            return found
        if not len(self._ids):
            return np.zeros(len(references), np.uint32)
        at = np.minimum(np.searchsorted(self._ids, references), len(self._ids) - 1)
        return np.where(self._ids[at] == references, self._provisional[at], 0).astype(np.uint32)

    def text(self, reference: object) -> str:
        """Return one string, "" where there is no such."""
        if not isinstance(reference, int):
            return ""
        [text] = self.texts(np.array([reference], np.int64))
        return text

    def texts(self, references: Column) -> list[str]:
        """Return the strings of many references, "" where there is no such."""
        provisional = self.provisional(references).astype(np.int64)
        positions = np.maximum(provisional - self._base, 0)
        if not len(self._texts):
            return [""] * len(references)
        texts = self._texts.take(pa.array(positions)).to_pylist()
        return [text if known else "" for text, known in zip(texts, provisional, strict=True)]


def distinct(values: Column) -> tuple[npt.NDArray[np.int32], Column]:
    """Return each value's code, and the values that the codes stand for."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_numpy()
