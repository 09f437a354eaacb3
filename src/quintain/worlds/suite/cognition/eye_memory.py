"""MazeEye and MentalMap: what a walk in first person tells about moves and places."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.raycast.recall import SAYINGS as PLACES
from quintain.worlds.engines.raycast.recall import Recall, RecallGame
from quintain.worlds.engines.raycast.strip import SAYINGS, Strip, StripGame
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

EYE = """Frames show what somebody saw on a walk through a maze, first to last: ahead from the back of a cell, 45 degrees to either
side (so the cells directly left and right, too), up to 8 cells far; walls hide what is behind them. From each frame to the next there
are as many moves as are told: f one cell forward, l a quarter turn to the left, r a quarter turn to the right. Say all moves from the
first frame to the last, in order. Whatever moves show these frames in some maze are right; there is one such list. In text, each frame
is a map of what is in sight, with you (^) in the middle of its lowest row, looking up: `.` floor, `#` wall, `?` not seen."""
MAP = """You walk through a flat of rooms, each turn left or right (a quarter turn) or forward (one cell), and look for the things told;
they do not move, and you cannot step on them. Then say where all of them are: for each its name, how many cells east of your first
place it is and how many north (west and south are negative); that ends the episode. At first you look north. Reward is the share of the
things whose places are right; you may leave out others. You see ahead from the back of your cell, 45 degrees to either side (so an edge
of the cells directly left and right, too), up to 8 cells far; walls hide what is behind them, and near things other things. In text, a
map of what is in sight has you (^) in the middle of its lowest row, looking up: `.` floor, `,` floor of which you see only an edge (a
thing may lie there), `#` wall, `?` not seen; letters are things, and stand for others in the next map. Things are a box, ball or cone
that is blue, green, yellow, orange, purple or white. Some levels tell your own place: `You are at 2 -1, facing west` means 2 cells east
and 1 south of your first place."""
# side of the maze, walls opened, frames, moves from each to the next
STRIPS = (
    (7, 2, 5, 1),
    (7, 2, 6, 1),
    (7, 2, 5, 2),
    (7, 2, 6, 2),
    (7, 2, 6, 2),
    (7, 3, 7, 2),
    (9, 4, 7, 2),
    (9, 5, 8, 2),
    (9, 6, 9, 2),
    (11, 9, 10, 2),
)
# rooms, side of a room, things but one, kinds to choose from, own place is shown, moves to see all things at least
FLATS = (
    (2, 3, 1, 6, 1, 3),
    (2, 3, 2, 6, 1, 5),
    (2, 4, 2, 9, 1, 7),
    (2, 4, 3, 9, 1, 9),
    (3, 3, 3, 12, 0, 11),
    (3, 4, 4, 12, 0, 13),
    (3, 4, 4, 15, 0, 16),
    (3, 5, 5, 18, 0, 19),
    (4, 4, 6, 18, 0, 23),
    (4, 5, 7, 18, 0, 27),
)


@register("world", "MazeEye", domain="cognition", engine="raycast")
def maze_eye() -> TurnWorld[Strip]:
    """Name the 4 to 18 moves of a walk through a maze from five to ten first-person frames."""
    facts = Facts(
        name="MazeEye",
        rules=EYE,
        answer="All moves in order, each f, l or r, parted by spaces.",
        example="f f l f",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    levels = levels_of(("size", "loops", "frames", "every"), STRIPS)
    return TurnWorld(facts=facts, levels=levels, game=StripGame(), schema=Strip, longest=300)


@register("world", "MentalMap", domain="cognition", engine="raycast")
def mental_map() -> TurnWorld[Recall]:
    """Walk through rooms in first person, then say where two to eight things stood, as counted from the start."""
    facts = Facts(
        name="MentalMap",
        rules=MAP,
        answer="left, right or forward; at last each thing with its cells east and north, as in blue box 2 -1, green ball 0 3.",
        example="blue box 1 2",
        ceilings={"random": 0.04, "constant": 0.03, "first": 0.03, "blind": 0.06},
        sayings=PLACES,
    )
    levels = levels_of(("rooms", "size", "others", "kinds", "compass", "least"), FLATS)
    return TurnWorld(facts=facts, levels=levels, game=RecallGame(), schema=Recall, longest=400)
