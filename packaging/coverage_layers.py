"""Print how many lines of each layer below Qt the tests ran, from the data of `coverage run`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def layers(measured: dict[str, dict[str, dict[str, int]]]) -> dict[str, tuple[int, int]]:
    """Return the lines of each layer and how many of them ran, from the files of coverage's JSON report."""
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in measured.items():
        parts = Path(name).parts
        of_layer = lines[parts[1] if len(parts) > 2 else "modules beside them"]
        of_layer[0] += file["summary"]["num_statements"]
        of_layer[1] += file["summary"]["covered_lines"]
    return {layer: (all_lines, ran) for layer, (all_lines, ran) in sorted(lines.items())}


def main() -> None:
    """Print the table."""
    command = [sys.executable, "-m", "coverage", "json", "-q", "--fail-under", "0", "-o", "-"]
    report = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for layer, (lines, ran) in layers(json.loads(report)["files"]).items():
        print(f"{layer:20} {lines:6,} lines  {100 * ran / max(lines, 1):5.1f} %")


if __name__ == "__main__":
    main()
