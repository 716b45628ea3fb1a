"""Stalls in words: each text is held once, and says what the trace says."""

import numpy as np
import pandas as pd

from viewer.analysis.stalls.words import Texts, frame_of
from viewer.trace import GPU_KINDS, Kind
from viewer.trace.names import short_name


def test_texts_that_are_the_same_are_one():
    texts = Texts.of(["a", "b", "a", ""], np.array([2, 1, 0, -1]))
    assert texts.texts == ["a", "b", ""]
    assert [texts[row] for row in range(len(texts))] == ["a", "b", "a", ""]
    assert texts.series().tolist() == ["a", "b", "a", ""]


def test_words_are_those_of_the_trace(demo_study):
    stalls = demo_study.stalls()
    trace, table, shown = demo_study.trace, stalls.table, stalls.shown

    def name(kind, index):
        return trace.names[int(trace.events[kind].name_id[index])] if index >= 0 else ""

    for number in range(0, len(stalls), max(len(stalls) // 200, 1)):
        row, words = table.iloc[number], shown.iloc[number]
        assert words.to_dict() == stalls.words(number)
        assert words["inside"] == name(Kind.NVTX, row["inside"])
        assert words["drained_by"] == name(Kind.API, row["drained_by"])
        assert words["gpu"] == trace.gpu_label(row["gpu"])
        assert words["start_ns"] == row["start_ns"]
        iterations = [
            str(iteration) for iteration in dict.fromkeys((row["lap"], row["lap_after"])) if iteration >= 0
        ]
        assert words["iteration"] == " → ".join(iterations)
        for side in ("before", "after"):
            kind = GPU_KINDS[row[f"{side}_kind"]]
            expected = name(kind, row[f"{side}_index"])
            assert words[side] == (short_name(expected) if kind is Kind.KERNEL and expected else expected)
        if row["copies"]:
            kind = GPU_KINDS[row["copy_kind"]]
            said = name(kind, row["copy_index"]).removeprefix("Memcpy ")
            size, rate = row["bytes"] / 1e6, row["throughput_gb_s"]
            assert words["copies"].startswith(f"{said} {size:,.4g} MB at {rate:,.4g} GB/s on stream ")


def test_some_stalls_read_as_they_do_among_all(demo_study):
    stalls = demo_study.stalls()
    rows = stalls.select(kinds=["copy_only", "exposed_comm"])[::3]
    some, all_of_them = frame_of(stalls, rows), stalls.shown
    for key in some:
        assert some[key].tolist() == all_of_them[key].iloc[rows].tolist(), key
    texts = [key for key in some if isinstance(some[key].dtype, pd.CategoricalDtype)]
    assert all(some[key].cat.categories.is_unique for key in texts)
    assert "cause" in texts
