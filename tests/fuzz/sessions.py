"""Session files: bytes that are damaged, and values that no session can hold."""

import json
import os
import random as randoms
from dataclasses import replace
from functools import cache

from tests.fuzz import damage
from tests.timeline.make import MS, state_of, training
from viewer.app.session_store import SUFFIX, SessionFile, read_session, session_text
from viewer.rows import EventRef
from viewer.state import Note
from viewer.state.bookmarks import set_bookmark
from viewer.state.session import apply_session, take_session
from viewer.state.session_json import SessionError
from viewer.trace import Kind

NUMBERS = (
    0, -1, 1, 2, 2**31, 2**53 + 1, 2**61, -(2**61), 2**62, 2**63, 10**400, 0.5, 1e308, True, 10 * MS, -MS
)  # fmt: skip
TEXTS = (
    "", "x" * 5000, "\ud800", "\0", "\u202egpj.exe", "a\nb", "<img src='x'>", "../" * 900, "/dev/zero",
    f"session{SUFFIX}", "kernel", "#ff0000", "idle",
)  # fmt: skip
OTHERS = (None, [], {}, [[]], {"": {}}, [0], [1, 0], [0, 2**61], ["x"])
RAW = (
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"-Infinity",
    b"[" * 3000,
    b'{"a":1,"a":2}',
    b"\xff",
    b"\xef\xbb\xbf",
    b"\0",
)


def prepare(originals):
    state = worked_on()
    text = session_text(take_session(state), originals / "trace.sqlite", "0" * 32, originals)
    (originals / f"session{SUFFIX}").write_text(text, encoding="utf-8")


def worked_on():
    """A state with something of everything that a session keeps."""
    _application()
    state = state_of(training())
    rows = state.rows
    key = rows.roots[1].key
    rows.set_expanded([key], True)
    rows.set_pinned(key, True)
    rows.set_hidden([rows.roots[0].key], True)
    state.set_overlay("idle", True)
    state.set_iteration(1)
    state.set_steady_choice(frozenset({0, 2}))
    state.axis.go(10 * MS, 30 * MS)
    state.measurements.keep(12 * MS, 13 * MS, "hole")
    state.notes.add(Note(11 * MS, 11 * MS, "here"))
    state.notes.add(Note(0, 1, "a kernel", "#d64550", key, EventRef(Kind.KERNEL, 2, key), (30, -9), False))
    set_bookmark(state, 3)
    return state


def attempt(seed, originals, folder):
    random = randoms.Random(f"sessions {seed}")
    file = folder / f"session{SUFFIX}"
    content = (originals / file.name).read_bytes()
    if random.random() < 0.1:
        _put_something_else(random, file, content)
    elif random.random() < 0.3:
        file.write_bytes(content)
        damage.in_bytes(random, file)
    else:
        file.write_bytes(_other_values(random, content))
    try:
        opened = read_session(file)
    except SessionError as error:
        said = str(error)
        return "" if said and "\n" not in said and len(said) < 300 else f"refused by {said[:300]!r}"
    except OSError:
        return "" if not file.exists() else "a file that is there cannot be read"
    return _taken(opened, folder)


def _taken(opened: SessionFile, folder):
    """Look at a trace as a session says, write it again; return what is wrong."""
    _application()
    opened.find_trace()
    state = state_of(training())
    apply_session(state, opened.session)
    low, high = state.axis.limits
    start, end = state.axis.window
    if not low <= start < end <= high:
        return f"a window outside the trace: {state.axis.window} of {state.axis.limits}"
    kept = take_session(state, opened.session)
    again = folder / f"again{SUFFIX}"
    again.write_bytes(session_text(kept, folder / "trace", "", folder).encode("utf-8", "surrogatepass"))
    # Beside the session itself stand the program's and the trace's names, which are others now.
    if replace(read_session(again).session, extra={}) != replace(kept, extra={}):
        return "what is written is not what is read"
    _paint(state)
    return ""


def _paint(state):
    from viewer.export.first_view import first_view
    from viewer.export.picture_files import picture_bytes
    from viewer.export.picture_view import PictureError

    view = first_view(state.study, state.axis.window)
    try:
        picture_bytes(
            replace(view, notes=state.notes.items, measurements=state.measurements.items), ".png", 900
        )
    except PictureError:
        return


def _put_something_else(random, file, content):
    """A folder, a pipe, a link to itself or to nowhere, or nothing, in the file's place."""
    make = random.choice((
        file.mkdir, lambda: os.mkfifo(file), lambda: file.symlink_to(file.name),
        lambda: file.symlink_to("nowhere"), lambda: file.symlink_to("/dev/zero"), lambda: None,
        lambda: file.write_bytes(b""), lambda: file.write_bytes(content * 2),
    ))  # fmt: skip
    make()


def _other_values(random, content):
    """Put other values, keys and raw text where some stand."""
    plain = json.loads(content)
    for _ in range(random.choice((1, 1, 2, 5))):
        holders = list(_holders(plain))
        holder = random.choice(holders)
        places = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        value = random.choice((random.choice(NUMBERS), random.choice(TEXTS), random.choice(OTHERS), "@raw@"))
        if not places:
            continue
        place = random.choice(places)
        what = random.random()
        if what < 0.75:
            holder[place] = value
        elif what < 0.9:
            del holder[place]
        elif isinstance(holder, dict):
            holder[random.choice(("later", "text", "offset", "event", "1"))] = value
        else:
            holder.extend(holder[place : place + 1] * random.choice((1, 50)))
    text = json.dumps(plain).encode()
    return text.replace(b'"@raw@"', random.choice(RAW))


def _holders(plain):
    if isinstance(plain, dict | list) and plain:
        yield plain
        for below in plain.values() if isinstance(plain, dict) else plain:
            yield from _holders(below)


@cache
def _application():
    from PySide6.QtGui import QGuiApplication

    return QGuiApplication.instance() or QGuiApplication(["fuzz", "-platform", "offscreen"])
