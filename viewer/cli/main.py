"""main: runs a command, prints its errors in one line and returns its exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import typer

from viewer import __version__
from viewer.cli.commands import app
from viewer.cli.usage import HELP, message_of
from viewer.logs import log, logging_to
from viewer.printable import visible
from viewer.process_end import end

NOT_A_COMMAND = (*HELP, "--version")
STOPPED = 130
LOG_FILE = "--log-file"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of `lightbox` and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; by default those it was started with.
    """
    return end(_main(list(sys.argv[1:] if arguments is None else arguments)))


def _main(words: list[str]) -> int:
    _prepare_streams()
    try:
        words, debug, log_file = _log_options(words)
        is_stream = log_file is not None and _is_stream_log(log_file, words)
        with logging_to(debug, log_file, is_stream=is_stream):
            log.debug("Lightbox %s: %s", __version__, " ".join(map(repr, words)))
            code = _run(words)
            log.debug("exit code %d", code)
        sys.stdout.flush()
    except typer.TyperException as error:
        complain(message_of(error))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our pipe has closed it.
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "input or output"
        complain(f"{place}: {error.strerror or error}")
        return 1
    except MemoryError:
        complain("this needs more memory than the machine has")
        return 1
    except Exception as error:  # noqa: BLE001  (the line names the place; a traceback helps no user)
        complain(f"this is an error of the program, please report it: {_where(error)}")
        return 1
    return code


def _log_options(words: list[str]) -> tuple[list[str], bool, Path | None]:
    """Split the options of the log from the other words; they may stand anywhere.

    Returns
    -------
    list of str
        The other words.
    bool
        Whether to log to stderr.
    Path or None
        The file to log into.

    Raises
    ------
    typer.BadParameter
        If no file follows `--log-file`.
    """
    others: list[str] = []
    debug, file = False, None
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += ["--", *rest]
        elif word == "--debug":
            debug = True
        elif word == LOG_FILE or word.startswith(f"{LOG_FILE}="):
            name = next(rest, "") if word == LOG_FILE else word.removeprefix(f"{LOG_FILE}=")
            if not name or name.startswith("-"):
                raise typer.BadParameter(f"{LOG_FILE} needs the name of a file")
            file = Path(name)
        else:
            others.append(word)
    return others, debug, file


def _is_stream_log(path: Path, words: list[str]) -> bool:
    """Return whether a log goes to a device or a pipe.

    A log that would replace a file which the command names, or a file of another kind, is refused.
    """
    from viewer.cli.output import refuse_output
    from viewer.export.atomic import is_stream
    from viewer.export.file_types import LOG

    refuse_output(path, LOG, [Path(word) for word in words if os.path.lexists(word)], force=False)
    return is_stream(path)


def _where(error: Exception) -> str:
    """Return an exception and its places, innermost last: "KeyError: 'x' (read.py:12, loose.py:40)"."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__}: {error} ({places})"


def complain(message: str) -> None:
    """Print an error on stderr in one line."""
    line = " ".join(message.split("\n"))
    print(f"lightbox: {visible(line)}", file=sys.stderr)  # noqa: T201


def _run(words: list[str]) -> int:
    if not words or words[0] not in (*_commands(), *NOT_A_COMMAND):
        if words and (misfit := _mistyped(words)):
            complain(misfit)
            return 2 if len(words) > 1 else 1
        words.insert(0, "open")
    try:
        return int(app(words, prog_name="lightbox", standalone_mode=False) or 0)
    except typer.Exit as done:
        return done.exit_code
    except typer.TyperException as error:
        help_of = f" (lightbox {words[0]} --help)" if error.exit_code == 2 else ""
        complain(f"{message_of(error)}{help_of}")
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        complain("stopped")
        return STOPPED
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):
            # typer and rich exit the program when a pipe is closed.
            raise BrokenPipeError from left
        raise


def _commands() -> list[str]:
    return [str(command.name) for command in app.registered_commands]


def _mistyped(words: list[str]) -> str:
    """Return the error for a first word that is neither a file nor a command, "" where it may be either."""
    word = words[0]
    if word.startswith("-") or not word.replace("-", "").isalpha() or os.path.lexists(word):
        return ""
    shown = [str(command.name) for command in app.registered_commands if not command.hidden]
    if near := get_close_matches(word.casefold(), shown, 1):
        return f"there is no file and no command '{word}'; did you mean '{near[0]}'?"
    return f"there is no file and no command '{word}'; `lightbox --help` lists the commands"


def _prepare_streams() -> None:
    """Make all printing safe: streams may be closed, and terminals may lack characters."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _fill_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A path may hold bytes that do not decode.
            stream.reconfigure(errors="backslashreplace")


def _fill_closed() -> None:
    """Open /dev/null for closed streams: else the next opened file takes their number and their output."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            empty = os.open(os.devnull, os.O_RDWR)
            if empty != number:
                os.dup2(empty, number)
                os.close(empty)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _drop_output() -> None:
    """Drop unprinted output: Python would flush it again at exit, and print an error."""
    try:
        sys.stdout.flush()
    except OSError:
        empty = os.open(os.devnull, os.O_WRONLY)
        os.dup2(empty, sys.stdout.fileno())
        os.close(empty)
