"""RouteMap: written directions on a street map."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.graph.streets import SAYINGS, StreetGame, Walker
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """A street map and directions are given, which begin at the start. Each turn you go one block north (up), east, south or west, not
left or right; where the directions end you say stop, which ends the episode. Only where you stop counts, not how you got there.
A direction names a point of the compass, or left or right as seen by somebody who walks along; one goes straight on, to the first,
second ... crossing, to a place, or to the end of the street, where one cannot go straight on. A crossing is a corner at which a street
leaves to the left or to the right of one's way; corners without such a street are not counted, nor is the one at which one sets out.
In a picture the start has a green ring, you are blue, and directions are short: N 2 goes north to the second crossing, left B turns left
and goes to place B, right end goes to the end of the street. In text + is a corner, a letter a place, - and | are blocks of street."""
# columns and rows of corners, blocks taken out at most, places, legs, left and right
TABLE = (
    (3, 3, 1, 2, 2, 0),
    (4, 3, 2, 2, 2, 0),
    (4, 4, 3, 3, 3, 0),
    (4, 4, 4, 3, 3, 1),
    (5, 4, 5, 4, 4, 1),
    (5, 5, 7, 4, 4, 1),
    (6, 5, 9, 5, 5, 1),
    (6, 6, 12, 6, 6, 1),
    (7, 6, 14, 7, 7, 1),
    (7, 7, 17, 8, 8, 1),
)


@register("world", "RouteMap", domain="spatial", engine="graph")
def route_map() -> TurnWorld[Walker]:
    """Follow two to eight written directions on a street map and stop where they end."""
    facts = Facts(
        name="RouteMap",
        rules=RULES,
        answer="One of: north, east, south, west, stop.",
        example="north",
        ceilings={"random": 0.12, "constant": 0.01, "first": 0.01, "blind": 0.08},
        sayings=SAYINGS,
    )
    levels = levels_of(("width", "height", "gone", "places", "legs", "turned"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=StreetGame(), schema=Walker)
