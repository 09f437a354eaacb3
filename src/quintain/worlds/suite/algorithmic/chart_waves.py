"""SpreadTime and GridDistance: waves over a small map with walls."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.chart_tasks import SAYINGS, Distances, Spread
from quintain.worlds.engines.grid.charts import NEAR, Chart, ChartGame, Task
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

SPREAD = f"""A fire starts on all cells S at minute 0. Each minute it spreads from every burning cell to the cells above, below,
left and right of it; walls do not burn and stop it. Say how many minutes pass until all floor burns, and which cell or cells catch
fire last: all those that catch fire in the last minute. There is one answer; the right cells with a wrong time earn {NEAR}.
Map: S fire, # wall, . floor; columns have letters, rows have numbers."""
DISTANCE = f"""For every cell of the map write the least number of steps to its nearest S, moving up, down, left or right and
never through walls: 0 for S itself, # for a wall. There is one answer; a wrong one earns {NEAR} times the share of floor cells that
are right.
Map: S source, # wall, . floor; columns have letters, rows have numbers."""
KNOBS = ("side", "walls", "sources")


def _world(facts: Facts, table: tuple[tuple[int, int, int], ...], task: Task) -> TurnWorld[Chart]:
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, table), game=ChartGame(task), schema=Chart, longest=600)


@register("world", "SpreadTime", domain="algorithmic", engine="grid")
def spread_time() -> TurnWorld[Chart]:
    """Say after how many minutes a fire has filled a map with walls, and which cells it reaches last."""
    facts = Facts(
        name="SpreadTime",
        rules=SPREAD,
        answer="Write the minutes, a semicolon and the cells, parted by spaces.",
        example="7; b3 d4",
        ceilings={"random": 0.03, "constant": 0.05, "first": 0.03, "blind": 0.06},
        sayings=SAYINGS,
    )
    table = (
        *((4, 4, 1), (4, 3, 1), (5, 5, 1), (6, 9, 1), (7, 12, 2)),
        *((8, 16, 2), (9, 20, 2), (10, 26, 2), (11, 34, 3), (13, 52, 3)),
    )
    return _world(facts, table, Spread())


@register("world", "GridDistance", domain="algorithmic", engine="grid")
def grid_distance() -> TurnWorld[Chart]:
    """Write for every cell of a map with walls how many steps it is away from the nearest of several sources."""
    facts = Facts(
        name="GridDistance",
        rules=DISTANCE,
        answer="Write the rows from top to bottom, their cells parted by spaces and rows by /.",
        example="0 1 2 / 1 # 3 / 2 3 4",
        ceilings={"random": 0.06, "constant": 0.03, "first": 0.03, "blind": 0.08},
        sayings=SAYINGS,
    )
    table = (
        *((4, 4, 1), (4, 3, 2), (5, 7, 1), (5, 5, 2), (6, 9, 2)),
        *((7, 12, 2), (8, 17, 2), (9, 22, 2), (10, 28, 3), (11, 34, 3)),
    )
    return _world(facts, table, Distances())
