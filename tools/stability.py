"""The stability study of claims/stability/workload.toml: methods against old data, and against an engine in another precision.

python tools/stability.py run [--part 0/2] [--only METHOD]     adds rows to runs/stability.jsonl; begun again, it goes on
python tools/stability.py collect                              all rows there are -> claims/stability/results.json
python tools/stability.py page [--check]                       docs/stability.md and its pictures, or only compare
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import stability_page

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "claims" / "stability"
WORKLOAD, RESULTS = FOLDER / "workload.toml", FOLDER / "results.json"
ROWS = ROOT / "runs" / "stability.jsonl"
MEASURED = ("mismatch_mean", "mismatch_kl", "mismatch_max", "entropy", "grad_norm", "skipped")
POINTS = 16  # of the curve that a row keeps

Load = Mapping[str, Any]
Row = dict[str, Any]


class Cell(NamedTuple):
    """One run: a method, how old its data are, the precisions of engine and learner, a seed."""

    method: str
    lag: int
    engine: str
    learner: str
    seed: int


def workload(path: Path = WORKLOAD) -> dict[str, Any]:
    """The workload, with the first digits of its own hash, so that rows of another one are never mixed in."""
    text = path.read_bytes()
    return tomllib.loads(text.decode()) | {"digest": hashlib.sha256(text).hexdigest()[:12]}


def cells(load: Load) -> Iterator[Cell]:
    """Every run, seed after seed, so that what is there when a study is cut short is balanced."""
    settings = [(lag, "fp32", "fp32") for lag in load["staleness"]["lags"]]
    settings += [(0, *pair) for pair in load["mismatch"]["pairs"]]
    for seed in load["seeds"]:
        for setting in dict.fromkeys(settings):  # the pair fp32 is the lag 0
            yield from (Cell(method, *setting, seed) for method in load["method"])


def measure(load: Load, cell: Cell) -> Row:
    """Train once and say what came out."""
    from quintain.engines.torch_sample import NotFinite
    from quintain.registry import build
    from quintain.testing.exercises import EXERCISES, Exercise
    from quintain.testing.learning import practise

    exercise = Exercise(score=EXERCISES["pick"].score, behind=cell.lag, **load["exercise"])
    began, broken = time.perf_counter(), ""
    row: Row = dict(cell._asdict()) | {"workload": load["digest"]}
    try:
        found = practise(
            build("algorithm", load["method"][cell.method]),
            exercise,
            seed=cell.seed,
            engine=cell.engine,
            learner=cell.learner,
            checks=load["checks"],
        )
    except NotFinite as error:
        broken = str(error)
        row |= {"first": 0.0, "best": 0.0, "final": 0.0, "collapsed": True}
    else:
        assert found.after is not None
        row |= judged([step["reward"] for step in found.trace], found.after, load["collapse"])
        for name in MEASURED:
            values = [step[name] for step in found.trace if name in step]
            row[name] = _figure(max(values) if name.endswith("max") else sum(values) / max(1, len(values)))
        row["last_entropy"] = _figure(next(s["entropy"] for s in reversed(found.trace) if "entropy" in s))
        parts = np.array_split([step["reward"] for step in found.trace], min(POINTS, len(found.trace)))
        row["curve"] = [_figure(float(np.mean(part))) for part in parts]
    return row | {"broken": broken, "seconds": round(time.perf_counter() - began, 2)}


def _figure(value: float) -> float:
    return float(f"{value:.5g}")


def judged(rewards: Sequence[float], final: float, rule: Load) -> Row:
    """First, best and final reward, and whether the run collapsed by the workload's rule.

    Example:
        >>> rule = {"window": 1, "gained": 0.1, "kept": 0.5}
        >>> judged([0.1, 0.9, 0.6], 0.4, rule)["collapsed"], judged([0.1, 0.9, 0.6], 0.6, rule)["collapsed"]
        (True, False)
    """
    window = min(rule["window"], len(rewards))
    means = np.convolve(rewards, np.ones(window) / window, mode="valid")
    first, best = float(means[0]), float(means.max())
    lost = best - first >= rule["gained"] and final - first < rule["kept"] * (best - first)
    return {"first": _figure(first), "best": _figure(best), "final": _figure(final), "collapsed": bool(lost)}


def known(path: Path, load: Load) -> list[Row]:
    """The rows of a file that belong to this workload; a line that was cut off in the middle is not one."""
    rows: list[Row] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["workload"] == load["digest"]:
            rows.append(row)
    return rows


def cell_of(row: Row) -> Cell:
    """The run that a row is of."""
    return Cell(*(row[name] for name in Cell._fields))


def run(load: Load, path: Path, part: tuple[int, int] = (0, 1), only: str = "") -> int:
    """Measure what neither the file nor the committed results have; each row is written as soon as it is there."""
    import torch

    import quintain.testing.learning  # noqa: F401

    torch.set_num_threads(1)
    gc.disable()  # collections walk what a run keeps again and again; one after each run is enough
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {cell_of(row) for row in [*known(path, load), *collected(load)]}
    mine = [c for i, c in enumerate(cells(load)) if i % part[1] == part[0] and (not only or c.method == only)]
    left = [c for c in mine if c not in done]
    if path.exists() and not path.read_text().endswith("\n"):  # the last process ended within a line
        path.write_text(path.read_text() + "\n")
    for i, cell in enumerate(left):
        row = measure(load, cell)
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        gc.collect()
        said = f"{cell.method} lag {cell.lag} {cell.engine}/{cell.learner} seed {cell.seed}: {row['final']:.3f}"
        print(f"{i + 1}/{len(left)} {said}, {row['seconds']} s", flush=True)
    return 0


def collect(load: Load, path: Path, target: Path = RESULTS) -> int:
    """Put the rows in order, together with those that were collected before and with where they were measured."""
    found = {cell_of(row): row for row in [*collected(load, target), *known(path, load)]}
    rows = [found[cell] for cell in cells(load) if cell in found]
    if missing := len(list(cells(load))) - len(rows):
        print(f"{missing} runs are missing; the page shows whole seeds only. Go on with: python tools/stability.py run")
    head = {"workload": load["digest"], "date": time.strftime("%Y-%m-%d"), "machine": machine()}
    lines = ",\n".join(json.dumps({k: v for k, v in row.items() if k != "workload"}) for row in rows)
    target.write_text(json.dumps(head)[:-1] + ', "rows": [\n' + lines + "\n]}\n")
    return 0


def collected(load: Load, target: Path = RESULTS) -> list[Row]:
    """The committed rows, if they are of this workload."""
    found = json.loads(target.read_text()) if target.exists() else {"workload": ""}
    return found["rows"] if found["workload"] == load["digest"] else []


def machine() -> str:
    """Processor, cores and library, in a few words."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "unknown processor")
    return f"{model}, {os.cpu_count()} cores, torch {torch.__version__}"


def main(arguments: Sequence[str]) -> int:
    """Run, collect, write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "collect", "page"))
    parser.add_argument("--part", default="0/1", help="which part of how many processes this one is, such as 0/2")
    parser.add_argument("--only", default="", help="one method")
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--check", action="store_true", help="compare the page with the results, write nothing")
    asked = parser.parse_args(arguments)
    load = workload()
    if asked.action == "run":
        number, count = map(int, asked.part.split("/"))
        return run(load, asked.rows, (number, count), asked.only)
    if asked.action == "collect":
        return collect(load, asked.rows)
    study = stability_page.study_of(load, RESULTS)
    return stability_page.check(study) if asked.check else stability_page.write(study)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
