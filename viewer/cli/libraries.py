"""The system libraries that Qt loads, and how to install them."""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Iterable

PACKAGES = {
    "drawing": {
        "libglib-2.0.so.0": "libglib2.0-0",
        "libgthread-2.0.so.0": "libglib2.0-0",
        "libGL.so.1": "libgl1",
        "libEGL.so.1": "libegl1",
        "libX11.so.6": "libx11-6",
        "libdbus-1.so.3": "libdbus-1-3",
        "libfontconfig.so.1": "libfontconfig1",
        "libfreetype.so.6": "libfreetype6",
        "libxkbcommon.so.0": "libxkbcommon0",
        "libz.so.1": "zlib1g",
        "libzstd.so.1": "libzstd1",
    },
    "xcb": {
        "libX11-xcb.so.1": "libx11-xcb1",
        "libxcb.so.1": "libxcb1",
        "libxcb-cursor.so.0": "libxcb-cursor0",
        "libxcb-icccm.so.4": "libxcb-icccm4",
        "libxcb-image.so.0": "libxcb-image0",
        "libxcb-keysyms.so.1": "libxcb-keysyms1",
        "libxcb-randr.so.0": "libxcb-randr0",
        "libxcb-render.so.0": "libxcb-render0",
        "libxcb-render-util.so.0": "libxcb-render-util0",
        "libxcb-shape.so.0": "libxcb-shape0",
        "libxcb-shm.so.0": "libxcb-shm0",
        "libxcb-sync.so.1": "libxcb-sync1",
        "libxcb-util.so.1": "libxcb-util1",
        "libxcb-xfixes.so.0": "libxcb-xfixes0",
        "libxcb-xkb.so.1": "libxcb-xkb1",
        "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    },
    "wayland": {
        "libwayland-client.so.0": "libwayland-client0",
        "libwayland-cursor.so.0": "libwayland-cursor0",
    },
}
"""The libraries that Qt loads to draw and for each kind of display, with Debian's package of each."""

_NOT_FOUND = re.compile(r"^(?P<library>[\w.+-]+\.so[\w.]*): cannot open shared object file")


def not_loaded(reason: str, platforms: Iterable[str]) -> str:
    """Return, in one line, why Qt was not loaded and what to install.

    Parameters
    ----------
    reason : str
        The loader's message about the first library that it did not find.
    platforms : iterable of str
        The kinds of display that Qt is to use, by Qt's names: "xcb", "wayland-egl".
    """
    match = _NOT_FOUND.match(reason)
    if match is None:
        return f"nothing can be drawn, Qt is not loaded: {reason}"
    uses = ["drawing", *(platform.partition("-")[0] for platform in platforms)]
    wanted = [library for use in uses for library in PACKAGES.get(use, ())]
    missing = list(dict.fromkeys([match["library"], *(name for name in wanted if not _loads(name))]))
    more = f" and {len(missing) - 1} more" if missing[1:] else ""
    return f"missing for Qt: {missing[0]}{more}; {_install(missing)}"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _install(libraries: list[str]) -> str:
    known = {library: package for names in PACKAGES.values() for library, package in names.items()}
    if shutil.which("apt-get") and all(library in known for library in libraries):
        packages = dict.fromkeys(known[library] for library in libraries)
        return f"run: sudo apt-get install {' '.join(packages)}"
    for program in ("dnf", "yum", "zypper"):
        if shutil.which(program):
            names = " ".join(f"'{library}()(64bit)'" for library in libraries)
            return f"run: sudo {program} install {names}"
    return f"install with your system's package manager what holds {', '.join(libraries)}"
