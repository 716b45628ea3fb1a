"""The options of `lightbox whatif`: each is a change, and several add up."""

from __future__ import annotations

from typing import Annotated

import typer

from viewer.cli.arguments import IterationOption, JsonOption, RulesOption, RuleTable, TraceArgument


def what_if(
    trace: TraceArgument,
    flatten_ranks: Annotated[
        bool,
        typer.Option("--flatten-ranks", help="Each compute kernel takes the median over the like ranks."),
    ] = False,
    close_range: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="No host time outside CUDA calls in NVTX ranges of this name."),
    ] = None,
    close_idle: Annotated[
        list[str] | None,
        typer.Option(metavar="RANK|all", help="No host time outside CUDA calls where the GPU is idle."),
    ] = None,
    remove_call: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="CUDA calls of this name take no time: cudaMalloc."),
    ] = None,
    remove_copy: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="No copies before the first kernel: HtoD, DtoH, ..."),
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN:F", help="Kernels of this name or class last F times as long: gemm:0.5."
        ),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Collectives transfer in no time, waits remain: AllReduce, ..."),
    ] = None,
    no_wait: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[@RANGE]", help="No stream waits for these collectives (called in NVTX ranges)."
        ),
    ] = None,
    free_launches: Annotated[
        bool, typer.Option("--free-launches", help="Calls that launch take no time; latency stays.")
    ] = False,
    iteration: IterationOption = None,
    steady: Annotated[bool, typer.Option("--steady", help="The steady iterations alone.")] = False,
    as_json: JsonOption = False,
    rules: RulesOption = RuleTable.OWN,
) -> int:
    """Replay the iterations with changes: what they would win. Several changes add up."""
    from viewer.cli.open_study import open_study
    from viewer.cli.whatif_command import asked_changes, print_what_if

    if steady and iteration is not None:
        raise typer.BadParameter("--steady and --iteration cannot both be given")
    asked = asked_changes(
        flatten_ranks=flatten_ranks,
        close_range=close_range or [],
        close_idle=close_idle or [],
        remove_call=remove_call or [],
        remove_copy=remove_copy or [],
        scale=scale or [],
        hide=hide or [],
        no_wait=no_wait or [],
        free_launches=free_launches,
    )
    print_what_if(open_study(trace, rules), asked, "steady" if steady else iteration, as_json)
    return 0
