"""The arguments and options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class RuleTable(StrEnum):
    """The table of kernel classes: the user's own where there is one, or the built-in one."""

    OWN = "own"
    BUILTIN = "builtin"


TraceArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="An export of Nsight Systems (.sqlite, parquetdir, arrowdir), or a report (.nsys-rep).",
    ),
]
RangeOption = Annotated[
    str | None,
    typer.Option("--range", metavar="A..B", help="A range of time: 2.1s..2.35s, 812ms.., -5ms..1s."),
]
IterationOption = Annotated[
    int | None, typer.Option("--iteration", min=0, metavar="N", help="Iteration N, from 0.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace a file of another kind too, never the trace.")
]
RulesOption = Annotated[
    RuleTable, typer.Option(help="Your own table of kernel classes, if you have one, or the built-in one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
