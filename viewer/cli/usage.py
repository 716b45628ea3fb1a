"""What wrong usage is answered, and how options are listed, in our words instead of a library's."""

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
"""By what pydantic, which checks options for typer, calls a misfit."""


def said(error: TyperException) -> str:
    """Return in one line what is wrong: "--iteration: 'x' is not a whole number"."""
    text = str(error.format_message())
    found = _PREFIX.match(text)
    if found is None:
        # A line of our own may begin with the name of a file.
        return _plain(text[:1].lower() + text[1:] if error.exit_code == 2 else text)
    rest = _plain(_misfit(error.__cause__ or error.__context__) or found["rest"])
    what = (found["what"] or "").replace("'", "")
    return f"{what}: {rest}" if what else rest


def _plain(text: str) -> str:
    return text if text.endswith("..") else text.removesuffix(".")


def _misfit(cause: BaseException | None) -> str:
    errors = getattr(cause, "errors", None)
    if errors is None:
        return ""
    first: dict[str, Any] = errors()[0]
    held = first.get("ctx", {})
    if first["type"] in _WANTED:
        limits = {key: f"{value:,.12g}" for key, value in held.items() if isinstance(value, int | float)}
        return _WANTED[first["type"]].format(input=first["input"], **limits)
    return str(held["error"]) if "error" in held else str(first["msg"])


class _Flags:
    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                # typer would write <bool> beside an option that takes nothing.
                param.metavar = ""
        return params


class CliCommand(_Flags, TyperCommand):
    """A command whose flags are listed without a type."""


class CliGroup(_Flags, TyperGroup):
    """The commands, likewise."""
