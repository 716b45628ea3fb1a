"""What each rule of the kernel classes takes: names, kernels and time (docs/definitions.md, section 3)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from viewer.analysis.core.classify import CLASS_LABELS, CLASSES, OTHER, Rules, classify
from viewer.trace import Trace
from viewer.trace.names import short_name

NO_RULE = "(no rule)"


def rule_use(trace: Trace | None, rules: Rules) -> pd.DataFrame:
    """Return what each rule takes of all kernels of a trace, a row a rule in their order.

    A kernel is counted at the first rule that matches it; the last row has those that none does. Without a
    trace all counts are 0.

    Returns
    -------
    DataFrame
        `class` (its label), `rule`, `line` (in the table, from 1; 0 for none), `names` (distinct names),
        `kernels`, `sum_ns` (durations added up, int64 ns), `share` (of the durations of all kernels, NaN
        without any) and `example` (the short name of the kernel name with most time, "" for none).
    """
    count = len(rules.rules) + 1
    names = kernels = sum_ns = np.zeros(count, np.int64)
    examples = [""] * count
    if trace is not None and len(trace.kernels):
        table = trace.kernels
        # The -1 of a name that no rule takes is the last row.
        rule_of = classify(trace, rules).rule_of.astype(np.int64) % count
        of_name = np.bincount(table.name_id, minlength=len(trace.names))
        time_of = np.zeros(len(trace.names), np.int64)
        np.add.at(time_of, table.name_id, table.end_ns - table.start_ns)
        used = np.flatnonzero(of_name)
        names = np.bincount(rule_of[used], minlength=count)
        kernels = np.zeros(count, np.int64)
        np.add.at(kernels, rule_of[used], of_name[used])
        sum_ns = np.zeros(count, np.int64)
        np.add.at(sum_ns, rule_of[used], time_of[used])
        # By rule and then by time, so that the last name of a rule has most of its time.
        order = used[np.lexsort((time_of[used], rule_of[used]))]
        for name in order[np.append(np.diff(rule_of[order]) != 0, True)].tolist():
            examples[int(rule_of[name])] = short_name(trace.names[name])
    classes = [*(rule.kernel_class for rule in rules.rules), OTHER]
    total = int(sum_ns.sum())
    return pd.DataFrame(
        {
            "class": [CLASS_LABELS.get(CLASSES[position], CLASSES[position]) for position in classes],
            "rule": [*map(str, rules.rules), NO_RULE],
            "line": [*(rule.line for rule in rules.rules), 0],
            "names": names,
            "kernels": kernels,
            "sum_ns": sum_ns,
            "share": sum_ns / total if total else np.full(count, np.nan),
            "example": examples,
        }
    )
