"""Write the generated pages of docs/ from the registry: worlds, parts, papers, configuration. `--check` only compares.

python tools/pages.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from quintain.cli.config import keys
from quintain.cli.list import papers, parts, recipes, worlds

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "<!-- written by tools/pages.py from the registry: change the code, not this page -->\n\n"


def table(rows: list[dict[str, object]], columns: dict[str, str]) -> str:
    """Rows as a Markdown table."""
    head = "| " + " | ".join(columns.values()) + " |\n|" + "---|" * len(columns) + "\n"
    cells = (" | ".join(str(r[c]).replace("|", "\\|") or "-" for c in columns) for r in rows)
    return head + "".join(f"| {row} |\n" for row in cells)


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
    return f"""# Worlds

{len(rows)} worlds on {len(engines)} engines ({", ".join(engines)}). Each has levels 0 to 9, splits that share no layout up to symmetry
where layouts exist, an oracle that answers from any reachable state, and text and picture of the same state.

![Every world at three levels](pictures/worlds.png)

{table(rows, columns)}
The class of an oracle: `solver` is exact; `policy` is a strong player of a game of chance or against an opponent.

## What keeps them honest

Contract tests run over the registry (`tests/contracts/test_worlds*.py`; the whole slice with `make slow`), so a new world is held to them
at once: the same observation from the same seed in two processes with different hash seeds; the oracle earns the full reward;
random, constant, first-legal and blind players stay below the ceilings above; a snapshot restored from JSON has the same future; a
fork does not touch its origin; malformed actions are events, never exceptions, and never earn anything; what a seat may not see
never changes what it is shown; wrong answers made by mutation are rejected; harder levels take longer plans or more search;
pictures equal golden ones.
"""


def parts_page() -> str:
    """Every registered part."""
    rows = parts()
    columns = {"family": "family", "name": "name", "paper": "arXiv", "known": "source", "summary": "what it does"}
    head = f"# Parts\n\n{len(rows)} registered parts. Every one runs through the contract tests of `tests/contracts`."
    return f"{head}\n\n{table(rows, columns)}"


def papers_page() -> str:
    """Every paper with the parts made from it."""
    return f"# Papers\n\n{table(papers(), {'paper': 'arXiv', 'title': 'title', 'parts': 'parts'})}"


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


PAGES = {"worlds.md": worlds_page, "parts.md": parts_page, "papers.md": papers_page, "config.md": config_page}


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
