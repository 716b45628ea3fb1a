"""The demo's file as plain frames, without the product's reader: an independent look at what was written."""

import sqlite3
from functools import lru_cache

import pandas as pd


@lru_cache(maxsize=40)
def table(path, name):
    """One table, with a column `rank` where the row says whose it is; `name` texts where it has a nameId."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        frame = pd.read_sql(f'SELECT rowid AS file_row, * FROM "{name}"', db)
        texts = dict(db.execute("SELECT id, value FROM StringIds"))
    owner = next((c for c in ("globalTid", "globalPid") if c in frame), None)
    if owner:
        frame["pid"] = frame[owner] // 2**24 % 2**24
        frame["tid"] = frame[owner] % 2**24
        frame["rank"] = (frame.pid - 40_000) // 7
    if "nameId" in frame:
        frame["name"] = frame.nameId.map(texts)
    if "demangledName" in frame:
        frame["name"] = frame.demangledName.map(texts)
    if name == "NVTX_EVENTS":
        frame["name"] = frame.text.where(frame.text.notna(), frame.textId.map(texts))
    return frame


def tables(path):
    """Names of the tables in the file."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


@lru_cache(maxsize=20)
def operations(path):
    """All GPU operations, in one frame, with the table each comes from as `kind`."""
    names = {f"CUPTI_ACTIVITY_KIND_{kind}": kind for kind in ("KERNEL", "MEMCPY", "MEMSET")}
    frames = [table(path, name).assign(kind=kind) for name, kind in names.items() if name in tables(path)]
    return pd.concat(frames, ignore_index=True)


def calls(path):
    """All CUDA calls."""
    return table(path, "CUPTI_ACTIVITY_KIND_RUNTIME")


def sweep(kernels, others, start, end):
    """Nanoseconds of [start, end) in each part of a GPU's time, event by event.

    Keys compute_only, hidden, exposed, copy, idle. An oracle: it counts what is open between any two edges.
    """
    edges = []
    for kind, frame in (
        ("comm", kernels[kernels.nccl]),
        ("compute", kernels[~kernels.nccl]),
        ("copy", others),
    ):
        for a, b in zip(frame.start, frame.end, strict=True):
            edges += [(a, kind, 1), (b, kind, -1)]
    edges += [(start, "", 0), (end, "", 0)]
    open_now = {"comm": 0, "compute": 0, "copy": 0, "": 0}
    total = dict.fromkeys(("compute_only", "hidden", "exposed", "copy", "idle"), 0)
    last = start
    for time, kind, change in sorted(edges):
        inside = min(max(time, start), end)
        if open_now["compute"]:
            part = "hidden" if open_now["comm"] else "compute_only"
        elif open_now["comm"]:
            part = "exposed"
        else:
            part = "copy" if open_now["copy"] else "idle"
        total[part] += inside - last
        last = inside
        open_now[kind] += change
    return total
