"""The text of a session file becomes plain values, or is refused as a whole."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from viewer.state.session_json import SessionError

DEEPEST = 60
"""Levels of groups and lists; a session has five, and what another version writes beside it some more."""


def plain_values(content: bytes) -> object:
    """Return what the bytes of a session file say.

    All of it can be written again as it was read: no number is infinite, no key stands twice in a group.

    Raises
    ------
    SessionError
        It is no JSON, or one that no program reads alike.
    """
    try:
        plain = json.loads(
            content.decode("utf-8-sig", "surrogatepass"),
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_number,
            object_pairs_hook=_group,
        )
    except SessionError:
        raise
    except (ValueError, RecursionError) as error:
        raise SessionError("is damaged (no JSON)") from error
    _refuse_deep(plain)
    return plain


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        _refuse(f"a number of {len(digits):,} digits")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse("a number that is none")
    return number


def _group(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    group = dict(pairs)
    if len(group) < len(pairs):
        _refuse("a key stands twice in a group")
    return group


def _refuse_deep(plain: object) -> None:
    level = [plain]
    for _ in range(DEEPEST):
        level = [
            below
            for value in level
            if isinstance(value, dict | list)
            for below in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    _refuse(f"groups within groups, more than {DEEPEST}")


def _refuse(why: str) -> NoReturn:
    raise SessionError(f"is damaged ({why})")
