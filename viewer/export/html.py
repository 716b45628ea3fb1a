"""Builders of HTML: escaped text, tables from DataFrames, and a page that loads nothing."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from viewer import __version__
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.drawing.format import format_bytes, format_count, format_iteration_share, format_ns, format_share
from viewer.drawing.theme import LIGHT
from viewer.printable import visible_lines

TITLES = {
    "compute_only_ns": "compute", "hidden_comm_ns": "hidden comm.", "exposed_comm_ns": "exposed comm.",
    "copy_only_ns": "copy", "idle_ns": "idle", "no_kernel_ns": "no kernel running",
    "lap_share": "of iteration",
    "idle_share": "idle, %",
    "sum_ns": "sum", "union_ns": "union", "mean_ns": "mean", "total_ns": "total", "duration_ns": "length",
    "length_ns": "length", "start_ns": "begin", "skew_ns": "skew", "throughput_gb_s": "GB/s", "gpu": "GPU",
    "wait_ns": "waiting", "compute_ns": "compute", "hidden_ns": "hidden", "bytes": "size", "count": "number",
    "lap": "no.", "gpus": "GPUs", "first_ns": "first",
}  # fmt: skip
_LONG = 60
_SHARES = ("share", "idle_share", "deviation", "spread")
_CSS = """
:root { color-scheme: light; --line: #dfe3e8; --soft: #586374; --ink: #151a21; --accent: #2563eb; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 32px 24px 64px; color: var(--ink); background: #fff;
  font: 14px/1.5 Inter, "Segoe UI", "Helvetica Neue", Arial, "Noto Sans CJK SC", sans-serif;
  font-feature-settings: "tnum"; }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 36px 0 10px; padding-top: 14px; border-top: 1px solid var(--line); }
h3 { font-size: 14px; margin: 22px 0 6px; } h4, h5 { font-size: 13px; margin: 20px 0 6px; }
p { margin: 6px 0; max-width: 90ch; } .soft { color: var(--soft); }
nav { margin: 14px 0 0; display: flex; flex-wrap: wrap; gap: 4px 16px; } a { color: var(--accent); }
td a, dt a { color: inherit; text-decoration: underline dotted; }
td code { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin: 6px 0; }
th { text-align: left; font-weight: 500; color: var(--soft); white-space: nowrap; vertical-align: bottom; }
th, td { padding: 3px 16px 3px 0; border-bottom: 1px solid #eef1f4; vertical-align: top; }
td:first-child { min-width: 15ch; } .t { min-width: 30ch; max-width: 64ch; overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; }
.bad td:first-child { box-shadow: -3px 0 #b42318; } .bad .v { color: #b42318; font-weight: 600; }
figure { margin: 12px 0 20px; } img { width: 100%; border: 1px solid var(--line); border-radius: 4px; }
figcaption { color: var(--soft); font-size: 12.5px; }
.bar { display: flex; height: 15px; width: 360px; border-radius: 2px; overflow: hidden; }
.win { width: 160px; background: #eef1f4; } .win i { display: block; height: 12px; background: #15803d; }
.findings td:first-child { min-width: 2ch; } .findings .t { min-width: 48ch; max-width: 76ch; }
.key { display: inline-block; width: 10px; height: 10px; margin: 0 5px 0 14px; border: 1px solid #0001; }
.error { border-left: 3px solid #b42318; } .warning { border-left: 3px solid #b45309; }
.info { border-left: 3px solid var(--line); } .diagnostic { padding: 2px 0 2px 10px; margin: 8px 0; }
dt { font-weight: 500; margin-top: 8px; } dd { margin: 0 0 0 0; color: var(--soft); max-width: 90ch; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } h2 { break-after: avoid; }
  tr, figure { break-inside: avoid; } .scroll { overflow: visible; } }
"""
_HATCH = "repeating-linear-gradient(135deg, #fff 0 4px, #c8cfd8 4px 5px)"
_COLOURS = (*(f"#{argb & 0xFFFFFF:06x}" for argb in LIGHT.parts[:-1]), _HATCH)


def escaped(value: object) -> str:
    """Return a text as HTML that shows it."""
    return html.escape(visible_lines(str(value)))


def page(title: str, body: Iterable[str]) -> str:
    """Return a complete page, whose own policy forbids it to load anything."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="Lightbox {__version__}">'
        f"<title>{escaped(title)}</title><style>{_CSS}</style></head>\n"
        f"<body>\n{chr(10).join(body)}\n</body></html>\n"
    )


def section(title: str, key: str, *parts: str) -> str:
    """Return a section with its heading, "" where it would be empty."""
    content = "\n".join(part for part in parts if part)
    return f'<section><h2 id="{key}">{escaped(title)}</h2>\n{content}</section>' if content else ""


def image(png: bytes, text: str, caption: str) -> str:
    """Return a picture embedded in the page."""
    data = base64.b64encode(png).decode()
    source = f"data:image/png;base64,{data}"
    return (
        f'<figure><img alt="{escaped(text)}" src="{source}">'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def bar(parts_ns: Sequence[int]) -> str:
    """Return the five categories as one bar."""
    cells = "".join(
        f'<i style="flex:{int(ns)};background:{colour}"></i>'
        for ns, colour in zip(parts_ns, _COLOURS, strict=True)
        if ns
    )
    return f'<div class="bar">{cells}</div>'


def bar_key() -> str:
    """Return the key to the colours of bars."""
    keys = (
        f'<span class="key" style="background:{colour}"></span>{escaped(TITLES[f"{part}_ns"])}'
        for part, colour in zip(CATEGORIES, _COLOURS, strict=True)
    )
    return f'<p class="soft">{"".join(keys)}</p>'


def table(frame: pd.DataFrame, gpus: Sequence[str] = (), titles: Mapping[str, str] = TITLES) -> str:
    """Return a table; a column's name decides the format of its values ("_ns", "share", "gpu").

    Parameters
    ----------
    gpus : sequence of str
        The labels of the GPUs, by index.
    """
    if not len(frame):
        return ""
    heads, columns = [], []
    for name in map(str, frame.columns):
        values = frame[name]
        number = values.dtype.kind in "iuf" and not (name == "gpu" and gpus)
        title = titles.get(name, name.removesuffix("_ns").replace("_", " "))
        cells = [escaped(cell(name, value, gpus)) for value in values]
        is_long = not number and max(map(len, cells)) > _LONG
        mark = ' class="n"' if number else ' class="t"' if is_long else ""
        heads.append(f"<th{mark}>{escaped(title)}</th>")
        columns.append([f"<td{mark}>{text}</td>" for text in cells])
    rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    return f'<div class="scroll"><table><thead><tr>{"".join(heads)}</tr></thead>\n{rows}</table></div>'


def cell(name: str, value: Any, gpus: Sequence[str] = ()) -> str:
    """Return one value of a column formatted for people; "" where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if name == "gpu" and gpus:
        return gpus[int(value)] if int(value) >= 0 else ""
    if isinstance(value, str | bool):
        return str(value)
    if name.endswith("_ns"):
        return format_ns(int(value))
    if name == "lap_share":
        return format_iteration_share(float(value))
    if name in _SHARES or name.endswith("_share"):
        return format_share(float(value))
    if name == "bytes":
        return format_bytes(float(value))
    return f"{value:,.2f}" if isinstance(value, float) else format_count(int(value))
