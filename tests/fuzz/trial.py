"""One command, run in this process, and what of its answer is against the rules."""

import contextlib
import io
import os
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    """What a command answered; `raised` is the traceback of what escaped it, "" without."""

    code: int
    out: str
    err: str
    raised: str = ""


def run(*words):
    """Run `lightbox WORDS` here."""
    from viewer.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")
    code, raised = 1, ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("always")
        try:
            code = main([str(word) for word in words])
        except BaseException:  # noqa: BLE001  (whatever escapes is what is looked for)
            raised = traceback.format_exc()
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]
    return Answer(code, *texts, raised)


def fault(answer):
    """Say what is wrong with an answer: it must be code 0, or code 1 and one line; "" where nothing is."""
    if answer.raised:
        return "raised " + " / ".join(answer.raised.strip().splitlines()[-3:])
    lines = answer.err.splitlines()
    if answer.code not in (0, 1):
        return f"exit code {answer.code}: {answer.err[:200]}"
    if len(lines) != answer.code:
        return f"exit code {answer.code} with {len(lines)} lines on stderr: {answer.err[:300]!r}"
    if "error of the program" in answer.err:
        return answer.err[:300]
    if "Traceback" in answer.err + answer.out:
        return f"a traceback in what it printed: {answer.err[:200]!r}"
    return ""


def listing(path):
    """Return what a file, or a folder's files, hold and when they changed."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [(file.name, file.read_bytes(), os.stat(file).st_mtime_ns) for file in files]


def copied(original, folder):
    """Copy an export's file or folder into a folder; return the copy."""
    copy = Path(folder) / original.name
    if original.is_dir():
        copy.mkdir()
        for file in original.iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
    else:
        copy.write_bytes(original.read_bytes())
    return copy
