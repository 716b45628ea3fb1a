r"""Texts as they can be shown: what would steer a terminal, a page or a line of text is spelled out.

A trace, a session and a file's name are written by others. A control character, an override of the writing
direction or an invisible character in them is shown as Python writes it (``\x1b``, ``\u202e``, ``\n``).
"""

from __future__ import annotations

import re

_RANGES = (
    (0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200B),
    (0x200E, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB),
    (0xFFFE, 0xFFFF), (0xE0000, 0xE007F),
)  # fmt: skip
"""Controls, breaks of lines, directions, what has no shape; what XML does not hold. Joiners make letters."""
_SURROGATES = (0xD800, 0xDFFF)
_UNSEEN = re.compile(f"[{''.join(f'{chr(a)}-{chr(b)}' for a, b in (*_RANGES, _SURROGATES))}]")
UNSEEN_RE2 = "".join(["[", *(rf"\x{{{a:x}}}-\x{{{b:x}}}" for a, b in _RANGES), "]"])
"""The same for Arrow, whose texts hold no surrogates."""


def visible(text: str) -> str:
    """Return a text in one line, with what would not be seen, or be obeyed, spelled out."""
    return _UNSEEN.sub(_spelled, text)


def visible_lines(text: str) -> str:
    """Return a text likewise that may have several lines: line breaks and tabs stay."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in "\n\t" else _spelled(found), text)


def _spelled(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
