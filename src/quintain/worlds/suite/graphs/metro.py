"""MetroTrip: rides on a transit map with waits and changes."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.graph.metro import SAYINGS, MetroGame, Rider
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """A transit map shows stops, named by letters, and lines, numbered, that run both ways along their stops. Get from your stop
to the goal within the minutes that are left. Each turn you ride one line to any other of its stops; that takes the wait of the line, and
its ride time for each stop from one to the next: with wait 4 and ride 2, three stops on takes 4 + 3 x 2 = 10 minutes. Each ride has its
wait, also with the line that you came with. When minutes are used up before you arrive, the trip is lost; arriving in the last minute
counts. Text: each stop with its place on the map in brackets (which means nothing for the task), then each line with its stops in order."""
# columns and rows of the map, lines, stops of a line, rides of the quickest way at least, minutes to spare
TABLE = (
    (3, 3, 2, 4, 2, 4),
    (4, 3, 3, 4, 2, 2),
    (4, 3, 3, 4, 2, 0),
    (4, 4, 4, 4, 3, 0),
    (4, 4, 4, 5, 3, 0),
    (4, 4, 5, 4, 3, 0),
    (5, 4, 5, 5, 3, 0),
    (5, 4, 5, 5, 4, 0),
    (5, 4, 6, 5, 4, 0),
    (5, 4, 6, 4, 5, 0),
)


@register("world", "MetroTrip", domain="graphs", engine="graph")
def metro_trip() -> TurnWorld[Rider]:
    """Ride two to six lines of a transit map, with waits and changes, to a stop in the fewest minutes."""
    facts = Facts(
        name="MetroTrip",
        rules=RULES,
        answer="The number of a line and the stop where you get off, as in 2 F.",
        example="1 B",
        ceilings={"random": 0.06, "constant": 0.01, "first": 0.04, "blind": 0.03},
        sayings=SAYINGS,
    )
    levels = levels_of(("columns", "rows", "lines", "length", "rides", "slack"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=MetroGame(), schema=Rider)
