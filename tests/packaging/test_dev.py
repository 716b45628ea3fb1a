"""What packaging/dev.py looks for, installs and runs."""

import importlib.util
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def dev(monkeypatch):
    spec = importlib.util.spec_from_file_location("dev", ROOT / "packaging" / "dev.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "dev", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def commands(dev, monkeypatch):
    """The commands that were run, and what each shall return (0 where nothing is said)."""
    ran, codes = [], {}

    def run(command, **_):
        ran.append([str(part) for part in command])
        code = next((code for word, code in codes.items() if word in ran[-1]), 0)
        return types.SimpleNamespace(returncode=code, stdout="", stderr="E: it went wrong")

    monkeypatch.setattr(dev.subprocess, "run", run)
    return types.SimpleNamespace(ran=ran, codes=codes)


@pytest.fixture
def without_egl(dev, monkeypatch):
    monkeypatch.setattr(dev.sys, "platform", "linux")
    monkeypatch.setattr(dev, "missing_packages", lambda for_tests: ["libegl1"])
    monkeypatch.setattr(dev.shutil, "which", lambda program: f"/usr/bin/{program}")


def test_a_library_that_is_missing_is_found_missing(dev, monkeypatch):
    monkeypatch.setattr(dev, "_loads", lambda library: library != "libxcb-cursor.so.0")
    monkeypatch.setattr(dev, "_is_installed", lambda file: "CJK" not in file)
    monkeypatch.setattr(dev.shutil, "which", lambda program: None if program == "Xvfb" else program)
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: None)
    assert dev.missing_packages(for_tests=False)[0] == "libxcb-cursor0"
    assert dev.missing_packages(for_tests=False)[1].endswith("-venv")
    assert dev.missing_packages(for_tests=True)[:3] == ["libxcb-cursor0", "xvfb", "fonts-noto-cjk"]


def test_root_installs_what_is_missing(dev, without_egl, commands, monkeypatch):
    monkeypatch.setattr(dev.os, "geteuid", lambda: 0)
    dev.prepare_system(for_tests=False)
    assert [command[:2] for command in commands.ran] == [["apt-get", "-q"], ["apt-get", "install"]]
    assert commands.ran[1][-1] == "libegl1"


def test_others_see_the_one_command(dev, without_egl, commands, monkeypatch, capsys):
    monkeypatch.setattr(dev.os, "geteuid", lambda: 1000)
    assert dev.main(["run"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "sudo apt-get install -y --no-install-recommends libegl1" in err
    assert commands.ran == []


def test_an_installation_that_fails_stops(dev, without_egl, commands, monkeypatch, capsys):
    monkeypatch.setattr(dev.os, "geteuid", lambda: 0)
    commands.codes["update"] = 100
    assert dev.main(["test"]) == 1
    assert capsys.readouterr().err == "dev.py: apt-get -q update failed: E: it went wrong\n"


@pytest.fixture
def checkout(dev, tmp_path, monkeypatch):
    """A checkout of which only the files that decide on the environment are there."""
    for file in ("requirements.lock", "pyproject.toml"):
        (tmp_path / file).write_text("as it was")
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "LOWEST", tmp_path / ".venv-lowest")
    monkeypatch.setattr(dev, "VENV", tmp_path / ".venv")
    lock = dev.Lock("x86_64", (2, 34), tmp_path / "requirements.lock")
    monkeypatch.setattr(dev, "lock_here", lambda: lock)

    def create(folder, **_):
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "bin" / "python").touch()

    monkeypatch.setattr(dev.venv, "create", create)
    return tmp_path


def test_the_environment_is_made_once(dev, checkout, commands):
    dev.prepare_venv()
    assert "--require-hashes" in commands.ran[0]
    assert "--editable" in commands.ran[1]
    dev.prepare_venv()
    assert len(commands.ran) == 2
    (checkout / "requirements.lock").write_text("another")
    dev.prepare_venv()
    assert len(commands.ran) == 4


def test_an_environment_that_failed_is_made_anew(dev, checkout, commands):
    commands.codes["--editable"] = 1
    with pytest.raises(dev.StopError):
        dev.prepare_venv()
    commands.codes.clear()
    dev.prepare_venv()
    assert len(commands.ran) == 4


def test_checks_stop_at_the_first_that_fails(dev, commands, capsys):
    commands.codes["--check"] = 3
    assert dev.test(Path("/v/bin/python"), []) == 3
    assert [command[0].rpartition("/")[2] for command in commands.ran] == ["ruff", "ruff"]
    assert "ruff format failed" in capsys.readouterr().err


def test_all_checks_run(dev, commands):
    assert dev.test(Path("/v/bin/python"), ["-k", "one"]) == 0
    assert [command[0].rpartition("/")[2] for command in commands.ran] == [
        "ruff",
        "ruff",
        "lint-imports",
        "mypy",
        "python",
        "python",
    ]
    assert commands.ran[-2][-1] == str(ROOT / "packaging" / "locks.py")
    assert commands.ran[-1][1:] == ["-m", "pytest", "-n", "2", "-k", "one"]


def test_the_oldest_dependencies_get_their_own_environment(dev, commands, checkout):
    python = checkout / ".venv" / "bin" / "python"
    assert dev.test(python, ["--lowest", "-k", "one"]) == 0
    resolve, *_, test = commands.ran
    assert resolve[:5] == [str(python), "-m", "uv", "pip", "compile"]
    assert "lowest-direct" in resolve
    oldest = str(checkout / ".venv-lowest" / "bin" / "python")
    assert test == [oldest, "-m", "pytest", "-n", "2", "-k", "one"]


@pytest.mark.parametrize(
    ("machine", "glibc", "lock"),
    [
        ("x86_64", (2, 28), "x86_64-glibc-2.28.lock"),
        ("x86_64", (2, 33), "x86_64-glibc-2.28.lock"),
        ("x86_64", (2, 34), "requirements.lock"),
        ("x86_64", (3, 0), "requirements.lock"),
        ("aarch64", (2, 28), "requirements.lock"),
        ("aarch64", (2, 38), "requirements.lock"),
        ("aarch64", (2, 39), "aarch64-glibc-2.39.lock"),
    ],
)
def test_each_machine_has_its_lock(dev, machine, glibc, lock):
    path = dev.lock_for(machine, glibc).path
    assert path.name == lock
    assert "--hash=sha256:" in path.read_text()


@pytest.mark.parametrize(
    ("machine", "glibc", "here"),
    [
        ("x86_64", (2, 17), "x86_64 with glibc 2.17"),
        ("x86_64", None, "x86_64 without glibc"),
        ("riscv64", (2, 40), "riscv64 with glibc 2.40"),
    ],
)
def test_where_no_lock_fits_one_line_says_what_does(dev, machine, glibc, here, monkeypatch, capsys):
    monkeypatch.setattr(dev, "prepare_system", lambda for_tests: None)
    monkeypatch.setattr(dev.sys, "platform", "linux")
    monkeypatch.setattr(dev.platform, "machine", lambda: machine)
    libc = ("glibc", ".".join(map(str, glibc))) if glibc else ("", "")
    monkeypatch.setattr(dev.platform, "libc_ver", lambda: libc)
    assert dev.main(["run"]) == 1
    assert capsys.readouterr().err == (
        f"dev.py: no lock fits {here}: x86-64 or ARM (aarch64) with glibc 2.28 or later is needed\n"
    )


def test_the_program_names_the_same_libraries(dev):
    from viewer.cli.libraries import PACKAGES

    assert {k: v for packages in PACKAGES.values() for k, v in packages.items()} == dev.LIBRARIES


def test_without_a_display_the_demo_becomes_files(dev, commands, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dev, "FIRST_LOOK", tmp_path / "first-look")
    monkeypatch.setattr(dev, "has_display", lambda: False)
    assert dev.run(Path("/v/bin/python"), []) == 0
    assert [command[3] for command in commands.ran] == ["demo", "report", "shot"]
    out = capsys.readouterr().out
    assert commands.ran[-1][-1] == str(tmp_path / "first-look" / "picture.png")
    assert str(tmp_path / "first-look" / "report.txt") in out


def test_with_a_display_the_window_opens(dev, commands, monkeypatch):
    monkeypatch.setattr(dev, "has_display", lambda: True)
    assert dev.run(Path("/v/bin/python"), ["x.sqlite"]) == 0
    assert dev.run(Path("/v/bin/python"), []) == 0
    assert [command[1:] for command in commands.ran] == [
        ["-m", "viewer", "x.sqlite"],
        ["-m", "viewer", "demo"],
    ]


@pytest.mark.parametrize("words", [[], ["build"], ["--help"]])
def test_wrong_usage_is_2(dev, words, capsys):
    assert dev.main(words) == 2
    assert "packaging/dev.py run" in capsys.readouterr().err


def test_the_locks_name_every_dependency(dev):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = [text.split(";")[0].split(">")[0].split("=")[0].strip().lower() for text in wanted]
    for lock in dev.LOCKS:
        locked = lock.path.read_text().lower()
        assert [name for name in names if f"\n{name}==" not in f"\n{locked}"] == []


def test_ci_runs_the_tests():
    script = ROOT / ".ci" / "run"
    assert "packaging/dev.py test" in script.read_text()
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_coverage_is_reported_after_tests_that_passed(dev, commands):
    python = Path("/v/bin/python")
    assert dev.test(python, ["--coverage", "tests/rows"]) == 0
    assert [command[1:] for command in commands.ran] == [
        ["-m", "coverage", "run", "-m", "pytest", "tests/rows"],
        [str(ROOT / "packaging" / "coverage_layers.py")],
        ["-m", "coverage", "report"],
    ]
    commands.codes["report"] = 2
    assert dev.test(python, ["--coverage"]) == 2
    commands.ran.clear()
    commands.codes["run"] = 1
    assert dev.test(python, ["--coverage"]) == 1
    assert len(commands.ran) == 1


def test_coverage_is_counted_layer_by_layer():
    spec = importlib.util.spec_from_file_location("layers", ROOT / "packaging" / "coverage_layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    measured = {
        name: {"summary": {"num_statements": lines, "covered_lines": ran}}
        for name, lines, ran in (
            ("viewer/rows/gpu.py", 10, 9), ("viewer/rows/tree.py", 30, 30),
            ("viewer/analysis/time/scope.py", 5, 1), ("viewer/logs.py", 7, 7),
        )
    }  # fmt: skip
    assert module.layers(measured) == {"analysis": (5, 1), "modules beside them": (7, 7), "rows": (40, 39)}


def test_coverage_counts_the_layers_below_qt():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (lower,) = (c for c in project["tool"]["importlinter"]["contracts"] if "library" in c["name"])
    counted = project["tool"]["coverage"]["report"]["include"]
    packages = [name.replace(".", "/") for name in lower["source_modules"]]
    assert {f"{name}/**" for name in packages if (ROOT / name).is_dir()} == set(counted) - {"viewer/*.py"}


def test_mutate_runs_in_the_checkout(dev, commands):
    commands.codes["--sample"] = 1
    assert dev.mutate(Path("/v/bin/python"), ["--sample", "9"]) == 1
    assert commands.ran == [["/v/bin/python", "-m", "tests.mutation", "--sample", "9"]]
