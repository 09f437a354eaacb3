"""MazePlan: the whole way through a maze, said at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.grid import art
from quintain.worlds.engines.grid.board import layout_of
from quintain.worlds.engines.grid.chart_tasks import SAYINGS, Route
from quintain.worlds.engines.grid.charts import Chart, ChartGame
from quintain.worlds.engines.grid.layouts import maze
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng

art.add()
RULES = """A maze is drawn. Say the whole route from P to G in one answer: one letter per step, u up, d down, l left, r right.
Your route is then walked step by step. It must not lead into a wall or off the map, must not have more steps than are allowed, and must
end on G. There is one answer only; any such route is right.
Map: P start, G goal, # wall, . floor; columns have letters, rows have numbers."""

# side, walls that are opened after carving, steps beyond the shortest way
TABLE = (
    *((5, 1, 2), (5, 0, 2), (7, 2, 2), (7, 0, 0), (9, 2, 0)),
    *((11, 3, 0), (13, 4, 0), (15, 5, 0), (17, 6, 0), (19, 8, 0)),
)


def _maze(rng: Rng, knobs: Mapping[str, Any]) -> tuple[int, str] | None:
    walk = maze(rng, {"size": knobs["side"], "loops": knobs["loops"]})
    return (walk.board.width, layout_of(walk, player=True)) if walk else None


@register("world", "MazePlan", domain="puzzles", engine="grid")
def maze_plan() -> TurnWorld[Chart]:
    """Say the whole route through a drawn maze as one list of steps, which is then walked; any short enough route counts."""
    facts = Facts(
        name="MazePlan",
        rules=RULES,
        answer="Write the steps, as in u u r d, or with counts, as in u2 r d.",
        example="u u r d",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.01, "blind": 0.01},
        sayings=SAYINGS | {"illegal": "Your route has more steps than are allowed."},
    )
    levels = levels_of(("side", "loops", "spare"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=ChartGame(Route(_maze)), schema=Chart, longest=1200)
