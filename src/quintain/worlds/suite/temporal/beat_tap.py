"""BeatTap: hit falling notes in time."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.beat import Beat
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Notes enter in the top row and fall in four lanes, each at its own speed: 1, 2 or 3 cells per turn (chevrons
in the picture). The last row is the line. Each turn, press exactly the lanes in which a note reaches the line in this
turn, or would fall past it: tap1 for the leftmost lane, tap24 for the second and the fourth at once, wait for none. A
note that is pressed is a hit. A note that reaches the line unpressed is a miss, and so is a lane pressed for nothing.
Make the hits you still need before you have had more misses than are allowed and before the turns are used up.
Map: 1 2 3 notes of that speed, . free. Counters: hits still needed, misses still allowed."""

# cells to the line, top speed, notes per 100 lanes and turns, hits, misses allowed, turns to spare, turns at most
TABLE = (
    (6, 1, 16, 2, 3, 3, 60),
    (6, 1, 20, 4, 3, 3, 60),
    (7, 1, 24, 6, 3, 3, 60),
    (8, 2, 24, 8, 3, 3, 80),
    (8, 2, 26, 11, 3, 3, 80),
    (9, 2, 28, 14, 3, 3, 90),
    (10, 3, 28, 17, 3, 3, 100),
    (11, 3, 29, 20, 3, 3, 110),
    (12, 3, 30, 24, 3, 3, 120),
    (12, 3, 30, 30, 3, 3, 150),
)
KNOBS = ("height", "speed", "dense", "goal", "misses", "slack", "high")


@register("world", "BeatTap", domain="temporal", engine="arcade")
def beat_tap() -> TurnWorld[Frame]:
    """Hit two to thirty notes that fall at one to three speeds; the oracle reads the chart."""
    facts = Facts(
        name="BeatTap",
        rules=RULES,
        answer="tap and the lanes to press, as digits from 1 to 4 (tap24 presses two at once), or wait.",
        example="tap13",
        ceilings={"random": 0.01, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS | {"lost": "That was one miss too many."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Beat())
