"""Access to the files of `resources/`, in an installed package and in a checkout."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def asset(name: str) -> Traversable:
    """Return one file or folder of `resources/` by its path there, ``icons/open.svg``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    package = files("viewer")
    for folder in (package / "resources", package / ".." / "resources"):
        if (file := folder.joinpath(*name.split("/"))).is_file() or file.is_dir():
            return file
    raise FileNotFoundError(f"resources/{name} is missing from this installation")
