"""Messages about wrong usage, and the lists of options, in our words instead of a library's."""

from __future__ import annotations

import re
from typing import Any

from typer import TyperException
from typer.core import TyperCommand, TyperGroup

HELP = ("-h", "--help")
_PREFIX = re.compile(r"^Invalid value(?: for (?P<what>.+?))?: (?P<rest>.+)$", re.DOTALL)
_WANTED = {
    "int_parsing": "{input!r} is not a whole number",
    "int_from_float": "{input!r} is not a whole number",
    "float_parsing": "{input!r} is not a number",
    "finite_number": "{input!r} is not a number",
    "greater_than_equal": "{input} is too small: {ge} or more",
    "less_than_equal": "{input} is too large: {le} or less",
}
"""Messages by the error types of pydantic, which checks options for typer."""


def message_of(error: TyperException) -> str:
    """Return the error in one line: "--iteration: 'x' is not a whole number"."""
    text = str(error.format_message())
    match = _PREFIX.match(text)
    if match is None:
        # Only usage errors begin in lower case: other messages may begin with the name of a file.
        return _plain(text[:1].lower() + text[1:] if error.exit_code == 2 else text)
    rest = _plain(_misfit(error.__cause__ or error.__context__) or match["rest"])
    what = (match["what"] or "").replace("'", "")
    return f"{what}: {rest}" if what else rest


def _plain(text: str) -> str:
    return text if text.endswith("..") else text.removesuffix(".")


def _misfit(cause: BaseException | None) -> str:
    errors = getattr(cause, "errors", None)
    if errors is None:
        return ""
    first: dict[str, Any] = errors()[0]
    context = first.get("ctx", {})
    if first["type"] in _WANTED:
        limits = {key: f"{value:,.12g}" for key, value in context.items() if isinstance(value, int | float)}
        return _WANTED[first["type"]].format(input=first["input"], **limits)
    return str(context["error"]) if "error" in context else str(first["msg"])


class _Flags:
    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                # typer would write <bool> beside an option without a value.
                param.metavar = ""
        return params


class CliCommand(_Flags, TyperCommand):
    """A command that lists its flags without a type."""


class CliGroup(_Flags, TyperGroup):
    """A group of commands that does the same."""
