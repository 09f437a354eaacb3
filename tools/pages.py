"""Write the generated pages of docs/ from the registry: worlds, parts, papers, configuration, learning. `--check` only compares.

python tools/pages.py [--check]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintain.cli.config import keys
from quintain.cli.list import papers, parts, recipes, worlds
from quintain.testing.exercises import VOCAB
from quintain.testing.learning import ENDS

DOCS = Path(__file__).parents[1] / "docs"
CASES = Path(__file__).parents[1] / "tests" / "cases"
LEARNED = Path(__file__).parents[1] / "claims" / "learning" / "results.json"  # written by tools/learn.py
HONEST = Path(__file__).parents[1] / "claims" / "worlds" / "honest.json"  # written by tools/honest.py
NOTE = "<!-- written by tools/pages.py from the registry: change the code, not this page -->\n\n"


def table(rows: list[dict[str, object]], columns: dict[str, str]) -> str:
    """Rows as a Markdown table."""
    head = "| " + " | ".join(columns.values()) + " |\n|" + "---|" * len(columns) + "\n"
    cells = (" | ".join(str(r[c]).replace("|", "\\|") or "-" for c in columns) for r in rows)
    return head + "".join(f"| {row} |\n" for row in cells)


MEASURED = {
    "name": "world", "oracle": "the oracle earns", "players": "players who do not look", "distinct": "starts that differ, of 10,000",
    "late": "slowest hundredth of starts, ms",
}  # fmt: skip


def worlds_page() -> str:
    """Every world, and what the honest tests hold it to."""
    rows = worlds()
    for row in rows:
        row["ceilings"] = ", ".join(f"{k} {v:g}" for k, v in row["ceilings"].items())
    columns = {
        "name": "world", "domain": "domain", "engine": "engine", "seats": "seats", "oracle": "oracle",
        "ceilings": "highest mean reward of simple players", "summary": "task",
    }  # fmt: skip
    engines = sorted({str(r["engine"]) for r in rows})
    measured: list[dict[str, object]] = [
        {"name": name, **_measured(row)} for name, row in sorted(json.loads(HONEST.read_text()).items())
    ]
    return f"""# Worlds

{len(rows)} worlds on {len(engines)} engines ({", ".join(engines)}). Each has levels 0 to 9, splits that share no layout up to symmetry
where layouts exist, an oracle that answers from any reachable state, and text and picture of the same state.

![Every world at three levels](pictures/worlds.png)

{table(rows, columns)}
The class of an oracle: `solver` is exact; `policy` is a strong player of a game of chance or against an opponent.

## What keeps them honest

Contract tests run over the registry (`tests/contracts/test_worlds*.py`), so a new world is held to them at once: the same observation
from the same seed in two processes with different hash seeds; the oracle earns the full reward; random, constant, first-legal and blind
players stay below the ceilings above; a snapshot restored from JSON has the same future; a fork does not touch its origin; malformed
actions are events, never exceptions, and never earn anything; what a seat may not see never changes what it is shown; wrong answers
made by mutation are rejected; harder levels take longer plans or more search; pictures equal golden ones.

Each commit looks at other seeds and levels, a few of each world. `make honest` plays all instances of the worlds whose code has changed
and writes what came of it to `claims/worlds/honest.json`, with a hash of all code that the world stands on; tests fail where the hash
is another or the row does not show what is declared. Of levels 2 to 9, {measured[0]["episodes"]} episodes each; starts are at level 5:

{table(measured, MEASURED)}
"""


def _measured(row: Mapping[str, Any]) -> dict[str, object]:
    """A row of `make honest` as the page shows it."""
    players = ", ".join(f"{k} {v:.3f}" for k, v in row["players"].items())
    distinct = f"{row['distinct']:,}" if "distinct" in row else "the seed does not change it"
    late = f"{1000 * row['p99_s']:.1f}" if "p99_s" in row else ""
    oracle = f"{row['oracle']:.3f} in {row['oracle_episodes']}"
    return {
        "oracle": oracle,
        "players": players,
        "distinct": distinct,
        "late": late,
        "episodes": row["player_episodes"],
    }


def parts_page() -> str:
    """Every registered part."""
    rows = parts()
    columns = {"family": "family", "name": "name", "paper": "arXiv", "known": "source", "summary": "what it does"}
    head = f"# Parts\n\n{len(rows)} registered parts. Every one runs through the contract tests of `tests/contracts`."
    return f"{head}\n\n{table(rows, columns)}"


def papers_page() -> str:
    """Every named method: how to reach it, what pins it, what shows it at work; the commands; the titles."""
    rows, cases = papers(), []
    for file in sorted(CASES.glob("*.json")):
        cases += [case.get("id") or case["name"] for case in json.loads(file.read_text())]
    for row in rows:
        row["paper"] = f"[{row['arxiv']}](https://arxiv.org/abs/{row['arxiv']})" if row["arxiv"] else ""
        kind, name, *form = row["by"].split(" ")
        row["reach"] = f"{'' if kind == 'algorithm' else kind + ' '}`{name}`" + (f", `{form[-1]}`" if form else "")
        row["pinned"] = sum(case.startswith(tuple(row["cases"])) for case in cases) or ""
        row["seen"] = row["shown"].removeprefix("exercise ") if "::" not in row["shown"] else "a test"
        row["source"] = row["status"].removeprefix("read in ").removeprefix("our ")
        row["words"] = f"`{row['recipe']}`" if row["recipe"] else f"wants {row['wants']}"
    titles = {r["arxiv"]: r for r in rows if r["arxiv"]}.values()
    for row in titles:
        row["names"] = ", ".join(r["name"] for r in rows if r["arxiv"] == row["arxiv"])
        row["made"] = ", ".join(row["parts"])
    plain = [r for r in rows if r["recipe"] == f"quintain train keydoor algorithm={r['by'].split(' ')[1]}"]
    columns = {"name": "method", "paper": "arXiv", "reach": "reached by", "pinned": "cases", "seen": "shown by"}
    return f"""# Papers

{len(rows)} methods by {len(titles)} papers. Their parts have rows in the contract tests. `quintain list papers --json` has all that
stands here, with the names of cases and tests.

- *reached by*: an algorithm's alias (`algorithm=ALIAS`), with the preset that it is (`algorithm.preset=NAME`), or a part of another
  kind ([parts](parts.md)).
- *cases*: how many numeric cases of `tests/cases` compare the method with its equation, in float64.
- *shown by*: the exercise on which the alias must improve its starting policy ([learning](learning.md)), or a test of what the part does.
- *source*: what we read: the authors' code, the paper, a note on it; a `guess` is ours and not to be taken for the paper's.

{table(rows, {**columns, "source": "source"})}
## Commands

`quintain train keydoor algorithm=ALIAS` trains with the alias of {len(plain)} of the methods. The others:

{table([r for r in rows if r not in plain], {"name": "method", "words": "command"})}
## Titles

{table(list(titles), {"paper": "arXiv", "title": "title", "names": "methods", "made": "further parts"})}"""


def config_page() -> str:
    """Every key of the configuration, and the recipes."""
    rows = [{**r, "key": f"`{r['key']}`", "default": f"`{r['default']}`"} for r in keys()]
    return f"""# Configuration

A run is one TOML file, or a recipe, with `key=value` overrides on the command line. `quintain config show RECIPE` prints what results,
with the algorithm's chain expanded; an unknown key names its nearest match.

## Recipes

{table(recipes(), {"name": "recipe", "summary": "what it trains"})}
## Keys

{table(rows, {"key": "key", "default": "default", "help": "meaning"})}"""


def learning_page() -> str:
    """What every alias gained on its exercise, over the seeds that were run, and what came of KeyDoor."""
    found = json.loads(LEARNED.read_text())
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in found["rows"]:
        groups.setdefault((row["alias"], row["preset"], row["on"]), []).append(row)
    lines = [learned(*key, rows) for key, rows in sorted(groups.items())]
    small, real = ([line for line in lines if (line["on"] == "keydoor") is there] for there in (False, True))
    tries = [row for row in found["rows"] if row["on"] != "keydoor"]
    failed = [line for line in small if line["failed"]]
    missed = ", ".join(f"{line['name']} ({line['failed']} of {line['count']})" for line in failed)
    columns = {
        "name": "algorithm",
        "on": "exercise",
        "seeds": "seeds",
        "mean": "mean gain",
        "spread": "least and most",
        "asked": "asked",
    }
    world = {
        "name": "algorithm",
        "seeds": "seeds",
        "before": "success before",
        "mean": "mean gain",
        "spread": "least and most",
    }
    played = table(real, world) if real else "None was run for this page: `python tools/learn.py worlds` does it.\n"
    seeds = f"{min(row['seed'] for row in tries)}-{max(row['seed'] for row in tries)}"
    return f"""# Learning

What the algorithms gain on more seeds than the learning tests have (`make learning`, seed 1). A tiny language model of {VOCAB}
tokens answers contexts by a table that it has to find out; each family has an exercise that can tell a right method from a wrong
one (`src/quintain/testing/exercises.py`). The gain is the mean reward of the last {ENDS} steps less that of the first {ENDS}, with
rewards in [0, 1]; *asked* is what the test wants.

Gains on an exercise say that a method learns, not that it is better than another: learning rates are those of the exercise, the
same for all.

{len(tries)} runs of {len(small)} forms, {sum(row["passed"] for row in tries)} of them passed, on {found["date"]}: {found["machine"]}.
{"Not passed: " + missed + "." if missed else "All passed."} Command: `make learn ARGS="--seeds {seeds}"`; begun again, it goes on where
it was.

{table(small, columns)}
## KeyDoor

Success held out, before the reinforcement steps and after them, of `quintain train keydoor algorithm=ALIAS seed=SEED`.

{played}"""


def learned(alias: str, preset: str, on: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A form of an algorithm on a task as a line of the table."""
    gains = [row["last"] - row["first"] for row in rows]
    return {
        "name": f"`{alias}`" + (f", `{preset}`" if preset else ""),
        "on": on,
        "seeds": ", ".join(str(row["seed"]) for row in rows),
        "before": f"{sum(row['first'] for row in rows) / len(rows):.2f}",
        "mean": f"{sum(gains) / len(gains):.2f}",
        "spread": f"{min(gains):.2f}, {max(gains):.2f}",
        "asked": f"{rows[0].get('asked', 0.0):.2f}",
        "count": len(rows),
        "failed": sum(not row["passed"] for row in rows),
    }


PAGES = {
    "worlds.md": worlds_page,
    "parts.md": parts_page,
    "papers.md": papers_page,
    "config.md": config_page,
    "learning.md": learning_page,
}


def main() -> int:
    """Write the pages, or say which are stale."""
    stale = []
    for name, write in PAGES.items():
        path, text = DOCS / name, NOTE + write().rstrip() + "\n"
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text)
    print(f"{'stale' if '--check' in sys.argv else 'written'}: {', '.join(stale) or 'none'}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
