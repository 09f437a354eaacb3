"""Tiles of keys and doors in six colours, the tasks above the map, and the words of a mission."""

from __future__ import annotations

from quintain.worlds.art import tiles
from quintain.worlds.engines.grid import art
from quintain.worlds.engines.grid.board import FLOOR, WALL
from quintain.worlds.engines.grid.maps import Frame
from quintain.worlds.engines.grid.mission import DOOR, DOORS, KEY, KINDS, LETTERS, Errand, Task
from quintain.worlds.engines.raycast.things import COLOURS, tile_of
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape, Sprite

art.add()
_FILLS = ("blue", "green", "gold", "brick", "wine", "white")
_BALLS = tuple(tile_of(len(COLOURS) + colour) for colour in range(len(COLOURS)))  # a ball bears the mark of its colour
SHORT = ("go to {}", "fetch {}", "open {}", "put {} by {}")
VERBS = ("go", "fetch", "open", "put")


def _key(colour: int) -> tuple[Shape, ...]:
    fill = _FILLS[colour]
    shaft = Box(x=0.42, y=0.46, width=0.5, height=0.12, fill=fill, line="ink", thick=0.035)
    bits = tuple(Box(x=x, y=0.56, width=0.09, height=0.18, fill=fill, line="ink", thick=0.035) for x in (0.66, 0.82))
    return (
        shaft,
        *bits,
        Disc(x=0.31, y=0.52, radius=0.27, fill="ink"),
        Sprite(tile=_BALLS[colour], x=0.01, y=0.16, size=0.6),
    )


def _door(colour: int, status: int) -> tuple[Shape, ...]:
    fill = _FILLS[colour]
    if status == 1:
        posts = tuple(Box(x=x, y=0, width=0.2, height=1, fill=fill, line="ink", thick=0.04) for x in (0.0, 0.8))
        return (*posts, *(Sprite(tile=_BALLS[colour], x=x, y=0.38, size=0.24) for x in (-0.02, 0.78)))
    panel = Box(x=0.06, y=0.04, width=0.88, height=0.96, fill=fill, line="ink", thick=0.05, radius=0.05)
    emblem = Sprite(tile=_BALLS[colour], x=0.22, y=0.02, size=0.56)
    knob = Disc(x=0.8, y=0.62, radius=0.06, fill="paper", line="ink", thick=0.03)
    lock = (
        Polygon(points=((0.39, 0.74), (0.39, 0.62), (0.61, 0.62), (0.61, 0.74)), line="ink", thick=0.07, closed=False),
        Box(x=0.3, y=0.7, width=0.4, height=0.26, fill="paper", line="ink", thick=0.05, radius=0.03),
        Disc(x=0.5, y=0.82, radius=0.05, fill="ink"),
    )
    return (Box(x=0, y=0, width=1, height=1, fill="slate"), panel, emblem, *(lock if status == 2 else (knob,)))


tiles(
    {
        **{f"errand-key-{colour}": _key(colour) for colour in range(len(COLOURS))},
        **{f"errand-door-{s}-{c}": _door(c, s) for s in range(3) for c in range(len(COLOURS))},
        "player-aside": (Sprite(tile="player", x=0.36, y=0.36, size=0.64),),
    }
)


def icon(kind: int) -> str:
    """The tile of a thing or a key."""
    return tile_of(kind) if kind < KEY else f"errand-key-{kind - KEY}"


TILES = {FLOOR: "floor", WALL: "wall"}
TILES |= {sign: f"floor+{icon(kind)}" for kind, sign in enumerate(LETTERS)}
TILES |= {sign: f"floor+errand-door-{s}-{c}" for s, row in enumerate(DOORS) for c, sign in enumerate(row)}
NOUNS = {sign: KINDS[kind] for kind, sign in enumerate(LETTERS)}
NOUNS |= {sign: KINDS[DOOR + c] for row in DOORS for c, sign in enumerate(row)}


def frame(state: Errand) -> Frame:
    """The tasks, one a line, those that are done struck through; below them what is held."""
    tasks, side = state.house.tasks, state.board.width
    row = min(0.066, 0.28 / (len(tasks) + 1.2))  # of the whole picture, which is a square
    head = side / (1 - row * (len(tasks) + 1.2)) - side
    whole = side + head
    size, step = 0.054 * whole, row * whole
    out: list[Shape] = []
    for i, task in enumerate(tasks):
        text, y = f"{i + 1} {_short(task)}", (i + 0.6) * step
        done = i < state.done
        out.append(Run(text=text, x=whole / 2, y=y, size=size, color="stone" if done else "ink"))
        if done:
            reach = len(text) * size * 0.27
            line = ((whole / 2 - reach, y), (whole / 2 + reach, y))
            out.append(Polygon(points=line, line="forest", thick=0.12 * size, closed=False))
    y, held = (len(tasks) + 0.6) * step, state.held()
    kind = state.house.things[held] if held >= 0 else -1
    said = f"in hand: {KINDS[kind]}" if held >= 0 else "in hand: nothing"
    out.append(Run(text=said, x=whole / 2, y=y, size=size, color="blue"))
    return head / 2, head, tuple(out)


def _short(task: Task) -> str:
    what, one, two = task
    return SHORT[what].format(KINDS[one], KINDS[two])


def fixed_words(state: Errand) -> tuple[str, ...]:
    """The tasks as words."""
    out = []
    for i, (what, one, two) in enumerate(state.house.tasks):
        out += [f"{i}:{VERBS[what]}", f"{i}:{_word(one)}", *([f"{i}:by:{_word(two)}"] if two >= 0 else [])]
    return tuple(out)


def moving_words(state: Errand) -> tuple[str, ...]:
    """What is held, and how many tasks are done."""
    held = state.held()
    hand = (f"hold:{_word(state.house.things[held])}",) if held >= 0 else ()
    return (f"done:{state.done}", *hand)


def lexicon(tasks: int) -> tuple[str, ...]:
    """All words of up to so many tasks."""
    names = [_word(kind) for kind in range(len(KINDS))]
    out = [f"{i}:{word}" for i in range(tasks) for word in (*VERBS, *names)]
    out += [f"{i}:by:{word}" for i in range(tasks) for word in names]
    return (*out, *(f"done:{i}" for i in range(tasks + 1)), *(f"hold:{word}" for word in names))


def _word(kind: int) -> str:
    return KINDS[kind].replace(" ", "-")
