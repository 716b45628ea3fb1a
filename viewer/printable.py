r"""Texts for display: counted nouns, and texts of others with their control characters escaped.

Other people write traces, sessions and file names. Control characters, overrides of the writing direction and
invisible characters in them appear as Python's escapes (``\x1b``, ``\u202e``, ``\n``).
"""

from __future__ import annotations

import re

_RANGES = (
    (0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200B),
    (0x200E, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB),
    (0xFFFE, 0xFFFF), (0xE0000, 0xE007F),
)  # fmt: skip
"""Control, line break, direction and invisible characters, and those XML forbids; no joiners of letters."""
_SURROGATES = (0xD800, 0xDFFF)
_UNSEEN = re.compile(f"[{''.join(f'{chr(a)}-{chr(b)}' for a, b in (*_RANGES, _SURROGATES))}]")
UNSEEN_RE2 = "".join(["[", *(rf"\x{{{a:x}}}-\x{{{b:x}}}" for a, b in _RANGES), "]"])
"""The same pattern for Arrow, whose texts contain no surrogates."""


def visible(text: str) -> str:
    """Return a text in one line, with invisible and control characters escaped."""
    return _UNSEEN.sub(_spelled, text)


def visible_lines(text: str) -> str:
    """Return a text of several lines likewise; line breaks and tabs stay."""
    return _UNSEEN.sub(lambda match: match[0] if match[0] in "\n\t" else _spelled(match), text)


def counted(count: int, what: str, several: str = "") -> str:
    """Return "1 call", "2,000 calls"; `several` is a plural that does not end in "s" alone."""
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


def _spelled(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
