"""Write the generated pages of docs/ from the registry: worlds, parts, papers, configuration, learning. `--check` only compares.

python tools/pages.py [--check]
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from world_pages import world_pages

from quintain.cli.config import keys
from quintain.cli.list import papers, parts, recipes
from quintain.envs.scaffold import Scaffold
from quintain.testing.exercises import VOCAB
from quintain.testing.learning import ENDS

DOCS = Path(__file__).parents[1] / "docs"
CASES = Path(__file__).parents[1] / "tests" / "cases"
LEARNED = Path(__file__).parents[1] / "claims" / "learning" / "results.json"  # written by tools/learn.py
ENDED = """A run that ended with an error has no gain here. `dapo` replaces groups whose rewards are equal; at steps 90 to 96 a step
of 32 groups would have needed more than `run.max_refills` = 64 of them. With 512 the run goes on, and a step plays many more episodes.

"""
NOTE = "<!-- written by tools/pages.py from the registry: change the code, not this page -->\n\n"


def table(rows: list[dict[str, object]], columns: dict[str, str]) -> str:
    """Rows as a Markdown table."""
    head = "| " + " | ".join(columns.values()) + " |\n|" + "---|" * len(columns) + "\n"
    cells = (" | ".join(str(r[c]).replace("|", "\\|") or "-" for c in columns) for r in rows)
    return head + "".join(f"| {row} |\n" for row in cells)


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

A file of one's own behind a recipe changes the keys that it names: `quintain train words mine.toml level=3`, where `mine.toml` is

```toml
[run]
name = "rooms"
steps = 200
[env]
name = "FourRooms"                      # world=FourRooms on the command line
levels = [1, 2]                         # level=1-2
params = {{ size = 9 }}
[warm_start]
steps = 200
```

Options belong to a name: another algorithm, engine, rollout or world comes without those of the one before.

## Recipes

{table(recipes(), {"name": "recipe", "summary": "what it trains"})}
## Keys

{table(rows, {"key": "key", "default": "default", "help": "meaning"})}
## What `env.scaffold` takes

Such as `env.scaffold.image=256`, for worlds.

{table(scaffold(), {"key": "option", "default": "default", "help": "meaning"})}"""


def scaffold() -> list[dict[str, object]]:
    """Every option of a scaffold, its default, and what its docstring says of it."""
    told = inspect.cleandoc(Scaffold.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    meant = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", told, re.MULTILINE))
    return [
        {
            "key": f"`{field.name}`",
            "default": f"`{json.dumps(field.default)}`",
            "help": " ".join(meant[field.name].split()).rstrip("."),
        }
        for field in dataclasses.fields(Scaffold)
    ]


def learning_page() -> str:
    """What every alias gained on its exercise, over the seeds that were run, and what came of KeyDoor."""
    found = json.loads(LEARNED.read_text())
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in found["rows"]:
        row["where"] = found["machines"][row["machine"]]
        groups.setdefault((row["alias"], row["preset"], row["on"]), []).append(row)
    small = {key: rows for key, rows in sorted(groups.items()) if key[2] != "keydoor"}
    real = {key: rows for key, rows in sorted(groups.items()) if key[2] == "keydoor"}
    lines, tries = (
        [learned(*key, rows) for key, rows in small.items()],
        [row for rows in small.values() for row in rows],
    )
    missed = ", ".join(f"{line['name']} ({line['failed']} of {line['count']})" for line in lines if line["failed"])
    columns = {"name": "algorithm", "on": "exercise", "seeds": "seeds", "mean": "mean gain"}
    columns |= {"spread": "least and most", "asked": "asked"}
    figures = [tuple((r["seed"], r["first"], r["last"]) for r in rows) for rows in small.values()]
    same = sum(figures.count(one) > 1 for one in figures)
    seeds = f"{min(row['seed'] for row in tries)}-{max(row['seed'] for row in tries)}"
    return f"""# Learning

What the algorithms gain on more seeds than the learning tests have (`make learning`: seed 1, and 2 and 3 where that is too
little, as rounding differs between processors). A tiny language model of {VOCAB}
tokens answers contexts by a table that it has to find out; each family has an exercise on which planted wrong forms (another sign, another
member's advantage, another anchor) fail (`src/quintain/testing/exercises.py`). The gain is the mean reward of the last {ENDS}
steps less that of the first {ENDS}, with rewards in [0, 1]; *asked* is what the test wants.

Gains on an exercise say that a method learns, not that it is better than another: learning rates are those of the exercise, the
same for all. {same} forms share their figures with others to the fourth digit, seed by seed, as what sets them apart does not act there
(a clip that nothing reaches, say); numeric cases and contract tests tell those apart.

{len(tries)} runs of {len(small)} forms, {sum(row["passed"] for row in tries)} of them passed, on {found["date"]}: {machines(tries)}.
{"Not passed: " + missed + "." if missed else "All passed."} Command: `make learn ARGS="--seeds {seeds}"`; begun again, it goes on where
it was.

{table(lines, columns)}
## KeyDoor

{keydoor(real)}"""


def machines(rows: list[dict[str, Any]]) -> str:
    """Where rows were measured."""
    return "; ".join(sorted({row["where"] for row in rows}))


def keydoor(real: dict[tuple[str, str, str], list[dict[str, Any]]]) -> str:
    """What came of training runs in a world."""
    if not real:
        return "None was run for this page: `python tools/learn.py worlds` does it.\n"
    lines, runs = [learned(*key, rows) for key, rows in real.items()], [row for rows in real.values() for row in rows]
    columns = {"name": "algorithm", "seeds": "seeds", "before": "success before", "mean": "mean gain"}
    columns |= {"spread": "least and most", "failed": "ended with an error"}
    return f"""Success held out, before the reinforcement steps and after them, of `quintain train keydoor algorithm=ALIAS seed=SEED`: what
a method that is put into a recipe tuned for `grpo` makes of it, not which method is best. {len(runs)} runs on {machines(runs)}.

{ENDED if any(line["failed"] for line in lines) else ""}{table(lines, columns)}"""


def learned(alias: str, preset: str, on: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A form of an algorithm on a task as a line of the table; a training run that ended with an error has gained nothing to tell."""
    whole = [row for row in rows if row["passed"] or on != "keydoor"]
    gains = [row["last"] - row["first"] for row in whole]
    return {
        "name": f"`{alias}`" + (f", `{preset}`" if preset else ""),
        "on": on,
        "seeds": ", ".join(str(row["seed"]) for row in rows),
        "before": f"{sum(row['first'] for row in rows) / len(rows):.2f}",
        "mean": f"{sum(gains) / len(gains):.2f}" if gains else "-",
        "spread": f"{min(gains):.2f}, {max(gains):.2f}" if gains else "-",
        "asked": f"{rows[0].get('asked', 0.0):.2f}",
        "count": len(rows),
        "failed": sum(not row["passed"] for row in rows),
    }


PAGES = {
    "parts.md": parts_page,
    "papers.md": papers_page,
    "config.md": config_page,
    "learning.md": learning_page,
}


def all_pages() -> dict[str, str]:
    """Path below docs/ -> text of the file."""
    pages = {name: write() for name, write in PAGES.items()} | world_pages()
    return {name: NOTE + text.rstrip() + "\n" for name, text in pages.items()}


def main() -> int:
    """Write the pages, or say which are stale; pages of worlds that are gone are removed."""
    check, stale, pages = "--check" in sys.argv, [], all_pages()
    for name, text in pages.items():
        path = DOCS / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
    for path in (DOCS / "worlds").glob("*.md"):
        if f"worlds/{path.name}" not in pages:
            stale.append(f"worlds/{path.name}")
            if not check:
                path.unlink()
    print(f"{'stale' if check else 'written'}: {', '.join(stale) or 'none'}")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
