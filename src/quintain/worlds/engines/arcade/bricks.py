"""Paddle, ball and bricks: keep the ball in play and strike bricks with it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from quintain.worlds.art import tiles
from quintain.worlds.directions import WAITS
from quintain.worlds.engines.arcade.court import COURT, REACH, STEPS, WAYS, Ball, flown, met, moved
from quintain.worlds.engines.arcade.loop import BLANK, HIT, Frame, Look, Stage, ending, left, planned
from quintain.worlds.kernel import Answer, Choices, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng, spend
from quintain.worlds.scene import Box, Polygon, Shape
from quintain.worlds.splits import Draft

BRICK, BALL, PADDLE = "B", "O", "[=]"
MOVES = {"wait": 0, "left": -1, "right": 1}
ACTIONS = Choices(
    *MOVES,
    synonyms=WAITS
    | {"l": "left", "r": "right", "west": "left", "east": "right"}
    | {"paddle left": "left", "paddle right": "right", "hold": "wait"},
)
NODES = 800  # flights that the oracle looks at before it gives up
LOOK = 20  # draws that each counts for, where they are counted


class Scope(NamedTuple):
    """What is fixed for a search: the size of the court, cells per turn, bricks to strike, the last turn."""

    width: int
    height: int
    ticks: int
    goal: int
    turns: int


class Air(NamedTuple):
    """A ball on its way at the start of tick `tick`, counted from the start of the episode, with what is left of the bricks."""

    tick: int
    ball: Ball
    bricks: int
    score: int


def ticked(scope: Scope, air: Air, paddle: int) -> Air | None:
    """The air one tick later, or None if the ball is lost."""
    tick, ball, bricks, score = air
    if ball.y == 0 and ball.dy < 0:
        ball = ball._replace(dy=1)
    if ball.y == scope.height - 2 and ball.dy > 0:
        back = met(ball, paddle, scope.width)
        return None if back is None else Air(tick + 1, back, bricks, score)
    flight = flown(ball, scope.width, bricks)
    if flight.struck >= 0:
        bricks, score = bricks & ~(1 << flight.struck), min(score + 1, scope.goal)
    return Air(tick + 1, flight.ball, bricks, score)


def landing(scope: Scope, air: Air) -> Air:
    """The air when the ball is next about to meet the paddle's row, or has struck enough, or the turns are over."""
    last = scope.turns * scope.ticks
    while air.tick < last and air.score < scope.goal and (air.ball.y < scope.height - 2 or air.ball.dy < 0):
        air = ticked(scope, air, 0) or air
    return air


def way(scope: Scope, air: Air, paddle: int) -> list[tuple[int, int]] | int | None:
    """(tick, paddle) of each meeting on a way to the goal, and the tick after which it is reached at the end.

    The paddle matters only when it meets the ball, in one of three ways, so the search goes from meeting to meeting; most
    bricks first. None when all was tried; the number of flights when there were too many.
    """
    first = landing(scope, air)
    heap: list[tuple[int, int, int]] = [(-first.score, first.tick, 0)]
    made: list[tuple[int, Air, int]] = [(-1, first, paddle)]  # parent, air at the meeting, paddle before it
    seen: set[tuple[Air, int]] = set()
    begun, nodes = air.tick, 0
    while heap:
        index = heapq.heappop(heap)[2]
        parent, now, paddle = made[index]
        if now.score >= scope.goal:
            out = [(now.tick, paddle)]
            while parent >= 0:
                out.append((made[parent][1].tick, made[index][2]))
                index, parent = parent, made[parent][0]
            return out[::-1]
        if now.tick >= scope.turns * scope.ticks or (now, paddle) in seen:
            continue
        seen.add((now, paddle))
        nodes += 1
        spend(LOOK)
        if nodes > NODES:
            return nodes
        since = (
            begun if parent < 0 else made[parent][1].tick + 1
        )  # the paddle has moved in the turn of its last meeting
        steps = now.tick // scope.ticks - (since - 1) // scope.ticks
        x = now.ball.x + now.ball.dx
        x = x if 0 <= x < scope.width else now.ball.x - now.ball.dx
        for at in range(x - REACH, x + REACH + 1):
            if REACH <= at < scope.width - REACH and abs(at - paddle) <= steps:
                back = ticked(scope, now, at)
                if back is not None:
                    ahead = landing(scope, back)
                    made.append((index, ahead, at))
                    heapq.heappush(heap, (-ahead.score, ahead.tick, len(made) - 1))
    return None


def steered(scope: Scope, begun: int, paddle: int, meetings: Sequence[tuple[int, int]]) -> Iterator[int]:
    """The steps of a paddle that is where it should be at each meeting; it waits where it has time."""
    turn = begun
    for tick, at in meetings:
        last = tick // scope.ticks if (tick, at) != meetings[-1] else (tick - 1) // scope.ticks
        while turn <= last:
            step = (at > paddle) - (at < paddle)
            paddle += step
            yield step
            turn += 1


class Bricks:
    """The rules of the bricks.

    `Stage.data` is ((cells per turn,),); `Frame.at` the middle of the paddle, `Frame.things` the ball and (bricks as bits,),
    `Frame.score` the bricks struck.
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {
        BRICK: "court-brick",
        BALL: "court-ball",
        **dict(zip(PADDLE, ("paddle-left", "paddle-middle", "paddle-right"), strict=True)),
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame] | None:
        width, height, rows = knobs["width"], knobs["height"], knobs["rows"]
        bricks = sum(1 << width + c for c in range(rows * width) if rng.below(100) < knobs["dense"])
        ball = (rng.below(width), rows + 2, rng.pick((-1, 1)), 1)
        paddle = REACH + rng.below(width - 2 * REACH)
        stage = Stage(width, height, knobs["high"], knobs["goal"], data=((knobs["ticks"],),))
        frame = Frame(stage, 0, (paddle,), (ball, (bricks,)))
        if bricks.bit_count() < knobs["goal"]:
            return None
        return planned(frame, lambda: self.plan(frame), lambda moves: moves * 5 // 4 + 3)

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, scope = frame.stage, _scope(frame)
        paddle = moved(frame.at[0], MOVES[action], stage.width)
        air = _air(frame, scope)
        for _ in range(scope.ticks):
            after = ticked(scope, air, paddle)
            if after is None:  # it is shown where it went past
                x, y, dx, dy = air.ball
                lost = (x + dx if 0 <= x + dx < stage.width else x - dx, y + dy, dx, dy)
                return Frame(stage, frame.turn + 1, (paddle,), (lost, (air.bricks,)), air.score, HIT)
            air = after
            if air.score >= stage.goal:
                break
        over = ending(frame, air.score >= stage.goal, False)
        return Frame(stage, frame.turn + 1, (paddle,), (tuple(air.ball), (air.bricks,)), air.score, over)

    def plan(self, frame: Frame) -> Answer:
        if frame.over:
            return Unsolvable("the episode is over")
        scope = _scope(frame)
        found = way(scope, _air(frame, scope), frame.at[0])
        if found is None:
            return Unsolvable("every way to meet the ball was tried")
        if isinstance(found, int):
            return Unknown(found)
        by_step = {step: ACTIONS[name] for name, step in MOVES.items()}
        return Plan(tuple(by_step[step] for step in steered(scope, frame.turn, frame.at[0], found)))

    def look(self, frame: Frame) -> Look:
        stage, width = frame.stage, frame.stage.width
        (x, y, dx, dy), (bricks,) = frame.things
        signs = [BRICK if bricks >> c & 1 else BLANK for c in range(width * stage.height)]
        middle = (stage.height - 1) * width + frame.at[0]
        signs[middle - 1 : middle + 2] = PADDLE
        signs[y * width + x] = BALL
        need = ("bricks", str(stage.goal - frame.score))
        return Look(
            width,
            "".join(signs),
            (left(frame), need, ("speed", str(stage.data[0][0])), ("ball", WAYS[dx, dy])),
            (),
            frame.over,
        )

    def restore(self, look: Look) -> Frame:
        counters, width = dict(look.counters), look.width
        goal, ticks = int(counters["bricks"]), int(counters["speed"])
        stage = Stage(width, len(look.signs) // width, int(counters["turns"]), goal, data=((ticks,),))
        y, x = divmod(look.signs.index(BALL), width)
        bricks = sum(1 << c for c, sign in enumerate(look.signs) if sign == BRICK)
        paddle = look.signs.index(PADDLE[1]) % width
        return Frame(stage, 0, (paddle,), ((x, y, *STEPS[counters["ball"]]), (bricks,)), over=look.over)

    def brief(self, frame: Frame) -> str:
        x, y, dx, dy = frame.things[0]
        need = frame.stage.goal - frame.score
        return (
            f"The middle of your paddle is in column {frame.at[0] + 1} of {frame.stage.width}; the ball is in column {x + 1}, "
            f"row {y + 1} of {frame.stage.height}, and flies {WAYS[dx, dy]}. Bricks still to be struck: {need}. "
            f"Turns left: {left(frame)[1]}."
        )

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return ("court",) * (frame.stage.width * frame.stage.height)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        counters = ("turns", "bricks", "speed", *(f"ball:{name}" for name in STEPS))
        return knobs["width"], knobs["height"], counters, ()


def _scope(frame: Frame) -> Scope:
    stage = frame.stage
    return Scope(stage.width, stage.height, stage.data[0][0], stage.goal, stage.turns)


def _air(frame: Frame, scope: Scope) -> Air:
    x, y, dx, dy = frame.things[0]
    return Air(frame.turn * scope.ticks, Ball(x, y, dx, dy), frame.things[1][0], frame.score)


BRICK_ART: tuple[Shape, ...] = (
    Box(x=0.04, y=0.14, width=0.92, height=0.72, fill="brick", line="rust", thick=0.06, radius=0.08),
    Box(x=0.14, y=0.24, width=0.72, height=0.08, fill="amber", radius=0.03),
)
ART: dict[str, tuple[Shape, ...]] = {
    "court-brick": BRICK_ART,
    "icon-bricks": BRICK_ART,
    "icon-speed": tuple(
        Polygon(points=((x, 0.26), (x + 0.24, 0.52), (x, 0.78)), line="gold", thick=0.12, closed=False)
        for x in (0.22, 0.5)
    ),
}
tiles({**COURT, **ART})
