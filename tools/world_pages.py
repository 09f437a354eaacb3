"""The pages of the worlds: one of all, one of each domain, one of each world, from the registry and what `make honest` measured."""

from __future__ import annotations

import functools
import json
import statistics
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pictures import sheets

from quintain.cli.list import worlds
from quintain.envs.suites import COUNT, SPLIT, digest_of, suites
from quintain.envs.world import world_of
from quintain.worlds.kernel import LEVELS, GenerationError, Plan, World
from quintain.worlds.knobs import BadKnob

SUITES = Path(__file__).parents[1] / "claims" / "worlds" / "suites.json"  # written by tools/honest.py --suites
HONEST = Path(__file__).parents[1] / "claims" / "worlds" / "honest.json"  # written by tools/honest.py
MOVES, WIDE = 12, 110  # moves of a plan and columns of a reason that a page shows
# worlds, how others have them, how they are here; written by hand
ODD = """
TriadList | count the triples at equal distance | list them: a number can be guessed, a list cannot
CoinStrip PileIntervals | games on a board | questions about a drawn game (engine geometry), answered at once
HeapDuel | Nim | Kayles: one pin or two neighbours, and heaps split; Nim is NimGame
Hanabi2 | two agents | one seat; the partner is part of the world and plays by its conventions
DotsBoxes DotsBoxesDuel | who closes a box moves twice in a row | the same, and the other says `pass` between the two
Tsumego | name the first move | play it out against the best defence
WordSearch | mark all words in one answer | one word a turn
Game2048 | a score | a goal number that is to be reached within the turns
SpreadTime TreeDiameter | a number | the number and the cells or edges behind it
SwapAttack | how few swaps are needed | the swaps themselves, replayed
FlowLinks | among puzzles | in the domain logic, as the page is filled in at once
MazeRoute | among puzzles | in the domain spatial, as it is walked; MazePlan, the whole way at once, is a puzzle
WordleBox | among word puzzles | in the domain games, beside the other games of guessing
"""
KEPT = """## What keeps them honest

Contract tests run over the registry (`tests/contracts/test_worlds*.py`), so a new world is held to them at once: the same observation
from the same seed in two processes with different hash seeds; a snapshot restored from JSON has the same future; a fork does not
touch its origin; malformed actions are events, never exceptions, and never earn anything; what a seat may not see never changes what
it is shown, whether it is to move or waits; the full caption rebuilds all that is seen; no observation holds the answer; of answers
changed by mutation only those earn success that a judge of the rules, who knows the caption alone, calls right; no oracle foresees
chance or knows more than its seat (where going by what was seen starves in HealthWalk3D it does, and calls its plan an estimate, and
no demonstration goes there; in FORESEEN it foresees what comes, as their tag `foresees` tells: what it earns there proves that an
instance can be won, and demonstrations ask it turn by turn about what is shown); a second solver agrees on small instances; splits
share no page; no text in a picture lies on another; pictures equal golden ones.

`make worlds` plays a few instances of each world, with every commit other seeds and levels. `make honest` plays all instances of the
worlds whose code has changed and writes what came of it to `claims/worlds/honest.json`, with a hash of all code that the world stands
on; tests fail where the hash is another or the row does not show what the world declares: in 600 episodes at levels 0, 5 and 9 the
oracle earns the full reward or, in games of chance and against opponents, its declared floor, and it gives up on at most 1 % of the
starts up to level 7 (after stray moves BlockFall, BubbleShot, ChainMarbles, GemSwap, JumpRunner and PelletMaze give up on a few
states of a hundred); players who do not look (random, the first legal move, constant moves and the commonest answer, plans of
other instances) stay below declared ceilings at levels 2 to 9; of 10,000 starts at level 5 the declared number differ; what a level
asks for rises with it on the whole; the slowest hundredth of starts takes 50 ms at most at each level from 0 to 7, and a core makes at
least 100 steps a second with text, 50 with a picture, and 60 starts, all on a core that adds a million numbers in 40 ms. Each world's
page shows its figures. Where only the form of the code has changed, `make honest ARGS="--as-at COMMIT"` lets the rows of that commit
stand for the worlds that are and look the same there and here, state by state: in random playouts and the oracle's play at each level,
and in starts of each split (rules and captions of level 1 aside, which no figure of a row depends on); such a row keeps the hash of the
code that was measured, and `--paces` measures its speed anew. `make fuzz` says ten thousand bent and malformed actions in every world
(`make worlds` two hundred, others with every commit).
"""


def world_pages() -> dict[str, str]:
    """Path below docs/ -> text."""
    rows = worlds()
    measured = json.loads(HONEST.read_text())
    domains = sorted({str(r["domain"]) for r in rows})
    pages = {"worlds.md": _all(rows, measured, domains)}
    for domain in domains:
        there = [r for r in rows if r["domain"] == domain]
        pages[f"worlds/{domain}.md"] = _domain(domain, there, measured)
        pages |= {f"worlds/{r['name']}.md": _one(r, measured[r["name"]]) for r in there}
    return pages


def _all(rows: Sequence[Mapping[str, Any]], measured: Mapping[str, Any], domains: Sequence[str]) -> str:
    engines = sorted({str(r["engine"]) for r in rows})
    lines = ""
    for domain in domains:
        names = [r["name"] for r in rows if r["domain"] == domain]
        linked = ", ".join(f"[{name}](worlds/{name}.md)" for name in names)
        lines += f"| [{domain}](worlds/{domain}.md) | {len(names)} | {linked} |\n"
    paces = [measured[r["name"]]["pace"] for r in rows]
    text, picture = (statistics.median(p[kind] for p in paces) for kind in ("text", "picture"))
    resets, slowest = min((measured[r["name"]]["pace"]["resets"], r["name"]) for r in rows)
    return f"""# Worlds

{len(rows)} worlds on {len(engines)} engines ({", ".join(engines)}). Each has levels 0 to 9, splits that share no layout up to symmetry
where layouts exist, an oracle that answers from any reachable state, and text and picture of the same state.

![A few worlds of each domain, level 5](pictures/worlds.png)

| domain | worlds | |
|---|---|---|
{lines}
On one core of the machine that measured it, of which one is half as fast as another, the median world takes
{_round(text)} steps a second without a picture and {_round(picture)} with one of 256 pixels, parsing, full caption and resets included;
the slowest to start, {slowest}, makes {_round(resets)} instances a second at level 5. Worlds that are answered at
once begin a new instance with every step. These are instances of `train`. Those of `validation` and `test`, a tenth of all layouts each,
take more draws: of `test` the median world makes 0.27 times as many a second at level 5, and the slowest at levels 0 to 7, Tsumego at level
0, which has few layouts, 3 (processor seconds of 20 instances a level on a core of half that speed, 2026-11-29).

`quintain play NAME` plays one; `quintain list worlds --json` has what stands here for programs: `id`, `domain`, `engine`, `seats`,
`turns`, `levels`, `proof` (the class of the oracle), `foresees`, `speed`.

The table of levels on the page of a world names its knobs, and the one below it says what they mean. `env.params.KNOB=VALUE` overrides
what the level sets, in `quintain play`, `demos`, `export` and `offer` as in `train` and `eval`: `quintain play KeyDoor
env.params.size=7 --level 3`. A name that is not in the table is refused with the nearest one. A knob takes what some level sets
(several numbers as a list: `'env.params.ships=[3,2]'`), a number also all between, and one that is 0 or 1 at all levels both. Not all
of that goes together: where no instance is found (a maze of an even side, 16 shots for a fleet of 17 cells, or twenty in a row that a
sure oracle cannot win within their turns) an error names the knobs, the split and what the level sets. `train` and `eval` try the knobs
in each split that they play before they begin.

## Published test suites

`quintain eval PLAYER --suite NAME` plays the same held-out instances every time ([how](runs.md)): seeds 0 to {COUNT - 1} of the split
`{SPLIT}` at each level. The hash is of all first states, and `eval` prints it. It is on record, world by world, in
`claims/worlds/suites.json`; a test fails where a change would give a suite other instances, so they change on purpose only
(`make honest ARGS=--suites`), and scores of different hashes are not compared.

{_suites()}
## Worlds that differ from the usual form

{_odd()}
{KEPT.replace("FORESEEN", ", ".join(r["name"] for r in rows if r["foresees"]))}"""


def _suites() -> str:
    """Each suite, how much it has, and the hash of its instances."""
    record, lines = (
        json.loads(SUITES.read_text()),
        "| suite | worlds | levels | instances | hash |\n|---|---|---|---|---|\n",
    )
    for name, suite in suites().items():
        known = record.get(name, record["full"])
        found = digest_of({world: known[world] for world in suite.worlds})
        count = len(suite.worlds) * len(suite.levels) * COUNT
        lines += f"| `{name}` | {len(suite.worlds)} | {', '.join(map(str, suite.levels))} | {count:,} | `{found}` |\n"
    return lines


def _odd() -> str:
    lines = "| world | usually | here |\n|---|---|---|\n"
    for row in ODD.strip().splitlines():
        names, usual, here = row.split(" | ")
        linked = ", ".join(f"[{name}](worlds/{name}.md)" for name in names.split())
        lines += f"| {linked} | {usual} | {here} |\n"
    return lines


def _domain(domain: str, rows: Sequence[Mapping[str, Any]], measured: Mapping[str, Any]) -> str:
    lines = ""
    for row in rows:
        found = measured[row["name"]]
        most = max([*found["players"].values(), found["blind"]])
        lines += (
            f"| [{row['name']}]({row['name']}.md) | {row['summary']} | {row['engine']} | {row['seats']} | {row['oracle']} "
            f"| {found['oracle']:.2f} | {most:.2f} | {_round(found['pace']['text'])}, {_round(found['pace']['picture'])} |\n"
        )
    drawn = sheets(domain, [str(row["name"]) for row in rows])
    shown = "\n\n".join(
        f"![{', '.join(names)}, level 5](../pictures/worlds/{part}.png)" for part, names in drawn.items()
    )
    return f"""# {domain.capitalize()}

{shown}

| world | task | engine | seats | oracle | it earns | best player who does not look | steps/s, with a picture |
|---|---|---|---|---|---|---|---|
{lines}
The class of an oracle: `construction` and `solver` are exact; `policy` is a strong player of a game of chance or against an opponent.
"""


def _one(row: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    facts, world = world_of(row["name"]).facts, world_of(row["name"])
    levels = getattr(world, "levels", ())
    knobs = list(dict.fromkeys(knob for level in levels for knob in level))
    table = f"| level | {' | '.join(map(str, range(LEVELS)))} |\n|{'---|' * (LEVELS + 1)}\n" if knobs else ""
    for knob in knobs:
        table += f"| `{knob}` | {' | '.join(str(list(v) if isinstance(v := level.get(knob, ''), tuple) else v) for level in levels)} |\n"
    table += f"| asks for | {' | '.join(f'{e:g}' for e in found['effort'])} |\n" if table else ""
    players = {**found["players"], "plans of other instances": found["blind"]}
    earned = ", ".join(f"{kind} {mean:.3f}" for kind, mean in players.items())
    ceilings = ", ".join(f"{kind} {most:g}" for kind, most in facts.ceilings.items())
    starts = f"{found['distinct']:,} of 10,000" if "distinct" in found else "the seed does not change the start"
    late = ", ".join(
        f"{1000 * late:.1f} ms at level {level}" for level, late, _ in found["starts_s"] if level in (0, 5, 7)
    )
    pace = found["pace"]
    return f"""# {row["name"]}

{row["summary"]}

![{row["name"]} at levels 0 to 9](../pictures/worlds/{row["name"]}.png)

{row["domain"]}, engine {row["engine"]}, {_count(row["seats"], "seat")}. [All of {row["domain"]}]({row["domain"]}.md).

## Rules

{facts.rules}

{facts.answer} For example: `{facts.example}`.

{_told(world)}## Levels

{table}
{_knobs(row["name"], levels, knobs)}What a level asks for is the length of the
oracle's plan, or the open places of an instance that is answered at once, or, where the oracle estimates, the legal moves among which
it chose in an episode in which all seats play as it does (its moves, where none are listed).

## Measured

| | |
|---|---|
| oracle | {row["oracle"]}{", foresees what comes" * row["foresees"]}; earns {found["oracle"]:.3f} in {found["oracle_episodes"]} episodes |
| players who do not look | {earned} |
| their declared ceilings | {ceilings} |
| starts that differ | {starts} |
| slowest hundredth of starts | {late} |
| steps a second of one core, level 5 | {_round(pace["text"])}; with a picture of 256 pixels {_round(pace["picture"])} |
| instances a second, level 5 | {_round(pace["resets"])} |
"""


def _told(world: World[Any]) -> str:
    """What a policy reads of one instance, and what the oracle does there."""
    state, seat = world.start(0, 2), world.facts.seats[0]
    plan = world.solve(state, seat)
    text = f"## In text\n\nLevel 2, seed 0:\n\n```text\n{world.view(state, seat).caption(2)}\n```\n\n"
    if not isinstance(plan, Plan):
        return text
    moves = [move.key for move in plan.moves[:MOVES]]
    said = f"{', '.join(moves)}{', ...' * (len(plan.moves) > MOVES)}"
    if world.turns(state) == 1:
        head, said = "answer, and how it comes about", f"{textwrap.fill(plan.because, WIDE)}\n{said}"
    else:
        head = "moves" if world.facts.exact else "next move"
    return f"{text}The oracle's {head}:\n\n```text\n{said}\n```\n\n"


def _knobs(name: str, levels: Sequence[Mapping[str, Any]], knobs: Sequence[str]) -> str:
    """What knobs mean, and how one is given, by the first other number of a level that fits this one."""
    others = [
        (knob, level[knob]) for level in (*levels[3:], *levels[:2]) for knob in knobs if type(level.get(knob)) is int
    ]
    chosen = next((f"{k}={v}" for k, v in others if v != levels[2].get(k) and _starts(name, k, v)), "")
    told = (
        "`env.params.KNOB=VALUE` overrides what a level sets, in `play`, `demos`,\n"
        "`export`, `offer`, `train` and `eval`, and so do `params` of a task"
    )
    meanings = "".join([f"| `{knob}` | {meaning(name, knob)} |\n" for knob in knobs])
    example = f": `quintain play {name} --level 2 env.params.{chosen}`" if chosen else ""
    return f"| knob | |\n|---|---|\n{meanings}\n{told}{example}.\n" if knobs else ""


@functools.lru_cache(maxsize=1)
def glossary() -> dict[str, dict[str, str]]:
    """What knobs mean: world, or `any`, -> knob -> a phrase."""
    return tomllib.loads((Path(__file__).parent / "knobs.toml").read_text(encoding="utf-8"))


def meaning(world: str, knob: str) -> str:
    """What a knob of a world means, in a phrase."""
    said = glossary()
    return said.get(world, {}).get(knob) or said["any"][knob]


def _starts(name: str, knob: str, value: int) -> bool:
    try:
        world_of(name).start(0, 2, **{knob: value})
    except (BadKnob, GenerationError):
        return False
    return True


def _count(n: int, word: str) -> str:
    return f"{n} {word}" + ("s" if n != 1 else "")


def _round(value: float) -> str:
    """Two digits: more would not come out again."""
    return f"{int(float(f'{value:.2g}')):,}"
