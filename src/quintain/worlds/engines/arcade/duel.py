"""Two paddles and a ball: get the ball past an opponent who follows it, and never let it past you."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.engines.arcade.bricks import ACTIONS, BALL, MOVES, PADDLE
from quintain.worlds.engines.arcade.court import STEPS, WAYS, Ball, flown, met, moved, paddle_part
from quintain.worlds.engines.arcade.loop import BLANK, HIT, Frame, Look, Stage, ending, left, planned
from quintain.worlds.engines.arcade.quest import Leg, quest
from quintain.worlds.kernel import Answer, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Disc, Shape
from quintain.worlds.splits import Draft

OTHER = "(-)"
AWAY = -9  # the column of a paddle that meets nothing
NODES = 400  # meetings that the oracle looks at before it gives up


def follows(paddle: int, ball: Ball, width: int) -> int:
    """Where the opponent steps: towards the column of a ball that flies up, else towards the middle."""
    aim = ball.x if ball.dy < 0 else width // 2
    return moved(paddle, (aim > paddle) - (aim < paddle), width)


def passed(ball: Ball, width: int) -> Ball:
    """A ball that no paddle has met, in the row behind."""
    x = ball.x + ball.dx
    x = x if 0 <= x < width else ball.x - ball.dx
    return Ball(x, ball.y + ball.dy, ball.dx, ball.dy)


def flies(stage: Stage, ball: Ball, low: int, high: int) -> tuple[Ball, int]:
    """The ball after the ticks of a turn, and whether it has gone past the high paddle (1), the low one (-1) or neither."""
    for _ in range(stage.data[0][0]):
        edge, paddle = (1, high) if ball.dy < 0 else (stage.height - 2, low)
        if ball.y != edge:
            ball = flown(ball, stage.width, 0).ball
            continue
        back = met(ball, paddle, stage.width)
        if back is None:
            return passed(ball, stage.width), -ball.dy
        ball = back
    return ball, 0


class Duel:
    """The rules of the duel.

    `Stage.data` is ((cells per turn,), (column and sideways step of each serve, one after another)); `Frame.at` the middles of both
    paddles, yours first; `Frame.things` the ball; `Frame.score` the points.
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {
        BALL: "court-ball",
        **dict(zip(PADDLE, ("paddle-left", "paddle-middle", "paddle-right"), strict=True)),
        **dict(zip(OTHER, ("rival-left", "rival-middle", "rival-right"), strict=True)),
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame]:
        width, height, goal = knobs["width"], knobs["height"], knobs["goal"]
        serves = [n for _ in range(goal + 1) for n in (2 + rng.below(width - 4), rng.pick((-1, 1)))]
        stage = Stage(width, height, 400, goal, data=((knobs["ticks"],), tuple(serves)))
        at = (1 + rng.below(width - 2), 1 + rng.below(width - 2))
        frame = Frame(stage, 0, at, (_served(stage, 0),))
        return planned(frame, lambda: self._found(frame, 8 * goal), lambda moves: moves * 5 // 4 + 6)

    def advance(self, frame: Frame, action: str) -> Frame:
        return self._flown(frame, moved(frame.at[0], MOVES[action], frame.stage.width))

    def _flown(self, frame: Frame, paddle: int) -> Frame:
        """The frame a turn later with your paddle at a column."""
        stage, ball = frame.stage, Ball(*frame.things[0])
        other = follows(frame.at[1], ball, stage.width)
        ball, point = flies(stage, ball, paddle, other)
        score = frame.score + (point > 0)
        over = ending(frame, score >= stage.goal, point < 0)
        things = (_served(stage, score),) if point > 0 and score < stage.goal else (tuple(ball),)
        return Frame(stage, frame.turn + 1, (paddle, other), things, score, over)

    def _legs(self, frame: Frame) -> Iterator[Leg]:
        """The ways to meet the ball next; where you are in between changes nothing, so there are three at most."""
        now, turns, paddle = frame, 0, frame.at[0]
        while not now.over:
            now, turns = self._flown(now, AWAY), turns + 1
        if now.over != HIT:
            yield ("wait",) * turns, now
            return
        for to in range(now.things[0][0] - 1, now.things[0][0] + 2):
            by = to - paddle
            if abs(by) <= turns and moved(to, 0, frame.stage.width) == to:
                words = ["right" if by > 0 else "left"] * abs(by) + ["wait"] * (turns - abs(by))
                after = frame
                for word in words:
                    after = self.advance(after, word)
                yield tuple(words), after

    def plan(self, frame: Frame) -> Answer:
        return Unsolvable("the episode is over") if frame.over else self._found(frame, NODES)

    def _found(self, frame: Frame, limit: int) -> Answer:
        found = quest(frame, self._legs, _worth, limit)
        if isinstance(found, int):
            return Unknown(found) if found > 0 else Unsolvable("every way to meet the ball was tried")
        return Plan(tuple([ACTIONS[word] for word in found]))

    def look(self, frame: Frame) -> Look:
        stage, width, (x, y, dx, dy) = frame.stage, frame.stage.width, frame.things[0]
        signs = [BLANK] * (width * stage.height)
        signs[frame.at[1] - 1 : frame.at[1] + 2] = OTHER
        middle = (stage.height - 1) * width + frame.at[0]
        signs[middle - 1 : middle + 2] = PADDLE
        signs[y * width + x] = BALL
        points, speed = ("points", str(stage.goal - frame.score)), ("speed", str(stage.data[0][0]))
        return Look(width, "".join(signs), (left(frame), points, speed, ("ball", WAYS[dx, dy])), (), frame.over)

    def restore(self, look: Look) -> Frame:
        """The serves to come are taken to be mixed: against one and the same, some opponents can never be beaten."""
        counters, width = dict(look.counters), look.width
        y, x = divmod(look.signs.index(BALL), width)
        mixed = [n for i in range(8) for n in (2 + 5 * i % (width - 4), 1 if i % 3 else -1)]
        data = ((int(counters["speed"]),), tuple(mixed))
        stage = Stage(width, len(look.signs) // width, int(counters["turns"]), int(counters["points"]), data=data)
        at = (look.signs.index(PADDLE[1]) % width, look.signs.index(OTHER[1]))
        return Frame(stage, 0, at, ((x, y, *STEPS[counters["ball"]]),), over=look.over)

    def brief(self, frame: Frame) -> str:
        stage, (x, y, dx, dy) = frame.stage, frame.things[0]
        mine, other = frame.at
        where = f"The middle of your paddle is in column {mine + 1} of {stage.width}, that of your opponent's in column {other + 1};"
        ball = f"the ball is in column {x + 1}, row {y + 1} of {stage.height}, and flies {WAYS[dx, dy]}."
        return f"{where} {ball} Points that you need: {stage.goal - frame.score}. Turns left: {left(frame)[1]}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return ("court",) * (frame.stage.width * frame.stage.height)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        counters = ("turns", "points", "speed", *(f"ball:{name}" for name in STEPS))
        return knobs["width"], knobs["height"], counters, ()


def _worth(frame: Frame) -> tuple[int, int]:
    return -frame.score, frame.turn


def _served(stage: Stage, score: int) -> tuple[int, int, int, int]:
    """The ball of the next point: it enters below the opponent and flies down."""
    serves = stage.data[1]
    at = 2 * score % len(serves)
    return serves[at], 1, serves[at + 1], 1


ART: dict[str, tuple[Shape, ...]] = {
    **{f"rival-{side}": paddle_part(side, "plum", "wine") for side in ("left", "middle", "right")},
    "icon-points": (
        Disc(x=0.52, y=0.52, radius=0.34, fill="gold", line="amber", thick=0.07),
        Disc(x=0.52, y=0.52, radius=0.16, line="amber", thick=0.06),
    ),
}
tiles(ART)
