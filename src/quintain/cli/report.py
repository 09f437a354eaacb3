"""`quintain report RUN`: one self-contained HTML page with curves, stops, timing, sample trajectories, algorithm and config."""

from __future__ import annotations

import argparse
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Write the page and print where it is."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain report", description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("--out", type=Path, help="where to write (default: report.html in the run folder)")
    given = parser.parse_intermixed_args(arguments)
    from quintain.evals.report import write_report
    from quintain.ledger import NotARun

    if not (given.run / "run.json").exists() and (pages := sorted(map(str, given.run.glob("suite-*.html")))):
        raise NotARun(
            f"{given.run} is no run; it keeps evaluations of suites, whose pages `eval` has written: open {', '.join(pages)}"
        )
    print(write_report(given.run, given.out))
    return 0
