"""A session as a small dictionary that JSON can hold: readable, numbered, and forgiving about what is new."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, TypeVar

from viewer.printable import visible, visible_lines
from viewer.rows import EventRef
from viewer.state.bookmarks import NUMBERS, Bookmark
from viewer.state.measurements import Measurement
from viewer.state.notes import COLOURS, Note
from viewer.state.session import IterationChoice, RowChoice, Session
from viewer.state.time_axis import Window
from viewer.trace import Kind

SCHEMA = 1
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""By schema, what turns a dictionary of that schema into one of the next."""

OVERLAYS = frozenset({"idle", "exposed", "waiting", "path"})
_LARGEST_NS = 2**61
"""Seventy years: times that are farther apart do not fit into 64 bits."""
_FARTHEST_PX = 100_000
_NEWEST = 1_000_000
_COLOUR = re.compile("#[0-9a-fA-F]{6}")

T = TypeVar("T")
Plain = dict[str, Any]


class SessionError(ValueError):
    """A session that cannot be understood; its text is a half sentence for people."""


class NewerSessionError(SessionError):
    """A session that a newer program wrote."""


def to_dict(session: Session) -> Plain:
    """Return a session as a dictionary; what another version wrote into it is kept."""
    rows, iterations = session.rows, session.iterations
    return {
        **session.extra,
        "schema": SCHEMA,
        "window_ns": list(session.window),
        "overlays": sorted(session.overlays),
        "selections": [list(window) for window in session.selections],
        "laps": {
            **iterations.extra,
            "marker": iterations.marker,
            "marker_name": iterations.marker_name,
            "in_hand": iterations.iteration,
            "steady": None if iterations.steady is None else sorted(iterations.steady),
        },
        "notes": [_note_dict(note) for note in session.notes],
        "measurements": [
            {
                **m.extra,
                "start_ns": m.start_ns,
                "end_ns": m.end_ns,
                "name": m.name,
                "colour": m.colour,
                "note": m.note,
            }
            for m in session.measurements
        ],
        "bookmarks": {
            str(number): {
                **b.extra,
                "window_ns": list(b.window),
                "overlays": sorted(b.overlays),
                **_rows_dict(b.expanded, b.hidden, b.pinned, b.filter_text),
            }
            for number, b in sorted(session.bookmarks.items())
        },
        "rows": {
            **rows.extra,
            "preset": rows.preset,
            **_rows_dict(rows.expanded, rows.hidden, rows.pinned, rows.filter_text),
        },
    }


def from_dict(stored: object) -> Session:
    """Return the session that a dictionary holds, of this schema or an older one.

    Raises
    ------
    NewerSessionError
        A newer program wrote it.
    SessionError
        It is no session, or a damaged one.
    """
    schema = stored.get("schema") if isinstance(stored, dict) else None
    if not isinstance(stored, dict) or type(schema) is not int or not 1 <= schema <= _NEWEST:
        raise SessionError("is not a session of Lightbox")
    plain: Plain = dict(stored)
    if plain["schema"] > SCHEMA:
        raise NewerSessionError(
            f"was written by a newer Lightbox (schema {plain['schema']}; this one reads up to {SCHEMA}): "
            "update Lightbox to open it"
        )
    try:
        while plain["schema"] < SCHEMA:
            before = plain["schema"]
            plain = {**UPGRADES[before](plain), "schema": before + 1}
        return _session(plain)
    except (KeyError, TypeError, ValueError) as error:
        raise SessionError(f"is damaged ({_what(error)})") from error


def _session(plain: Plain) -> Session:
    rest = _Rest(plain)
    rest.take("schema", _integer)
    selections = rest.take("selections", _disjoint, ())
    return Session(
        rest.take("window_ns", _window),
        rest.take("rows", _rows, RowChoice()),
        rest.take("overlays", _texts, frozenset()) & OVERLAYS,
        rest.take("laps", _iterations, IterationChoice()),
        rest.take("notes", _each(_note), ()),
        rest.take("measurements", _each(_measurement), ()),
        rest.take("bookmarks", _bookmarks, {}),
        rest.left,
        selections,
    )


class _Rest:
    """A dictionary from which the known keys are taken; what is `left` belongs to another version."""

    def __init__(self, plain: object) -> None:
        if not isinstance(plain, dict) or not all(isinstance(key, str) for key in plain):
            raise TypeError("a group is not one")
        self.left: Plain = dict(plain)

    def take(self, key: str, read: Callable[[Any], T], *default: Any) -> Any:
        """Return the value of a key through `read`; the default where it is absent."""
        if key not in self.left:
            if default:
                return default[0]
            raise KeyError(key)
        try:
            return read(self.left.pop(key))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{key}: {_what(error)}") from error


def _what(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


def _integer(value: Any) -> int:
    if type(value) is not int or abs(value) > _LARGEST_NS:
        raise TypeError("not a whole number")
    return value


def _text(value: Any) -> str:
    return visible(_lines(value))


def _lines(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return visible_lines(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _texts(value: Any) -> frozenset[str]:
    return frozenset(map(_text, _list(value)))


def _ordered(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, _list(value)))


def _each(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    return lambda value: tuple(map(read, _list(value)))


def _or_none(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else read(value)


def _pair(value: Any) -> tuple[int, int]:
    pair = tuple(map(_integer, _list(value)))
    if len(pair) != 2:
        raise ValueError("not a pair of numbers")
    return pair


def _offset(value: Any) -> tuple[int, int]:
    x, y = _pair(value)
    if max(abs(x), abs(y)) > _FARTHEST_PX:
        raise ValueError("too far away")
    return x, y


def _window(value: Any) -> Window:
    start, end = _pair(value)
    if end <= start:
        raise ValueError("an empty range")
    return start, end


def _disjoint(value: Any) -> tuple[Window, ...]:
    windows = _each(_window)(value)
    in_order = sorted(windows)
    if any(after[0] < before[1] for before, after in pairwise(in_order)):
        raise ValueError("ranges overlap")
    return windows


def _colour(value: Any) -> str:
    return value if isinstance(value, str) and _COLOUR.fullmatch(value) else COLOURS["Blue"]


def _iterations(value: Any) -> IterationChoice:
    rest = _Rest(value)
    return IterationChoice(
        rest.take("marker", _integer, 0),
        rest.take("marker_name", _text, ""),
        rest.take("in_hand", _or_none(_integer), None),
        rest.take("steady", _or_none(lambda iterations: frozenset(map(_integer, _list(iterations)))), None),
        rest.left,
    )


def _rows_dict(expanded: Iterable[str], hidden: Iterable[str], pinned: Iterable[str], text: str) -> Plain:
    return {"filter": text, "pinned": list(pinned), "hidden": sorted(hidden), "expanded": sorted(expanded)}


def _take_rows(rest: _Rest) -> tuple[frozenset[str], frozenset[str], tuple[str, ...], str]:
    return (
        rest.take("expanded", _texts, frozenset()),
        rest.take("hidden", _texts, frozenset()),
        rest.take("pinned", _ordered, ()),
        rest.take("filter", _text, ""),
    )


def _rows(value: Any) -> RowChoice:
    rest = _Rest(value)
    return RowChoice(*_take_rows(rest), rest.take("preset", _text, ""), rest.left)


def _bookmarks(value: Any) -> Mapping[int, Bookmark]:
    rest = _Rest(value)
    return {n: rest.take(str(n), _bookmark) for n in NUMBERS if str(n) in rest.left}


def _bookmark(value: Any) -> Bookmark:
    rest = _Rest(value)
    window = rest.take("window_ns", _window)
    return Bookmark(
        window, *_take_rows(rest), rest.take("overlays", _texts, frozenset()) & OVERLAYS, rest.left
    )


def _measurement(value: Any) -> Measurement:
    rest = _Rest(value)
    start, end = _window([rest.take("start_ns", _integer), rest.take("end_ns", _integer)])
    return Measurement(
        start,
        end,
        rest.take("name", _text, ""),
        rest.take("colour", _colour, COLOURS["Blue"]),
        rest.take("note", _lines, ""),
        rest.left,
    )


def _note_dict(note: Note) -> Plain:
    event = note.event
    return {
        **note.extra,
        "text": note.text,
        "start_ns": note.start_ns,
        "end_ns": note.end_ns,
        "colour": note.colour,
        "arrow": note.arrow,
        "row": note.row_key,
        "event": None if event is None else {"kind": str(event.kind), "index": event.index},
        "offset": None if note.offset is None else list(note.offset),
    }


def _note(value: Any) -> Note:
    rest = _Rest(value)
    start, end = rest.take("start_ns", _integer), rest.take("end_ns", _integer)
    if end < start:
        raise ValueError("a note ends before it begins")
    row = rest.take("row", _text, "")
    return Note(
        start,
        end,
        rest.take("text", _lines, ""),
        rest.take("colour", _colour, COLOURS["Blue"]),
        row,
        rest.take("event", _or_none(lambda found: _event(found, row)), None),
        rest.take("offset", _or_none(_offset), None),
        rest.take("arrow", _flag, True),
        rest.left,
    )


def _event(value: Any, row: str) -> EventRef | None:
    """Return the event, None where it is of a kind that this version does not know."""
    rest = _Rest(value)
    kind, index = rest.take("kind", _text), rest.take("index", _integer)
    if index < 0:
        raise ValueError("an event before the first")
    return EventRef(Kind(kind), index, row) if kind in tuple(Kind) else None
