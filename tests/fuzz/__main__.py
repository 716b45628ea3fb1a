"""``python -m tests.fuzz``: many attempts, each fault in a line."""

import argparse
import sys
from pathlib import Path

from tests.fuzz import driver

KINDS = ("sqlite", "folders", "reports", "store", "sessions")


def main():
    """Run and return the exit code: 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Damage input, and look how it is taken.")
    parser.add_argument("--count", type=int, default=500, help="attempts of each kind (500)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, help="kinds of input")
    parser.add_argument("--keep", type=Path, help="where the input of what goes wrong is kept")
    asked = parser.parse_args()
    wrong = 0
    for kind in asked.only:
        seeds = range(asked.seed, asked.seed + asked.count)

        def say(seed, fault, kind=kind):
            if fault:
                print(f"{kind} {seed}: {fault}", flush=True)
            elif seed % 100 == 99:
                print(f"{kind} {seed} ...", file=sys.stderr, flush=True)

        found = driver.run(kind, seeds, asked.keep, say)
        print(f"{kind}: {len(found)} of {asked.count} went wrong", flush=True)
        wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
