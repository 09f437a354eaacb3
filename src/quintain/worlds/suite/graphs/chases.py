"""CopsRobber: catch a robber on a drawn graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph.chase import best_turns, flees, reach, turns_left
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.place import built, web
from quintain.worlds.engines.graph.sheet import LEGEND
from quintain.worlds.engines.graph.trip import After, Trip, TripWorld
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Disc, Run, Shape

RULES = f"""You move the cops (blue); the robber (brick, R) sees them and moves after them, as well as he can. In a turn every
cop goes along an edge to the next vertex or stays, then the robber does. You win when a cop stands where the robber is,
before the turns run out.
{LEGEND}. Then `now` where the cops are, in the order in which you name their next places, and where the robber is."""
# vertices, edges, cops, turns to the catch at least and at most, turns to spare
TABLE = (
    (5, 6, 1, 2, 2, 1),
    (6, 7, 1, 2, 3, 1),
    (7, 8, 1, 3, 3, 0),
    (8, 9, 1, 3, 4, 0),
    (9, 10, 1, 4, 4, 0),
    (10, 11, 1, 4, 5, 0),
    (11, 12, 1, 5, 5, 0),
    (12, 13, 1, 5, 6, 0),
    (13, 14, 1, 6, 6, 0),
    (14, 15, 1, 6, 8, 0),
)


def chase(rng: Rng, knobs: Mapping[str, Any]) -> Trip | None:
    """A drawing on which the cops can catch the robber in as many turns as the level asks for."""
    found = web(rng, knobs["n"], knobs["edges"], shortest=26)
    if found is None:
        return None
    graph = built(rng, found[0], [(a, b, "") for a, b in found[1]])
    for _ in range(12):
        *cops, robber = (rng.below(knobs["n"]) for _ in range(knobs["cops"] + 1))
        turns = turns_left(graph, tuple(cops), robber)
        if turns is not None and knobs["low"] <= turns <= knobs["high"]:
            names = graph.names
            here = (("cops", " ".join(names[v] for v in cops)), ("robber", names[robber]))
            return Trip(graph, here, turns + knobs["spare"])
    return None


def placed(graph: Graph, now: tuple[tuple[str, str], ...]) -> tuple[tuple[int, ...], int]:
    """Where the cops are, and the robber."""
    return tuple(graph.index[name] for name in now[0][1].split()), graph.index[now[1][1]]


def options(graph: Graph, now: tuple[tuple[str, str], ...]) -> Mapping[str, After]:
    """Every turn of the cops and the robber's reply."""
    cops, robber = placed(graph, now)
    out: dict[str, After] = {}
    for to in () if robber in cops else itertools.product(*(reach(graph)[v] for v in cops)):
        key = " ".join(graph.names[v] for v in to)
        flown = robber if robber in to else flees(graph, to, robber)
        out[key] = After((("cops", key), ("robber", graph.names[flown])), won=robber in to or flown in to)
    return out


def catch(graph: Graph, now: tuple[tuple[str, str], ...]) -> tuple[list[str], list[str]] | None:
    """The quickest catch."""
    moves: list[str] = []
    firsts: list[str] = []
    while True:
        cops, robber = placed(graph, now)
        if robber in cops:
            return (moves, firsts) if moves else None
        ahead = list(itertools.product(*(reach(graph)[v] for v in cops)))
        best = [" ".join(graph.names[v] for v in to) for to in best_turns(graph, cops, robber, ahead)]
        if not best:
            return None
        firsts = firsts or best
        moves.append(best[0])
        now = options(graph, now)[best[0]].now


def pieces(graph: Graph, here: Mapping[str, str]) -> Iterator[Shape]:
    """Cops and robber over the vertices where they are."""
    for name in here["cops"].split():
        x, y = graph.at[graph.index[name]]
        yield Disc(x=x / 10, y=y / 10, radius=0.9, line="blue", thick=0.32)
    x, y = graph.at[graph.index[here["robber"]]]
    x, y = x / 10 + (-0.8 if x > 135 else 0.8), y / 10 + (0.8 if y < 25 else -0.8)
    yield Disc(x=x, y=y, radius=0.55, fill="brick", line="ink", thick=0.06)
    yield Run(text="R", x=x, y=y + 0.02, size=0.75, color="white")


@register("world", "CopsRobber", domain="graphs", engine="graph")
def cops_robber() -> TripWorld:
    """Catch a robber who flees as well as he can, on a drawn graph, in as few turns as it takes."""
    facts = Facts(
        name="CopsRobber",
        rules=RULES,
        answer="The next vertex of each cop, in their order.",
        example="D",
        ceilings={"random": 0.06, "constant": 0.02, "first": 0.02, "blind": 0.05},
        sayings={"won": "The robber is caught."},
    )
    return TripWorld(
        facts=facts,
        levels=levels_of("n edges cops low high spare", TABLE),
        make=chase,
        options=options,
        plan=catch,
        pieces=pieces,
        marks=("cops", "robber"),
    )
