"""Conversion of Arrow columns of any type to integers and to text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from viewer.readers.tables import LONGEST_TEXT, as_texts

_FARTHEST = 2.0**63
_LARGEST = pa.scalar(2**63 - 1, pa.uint64())


class NotHeldError(ValueError):
    """A file claims more data than its size can contain, or is inconsistent in another way."""


def as_integers(chunk: pa.Array, keeps_bits: bool) -> tuple[pa.Array, bool]:
    """Return a chunk as int64, and whether some value in it was no such integer; such values become NULL.

    With `keeps_bits`, unsigned values beyond int64 become the negative numbers of the same bits instead: an
    id is compared and masked, never ordered or subtracted.
    """
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    kind = chunk.type
    if pa.types.is_uint64(kind) and not keeps_bits:
        # 2^64 - 5 would become -5, which is a valid time just before the trace's zero.
        kept = pc.if_else(pc.less_equal(chunk, _LARGEST), chunk, None).cast(pa.int64())
        return kept, kept.null_count > chunk.null_count
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return chunk.cast(pa.int64(), safe=False), False
    if pa.types.is_floating(kind):
        chunk = chunk.cast(pa.float64())
        # An unsafe cast of what does not fit is undefined: make NULL of it first.
        is_whole = pc.and_(pc.less(pc.abs(chunk), _FARTHEST), pc.equal(pc.floor(chunk), chunk))
        kept = pc.if_else(is_whole, chunk, None).cast(pa.int64(), safe=False)
        return kept, kept.null_count > chunk.null_count
    return pa.nulls(len(chunk), pa.int64()), chunk.null_count < len(chunk)


def as_binary(chunk: pa.Array) -> pa.Array:
    """Return a chunk of text as bytes, which need not be UTF-8; only a dictionary's indices are validated."""
    kind = chunk.type
    if pa.types.is_dictionary(kind):
        chunk.indices.validate(full=True)
        return pa.DictionaryArray.from_arrays(chunk.indices, as_binary(chunk.dictionary))
    if pa.types.is_string(kind):
        return chunk.view(pa.binary())
    return chunk.view(pa.large_binary()) if pa.types.is_large_string(kind) else chunk


def as_texts_of(chunk: pa.Array, most_bytes: int) -> pa.Array:
    """Return a validated chunk as large_string, cut to `LONGEST_TEXT`; "" for values that are not text.

    Raises
    ------
    NotHeldError
        A dictionary would decode to more text than `most_bytes`.
    """
    if pa.types.is_dictionary(chunk.type):
        texts = as_texts_of(chunk.dictionary, most_bytes)
        # Add up the lengths before the texts exist: a small file can repeat a long text millions of times.
        lengths = pc.take(pc.binary_length(texts), chunk.indices)
        if (pc.sum(lengths).as_py() or 0) > most_bytes:
            raise NotHeldError("a text repeated too often")
        return pc.fill_null(pc.take(texts, chunk.indices), "")
    kind = chunk.type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return pa.array([""] * len(chunk), pa.large_string())
        chunk = chunk.cast(pa.large_string())
    cut = pc.utf8_slice_codeunits(pc.fill_null(as_texts([chunk]), ""), 0, LONGEST_TEXT)
    return cut.combine_chunks() if isinstance(cut, pa.ChunkedArray) else cut


def plain_row(table: pa.Table | pa.RecordBatch) -> dict[str, Any]:
    """Return the values of a table with one row, after validation: long texts cut, a blob as its length."""
    values: dict[str, Any] = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        [chunk] = [c for c in column.chunks if len(c)] if isinstance(column, pa.ChunkedArray) else [column]
        binary = as_binary(chunk)
        binary.validate(full=True)
        value = binary[0].as_py()
        is_text = binary.type != chunk.type and isinstance(value, bytes)
        values[name] = plain_value(value.decode("utf-8", "replace") if is_text else value)
    return values


def plain_value(value: Any) -> Any:
    """Return a value in the form of `Tables.row`: long texts cut, a blob as its length."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value[:LONGEST_TEXT] if isinstance(value, str) else value


def plain_record(value: Any) -> int | float | str | None:
    """Return a value in the form of `Tables.records`."""
    plain = plain_value(value)
    return plain if isinstance(plain, int | float | str) else None
