"""The text of a session file: read as it is, or refused in one line."""

import json

import pytest

from viewer.state.session_json import SessionError, from_dict
from viewer.state.session_text import DEEPEST, plain_values

WHOLE = {"schema": 1, "window_ns": [0, 10]}


def refused(text):
    with pytest.raises(SessionError) as error:
        from_dict(plain_values(text.encode("utf-8", "surrogatepass")))
    said = str(error.value)
    assert said
    assert "\n" not in said
    assert len(said) < 120
    return said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"schema": 1, "window_ns": [0, ' + "9" * 5000 + "]}", "a number of 5,000 digits"),
        ('{"schema": 1, "window_ns": [0, 1e999]}', "a number that is none"),
        ('{"schema": 1, "window_ns": [NaN, 1]}', "a number that is none"),
        ('{"schema": 1, "window_ns": [0, 10], "later": -Infinity}', "a number that is none"),
        ('{"schema": 1, "schema": 1, "window_ns": [0, 10]}', "stands twice"),
        ('{"schema": ' + "9" * 400 + "}", "not a session"),
        ('{"schema": true}', "not a session"),
        ('{"schema": 1, "window_ns": [0, 10, 20]}', "not a pair"),
        ('{"schema": 1, "window_ns": [0, 4611686018427387904]}', "not a whole number"),
        ('{"schema": 1, "window_ns": [0, 10], "later": ' + "[" * 99 + "]" * 99 + "}", "groups within groups"),
    ],
)
def test_what_no_session_can_hold(text, said):
    assert said in refused(text)


@pytest.mark.parametrize(
    "note",
    [
        {"start_ns": 0, "end_ns": 1, "offset": [10**9, 0]},
        {"start_ns": 0, "end_ns": 1, "event": {"kind": "kernel", "index": -1}},
        {"start_ns": 1, "end_ns": 0},
        {"start_ns": 0.5, "end_ns": 1},
        {"start_ns": 0, "end_ns": 1, "text": ["x"]},
    ],
)
def test_one_note_that_is_wrong_refuses_all(note):
    good = {"start_ns": 0, "end_ns": 1, "text": "good"}
    assert "notes" in refused(json.dumps({**WHOLE, "notes": [good, note]}))


def test_what_is_deep_but_not_too_deep_can_be_written_again():
    deep = "[" * (DEEPEST - 2) + "]" * (DEEPEST - 2)
    plain = plain_values(f'{{"schema": 1, "later": {deep}}}'.encode())
    assert json.loads(json.dumps(plain, indent=1)) == plain


def test_texts_cannot_give_orders():
    plain = {
        **WHOLE,
        "notes": [{"start_ns": 0, "end_ns": 1, "text": "two\nlines \u202e\x1b"}],
        "measurements": [{"start_ns": 0, "end_ns": 1, "name": "a\nb\u2066"}],
    }
    session = from_dict(plain_values(json.dumps(plain).encode()))
    assert session.notes[0].text == "two\nlines \\u202e\\x1b"
    assert session.measurements[0].name == "a\\nb\\u2066"


def test_a_mark_of_bytes_before_it_is_no_damage():
    assert plain_values(b"\xef\xbb\xbf{}") == {}
