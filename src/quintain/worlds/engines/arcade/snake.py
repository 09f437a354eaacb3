"""A snake that grows with every apple it eats and must not run into anything."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.directions import CHOICES, DIRECTIONS
from quintain.worlds.engines.arcade.loop import BLANK, HIT, Frame, Ints, Look, Stage, ending, left, planned
from quintain.worlds.engines.arcade.quest import Leg, answered, played
from quintain.worlds.engines.grid.board import open_steps
from quintain.worlds.kernel import Answer
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Box, Disc, Polygon, Shape
from quintain.worlds.splits import Draft

HEAD, DEAD, APPLE, ROCK = "P", "X", "A", "#"
ARROWS = "^v<>"  # a cell of the body points to the next one towards the head
NOWHERE = -1


ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0), (1, 2, 3, 0), (2, 0, 3, 1))  # in which routes try directions


@functools.lru_cache(maxsize=128)
def near(cells: str, width: int) -> tuple[Ints, ...]:
    """The free neighbour of each cell up, down, left and right, `NOWHERE` where a rock or the edge is."""
    plain = [*zip(*open_steps(width, len(cells) // width), strict=True)]
    out, rock = [*plain], cells.find(ROCK)
    while rock >= 0:
        for i in plain[rock]:
            if i >= 0:
                out[i] = tuple([NOWHERE if to == rock else to for to in out[i]])
        rock = cells.find(ROCK, rock + 1)
    return tuple(out)


def routes(frame: Frame) -> Iterator[tuple[str, ...]]:
    """Shortest ways to the apple while the body moves on, at most one for each order in which directions are tried."""
    body, target = frame.things[0], frame.things[1][0]
    ways, free = near(frame.stage.cells, frame.stage.width), {cell: len(body) - i for i, cell in enumerate(body)}
    turns, wave, turn = {body[0]: 0}, [body[0]], 0  # when the head can be in each cell at the earliest
    while wave and target not in turns:
        after, turn = [], turn + 1
        for cell in wave:
            for to in ways[cell]:
                if to >= 0 and to not in turns and (to not in free or free[to] <= turn):
                    turns[to] = turn
                    after.append(to)
        wave = after
    if target not in turns:
        return
    layers = [{target}]  # cells of shortest ways, the last one first
    while turn > 1:
        turn -= 1
        layers.append({to for cell in layers[-1] for to in ways[cell] if turns.get(to) == turn})
    known = set()
    for order in ORDERS:
        words, cell = [], body[0]
        for layer in reversed(layers):
            way = next(way for way in order if ways[cell][way] in layer)
            words.append(DIRECTIONS[way])
            cell = ways[cell][way]
        if (path := tuple(words)) not in known:
            known.add(path)
            yield path


def trapped(frame: Frame) -> bool:
    """Whether the head can reach neither the tail nor as many cells as the body is long."""
    body, ways = frame.things[0], near(frame.stage.cells, frame.stage.width)
    seen, wave = {*body[:-1]}, [body[0]]
    inside = 0
    while wave:
        for to in ways[wave.pop()]:
            if to == body[-1]:
                return False
            if to >= 0 and to not in seen:
                seen.add(to)
                wave.append(to)
                inside += 1
    return inside < len(body)


@functools.lru_cache(maxsize=128)
def _floor(cells: str) -> Ints:
    return tuple([i for i, sign in enumerate(cells) if sign != ROCK])


def placed(stage: Stage, body: Ints, seed: int, score: int) -> int:
    """Where the next apple lies: drawn from the cells that are free, by noise that is never shown."""
    taken = {*body}
    free = [i for i in _floor(stage.cells) if i not in taken]
    return free[Noise(seed, score).below(len(free))] if free else NOWHERE


class Snake:
    """The rules of the snake: `Frame.things` holds the cells of the body from the head on, the apple, and the seed of apples to come."""

    actions = CHOICES
    sprites: Mapping[str, str] = {
        HEAD: "snake-head",
        DEAD: "snake-dead",
        APPLE: "snake-apple",
        ROCK: "snake-rock",
        **{sign: f"snake-{name}" for sign, name in zip(ARROWS, DIRECTIONS, strict=True)},
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame] | None:
        width, height = knobs["width"], knobs["height"]
        rocks = rng.sample(range(width * height), knobs["rocks"])
        cells = "".join(ROCK if i in rocks else BLANK for i in range(width * height))
        ways = near(cells, width)
        floor = _floor(cells)
        if any(ways[i].count(NOWHERE) > 2 for i in floor):
            return None
        body = [rng.pick(floor)]
        while len(body) < knobs["length"]:
            onward = [to for to in ways[body[-1]] if to >= 0 and to not in body]
            if not onward:
                return None
            body.append(rng.pick(onward))
        seed = int(rng.uniform() * 2**31)
        stage = Stage(width, height, 999, knobs["goal"], cells=cells)
        frame = Frame(stage, 0, (), (tuple(body), (placed(stage, tuple(body), seed, 0),), (seed,)))
        found = functools.partial(answered, self, frame, self._legs, _worth, knobs["goal"] * 2, 1)
        return planned(frame, found, lambda moves: moves * 6 // 5 + 5)

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, (body, (apple,), (seed,)) = frame.stage, frame.things
        to = near(stage.cells, stage.width)[body[0]][DIRECTIONS.index(action)]
        ate = to == apple
        if to < 0 or to in body[: None if ate else -1]:
            return Frame(stage, frame.turn + 1, (), frame.things, frame.score, HIT)
        body = (to, *(body if ate else body[:-1]))
        score = frame.score + ate
        if ate:
            apple = placed(stage, body, seed, score) if score < stage.goal else NOWHERE
        over = ending(frame, score >= stage.goal, False)
        return Frame(stage, frame.turn + 1, (), (body, (apple,), (seed,)), score, over)

    def _legs(self, frame: Frame) -> Iterator[Leg]:
        return ((words, played(self, frame, words)) for words in routes(frame))

    def plan(self, frame: Frame) -> Answer:
        return answered(self, frame, self._legs, _worth, 200)

    def look(self, frame: Frame) -> Look:
        stage, (body, (apple,), _) = frame.stage, frame.things
        signs = [*stage.cells]
        if apple >= 0:
            signs[apple] = APPLE
        ways = near(stage.cells, stage.width)
        for ahead, cell in itertools.pairwise(body):
            signs[cell] = ARROWS[ways[cell].index(ahead)]
        signs[body[0]] = DEAD if frame.over == HIT else HEAD
        counters = (left(frame), ("apples", str(stage.goal - frame.score)))
        return Look(stage.width, "".join(signs), counters, (), frame.over)

    def restore(self, look: Look) -> Frame:
        counters = {name: int(value) for name, value in look.counters}
        cells = "".join(sign if sign == ROCK else BLANK for sign in look.signs)
        ways = near(cells, look.width)
        behind = {ways[i][ARROWS.index(sign)]: i for i, sign in enumerate(look.signs) if sign in ARROWS}
        body = [max(look.signs.find(HEAD), look.signs.find(DEAD))]
        while body[-1] in behind:
            body.append(behind[body[-1]])
        stage = Stage(look.width, len(cells) // look.width, counters["turns"], counters["apples"], cells=cells)
        return Frame(stage, 0, (), (tuple(body), (look.signs.find(APPLE),), (0,)), over=look.over)

    def brief(self, frame: Frame) -> str:
        width, (body, (apple,), _) = frame.stage.width, frame.things
        where = f"Your head is in row {body[0] // width + 1} of {frame.stage.height}, column {body[0] % width + 1} of {width}; "
        where += f"you are {len(body)} cells long."
        food = f" The apple is in row {apple // width + 1}, column {apple % width + 1}." if apple >= 0 else ""
        return (
            f"{where}{food} Apples still to be eaten: {frame.stage.goal - frame.score}. Turns left: {left(frame)[1]}."
        )

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return _ground(frame.stage.width, frame.stage.height)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        return knobs["width"], knobs["height"], ("turns", "apples"), ()


def _worth(frame: Frame) -> tuple[bool, int, int]:
    return trapped(frame), -frame.score, frame.turn


@functools.lru_cache(maxsize=64)
def _ground(width: int, height: int) -> tuple[str, ...]:
    return tuple(f"snake-lawn-{(x + y) % 2}" for y in range(height) for x in range(width))


def _body(way: int) -> tuple[Shape, ...]:
    """A cell of the body with a bridge and a chevron towards the head."""
    dx, dy = ((0, -1), (0, 1), (-1, 0), (1, 0))[way]
    wide, high = (0.76, 0.88) if dy else (0.88, 0.76)
    x, y = (0.12 if dx >= 0 else 0.0), (0.12 if dy >= 0 else 0.0)
    tip, side = (0.5 + 0.16 * dx, 0.5 + 0.16 * dy), (0.16 * dy, 0.16 * dx)
    back = (tip[0] - 0.2 * dx, tip[1] - 0.2 * dy)
    chevron = ((back[0] + side[0], back[1] + side[1]), tip, (back[0] - side[0], back[1] - side[1]))
    return (
        Box(x=x, y=y, width=wide, height=high, fill="green", radius=0.24),
        Polygon(points=chevron, line="forest", thick=0.08, closed=False),
    )


HEAD_ART: tuple[Shape, ...] = (
    Disc(x=0.5, y=0.5, radius=0.44, fill="gold", line="rust", thick=0.06),
    *(Disc(x=x, y=0.38, radius=0.13, fill="white") for x in (0.33, 0.67)),
    *(Disc(x=x, y=0.38, radius=0.06, fill="ink") for x in (0.33, 0.67)),
    Polygon(points=((0.34, 0.66), (0.5, 0.74), (0.66, 0.66)), line="rust", thick=0.06, closed=False),
)
ART: dict[str, tuple[Shape, ...]] = {
    "snake-lawn-0": (Box(x=0, y=0, width=1, height=1, fill="mint"),),
    "snake-lawn-1": (Box(x=0, y=0, width=1, height=1, fill="paper"),),
    "snake-head": HEAD_ART,
    "snake-dead": (
        *HEAD_ART,
        *(Polygon(points=((0.1, y), (0.9, 1 - y)), line="brick", thick=0.12, closed=False) for y in (0.1, 0.9)),
    ),
    **{f"snake-{name}": _body(way) for way, name in enumerate(DIRECTIONS)},
    "snake-apple": (
        Polygon(points=((0.5, 0.3), (0.56, 0.08)), line="bark", thick=0.07, closed=False),
        Disc(x=0.5, y=0.58, radius=0.32, fill="brick", line="rust", thick=0.06),
        Polygon(points=((0.56, 0.22), (0.84, 0.1), (0.76, 0.3)), fill="forest"),
        Disc(x=0.4, y=0.48, radius=0.07, fill="white"),
    ),
    "snake-rock": (
        Box(x=0.04, y=0.04, width=0.92, height=0.92, fill="stone", radius=0.2),
        Box(x=0.16, y=0.14, width=0.56, height=0.1, fill="cloud", radius=0.05),
    ),
    "icon-apples": (
        Disc(x=0.52, y=0.56, radius=0.3, fill="brick", line="rust", thick=0.06),
        Polygon(points=((0.52, 0.26), (0.8, 0.1), (0.74, 0.32)), fill="green"),
    ),
}
tiles(ART)
