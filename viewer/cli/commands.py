"""The commands and their options; the module of each command's name implements it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewer import __version__
from viewer.cli.arguments import (
    ForceOption,
    IterationOption,
    JsonOption,
    RangeOption,
    RulesOption,
    RuleTable,
    TraceArgument,
)
from viewer.cli.choices import DemoFault, DemoJob, PicturePreset, PictureTheme, Renderer
from viewer.cli.usage import HELP, CliCommand, CliGroup
from viewer.cli.whatif_options import what_if

OVERLAYS = ("idle", "exposed", "waiting", "path")
LISTED = 40
_OVERLAYS, _SHOWN_AT_FIRST = ", ".join(OVERLAYS), "idle,exposed,waiting"
EPILOG = (
    "The first word is a command or a TRACE; a file that is called like a command is opened as ./report. "
    "Every command takes --debug and --log-file FILE. "
    "Exit codes: 0 done, 1 the trace cannot be read or has no such thing, 2 wrong usage."
)


RendererOption = Annotated[Renderer, typer.Option(help="What draws the timeline.")]

app = typer.Typer(
    name="lightbox",
    help="Read the GPU trace of a multi-GPU training run. [dim]lightbox TRACE[/] opens a window on it.",
    epilog=EPILOG,
    add_completion=False,
    cls=CliGroup,
    context_settings={"help_option_names": list(HELP)},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"lightbox {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log every step to stderr.")] = False,
    log_file: Annotated[
        Path | None, typer.Option("--log-file", metavar="FILE", help="Log every step into a file.")
    ] = None,
) -> None:
    """Declare the options before any command; `main` accepts the log options at any position."""


@app.command("open", cls=CliCommand)
def _open(
    trace: Annotated[
        Path | None, typer.Argument(metavar="[TRACE]", help="What to open; empty otherwise.")
    ] = None,
    renderer: RendererOption = Renderer.AUTO,
) -> int:
    """Open a window, on a trace or empty. It is what `lightbox TRACE` does."""
    from viewer.cli.window_command import open_window

    return open_window(trace, renderer.value)


@app.command("demo", cls=CliCommand)
def _demo(
    iterations: Annotated[int | None, typer.Option(min=1, help="How many iterations.")] = None,
    events: Annotated[
        int | None, typer.Option(min=1000, max=10_000_000, help="About how many events.")
    ] = None,
    like: Annotated[DemoJob, typer.Option(help="Which job it resembles.")] = DemoJob.MEGATRON,
    shift: Annotated[
        list[str] | None, typer.Option(metavar="RANK:TIME", help="Shift a rank's GPU clock: 3:250ms.")
    ] = None,
    lose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RANK[:SHARE]", help="Lose all GPU rows of a rank, or a share of them: 6, 6:0.9."
        ),
    ] = None,
    fault: Annotated[DemoFault | None, typer.Option(help="What is wrong with it besides.")] = None,
    clean: Annotated[bool, typer.Option("--clean", help="A healthy job, with nothing to find.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the trace there, and open nothing.")
    ] = None,
    force: ForceOption = False,
    renderer: RendererOption = Renderer.AUTO,
) -> int:
    """Open the built-in trace of an eight-rank training job."""
    from viewer.cli.demo_command import demo_options, write_demo
    from viewer.cli.window_command import open_window

    options = demo_options(
        iterations, events, like.value, shift or [], lose or [], fault.value if fault else None, clean
    )
    if out is None:
        return open_window(write_demo(options, None), renderer.value)
    from viewer.cli.output import print_path, refuse_output
    from viewer.export.file_types import DEMO

    refuse_output(out, DEMO, (), force)
    print_path(write_demo(options, out))
    return 0


@app.command("report", cls=CliCommand)
def _report(
    trace: TraceArgument,
    range_: RangeOption = None,
    iteration: IterationOption = None,
    as_json: JsonOption = False,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write one self-contained HTML page; - is stdout."),
    ] = None,
    waits: Annotated[
        bool, typer.Option("--waits", help="With --json: list what each wait of a stream waited for.")
    ] = False,
    pieces: Annotated[
        bool, typer.Option("--pieces", help="With --json: list the pieces of the critical paths.")
    ] = False,
    force: ForceOption = False,
    rules: RulesOption = RuleTable.OWN,
) -> int:
    """Print the facts and numbers of a trace, or write them as a page with pictures."""
    from viewer.cli.open_study import check_window, open_study

    check_window(range_, iteration)
    if page is not None and as_json:
        raise typer.BadParameter("--html and --json cannot both be given")
    if waits and not as_json:
        raise typer.BadParameter("--waits needs --json")
    if pieces and not as_json:
        raise typer.BadParameter("--pieces needs --json")
    from viewer.cli.qt import refuse_drawing
    from viewer.cli.report_command import print_report, write_html

    if page is not None:
        from viewer.cli.output import print_path, refuse_output
        from viewer.export.file_types import PAGE

        refuse_output(page, PAGE, [trace], force)
        refuse_drawing()
        write_html(open_study(trace, rules), range_, iteration, page)
        print_path(page)
        return 0
    print_report(open_study(trace, rules), range_, iteration, as_json, waits=waits, pieces=pieces)
    return 0


@app.command("compare", cls=CliCommand)
def _compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The run to compare with: before.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The run that is compared: after.")],
    as_json: JsonOption = False,
    rules: RulesOption = RuleTable.OWN,
) -> int:
    """Print the summary of two traces side by side, with their differences."""
    from viewer.cli.compare_command import print_comparison
    from viewer.cli.open_study import open_study

    print_comparison(open_study(first, rules), open_study(second, rules), as_json)
    return 0


app.command("whatif", cls=CliCommand)(what_if)


@app.command("shot", cls=CliCommand)
def _shot(
    trace: TraceArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The picture: .png, .svg, .pdf; - is stdout, as PNG."
        ),
    ],
    range_: RangeOption = None,
    iteration: IterationOption = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only these rows: Stream 7, Rank 3/NCCL; repeatable."),
    ] = None,
    overlay: Annotated[
        str, typer.Option(metavar="NAME,...", help=f"{_OVERLAYS}; or several.")
    ] = _SHOWN_AT_FIRST,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="A..B", help="A range to select, with its numbers; several add up."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(metavar="'A..B: NAME'", help="A range to measure, with its numbers; repeatable."),
    ] = None,
    note: Annotated[
        list[str] | None,
        typer.Option(metavar="'T: TEXT'", help="A note on a time or a range (A..B); repeatable."),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="A heading above the picture.")] = "",
    subtitle: Annotated[str, typer.Option(metavar="TEXT", help="A line below the title.")] = "",
    preset: Annotated[
        PicturePreset,
        typer.Option(help="As in the window; a slide of 16:9; a figure for a paper, 182 mm wide."),
    ] = PicturePreset.TIMELINE,
    without: Annotated[str, typer.Option(metavar="NAME,...", help="headers, ruler, legend, numbers.")] = "",
    scale_bar: Annotated[bool, typer.Option("--scale-bar", help="Add a bar of round length.")] = False,
    width: Annotated[
        int | None,
        typer.Option(
            min=320, max=20_000, help="Width before scaling, in pixels; unless given 1600, for a paper 688."
        ),
    ] = None,
    theme: Annotated[PictureTheme, typer.Option(help="Its colours.")] = PictureTheme.LIGHT,
    transparent: Annotated[bool, typer.Option("--transparent", help="No background.")] = False,
    scale: Annotated[
        float | None,
        typer.Option(
            min=0.5, max=4, help="Pixels of the file per pixel of width; unless given 1, for a paper 3."
        ),
    ] = None,
    force: ForceOption = False,
    rules: RulesOption = RuleTable.OWN,
) -> int:
    """Draw the timeline into a PNG, SVG or PDF file; no display is needed."""
    from viewer.cli.open_study import check_window, open_study

    check_window(range_, iteration)
    from viewer.cli.output import picture_format, print_path, refuse_output
    from viewer.cli.qt import refuse_drawing
    from viewer.cli.shot_command import EXTRAS, Shot, check, take
    from viewer.export.file_types import PICTURES

    form = picture_format(out, force)
    shot = Shot(
        range_, iteration, tuple(rows or ()), _names(overlay, OVERLAYS, "overlay"), theme, width, scale,
        tuple(select or ()), tuple(measure or ()), tuple(note or ()), _names(without, EXTRAS, "part"),
        scale_bar, title, subtitle, preset, transparent,
    )  # fmt: skip
    check(shot)
    refuse_output(out, PICTURES[form], [trace], force)
    refuse_drawing()
    take(open_study(trace, rules), shot, out, form)
    print_path(out)
    return 0


def _names(text: str, known: tuple[str, ...], what: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if unknown := names - set(known):
        raise typer.BadParameter(f"there is no {what} '{min(unknown)}'; there are {', '.join(known)}")
    return names


@app.command("events", cls=CliCommand)
def _events(
    trace: TraceArgument,
    row: Annotated[
        list[str], typer.Option("--row", metavar="PATTERN", help="Stream 7, Rank 3/NCCL; repeatable.")
    ],
    range_: RangeOption = None,
    iteration: IterationOption = None,
    name: Annotated[str, typer.Option(metavar="WORDS", help="Only names that hold these words.")] = "",
    duration: Annotated[
        str, typer.Option(metavar="D", help="Only durations in a range: '>10us', '1ms..5ms'.")
    ] = "",
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="duration, name, latency, ...; numbers largest first.")
    ] = "start",
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most N of a row; unless given 40, as CSV all.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, times in ns.")] = False,
    rules: RulesOption = RuleTable.OWN,
) -> int:
    """List the events of rows, each with all that is under it."""
    from viewer.cli.open_study import check_window, open_study

    check_window(range_, iteration)
    from viewer.cli.events_command import EventQuery, check_durations, print_events

    check_durations(duration)
    most = limit if limit is not None or as_csv else LISTED
    asked = EventQuery(tuple(row), range_, iteration, name, duration, sort, most, as_csv)
    print_events(open_study(trace, rules), asked)
    return 0


@app.command("definitions", cls=CliCommand)
def _definitions(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only the entries that name this number or key.")
    ] = None,
) -> int:
    """Print what every number means: its unit, definition, usual range and limits."""
    from viewer import definitions
    from viewer.cli.console import plain_console

    matches = definitions.search(name) if name else ()
    if name and not matches:
        raise typer.TyperException(f"no number is called {name}; `lightbox definitions` prints all of them")
    texts = [f"{entry.section}\n{entry.plain}\n" for entry in matches] or [definitions.document()]
    for text in texts:
        plain_console().print(text)
    return 0


@app.command("cache", cls=CliCommand)
def _cache(
    list_: Annotated[bool, typer.Option("--list", help="List what is stored (the default).")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything that is stored.")] = False,
    limit: Annotated[
        float | None, typer.Option(min=0, metavar="GIB", help="Keep at most this many GiB, from now on.")
    ] = None,
) -> int:
    """Show or remove what is stored of traces, so that they open at once."""
    from viewer.cli.cache_command import clear_cache, limit_cache, print_cache

    if list_ + clear + (limit is not None) > 1:
        raise typer.BadParameter("--list, --clear and --limit exclude each other")
    if clear:
        clear_cache()
    elif limit is not None:
        limit_cache(limit)
    else:
        print_cache()
    return 0


@app.command("renderer", cls=CliCommand, hidden=True)
def _print_renderer() -> int:
    """Print the name of the OpenGL renderer; `doctor` asks for it in a process that may die of it."""
    from viewer.cli.doctor_command import print_renderer

    print_renderer()
    return 0


@app.command("doctor", cls=CliCommand)
def _doctor(
    trace: Annotated[Path | None, typer.Argument(metavar="[TRACE]", help="A trace to look into.")] = None,
) -> int:
    """Check this machine, and what a trace lacks."""
    from viewer.cli.doctor_command import print_doctor

    return print_doctor(trace)
