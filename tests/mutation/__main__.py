"""``python -m tests.mutation``: a sample of faults, the survivors in a line each, and the score."""

import argparse
import random
import sys
import tempfile

from tests.mutation.faults import faults_of
from tests.mutation.tree import Tree, load_libraries

TESTS = ("analysis", "rows", "drawing")


def main():
    """Run and return the exit code: 1 where the score is below what is asked."""
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__.split(": ")[1])
    parser.add_argument(
        "--package", nargs="+", default=["analysis", "rows"], help="below viewer/ (analysis rows)"
    )
    parser.add_argument("--tests", nargs="+", default=TESTS, help=f"below tests/ ({' '.join(TESTS)})")
    parser.add_argument("--sample", type=int, default=100, help="how many faults; 0: all (100)")
    parser.add_argument("--seed", type=int, default=0, help="which sample (0)")
    parser.add_argument(
        "--seconds", type=float, default=60, help="processor time of tests a fault, beside the mirror's (60)"
    )
    parser.add_argument("--least", type=float, default=0, help="the score to reach, per cent (0)")
    asked = parser.parse_args()
    outcomes = {"killed": 0, "timeout": 0, "survived": 0}
    with tempfile.TemporaryDirectory(prefix="lightbox-mutation-") as folder:
        tree = Tree(folder)
        chosen, count = sampled(tree.root, asked.package, asked.sample, asked.seed)
        print(
            f"{len(chosen)} of {count} faults; running the tests without any ...", file=sys.stderr, flush=True
        )
        watched = tree.watch(asked.package, [f"tests/{name}" for name in asked.tests])
        load_libraries()
        for number, (module, fault) in enumerate(chosen, 1):
            tests = watched.concerned(module, fault.statement, asked.seconds)
            text = fault.applied((tree.root / module).read_text("utf-8"))
            outcome = tree.outcome(module, text, tests, watched.seconds)
            outcomes[outcome] += 1
            print(f"{number} {outcome} {module}:{fault.line}: {fault.what}", file=sys.stderr, flush=True)
            if outcome == "survived":
                line = text.splitlines()[fault.line - 1].strip()
                print(f"{module}:{fault.line}: {fault.what}: {line}", flush=True)
    score = 100 * (1 - outcomes["survived"] / max(len(chosen), 1))
    print(
        f"{score:.1f} % of {len(chosen)} faults are seen: "
        + ", ".join(f"{n} {o}" for o, n in outcomes.items())
    )
    return 1 if score < asked.least else 0


def sampled(root, packages, count, seed):
    """Return so many faults of some packages of a checkout, by module and line, and how many there are."""
    every = [
        (str(path.relative_to(root)), fault)
        for package in packages
        for path in sorted((root / "viewer" / package).rglob("*.py"))
        for fault in faults_of(path.read_text("utf-8"))
    ]
    if not 0 < count < len(every):
        return every, len(every)
    return sorted(random.Random(seed).sample(every, count)), len(every)


if __name__ == "__main__":
    sys.exit(main())
