"""`quintain list worlds|parts|papers|recipes|runs [WORD]`: what there is, from the registry, a file of yours and the folder `runs`."""

from __future__ import annotations

import argparse
import inspect
import json
import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quintain.cli.args import one_of
from quintain.cli.catalogue import written
from quintain.cli.papers import papers
from quintain.registry import LISTED

HERE = Path(__file__).parents
HONEST = [HERE[i] / "claims" / "worlds" / "honest.json" for i in (1, 3)]  # installed, or a checkout
KINDS = {
    "worlds": "what an agent can be trained and tested in",
    "parts": "what an algorithm, a reward, a sampler or a rollout is made of",
    "papers": "named methods of papers, how to reach each, and what is known of it",
    "recipes": "configurations to start from: quintain train RECIPE",
    "runs": "the runs in the folder `runs`: where each plays, how far it is, its last success",
}
LEAST = 6  # letters of a column that a narrow terminal leaves
KINDS_OF_ONE = 30  # values of a column that sort its rows into kinds, at most
JSON_ONLY = (
    "id",
    "proof",
    "foresees",
    "ceilings",
    "levels",
    "turns",
    "speed",
    "title",
    "parts",
    "cases",
    "shown",
    "recipe",
    "wants",
    "doc",
)  # too long for a line


def main(arguments: list[str]) -> int:
    """Print one line per entry, or JSON."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain list", description=__doc__)
    parser.add_argument("what", nargs="?", type=one_of("list", list(KINDS)), metavar="|".join(KINDS))
    parser.add_argument(
        "word",
        nargs="?",
        default="",
        metavar="WORD|FILE.py",
        help="those only that have it in a column (logic, csp, objective...), or else in any of their words (chess); worlds: or a file of "
        "yours, those that it registers",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_intermixed_args(arguments)
    if given.what is None:
        rows = [{"name": f"quintain list {kind}", "summary": summary} for kind, summary in KINDS.items()]
        return _print(rows, given.json, "things to list")
    if given.what == "worlds" and given.word.endswith(".py"):
        from quintain.cli.places import places

        return _print(worlds(places([given.word]).worlds), given.json, given.what)
    rows = {"worlds": worlds, "parts": parts, "papers": papers, "recipes": recipes, "runs": runs}[given.what]()
    rows = having(given.word, rows) if given.word else rows
    _print(rows, given.json, "methods" if given.what == "papers" else given.what)
    if given.what == "parts" and not given.json:
        print(
            "".join(f"\n{row['family']} {row['name']}: {row['doc']}\n" for row in rows if row["name"] == given.word),
            end="",
        )
    return 0


def having(word: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that have a word as the value of a column that is printed, or, where none has, in any of what is printed of them.

    Raises:
        UnknownName: none has; the nearest kind of row is named, or all kinds.

    Example:
        >>> having("logic", [{"name": "Hitori", "domain": "logic"}, {"name": "Sokoban", "domain": "puzzles"}])
        [{'name': 'Hitori', 'domain': 'logic'}]
        >>> having("ban", [{"name": "Hitori", "domain": "logic"}, {"name": "Sokoban", "domain": "puzzles"}])
        [{'name': 'Sokoban', 'domain': 'puzzles'}]
    """
    from quintain.registry import UnknownName, unknown

    shown = [key for key in rows[0] if key not in JSON_ONLY] if rows else []
    found = [row for row in rows if word in [str(row[key]) for key in shown]]
    found = found or [row for row in rows if any(word.lower() in str(row[key]).lower() for key in shown)]
    if not found:
        columns = [{str(row[key]) for row in rows} - {""} for key in shown]
        few = {value for column in columns if len(column) <= KINDS_OF_ONE for value in column}
        raise UnknownName(unknown("word, in no name or summary and no value of a column,", word, sorted(few)))
    return found


def _print(rows: list[dict[str, Any]], as_json: bool, what: str) -> int:
    if as_json:
        print(json.dumps(rows, indent=1, default=str))
        return 0
    rows = [{k: v for k, v in row.items() if k not in JSON_ONLY} for row in rows]
    widths = {k: max(len(str(r[k])) for r in rows) for k in rows[0]} if rows else {}
    widths = {k: max(len(k), wide) for k, wide in widths.items()}
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    while wide and max(widths.values(), default=0) > LEAST and sum(widths.values()) + 2 * (len(widths) - 1) > wide:
        widths[max(widths, key=lambda k: widths[k])] -= 1  # so that a long column hides no whole one behind it
    for row in [{k: k for k in widths}] * bool(rows) + rows:
        cells = (str(row[k]) for k in widths)
        cells = (c if len(c) <= n else f"{c[: n - 1]}…" for c, n in zip(cells, widths.values(), strict=True))
        line = "  ".join(f"{c:<{n}}" for c, n in zip(cells, widths.values(), strict=True)).rstrip()
        print(line if not wide or len(line) <= wide else f"{line[: wide - 1]}…")
    print(f"{len(rows)} {what if len(rows) != 1 else what.removesuffix('s')}")
    return 0


def worlds(only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What every world is, or some `only`: id, domain, engine, seats, proof class of the oracle, whether it foresees what is not shown yet,
    ceilings, levels, most turns at the lowest and the highest, speed, summary. `name` is the id again, and `oracle` the proof.

    Speed is what the machine of `make honest` measured: steps a second of one core at level 5 without a picture and with one, and
    instances a second; a world of one's own has none.
    """
    from quintain.registry import entries
    from quintain.worlds.kernel import LEVELS

    measured = next((json.loads(path.read_text()) for path in HONEST if path.exists()), {})
    rows = []
    for e in entries("world"):
        if only and e.name not in only:
            continue
        world = e.make()
        facts = world.facts
        tags = {"domain": e.tags.get("domain", ""), "engine": e.tags.get("engine", "")}
        rows.append(
            {
                "id": e.name,
                "name": e.name,
                **tags,
                "seats": len(facts.seats),
                "oracle": facts.proof,
                "proof": facts.proof,
                "foresees": bool(e.tags.get("foresees", False)),
                "ceilings": dict(facts.ceilings),
                "levels": LEVELS,
                "turns": [world.turns(world.start(0, level)) for level in (0, LEVELS - 1)],
                "speed": measured.get(e.name, {}).get("pace", {}),
                "summary": e.summary,
            }
        )
    return rows


def parts() -> list[dict[str, Any]]:
    """Family, name, paper, status, summary and docstring of every part."""
    rows = []
    for family in LISTED:
        for e in written(family):
            status = e.tags.get("confidence", e.tags.get("status", ""))
            known = {"paper": e.paper, "known": status, "summary": e.summary, "doc": inspect.getdoc(e.make) or ""}
            rows.append({"family": family, "name": e.name, **known})
    return rows


def recipes() -> list[dict[str, Any]]:
    """Every shipped recipe with its first comment line."""
    from quintain import config as configs

    rows = []
    for name, path in configs.recipes().items():
        first = path.read_text().splitlines()[:1]
        rows.append({"name": name, "summary": first[0].lstrip("# ") if first else ""})
    return rows


def _made(place: Path) -> float:
    """When a run was begun; 0 where nobody knows."""
    try:
        return float(json.loads((place / "run.json").read_text())["created"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0.0


def _drawn(tree: dict[str, Any]) -> tuple[dict[str, str], str]:
    """The worlds and levels of a run whose sampler may draw others than its env names, and where else it is evaluated; nothing where
    that cannot be told here.
    """
    from quintain import config as configs
    from quintain.runtime.drawn import elsewhere, titled
    from quintain.types import QuintainError

    if tree.get("sampler", {}).keys() <= {"name"}:
        return {}, ""
    try:
        config = configs.make(tree)
        return dict(zip(("world", "level"), titled(config), strict=True)), elsewhere(config)
    except QuintainError:  # such as a world of a file that is gone
        return {}, ""


def runs(folder: Path = Path("runs")) -> list[dict[str, Any]]:
    """The runs in a folder, the one that was begun last at the end: where each plays, steps taken, success at its last evaluation,
    when that was, and in which world if it trains in others.
    """
    from quintain.ledger import RunDir
    from quintain.serve.desk import recorded
    from quintain.types import QuintainError

    rows = []
    for place in sorted((path.parent for path in folder.glob("*/run.json")), key=_made):
        row = {
            "name": str(place),
            "world": "?",
            "level": "?",
            "algorithm": "?",
            "steps": "?",
            "success": "-",
            "evaluated": "-",
        }
        rows.append(row)
        try:
            with RunDir.open(place) as store:
                tree = tomllib.loads(store.config if (place / "config.toml").exists() else store.agreed)
                env, steps = tree.get("env", {}), tree.get("run", {}).get("steps", "?")
                row |= {"world": tree.get("data") or env.get("name", "?")}
                own, there = _drawn(tree)
                row |= {"level": ",".join(map(str, env.get("levels", [])))} | own
                row |= {"algorithm": tree.get("algorithm", {}).get("name", "?")}
                newest = store.latest_checkpoint()
                whole = not newest or store.offset >= newest.offsets.get(0, 0)
                row |= {"steps": f"{newest.step if newest else 0}/{steps}"}
                if (served := recorded(store)) is not None:  # of clients, wherever they played
                    row |= {"world": "-", "level": "-", "algorithm": "recording", "steps": f"{served} served"}
                scores = [(e.payload.get("eval/success"), e.step) for e in store.events(["eval"])]
        except (QuintainError, OSError, ValueError):  # `quintain doctor RUN` says how
            row["evaluated"] = "damaged"
            continue
        if not whole:
            row["evaluated"] = "damaged"
        elif scores and scores[-1][0] is not None:
            at = f"step {scores[-1][1]}" + f" in {there}" * bool(there)
            row |= {"success": f"{scores[-1][0]:.3f}", "evaluated": at}
    return rows
