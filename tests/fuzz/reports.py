"""Reports (.nsys-rep): their header, and what is none."""

import os
import random as randoms

from tests.fuzz import commands, damage

HEAD = b"NVIDIA Tegra Profiler Report 2024@6@1\0\x05\0\0\0"
ODD = (b"", b"SQLite format 3\0", b"ARROW1", b"{", b"words\n", b"PAR1", HEAD, b"\0" * 100, b"\xff" * 5000)


def prepare(originals):
    (originals / "report.nsys-rep").write_bytes(HEAD + bytes(range(256)) * 20)


def attempt(seed, originals, folder):
    random = randoms.Random(f"reports {seed}")
    file = folder / "report.nsys-rep"
    if random.random() < 0.6:
        file.write_bytes((originals / file.name).read_bytes())
        damage.in_bytes(random, file)
    else:
        file.write_bytes(random.choice(ODD) + random.randbytes(random.choice((0, 10, 5000))))
    os.environ["PATH"] = str(folder)
    return commands.read(random, file, folder)
