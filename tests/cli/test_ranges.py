"""One range, one truth: what is beyond the recording is clipped everywhere, and what is left out is said."""

import json
import re

import pytest

from viewer.cli import main
from viewer.drawing.format import format_bytes, format_share
from viewer.readers import cache

BEYOND = "0s..200s"


@pytest.fixture(scope="module")
def recorded(demo_study):
    """The length of the demo's recording, ns."""
    assert demo_study.trace.span_ns[0] == 0
    return demo_study.trace.span_ns[1]


def test_a_range_beyond_the_recording_is_one_range_in_every_table(demo_path, demo_study, recorded, capsys):
    assert main(["report", str(demo_path), "--range", BEYOND]) == 0
    said = capsys.readouterr().out
    assert said.count("Range clipped to the recording: 0 to") == 1
    idle = sum(int(p.totals(0, recorded)[4]) for p in demo_study.parts)
    share = format_share(idle / recorded / len(demo_study.parts))
    summary = said[said.index("Summary: range, clipped to the recording") :]
    assert share in next(line for line in summary.splitlines() if line.strip().startswith("All GPUs"))


def test_json_and_events_say_that_they_are_clipped(demo_path, recorded, capsys):
    main(["report", str(demo_path), "--range", BEYOND, "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert (facts["window"]["start_ns"], facts["window"]["end_ns"]) == (0, recorded)
    assert [note.split(":")[0] for note in facts["notes"]] == ["Range clipped to the recording"]
    assert main(["events", str(demo_path), "--row", "Rank 3/Stream 7", "--range", BEYOND, "--csv"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(("kind,", "name,"))
    assert err.startswith("lightbox: Range clipped to the recording: 0 to")
    assert err.count("\n") == 1


def test_the_page_has_the_same_range(demo_path, demo_study, recorded, tmp_path, qapp, capsys):
    page = tmp_path / "report.html"
    assert main(["report", str(demo_path), "--range", BEYOND, "--html", str(page)]) == 0
    text = page.read_text()
    assert "Range clipped to the recording: 0 to" in text
    compute = sum(int(p.totals(0, recorded)[0]) for p in demo_study.parts)
    row = re.search(r"<td>(?:<a [^>]*>)?compute only</.*?</tr>", text)[0]
    assert format_share(compute / recorded / len(demo_study.parts)) in row


def test_a_range_without_gpu_operations_says_where_they_lie(shared_trace, tmp_path, qapp, capsys):
    trace = str(shared_trace("torchrun-2xh100-nccl"))
    note = "No GPU does anything in this range; the GPU operations lie from 60.11 s to 60.41 s."
    assert main(["report", trace, "--range", "5s..6s"]) == 0
    assert capsys.readouterr().out.count(note) == 1
    main(["report", trace, "--range", "5s..6s", "--json"])
    assert json.loads(capsys.readouterr().out)["notes"] == [note]
    main(["report", trace, "--range", "5s..6s", "--html", str(tmp_path / "report.html")])
    assert note in (tmp_path / "report.html").read_text()
    capsys.readouterr()
    main(["report", trace, "--range", "60.2s..60.3s"])
    assert "No GPU" not in capsys.readouterr().out


def test_a_limit_says_what_it_removes(demo_path, capsys):
    main(["report", str(demo_path), "--json"])
    capsys.readouterr()
    held = cache.entries()[0].size_bytes
    assert main(["cache", "--limit", "0"]) == 0
    assert capsys.readouterr().out.startswith(f"removed {format_bytes(held)}, 1 of 1 traces\n")
    main(["cache", "--limit", "1"])
    assert "removed" not in capsys.readouterr().out


def test_a_picture_names_what_lies_outside_of_it(demo_path, tmp_path, capsys, qapp):
    out = tmp_path / "a.png"
    words = ["--note", "5s: far off", "--note", "110ms: here", "--measure", "1ms..2ms: before"]
    assert main(["shot", str(demo_path), "-o", str(out), "--range", "100ms..120ms", *words]) == 0
    said, err = capsys.readouterr()
    assert said == f"{out}\n"
    assert out.is_file()
    lines = err.splitlines()
    assert [line.split(" is left out")[0] for line in lines] == [
        "lightbox: the measurement 'before'",
        "lightbox: the note 'far off'",
    ]
    assert all("the picture shows 100.000 ms to 120.000 ms" in line for line in lines)
