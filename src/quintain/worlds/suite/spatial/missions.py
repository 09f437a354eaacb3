"""Errands in rooms, told in words."""

from __future__ import annotations

from collections.abc import Sequence

from quintain.registry import register
from quintain.worlds.engines.grid.maps import MapGame, world
from quintain.worlds.engines.grid.mission import ANSWER, Errand, MissionRules, handled, named
from quintain.worlds.engines.grid.mission_look import NOUNS, TILES, fixed_words, frame, lexicon, moving_words
from quintain.worlds.engines.grid.mission_make import errands
from quintain.worlds.engines.grid.mission_plan import plan
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

HANDS = """A move takes you one cell on; you can walk over things. Take picks up the thing on which you stand; if you held another,
that is laid down in its place. Drop lays what you hold down where you stand: on bare floor, not in a doorway. A step into a shut
door opens it and leaves you where you are; a locked one opens only while you hold the key of its colour. Doors stay open."""
LEGEND = "Map: P you, # wall, . floor, letters: things and doors, named below the map, with the one on which you stand."
UNLOCK = f"""Fetch the thing that the mission names, from behind a locked door: the mission is done when you hold it.
{HANDS}
{LEGEND}"""
MISSION = f"""Do the tasks of the mission in their order. Each counts as soon as its turn has come and what it asks for is so: you stand on
the thing (go to), you hold it (fetch), the door is open (open), or the first thing lies on a cell that shares an edge with the cell
where the second lies (put next to).
{HANDS}
{LEGEND}"""
SAYINGS = {"illegal": "That cannot be done here.", "done": "One task of the mission is done."}
KNOBS = ("size", "across", "down", "things", "locked", "tasks", "verbs", "low", "high")
MOST = 4  # tasks


def _world(facts: Facts, table: Sequence[Sequence[int]]) -> TurnWorld[Errand]:
    game = MapGame(
        rules=MissionRules(errands, plan),
        tiles=TILES,
        nouns=NOUNS,
        frame=frame,
        aside="player-aside",
        fixed=fixed_words,
        more=moving_words,
        lexicon=lexicon(MOST),
        reads=handled,
    )
    return world(facts, levels_of(KNOBS, table), game, Errand, named)


@register("world", "UnlockPick", domain="spatial", engine="grid")
def unlock_pick() -> TurnWorld[Errand]:
    """Fetch the key, unlock the door and pick up the thing that the mission names, among 1 to 14 others."""
    facts = Facts(
        name="UnlockPick",
        rules=UNLOCK,
        answer=ANSWER,
        example="take",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((5, 2, 1, 2, 1, 1, 0, 4, 13), (6, 2, 1, 3, 1, 1, 0, 7, 16), (7, 2, 1, 4, 1, 1, 0, 10, 20)),
        *((8, 2, 1, 5, 1, 1, 0, 12, 24), (9, 2, 1, 6, 1, 1, 0, 14, 28), (10, 2, 1, 7, 1, 1, 0, 17, 32)),
        *((11, 2, 2, 8, 2, 1, 0, 20, 50), (12, 2, 2, 10, 2, 1, 0, 23, 60), (13, 2, 2, 12, 3, 1, 0, 27, 75)),
        (14, 3, 2, 15, 4, 1, 0, 32, 110),
    )
    return _world(facts, table)


@register("world", "MissionRoom", domain="spatial", engine="grid")
def mission_room() -> TurnWorld[Errand]:
    """Do a mission told in words in one room or more: go to, fetch, open and put next to, up to four tasks one after another."""
    facts = Facts(
        name="MissionRoom",
        rules=MISSION,
        answer=ANSWER,
        example="take",
        ceilings={"random": 0.06, "constant": 0.02, "first": 0.02, "blind": 0.08},
        sayings=SAYINGS,
    )
    table = (
        *((5, 1, 1, 2, 0, 1, 2, 3, 8), (5, 1, 1, 3, 0, 1, 4, 4, 10), (7, 2, 1, 3, 0, 1, 4, 6, 16)),
        *((8, 2, 1, 4, 0, 2, 4, 9, 24), (8, 2, 2, 5, 0, 2, 4, 12, 30), (9, 2, 2, 6, 1, 2, 4, 16, 40)),
        *((10, 2, 2, 6, 1, 3, 4, 20, 55), (11, 3, 2, 7, 1, 3, 4, 26, 65), (11, 3, 2, 8, 2, 4, 4, 34, 90)),
        (12, 3, 2, 10, 3, 4, 4, 46, 130),
    )
    return _world(facts, table)
