"""How long `import quintain` and `quintain --help` take: medians of whole processes, less nothing."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path


def seconds(command: list[str], runs: int = 15) -> float:
    """Median wall seconds of a command."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the two figures; the import is what it adds to an empty interpreter."""
    empty = seconds([sys.executable, "-c", "pass"])
    imported = seconds([sys.executable, "-c", "import quintain"]) - empty
    helped = seconds([str(Path(sys.executable).with_name("quintain")), "--help"])
    rows = [
        {
            "name": "import quintain, ms",
            "ours": 1000 * imported,
            "peer": None,
            "ratio": None,
            "target": "<= 100",
            "holds": imported <= 0.1,
        },
        {
            "name": "quintain --help, ms",
            "ours": 1000 * helped,
            "peer": None,
            "ratio": None,
            "target": "<= 300",
            "holds": helped <= 0.3,
        },
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
