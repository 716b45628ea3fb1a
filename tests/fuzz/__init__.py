"""Damaged input, made from a seed: it is answered or refused in one line, and never ends the process.

    python -m tests.fuzz [--count N] [--seed S] [--only KIND ...] [--keep FOLDER]

Each module named in `__main__.KINDS` is one kind of input and has two functions::

    def prepare(originals: Path) -> None:
        Make what is to be damaged, once, in an empty folder; it is not changed afterwards.

    def attempt(seed: int, originals: Path, folder: Path) -> str:
        Damage a copy in `folder` (empty, its own) as `seed` says, and read it. Return what is wrong with how
        the program took it, in one line; "" where nothing is. The same seed does the same damage.

`attempt` runs in a process of its own (`worker`), with a private home, store and temporary folder; the
driver sees to deaths, hangs and what is left in the temporary folder. `trial` runs a command in that process
and says what of its answer is against the rules.
"""
