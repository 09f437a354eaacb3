"""A maze of pellets and ghosts: eat enough pellets and meet no ghost; ghosts of each kind walk by a rule that can be foreseen."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.engines.arcade.lanes import ACTIONS, STEPS
from quintain.worlds.engines.arcade.loop import BLANK, HIT, Frame, Ints, Look, Stage, ending, left, planned
from quintain.worlds.engines.arcade.quest import Leg, Path, answered, words_of
from quintain.worlds.engines.arcade.snake import near
from quintain.worlds.kernel import Answer, GenerationError
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Shape
from quintain.worlds.splits import Draft

PLAYER, CAUGHT, WALL, PELLET = "P", "X", "#", "o"
GHOSTS = (
    "nswe",
    "udlr",
    "h",
)  # signs of patrols, roamers and hunters by heading: up, down, left, right; capital over a pellet
KNOB = ("patrols", "roamers", "hunters")
NONE = -1
WAYS = {name: way for way, name in enumerate([name for name in STEPS if name != "wait"])}
UP, DOWN, LEFT, RIGHT = range(4)
TURNS = (  # kind -> heading -> the headings that a ghost tries: straight on or back; left, straight on, right, back
    ((UP, DOWN), (DOWN, UP), (LEFT, RIGHT), (RIGHT, LEFT)),
    ((LEFT, UP, RIGHT, DOWN), (RIGHT, DOWN, LEFT, UP), (DOWN, LEFT, UP, RIGHT), (UP, RIGHT, DOWN, LEFT)),
)
PACE = 3  # turns from one step of a hunter to the next
FAR = 5  # steps between the player and a ghost at the start, at least
VISITS = 4  # of a cell in the search for the next pellet


@functools.lru_cache(maxsize=128)
def paces(cells: str, width: int) -> tuple[tuple[tuple[str, int, int], ...], ...]:
    """The actions that lead somewhere from each cell, where, and that cell as a bit; waiting comes last."""
    return tuple(
        (*((name, to, 1 << to) for name, to in zip(WAYS, row, strict=True) if to >= 0), ("wait", i, 1 << i))
        for i, row in enumerate(near(cells, width))
    )


@functools.lru_cache(maxsize=64)
def free_of(cells: str) -> int:
    """The cells that are no wall, as bits."""
    return int(cells[::-1].replace(WALL, "0").replace(BLANK, "1"), 2)


def waves(maze: tuple[str, int], start: int) -> Iterator[int]:
    """The cells 0, 1, 2... steps from one through the maze, as bits; walls all round keep rows apart."""
    width, rest, wave = maze[1], free_of(maze[0]), 1 << start
    while wave:
        yield wave
        rest &= ~wave
        wave = (wave << 1 | wave >> 1 | wave << width | wave >> width) & rest


@functools.lru_cache(maxsize=1024)
def nearer(maze: tuple[str, int], cell: int, prey: int) -> int:
    """The cells as bits that are one step nearer to the prey than a cell is, those beside it among them."""
    before = 0
    for wave in waves(maze, prey):
        if wave >> cell & 1:
            break
        before = wave
    return before


@functools.lru_cache(maxsize=512)
def haunted(maze: tuple[str, int], ghosts: tuple[Ints, ...], prey: int, hunt: bool) -> tuple[tuple[Ints, ...], int]:
    """All ghosts (cell, heading, kind) a turn later, and their cells as bits; they step one after another in reading order.

    Other ghosts are walls to a ghost, and it waits if there is no way at all.
    """
    out, taken, ways = [], {ghost[0] for ghost in ghosts}, near(*maze)
    for ghost in ghosts:
        cell, heading, kind = ghost
        taken.discard(cell)
        if kind < 2:
            for way in TURNS[kind][heading]:
                to = ways[cell][way]
                if to >= 0 and to not in taken:
                    ghost = (to, way, kind)
                    break
        elif hunt:
            closer = nearer(maze, cell, prey)
            to = next((to for to in ways[cell] if to >= 0 and closer >> to & 1 and to not in taken), cell)
            ghost = (to, 0, kind)
        taken.add(ghost[0])
        out.append(ghost)
    return tuple(sorted(out)), sum([1 << cell for cell in taken])


def dug(rng: Rng, across: int, down: int) -> str:
    """A maze of `across` x `down` rooms, with a wall between any two, joined so that no room has only one way out."""
    width, height = 2 * across + 1, 2 * down + 1
    free = {width + 1}
    path = [width + 1]
    leaps = (-2 * width, 2 * width, -2, 2)

    def rooms(cell: int) -> list[int]:
        y, x = divmod(cell, width)
        inside = (y > 1, y < height - 2, x > 1, x < width - 2)
        return [cell + leap for leap, ok in zip(leaps, inside, strict=True) if ok]

    while path:
        ahead = [room for room in rooms(path[-1]) if room not in free]
        if ahead:
            room = rng.pick(ahead)
            free |= {room, (room + path[-1]) // 2}
            path.append(room)
        else:
            path.pop()
    for cell in [y * width + x for y in range(1, height, 2) for x in range(1, width, 2)]:
        doors = [(cell + room) // 2 for room in rooms(cell)]
        shut = [door for door in doors if door not in free]
        if shut and len(doors) - len(shut) < 2:
            free.add(rng.pick(shut))
    return "".join(BLANK if i in free else WALL for i in range(width * height))


class Pellets:
    """The rules of the maze: `Frame.at` is the player's cell, `Frame.things` (pellets as bits,) and the ghosts in reading order."""

    actions = ACTIONS
    sprites: Mapping[str, str] = {
        PLAYER: "maze-eater",
        CAUGHT: "maze-caught",
        WALL: "maze-wall",
        PELLET: "maze-pellet",
        **{sign: f"maze-ghost-{k}-{i}" for k, signs in enumerate(GHOSTS) for i, sign in enumerate(signs)},
        **{
            sign.upper(): f"maze-ghost-{k}-{i}+maze-under"
            for k, signs in enumerate(GHOSTS)
            for i, sign in enumerate(signs)
        },
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame] | None:
        if knobs["pellets"] < knobs["goal"]:
            raise GenerationError(f"goal {knobs['goal']} of {knobs['pellets']} pellets")
        cells = dug(rng, knobs["across"], knobs["down"])
        width, height = 2 * knobs["across"] + 1, 2 * knobs["down"] + 1
        free = [i for i, sign in enumerate(cells) if sign == BLANK]
        rng.shuffle(free)
        at, *rest = free
        close = sum(itertools.islice(waves((cells, width), at), FAR))
        far = [cell for cell in rest if not close >> cell & 1]
        kinds = [kind for kind, knob in enumerate(KNOB) for _ in range(knobs[knob])]
        if len(far) < len(kinds) or len(rest) < knobs["pellets"]:
            return None
        ghosts = []
        for cell, kind in zip(far, kinds, strict=False):
            open_ways = [way for way, to in enumerate(near(cells, width)[cell]) if to >= 0]
            ghosts.append((cell, 0 if kind == 2 else rng.pick(open_ways), kind))
        pellets = sum(1 << cell for cell in rest[-knobs["pellets"] :])
        things = ((pellets,), *sorted(ghosts))
        frame = Frame(Stage(width, height, 990, knobs["goal"], cells), 0, (at,), things)
        found = functools.partial(answered, self, frame, self._legs, _worth, knobs["goal"] + 8, 1, _least)
        # like the budget of the search, so that hunters keep their beat
        return planned(frame, found, lambda moves: (moves * 5 // 4 + 8) // PACE * PACE)

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, ((pellets,), *ghosts), at = frame.stage, frame.things, frame.at[0]
        maze = (stage.cells, stage.width)
        if action != "wait":
            to = near(*maze)[at][WAYS[action]]
            at = to if to >= 0 else at
        ate = pellets >> at & 1
        met = any(ghost[0] == at for ghost in ghosts)
        hunt = (stage.turns - frame.turn) % PACE == 0
        later = tuple(ghosts)
        if not met:
            later, spots = haunted(maze, later, at if hunt and hunted(ghosts) else NONE, hunt)
            met = bool(spots >> at & 1)
        score = frame.score + ate
        over = ending(frame, score >= stage.goal, met)
        return Frame(stage, frame.turn + 1, (at,), ((pellets & ~(ate << at),), *later), score, over)

    def _legs(self, frame: Frame) -> Iterator[Leg]:
        """Ways to the nearest pellets that come to no cell more than `VISITS` times."""
        stage, ((pellets,), *ghosts), at = frame.stage, frame.things, frame.at[0]
        maze, hunters, turn = (stage.cells, stage.width), hunted(ghosts), frame.turn
        spots, ways = sum([1 << ghost[0] for ghost in ghosts]), paces(*maze)
        wave: list[tuple[int, tuple[Ints, ...], int, Path]] = [(at, tuple(ghosts), spots, None)]
        visits = [0] * len(stage.cells)
        found = 0
        while wave and found < 2 and turn < stage.turns:
            after, hunt = [], (stage.turns - turn) % PACE == 0
            turn += 1
            alike = not (hunters and hunt)  # the ghosts then do the same whatever the player does
            for cell, now, spots, path in wave:
                later, there = haunted(maze, now, NONE, hunt) if alike else (now, 0)
                for name, to, bit in ways[cell]:
                    if visits[to] >= VISITS or spots & bit:
                        continue
                    if not alike:
                        later, there = haunted(maze, now, to, hunt)
                    if there & bit:
                        continue
                    visits[to] += 1
                    if pellets & bit:
                        visits[to], found = VISITS, found + 1
                        here = Frame(stage, turn - 1, (cell,), ((pellets,), *now), frame.score)
                        yield words_of((path, name)), self.advance(here, name)
                    else:
                        after.append((to, later, there, (path, name)))
            wave = after

    def plan(self, frame: Frame) -> Answer:
        return answered(self, frame, self._legs, _worth, 150, least=_least)

    def look(self, frame: Frame) -> Look:
        stage, ((pellets,), *ghosts) = frame.stage, frame.things
        signs = [PELLET if pellets >> i & 1 else sign for i, sign in enumerate(stage.cells)]
        for cell, heading, kind in ghosts:
            sign = GHOSTS[kind][heading]
            signs[cell] = sign.upper() if pellets >> cell & 1 else sign
        signs[frame.at[0]] = CAUGHT if frame.over == HIT else PLAYER
        counters = (left(frame), ("pellets", str(stage.goal - frame.score)))
        return Look(stage.width, "".join(signs), counters, (), frame.over)

    def restore(self, look: Look) -> Frame:
        counters = {name: int(value) for name, value in look.counters}
        cells = "".join(WALL if sign == WALL else BLANK for sign in look.signs)
        ghosts, pellets = [], 0
        for i, sign in enumerate(look.signs):
            kind = next((k for k, signs in enumerate(GHOSTS) if sign.lower() in signs), NONE)
            if sign == PELLET or (kind >= 0 and sign.isupper()):
                pellets |= 1 << i
            if kind >= 0 and sign != PELLET:
                ghosts.append((i, GHOSTS[kind].index(sign.lower()), kind))
        at = max(look.signs.find(PLAYER), look.signs.find(CAUGHT))
        stage = Stage(look.width, len(cells) // look.width, counters["turns"], counters["pellets"], cells)
        return Frame(stage, 0, (at,), ((pellets,), *ghosts), over=look.over)

    def brief(self, frame: Frame) -> str:
        width, at = frame.stage.width, frame.at[0]
        ghosts = sum(ghost[0] != at for ghost in frame.things[1:])
        where = f"You are in row {at // width + 1} of {frame.stage.height}, column {at % width + 1} of {width}. Ghosts elsewhere: {ghosts}."
        return f"{where} Pellets still to be eaten: {frame.stage.goal - frame.score}. Turns left: {left(frame)[1]}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return ("maze-floor",) * len(frame.stage.cells)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        return 2 * knobs["across"] + 1, 2 * knobs["down"] + 1, ("turns", "pellets"), ()


def hunted(ghosts: Sequence[Ints]) -> bool:
    """Whether there is a hunter, so that where the ghosts go depends on the player."""
    return any(ghost[2] == 2 for ghost in ghosts)


def _worth(frame: Frame) -> tuple[int, int]:
    return -frame.score, frame.turn


def _least(frame: Frame) -> int:
    """A leg ends on the first pellet."""
    return frame.stage.goal - frame.score


def _ghost(kind: int, heading: int) -> tuple[Shape, ...]:
    """A ghost that looks where it goes: patrols are square, roamers round, hunters horned."""
    fill, line = (("sky", "navy"), ("plum", "wine"), ("brick", "rust"))[kind]
    dx, dy = ((0, -1), (0, 1), (-1, 0), (1, 0))[heading] if kind < 2 else (0, 0)
    hem = ((0.84, 0.94), (0.67, 0.82), (0.5, 0.94), (0.33, 0.82), (0.16, 0.94))
    tops = (
        ((0.16, 0.12), (0.84, 0.12)),
        ((0.16, 0.4), (0.28, 0.16), (0.5, 0.07), (0.72, 0.16), (0.84, 0.4)),
        ((0.16, 0.04), (0.34, 0.24), (0.66, 0.24), (0.84, 0.04)),
    )
    eyes = [(x + 0.06 * dx, 0.42 + 0.06 * dy) for x in (0.36, 0.64)]
    return (
        Polygon(points=(*tops[kind], *hem), fill=fill, line=line, thick=0.06),
        *(Disc(x=x, y=y, radius=0.14, fill="white") for x, y in eyes),
        *(Disc(x=x + 0.08 * dx, y=y + 0.08 * dy, radius=0.09, fill="ink") for x, y in eyes),
    )


EATER: tuple[Shape, ...] = (
    Disc(x=0.5, y=0.5, radius=0.42, fill="gold", line="amber", thick=0.06),
    *(Disc(x=x, y=0.4, radius=0.06, fill="ink") for x in (0.36, 0.64)),
    Polygon(points=((0.28, 0.58), (0.72, 0.58), (0.5, 0.8)), fill="rust"),
)
ART: dict[str, tuple[Shape, ...]] = {
    "maze-floor": (Box(x=0, y=0, width=1, height=1, fill="ink"),),
    "maze-wall": (
        Box(x=0, y=0, width=1, height=1, fill="navy"),
        Box(x=0.14, y=0.14, width=0.72, height=0.72, fill="blue", radius=0.16),
    ),
    "maze-pellet": (Disc(x=0.5, y=0.5, radius=0.16, fill="gold"),),
    "maze-under": (Disc(x=0.5, y=0.74, radius=0.16, fill="gold", line="ink", thick=0.05),),
    "maze-eater": EATER,
    "maze-caught": (
        *EATER,
        *(Polygon(points=((0.06, y), (0.94, 1 - y)), line="brick", thick=0.16, closed=False) for y in (0.06, 0.94)),
    ),
    **{f"maze-ghost-{k}-{i}": _ghost(k, i) for k, signs in enumerate(GHOSTS) for i in range(len(signs))},
    "icon-pellets": (Disc(x=0.52, y=0.52, radius=0.2, fill="gold"),),
}
tiles(ART)
