"""The report's summary: every number of the registry, the top kernels and the longer tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from viewer.analysis.core.location import Location
from viewer.analysis.summary.metric import MetricValue
from viewer.analysis.summary.report_doubts import doubt
from viewer.analysis.summary.report_locations import location_fact
from viewer.analysis.summary.summary import Summary

if TYPE_CHECKING:
    from viewer.analysis.study import Study


def summary_facts(study: Study, summary: Summary | None) -> dict[str, Any]:
    """Return the keys `scope`, `summary`, `kernels` and `tables`.

    `scope` is what the others are taken over, None without GPUs; `tables` holds the classes, copies and
    synchronising calls, one entry a row.
    """
    if summary is None:
        return {"scope": None, "summary": [], "kernels": [], "tables": {}}
    scope = summary.scope
    return {
        "scope": {
            "what": scope.what,
            "iterations": list(scope.iterations),
            "is_steady": scope.is_steady,
            "total_ns": scope.total_ns,
            "notes": list(summary.notes),
        },
        "summary": [_number(study, summary, number) for number in summary.numbers],
        "kernels": [
            {
                "name": row["name"],
                "class": row["class"],
                "count": row["kernels"],
                "sum_ns": row["sum_ns"],
                "share": row["share"],
            }
            for row in _records(summary.tables["top kernels"])
        ],
        "tables": {name: _located(study, summary.tables[name]) for name in _TABLES},
    }


_TABLES = ("classes", "copies", "synchronisation")


def _number(study: Study, summary: Summary, number: MetricValue) -> dict[str, Any]:
    return {
        "section": number.section.key,
        "key": number.key,
        "title": number.title,
        "unit": number.unit,
        "value": _plain(number.value),
        "share": _plain(number.share),
        "per_gpu": [_plain(value) for value in number.per_gpu],
        "usual": number.usual or None,
        "is_usual": _plain(number.is_usual),
        "reliable": not doubt(study, summary, number),
        "location": location_fact(study, number.where()),
        "definition": number.definition,
    }


def _located(study: Study, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table with `location` in place of `gpu`, `start_ns` and `end_ns`."""
    rows = _records(table)
    for row in rows:
        gpu, start, end = (row.pop(key) for key in ("gpu", "start_ns", "end_ns"))
        row["location"] = location_fact(study, Location(start, end, gpu)) if gpu >= 0 else None
    return rows


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): _plain(value) for key, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, which JSON knows; all else as it is."""
    return value.item() if hasattr(value, "item") else value
