"""Exit codes, one-line errors, and what a command imports."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from viewer import __version__
from viewer.analysis.core.classify import Rules
from viewer.cli import main
from viewer.drawing.format import format_count, format_ns, format_share

ROOT = Path(__file__).resolve().parents[2]


def run(*words, **environment):
    """Run `lightbox` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "viewer", *words],
        cwd=ROOT,
        env={k: v for k, v in (os.environ | environment).items() if v is not None},
        capture_output=True,
        check=False,
    )


def error_of(capsys):
    """Return the one line on stderr."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("lightbox: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("word", ["--help", "-h", "--version"])
def test_help_and_version_import_no_qt(word):
    code = (
        "import sys; from viewer.cli import main; code = main([sys.argv[1]]); "
        "heavy = {'PySide6', 'pyqtgraph', 'numpy', 'pandas'} & {m.split('.')[0] for m in sys.modules}; "
        "sys.exit(code or (f'imported {heavy}' if heavy else 0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, word], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "lightbox" in done.stdout


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"lightbox {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "x", "--nonsense"],
        ["--nonsense"],
        ["x.sqlite", "y.sqlite"],
        ["report", "x", "--iteration", "-1"],
        ["report", "x", "--range", "1ms"],
        ["report", "x", "--range", "2ms..1ms"],
        ["report", "x", "--range", "1ms..2ms", "--iteration", "1"],
        ["report", "x", "--rules", "mine"],
        ["shot", "x"],
        ["shot", "x", "-o", "x.gif"],
        ["shot", "x", "-o", "x.png", "--overlay", "idle,nonsense"],
        ["shot", "x", "-o", "x.png", "--theme", "blue"],
        ["shot", "x", "-o", "x.png", "--width", "0"],
        ["demo", "--shift", "3:soon"],
        ["demo", "--shift", "x:1ms"],
        ["demo", "--lose", "1:2"],
        ["demo", "--like", "nothing"],
        ["demo", "--fault", "earthquake"],
        ["demo", "--fault", "item", "--like", "distca"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line_and_2(words, capsys):
    assert main(words) == 2
    assert "--help)" in error_of(capsys)


@pytest.mark.parametrize("words", [["report"], ["shot", "-o", "x.png"], ["doctor"], []], ids=str)
def test_a_path_without_a_file_is_one_line_and_1(words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, options = words[:1], words[1:]
    path = tmp_path / "no such # file ?%20 漢字\n.sqlite"
    assert main([*command, str(path), *options]) == 1
    # doctor has already said what it found on the machine
    err = capsys.readouterr().err
    assert err.startswith("lightbox: ")
    assert err.count("\n") == 1
    assert "no such file" in err
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["reprot", "x.sqlite"], "report"),
        (["Report", "x.sqlite", "--json"], "report"),
        (["compre", "a", "b"], "compare"),
        (["even", "x.sqlite", "--row", "x"], "events"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_mistyped_command_names_the_nearest_one(words, near, capsys):
    assert main(words) == 2
    assert f"no command '{words[0]}'; did you mean '{near}'?" in error_of(capsys)
    assert main(words[:1]) == 1
    assert f"did you mean '{near}'?" in error_of(capsys)


def test_a_word_that_is_like_no_command_says_where_they_are_listed(capsys):
    assert main(["quux"]) == 1
    assert "lists the commands" in error_of(capsys)
    assert main(["rendere", "x"]) == 2
    assert "did you mean 'renderer'" not in error_of(capsys)


def test_a_file_that_is_called_almost_like_a_command_is_opened(tmp_path, monkeypatch):
    (tmp_path / "reprot").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("viewer.cli.window_command.open_window", lambda path, _: opened.append(path) or 0)
    assert main(["reprot"]) == 0
    assert opened == [Path("reprot")]


def test_what_is_no_trace_is_one_line_and_1(tmp_path, capsys):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes\n")
    assert main(["report", str(path)]) == 1
    assert "notes.txt" in error_of(capsys)
    assert list(tmp_path.iterdir()) == [tmp_path / ".home", path] or path.read_text() == "these are notes\n"


def test_without_a_display_the_window_names_what_works(demo_path):
    done = run(str(demo_path), DISPLAY=None, WAYLAND_DISPLAY=None, QT_QPA_PLATFORM=None)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"lightbox report" in done.stderr
    assert b"lightbox shot" in done.stderr


def test_report_as_json(demo_path, capsys):
    assert main(["report", str(demo_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == 1
    assert facts["trace"]["path"] == str(demo_path)
    assert [gpu["rank"] for gpu in facts["gpus"]] == list(range(8))
    length = facts["window"]["end_ns"] - facts["window"]["start_ns"]
    parts = ("compute_only_ns", "hidden_comm_ns", "exposed_comm_ns", "copy_only_ns", "idle_ns")
    assert all(sum(gpu[part] for part in parts) == length for gpu in facts["gpus"])


def test_report_of_a_range(demo_path, capsys):
    assert main(["report", str(demo_path), "--json", "--range", "100ms..100.5ms"]) == 0
    window = json.loads(capsys.readouterr().out)["window"]
    assert (window["start_ns"], window["end_ns"]) == (100_000_000, 100_500_000)


def test_report_of_an_iteration(demo_path, demo_study, capsys):
    assert main(["report", str(demo_path), "--json", "--iteration", "1"]) == 0
    by_number = json.loads(capsys.readouterr().out)["window"]
    assert main(["report", str(demo_path), "--json", "--range", "iteration 1"]) == 0
    assert json.loads(capsys.readouterr().out)["window"] == by_number
    assert by_number["start_ns"] == demo_study.iterations().start_ns(1)


def test_a_bad_rule_is_named_with_its_line_and_the_rest_still_work(demo_path, capsys, monkeypatch, tmp_path):
    table = tmp_path / "kernel-classes.txt"
    table.write_text("[communication]\nnccl\n(unclosed\n")
    monkeypatch.setattr(Rules, "user_path", staticmethod(lambda: table))
    assert main(["report", str(demo_path), "--json"]) == 0
    done = capsys.readouterr()
    assert done.err.startswith(f"lightbox: {table}: line 3: (unclosed: ")
    assert len(done.err.splitlines()) == 1
    classes = json.loads(done.out)["gpus"][0]["classes"]
    assert classes["communication"]["kernels"] > 0
    assert classes["attention"]["kernels"] == 0
    assert main(["report", str(demo_path), "--json", "--rules", "builtin"]) == 0
    assert capsys.readouterr().err == ""


def test_report_as_tables(demo_path, capsys):
    assert main(["report", str(demo_path)]) == 0
    out = capsys.readouterr().out
    assert "Rank 5 GPU 5" in out
    assert "exposed comm." in out
    assert "CUPTI_ACTIVITY_KIND_KERNEL" in out


@pytest.mark.parametrize("asked", [["--iteration", "99"], ["--range", "900s..901s"]], ids=" ".join)
def test_what_the_trace_does_not_have_is_1(asked, demo_path, capsys):
    assert main(["report", str(demo_path), *asked]) == 1
    error_of(capsys)


def test_a_path_that_is_no_text(demo_path, tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9 \xff.sqlite"
    Path(os.fsdecode(path)).write_bytes(demo_path.read_bytes())
    for words in ([b"report", path], [b"report", path, b"--json"]):
        done = run(*words)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["gpus"]


def test_a_file_that_is_called_like_a_command(demo_path, tmp_path, monkeypatch, capsys):
    (tmp_path / "report").write_bytes(demo_path.read_bytes())
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr(
        "viewer.cli.window_command.open_window", lambda path, renderer: opened.append(path) or 0
    )
    assert main(["./report"]) == 0
    assert main(["report"]) == 2
    assert opened == [Path("report")]


def test_the_first_word_is_a_command_or_a_trace(monkeypatch):
    opened = []
    monkeypatch.setattr(
        "viewer.cli.window_command.open_window", lambda path, renderer: opened.append((path, renderer)) or 0
    )
    assert main([]) == 0
    assert main(["x.sqlite"]) == 0
    assert main(["--renderer", "gl", "x.sqlite"]) == 0
    assert main(["x.sqlite", "--renderer=raster"]) == 0
    assert opened == [
        (None, "auto"),
        (Path("x.sqlite"), "auto"),
        (Path("x.sqlite"), "gl"),
        (Path("x.sqlite"), "raster"),
    ]


def test_the_demo_is_written_where_it_is_wanted(tmp_path, capsys):
    out = tmp_path / "made.sqlite"
    assert (
        main(["demo", "--iterations", "1", "--shift", "3:250ms", "--lose", "6:0.9", "--out", str(out)]) == 0
    )
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_bytes().startswith(b"SQLite format 3")


def test_a_demo_that_cannot_be_written_is_1(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["demo", "--iterations", "1", "--out", str(tmp_path / "file" / "x.sqlite")]) == 1
    error_of(capsys)


def test_doctor(capsys, demo_path):
    assert main(["doctor", str(demo_path)]) == 0
    out = capsys.readouterr().out
    assert f"lightbox          {__version__}" in out
    assert "8 GPUs" in out


def test_one_is_not_several(capsys, tmp_path):
    from viewer.demo import DemoOptions, make_demo

    path = make_demo(tmp_path / "one.sqlite", DemoOptions(iterations=1, ranks=1))
    assert main(["doctor", str(path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"1 process, 1 GPU, \d+ streams, \d+ threads, [\d,]+ events", out)


@pytest.fixture(scope="module")
def lost_path(tmp_path_factory):
    """A demo in which rank 1 lost most of its GPU rows."""
    from viewer.demo import DemoOptions, make_demo

    options = DemoOptions(ranks=2, iterations=3, lose={1: 0.6})
    return make_demo(tmp_path_factory.mktemp("lost") / "lost.sqlite", options)


def test_a_gpu_that_lost_rows_is_marked_where_its_idle_time_stands(lost_path, capsys):
    assert main(["report", str(lost_path)]) == 0
    out = capsys.readouterr().out
    times = out[out.index("Where the time goes") : out.index("Kernel classes")]
    assert re.search(r"^ Rank 0 GPU 0   +[\d.]+ m?s", times, re.MULTILINE)
    assert re.search(r"^ Rank 1 GPU 1 !   +[\d.]+ m?s", times, re.MULTILINE)
    assert re.search(r"^! Rank 1 GPU 1: Rank 1: [\d,]+ kernel launches, but kernels for", times, re.MULTILINE)
    assert "! Rank 0" not in times


@pytest.mark.parametrize("words", [[], ["--iteration", "1"]])
def test_the_text_has_the_stalls_of_json_by_cause(lost_path, capsys, words):
    assert main(["report", str(lost_path), "--json", *words]) == 0
    stalls = json.loads(capsys.readouterr().out)["stalls"]
    assert stalls
    assert main(["report", str(lost_path), *words]) == 0
    out = capsys.readouterr().out
    table = out[out.index("Stalls by main cause") : out.index("Stalls shorter than")]
    assert table.splitlines()[0].endswith("iteration 1" if words else "the whole trace")
    kinds = {"idle": "idle", "copy": "copy only", "exposed": "exposed communication"}
    causes = {"collective wait": "waiting for a rank", "collective transfer": "collective running"}
    of_kind = Counter()
    sums = defaultdict(Counter)
    for stall in stalls:
        cause = causes.get(stall["cause"], stall["cause"])
        if (stall["kind"], cause) == ("exposed", "unknown"):
            cause = "not matched"
        sums[kinds[stall["kind"]], cause].update(count=stall["count"], total_ns=stall["total_ns"])
        of_kind[kinds[stall["kind"]]] += stall["total_ns"]
    lines = [re.split(r" {2,}", line.strip()) for line in table.splitlines() if re.search(r"\d %", line)]
    assert sorted(lines) == sorted(
        [
            *key,
            format_count(total["count"]),
            format_ns(total["total_ns"]),
            format_share(total["total_ns"] / of_kind[key[0]]),
        ]
        for key, total in sums.items()
    )


EVERY_COMMAND = [
    ["report"],
    ["report", "--json"],
    ["events", "--row", "Rank 0"],
    ["events", "--row", "Rank 0", "--csv"],
    ["doctor"],
    ["compare"],
    ["cache"],
    ["--help"],
    ["report", "--help"],
    ["--version"],
]


def shell(command, words, demo_path):
    """Run a command of `lightbox` in a shell and return what bash says of it."""
    traces = [] if words[0].startswith("-") or "--help" in words or words[0] == "cache" else [demo_path]
    traces *= 2 if words[0] == "compare" else 1
    line = shlex.join([sys.executable, "-m", "viewer", *words[:1], *map(str, traces), *words[1:]])
    return subprocess.run(
        ["bash", "-c", command.format(line)], cwd=ROOT, capture_output=True, check=False, text=True
    )


@pytest.mark.parametrize("words", EVERY_COMMAND, ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_error(words, demo_path):
    # The pipe has no reader at all: the first byte fails, whether it is written early or at the end.
    done = shell("{} | true; exit ${{PIPESTATUS[0]}}", words, demo_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [["report"], ["report", "--json"], ["--help"]], ids=" ".join)
def test_closed_streams_are_no_error(words, demo_path):
    done = shell("{} >&-", words, demo_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = shell("{} <&- >&- 2>&-", words, demo_path)
    assert done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("words", [["report"], ["report", "--json"], ["--help"]], ids=" ".join)
def test_a_full_disk_under_what_is_printed_is_one_line_and_1(words, demo_path):
    done = shell("{} > /dev/full", words, demo_path)
    assert done.returncode == 1
    assert done.stderr == "lightbox: input or output: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report", "x", "--iteration", "x"], "--iteration: 'x' is not a whole number"),
        (["shot", "x", "-o", "x.png", "--scale", "9"], "--scale: 9 is too large: 4 or less"),
        (["shot", "x", "-o", "x.png", "--theme", "blue"], "--theme: 'blue' is not one of 'light', 'dark'"),
        (["demo", "--lose", "99"], "there is no rank 99"),
        (["demo", "--events", "99999999999"], "10,000,000 or less"),
        (["report", "x", "--range", "5"], "812ms.. (lightbox"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_values_are_named_in_plain_words(words, said, capsys):
    assert main(words) == 2
    error = error_of(capsys)
    assert said in error
    for library in ("Value error", "Input should", "unable to parse", "Invalid value"):
        assert library not in error


def test_a_file_into_no_folder_is_refused_with_its_own_name(demo_path, tmp_path, capsys):
    place = tmp_path / "none"
    for words in (["shot", "-o", str(place / "x.png")], ["report", "--html", str(place / "x.html")]):
        assert main([words[0], str(demo_path), *words[1:]]) == 1
        assert f"{words[2]}: there is no folder {place}" in error_of(capsys)
    assert main(["demo", "--out", str(place / "x.sqlite")]) == 1
    error_of(capsys)
    assert not place.exists()


def test_ranges_in_messages_have_units_for_people(demo_path, capsys):
    assert main(["report", str(demo_path), "--range", "900s..901s"]) == 1
    assert re.search(r"runs from \S+( µs| ms| s)? to [\d.]+ m?s\n", error_of(capsys))


def test_help_gives_flags_no_type(capsys):
    assert main(["report", "--help"]) == 0
    assert "bool" not in capsys.readouterr().out


def test_a_reading_that_was_given_up_is_no_entry_of_the_store(capsys, demo_path):
    from viewer.readers import cache

    with cache.Storing(cache.CacheEntry.of(demo_path)):
        pass
    assert main(["cache"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_store_is_listed_limited_and_cleared(capsys, demo_path):
    from viewer.readers import read

    read(demo_path)
    assert main(["cache"]) == 0
    out = capsys.readouterr().out
    assert str(demo_path) in out
    assert "of at most 20 GiB" in out
    assert main(["cache", "--limit", "0.5"]) == 0
    assert "of at most 0.5 GiB" in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.startswith("removed ")
    assert main(["cache", "--list"]) == 0
    assert str(demo_path) not in capsys.readouterr().out
    assert main(["cache", "--list", "--clear"]) == 2


def test_definitions_prints_all_or_one_or_says_that_there_is_none(capsys):
    assert main(["definitions"]) == 0
    assert "## 7. Stalls" in capsys.readouterr().out
    assert main(["definitions", "idle"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1. The time of a GPU\nidle")
    assert "nothing runs on any stream" in out
    assert main(["definitions", "nonsense"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "lightbox: no number is called nonsense; `lightbox definitions` prints all of them"
    ]
