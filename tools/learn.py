"""Every alias on the exercise of its family with more seeds, and a few of them on KeyDoor: what docs/learning.md is written from.

python tools/learn.py run [--seeds 1-5] [--minutes M] [--only ALIAS]      adds rows to runs/learning.jsonl; begun again, it goes on
python tools/learn.py worlds [--seeds 0-2] [--minutes M]                  the same for KeyDoor, one training run a row
python tools/learn.py collect                                             the rows of today's code -> claims/learning/results.json

Rows of that file count as measured: a fresh clone goes on where it ends.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
ROWS, RESULTS = ROOT / "runs" / "learning.jsonl", ROOT / "claims" / "learning" / "results.json"
WORLD = "keydoor"  # the recipe
FEW = ("grpo", "rloo", "ppo", "dapo", "gspo", "cispo", "dppo", "gigpo")  # trained on KeyDoor too

Row = dict[str, Any]


class Cell(NamedTuple):
    """One run: an alias, a preset of it or "", what it is tried on, a seed, and a digest of both as they stand in the code."""

    alias: str
    preset: str
    on: str
    seed: int
    digest: str


def digest(*what: Any) -> str:
    """The first digits of a hash, so that rows of another exercise or another form of a method are never mixed in."""
    return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


def made(alias: str, preset: str) -> Any:
    """An algorithm as its learning test has it: what a preset says is not bent by the example."""
    from quintain.algorithms import assemble
    from quintain.registry import entry

    tags = entry("algorithm", alias).tags
    said = tags.get("presets", {}).get(preset, {})
    return assemble(alias, {k: v for k, v in tags.get("example", {}).items() if k not in said}, form=preset)


def cells(seeds: Sequence[int]) -> Iterator[Cell]:
    """Every run on an exercise, seed after seed, so that what is there when time is up is balanced."""
    from quintain.registry import entries
    from quintain.testing.exercises import EXERCISES

    forms = []
    for e in entries("algorithm"):
        named = [facts.get("preset", "") for facts in e.tags.get("methods", {}).values() if "shown" not in facts]
        on = e.tags.get("learns", "pick")
        for preset in dict.fromkeys(["", *named]) if on != "none" else ():
            forms.append((e.name, preset, on, json.dumps(made(e.name, preset).expand())))
    for seed in seeds:
        for alias, preset, on, chains in forms:
            task = EXERCISES[on]
            shape = {name: getattr(task, name) for name in task.__dataclass_fields__ if name != "score"}
            yield Cell(alias, preset, on, seed, digest(sorted(shape.items()), chains))


def measure(cell: Cell) -> Row:
    """Train once on an exercise."""
    from quintain.testing.exercises import EXERCISES
    from quintain.testing.learning import practise

    exercise, began = EXERCISES[cell.on], time.perf_counter()
    found = practise(made(cell.alias, cell.preset), exercise, seed=cell.seed)
    return {
        **cell._asdict(),
        "first": round(found.first, 4),
        "last": round(found.last, 4),
        "passed": found.passes(exercise),
        "asked": exercise.gain,
        "seconds": round(time.perf_counter() - began, 1),
        "machine": machine(),
    }


def world_cells(seeds: Sequence[int]) -> Iterator[Cell]:
    """Every run on KeyDoor."""
    recipe = (ROOT / "recipes" / f"{WORLD}.toml").read_text()
    for seed in seeds:
        for alias in FEW:
            yield Cell(alias, "", WORLD, seed, digest(recipe, json.dumps(made(alias, "").expand())))


def train(cell: Cell) -> Row:
    """Train once on KeyDoor by the command that users type, and read the run's own evaluations."""
    folder, began = ROOT / "runs" / "learning" / f"{cell.alias}-{cell.seed}", time.perf_counter()
    words = [f"algorithm={cell.alias}", f"seed={cell.seed}", f"run.folder={folder.parent}", f"name={folder.name}"]
    command = [sys.executable, "-m", "quintain", "train", cell.on, *words, "--fresh"]
    with (folder.parent.with_suffix(".log")).open("a") as log:
        ended = subprocess.run(command, stdout=log, stderr=log, check=False, env=os.environ)
    rates = success(folder)
    return {
        **cell._asdict(),
        "first": rates[0] if rates else 0.0,
        "last": rates[-1] if rates else 0.0,
        "passed": ended.returncode == 0,
        "seconds": round(time.perf_counter() - began, 1),
        "machine": machine(),
    }


def success(folder: Path) -> list[float]:
    """Held-out success at each evaluation of a run."""
    from quintain.ledger import RunDir

    if not (folder / "run.json").exists():
        return []
    with RunDir.open(folder) as store:
        return [round(e.payload["eval/success"], 4) for e in store.events(["eval"]) if "eval/success" in e.payload]


def known(path: Path, record: Path | None = None) -> dict[Cell, Row]:
    """The rows of a file, over those on record; a line that was cut off in the middle is not one."""
    kept = json.loads(record.read_text()) if record is not None and record.exists() else {"rows": [], "machines": []}
    rows = [{**row, "machine": kept["machines"][row["machine"]]} for row in kept["rows"]]
    for line in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return {Cell(*(row[name] for name in Cell._fields)): row for row in rows}


def run(wanted: Sequence[Cell], path: Path, minutes: float, record: Path | None = None) -> int:
    """Measure what the file and the record lack until time is up; each row is written as soon as it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done, until = known(path, record), time.monotonic() + 60 * minutes
    left = [cell for cell in wanted if cell not in done]
    if (
        path.exists() and path.read_text() and not path.read_text().endswith("\n")
    ):  # the last process ended within a line
        path.write_text(path.read_text() + "\n")
    for i, cell in enumerate(left):
        if time.monotonic() > until:
            print(f"time is up: {len(left) - i} of {len(wanted)} runs are left; the same command goes on with them")
            return 0
        row = train(cell) if cell.on == WORLD else measure(cell)
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        gc.collect()
        name = " ".join(filter(None, (cell.alias, cell.preset, "on", cell.on)))
        print(
            f"{i + 1}/{len(left)} {name}, seed {cell.seed}: {row['first']} -> {row['last']}, {row['seconds']} s",
            flush=True,
        )
    return 0


def collect(path: Path, target: Path = RESULTS) -> int:
    """The rows that are of today's code, in order, beside their machines and the day; others are left out and counted."""
    found = known(path, target)
    seeds = sorted({cell.seed for cell in found})
    today = [*cells(seeds), *world_cells(seeds)]
    rows = [found[cell] for cell in sorted(set(today) & set(found))]
    machines = sorted({row["machine"] for row in rows})
    head = {"date": time.strftime("%Y-%m-%d"), "machines": machines, "stale": len(found) - len(rows)}
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps({**row, "machine": machines.index(row["machine"])}) for row in rows)
    target.write_text(json.dumps(head)[:-1] + ', "rows": [\n' + lines + "\n]}\n")
    print(f"{len(rows)} rows, {head['stale']} of other code left out")
    return 0


def machine() -> str:
    """Processor, cores and library, in a few words."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "unknown processor")
    return f"{model}, {os.cpu_count()} cores, torch {torch.__version__}"


def numbers(text: str) -> list[int]:
    """Whole numbers from `3`, `1-5` or `1,4`.

    Example:
        >>> numbers("1-3"), numbers("2,5")
        ([1, 2, 3], [2, 5])
    """
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(each) for each in text.split(",")]


def main(arguments: Sequence[str]) -> int:
    """Run, train or collect."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "worlds", "collect"))
    parser.add_argument("--seeds", type=numbers, default="1-5", help="such as 1-5; the learning tests use seed 1")
    parser.add_argument("--minutes", type=float, default=600.0, help="no run is begun after so long")
    parser.add_argument("--only", default="", help="one alias")
    parser.add_argument("--rows", type=Path, default=ROWS)
    asked = parser.parse_args(arguments)
    if asked.action == "collect":
        return collect(asked.rows)
    if asked.action == "run":
        import torch

        torch.set_num_threads(1)
    every = cells(asked.seeds) if asked.action == "run" else world_cells(asked.seeds)
    return run([c for c in every if asked.only in ("", c.alias)], asked.rows, asked.minutes, RESULTS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
