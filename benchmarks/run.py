"""Run every benchmark and write docs/benchmarks.md: `make bench`, or `python benchmarks/run.py worlds startup`.

`python benchmarks/run.py kills=OUTPUT` takes what `python benchmarks/kills.py > OUTPUT` printed, in place of running it.

A benchmark is a script whose last line is one JSON object, or a list of them: name, ours, peer, ratio, target, holds, note.
Results are kept in benchmarks/results.json, so that one benchmark can be run alone and the page stays whole.
"""

from __future__ import annotations

import ast
import functools
import itertools
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Every figure below comes from a script in `benchmarks/`; its command stands above it. `make bench` runs all of them and writes
this page. Peers run in the same script, in turn with ours, on the same machine. A target that is missed is shown as missed.
A commit names the tree that was measured; one that the log does not hold has been joined with later ones.

"""


def names() -> list[str]:
    """Every benchmark: a script here that is not this one and no helper."""
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem != "run" and not p.stem.startswith("_"))


def machine() -> str:
    """Processor and cores, in a few words."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), platform.machine())
    return f"{model}, {sum(line.startswith('processor') for line in lines)} cores"


@functools.cache
def commit() -> str:
    """The commit that is measured, marked if files differed from it at the start."""
    asked = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def measure(name: str) -> list[dict]:
    """Run one script and read its last line."""
    done = subprocess.run([sys.executable, HERE / f"{name}.py"], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"benchmarks/{name}.py failed with status {done.returncode}")
    return read(name, done.stdout)


def read(name: str, output: str) -> list[dict]:
    """The results in the last line of what a script printed."""
    found = json.loads(output.strip().splitlines()[-1])
    rows = found if isinstance(found, list) else [found]
    where = {"commit": commit(), "date": time.strftime("%Y-%m-%d"), "machine": machine()}
    for row in rows:
        row |= {"command": f"python benchmarks/{name}.py", **where}
    return rows


def number(value: object) -> str:
    """A figure for the page."""
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value) if value not in (None, "") else "-"


def held(results: dict[str, list[dict]]) -> str:
    """How many of the targets hold, in words."""
    asked = [row["holds"] for rows in results.values() for row in rows if row.get("holds") is not None]
    return f"{sum(asked)} of {len(asked)} targets hold"


def page(results: dict[str, list[dict]]) -> str:
    """The page of all results: a section for each script, a table for each commit and machine that it ran on."""
    told = HEAD + f"{held(results)}.\n"
    for name in sorted(results):
        text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""
        told += f"\n## {name}\n\n{text.partition(chr(10) * 2)[0]}\n"
        for where, rows in itertools.groupby(
            results[name], key=lambda row: (row["commit"], row["date"], row["machine"])
        ):
            told += f"\n`python benchmarks/{name}.py`, {', '.join(where)}\n\n" + _table(list(rows))
    return told


def _table(rows: list[dict]) -> str:
    """The figures of one run of a script, and the notes on them."""
    lines = ["| figure | ours | peer | ratio | target | holds |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["name"], *(number(row.get(k)) for k in ("ours", "peer", "ratio", "target", "holds"))]
        lines.append(f"| {' | '.join(cells)} |")
    notes = [f"- **{row['name']}**: {row['note']}" for row in rows if row.get("note")]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def main() -> None:
    """Run the named benchmarks, or all, and write the page."""
    commit()  # before results are written
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for word in sys.argv[1:] or names():
        name, _, output = word.partition("=")
        print(f"== {name}", flush=True)
        found = read(name, Path(output).read_text()) if output else measure(name)
        if not found:
            print("nothing could be measured here; what is known stays", flush=True)
            continue
        results[name] = found
        for row in results[name]:
            print(json.dumps(row), flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
    print(f"{held(results)}; {PAGE}")


if __name__ == "__main__":
    main()
