"""What is only its user's business: folders and files that nobody else can look into."""

import os
import stat

import pytest

from viewer import private_files

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no such modes on Windows")


@pytest.fixture(params=[0, 0o022, 0o077, 0o277, 0o777], ids=oct)
def umask(request):
    """Each umask that a user may have, and some that nobody has."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder):
    """The modes of a folder and all in it, by name."""
    every = [folder, *folder.rglob("*")]
    return {path.name: oct(stat.S_IMODE(path.lstat().st_mode)) for path in every}


def test_what_is_made_is_readable_by_its_user_alone(tmp_path, umask):
    folder = tmp_path / "above" / "below"
    private_files.make_folder(folder)
    part = private_files.make_part(folder)
    with private_files.create(part / "file") as out:
        out.write(b"content")
    found = modes(tmp_path / "above")
    assert found == {"above": "0o700", "below": "0o700", part.name: "0o700", "file": "0o600"}


def test_a_file_is_never_written_over(tmp_path):
    (tmp_path / "file").write_text("before")
    with pytest.raises(FileExistsError):
        private_files.create(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "before"


def test_what_was_made_before_is_closed_to_others(tmp_path):
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    (folder / "inner").mkdir(parents=True)
    for file in (folder / "file", folder / "inner" / "file2", elsewhere):
        file.write_text("")
        file.chmod(0o644)
    (folder / "link").symlink_to(elsewhere)
    for path in (folder, folder / "inner"):
        path.chmod(0o755)
    private_files.make_folder(folder)
    found = modes(folder)
    assert [found[name] for name in ("folder", "inner", "file", "file2")] == [
        "0o700", "0o700", "0o600", "0o600",
    ]  # fmt: skip
    assert modes(elsewhere) == {"elsewhere": "0o644"}


def test_a_disk_without_modes_is_no_obstacle(tmp_path, monkeypatch):
    def refuse(*arguments, **more):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    private_files.make_folder(tmp_path / "folder")
    with private_files.create(tmp_path / "folder" / "file") as out:
        out.write(b"content")
    private_files.close_to_others(tmp_path / "folder")
    assert (tmp_path / "folder" / "file").read_bytes() == b"content"
