"""CSV for spreadsheets: no name is carried out as a formula, and no number changes."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from viewer.drawing.spreadsheet import csv_text, harmless


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", " =1", "\uff1d1", "-", "--x"]
)
def test_what_a_spreadsheet_would_carry_out_is_made_harmless(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "kernel", "a=b", "'=1", "-5", "+5.25", "1-2", "\u22125 ms"])
def test_names_and_numbers_stay(text):
    assert harmless(text) == text


def test_a_table():
    frame = pd.DataFrame(
        {
            "name": ["=x", None, "ok"],
            "kind": pd.Categorical(["-a", "'-a", None]),
            "ns": np.array([-5, 0, 7], np.int64),
            "share": [-0.5, np.nan, 1.0],
            "maybe": pd.array([-1, None, 2], "Int64"),
            "mixed": [-3, "-x", 2.5],
            "=title": [True, False, True],
        }
    )
    rows = list(csv.reader(io.StringIO(csv_text(frame))))
    assert rows == [
        ["name", "kind", "ns", "share", "maybe", "mixed", "'=title"],
        ["'=x", "'-a", "-5", "-0.5", "-1", "-3", "True"],
        ["", "'-a", "0", "", "", "'-x", "False"],
        ["ok", "", "7", "1.0", "2", "2.5", "True"],
    ]


def test_tables_of_any_shape():
    assert csv_text(pd.DataFrame({"a": []})) == "a\n"
    assert csv_text(pd.DataFrame([[1, 2]], columns=["a", "a"]), "\t") == "a\ta\n1\t2\n"
    assert csv_text(pd.DataFrame({"a": ["=1"]}, index=[7])) == "a\n'=1\n"
