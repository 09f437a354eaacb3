"""The duel of two paddles between two seats, who move by turns; each sees the court with its own paddle at the bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.engines.arcade.bricks import ACTIONS, BALL, MOVES, PADDLE
from quintain.worlds.engines.arcade.court import STEPS, WAYS, Ball, flown, met, moved
from quintain.worlds.engines.arcade.duel import OTHER, Duel, flies, passed
from quintain.worlds.engines.arcade.loop import BLANK, GOAL, HIT, LATE, RUNNING, Cabinet, Frame, Look, Stage, left
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import NOTHING, Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run, Scene, Shape

SEATS = ("1st", "2nd")
DRAWN: Mapping[str, float] = {"draw": 0.5}
PER_POINT = 4  # moves of both sides for each row and point that the budget allows
DUEL = Duel()


def turned(frame: Frame) -> Frame:
    """The court seen from the other end; how it ended is turned too."""
    stage, (low, high, mover), ((x, y, dx, dy), (points,)) = frame.stage, frame.at, frame.things
    things = ((x, stage.height - 1 - y, dx, -dy), (frame.score,))
    over = {GOAL: HIT, HIT: GOAL}.get(frame.over, frame.over)
    return Frame(stage, frame.turn, (high, low, mover), things, points, over)


def arrival(ball: Ball, stage: Stage) -> tuple[int, int]:
    """The column in which a ball that flies down reaches the bottom row, and in how many ticks."""
    ticks = 1
    while ball.y < stage.height - 2:
        ball, ticks = flown(ball, stage.width, 0).ball, ticks + 1
    return passed(ball, stage.width).x, ticks


def aimed(frame: Frame) -> int:
    """Where the low paddle should go: to meet the ball so that it flies furthest from the other, and to the middle meanwhile."""
    stage, ball, (low, high, _) = frame.stage, Ball(*frame.things[0]), frame.at
    if ball.dy < 0:
        return stage.width // 2
    column, ticks = arrival(ball, stage)
    turns = -(-ticks // stage.data[0][0])
    best, where = -1, min(max(column, 1), stage.width - 2)
    for at in (column, column - 1, column + 1):
        if moved(at, 0, stage.width) == at and abs(at - low) <= turns:
            back = met(Ball(column, stage.height - 2, 0, 1), at, stage.width)
            over = arrival(Ball(column, 1, back.dx, 1), stage)[0] if back else high
            if abs(over - high) > best:
                best, where = abs(over - high), at
    return where


class Court:
    """What a seat sees of the match, as `Rules` of an arcade game whose player is the low paddle.

    `Frame.at` holds both paddles, low first, and the side that is to move; `Frame.things` the ball and (points of the high side,);
    `Frame.score` the points of the low side; `Stage.data` ((cells per turn,), (column, steps of each serve, one after another)).
    """

    actions = ACTIONS
    sprites = DUEL.sprites

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Frame | None:
        width, height, goal = knobs["width"], knobs["height"], knobs["goal"]
        serves = [
            n for _ in range(2 * goal) for n in (1 + rng.below(width - 2), rng.pick((-1, 0, 1)), rng.pick((-1, 1)))
        ]
        turns = PER_POINT * height * (2 * goal - 1)
        stage = Stage(width, height, turns, goal, data=((knobs["ticks"],), tuple(serves)))
        at = (1 + rng.below(width - 2), 1 + rng.below(width - 2), 0)
        return Frame(stage, 0, at, (served(stage, 0), (0,)))

    def advance(self, frame: Frame, action: str) -> Frame:
        """One side moves its paddle; when both have, the ball flies."""
        stage, (low, high, mover), (ball, (points,)), score = frame.stage, frame.at, frame.things, frame.score
        if mover == 0:
            low = moved(low, MOVES[action], stage.width)
        else:
            high = moved(high, MOVES[action], stage.width)
            now, point = flies(stage, Ball(*ball), low, high)
            score, points = score + (point > 0), points + (point < 0)
            done = max(score, points) >= stage.goal
            ball = served(stage, score + points) if point and not done else tuple(now)
        over = GOAL if score >= stage.goal else HIT if points >= stage.goal else RUNNING
        over = LATE if not over and frame.turn + 1 >= stage.turns else over
        return Frame(stage, frame.turn + 1, (low, high, 1 - mover), (ball, (points,)), score, over)

    def plan(self, frame: Frame) -> Answer:
        """The step towards where the low paddle should be."""
        if frame.over:
            return Unsolvable("the match is over")
        to = aimed(frame)
        name = "right" if to > frame.at[0] else "left" if to < frame.at[0] else "wait"
        return Plan((ACTIONS[name],), "policy", (ACTIONS[name],), 0.5)

    def look(self, frame: Frame) -> Look:
        stage, width, (x, y, dx, dy) = frame.stage, frame.stage.width, frame.things[0]
        signs = [BLANK] * (width * stage.height)
        signs[frame.at[1] - 1 : frame.at[1] + 2] = OTHER
        middle = (stage.height - 1) * width + frame.at[0]
        signs[middle - 1 : middle + 2] = PADDLE
        signs[y * width + x] = BALL
        need = [("points", str(stage.goal - frame.score)), ("rival", str(stage.goal - frame.things[1][0]))]
        seat = ("move", SEATS[frame.at[2]])
        counters = (left(frame), *need, ("speed", str(stage.data[0][0])), ("ball", WAYS[dx, dy]), seat)
        return Look(width, "".join(signs), counters, (), frame.over)

    def restore(self, look: Look) -> Frame:
        counters, width = dict(look.counters), look.width
        y, x = divmod(look.signs.index(BALL), width)
        mine, other = int(counters["points"]), int(counters["rival"])
        goal = max(mine, other)
        data = ((int(counters["speed"]),), (2, 1, 1))
        stage = Stage(width, len(look.signs) // width, int(counters["turns"]), goal, data=data)
        at = (look.signs.index(PADDLE[1]) % width, look.signs.index(OTHER[1]), SEATS.index(counters["move"]))
        return Frame(stage, 0, at, ((x, y, *STEPS[counters["ball"]]), (goal - other,)), goal - mine, look.over)

    def brief(self, frame: Frame) -> str:
        lone = Frame(frame.stage, frame.turn, frame.at[:2], frame.things[:1], frame.score)
        need = f"Points that your opponent needs: {frame.stage.goal - frame.things[1][0]}."
        return f"{DUEL.brief(lone)} {need} Yours is the {SEATS[frame.at[2]]} move of a pair."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return DUEL.ground(frame)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        width, height, counters, notes = DUEL.lexicon(knobs)
        return width, height, (*counters, "rival", *(f"move:{seat}" for seat in SEATS)), notes


def served(stage: Stage, number: int) -> tuple[int, int, int, int]:
    """The ball of a point: it starts in the middle row."""
    serves = stage.data[1]
    at = 3 * number % len(serves)
    return serves[at], stage.height // 2, serves[at + 1], serves[at + 2]


class Versus:
    """The match as a game of two sides; each is shown, and advised, as if it were the low one."""

    def __init__(self) -> None:
        self.court = Court()
        self.show = Cabinet(self.court)

    def seen(self, state: Frame, side: int) -> Frame:
        """The frame as one side sees it; the place in `at` of the side to move then says which of the two that side is."""
        mine = turned(state) if side else state
        return Frame(mine.stage, mine.turn, (*mine.at[:2], side), mine.things, mine.score, mine.over)

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Frame | None:
        """See `Game.deal`."""
        return self.court.deal(rng, knobs)

    def layout(self, state: Frame) -> str:
        """See `Game.layout`."""
        return self.show.layout(state)

    def turns(self, state: Frame) -> int:
        """See `Game.turns`."""
        return state.stage.turns

    def mover(self, state: Frame) -> int:
        """See `Game.mover`."""
        return -1 if state.over else state.at[2]

    def legal(self, state: Frame) -> tuple[Move, ...]:
        """See `Game.legal`."""
        return self.show.legal(state)

    def guess(self, state: Frame, rng: Rng) -> Move:
        """See `Game.guess`."""
        return self.show.guess(state, rng)

    def read(self, text: str) -> Move | None:
        """See `Game.read`."""
        return self.show.read(text)

    def play(self, state: Frame, move: Move) -> After[Frame] | None:
        """See `Game.play`."""
        after = self.court.advance(state, move.key)
        if after.over == LATE:
            return After(after, (DRAWN, DRAWN), True, (("late",), ("late",)))
        if not after.over:
            return After(after)
        low = after.over == GOAL
        said = (("won",), ("lost",))
        return After(after, (WON, NOTHING) if low else (NOTHING, WON), True, said if low else said[::-1])

    def advise(self, state: Frame) -> Answer:
        """See `Game.advise`."""
        return self.court.plan(self.seen(state, state.at[2]))

    def caption(self, state: Frame, side: int, level: int) -> str:
        """See `Lens.caption`."""
        return self.show.caption(self.seen(state, side), side, level)

    def rebuild(self, caption: str, side: int) -> Frame:
        """See `World.rebuild`."""
        frame = self.show.rebuild(caption, side)
        return turned(frame) if side else frame

    def scene(self, state: Frame, side: int) -> Scene:
        """See `Lens.scene`."""
        return self.show.scene(self.seen(state, side), side)

    def static(self, state: Frame, side: int) -> tuple[str, ...]:
        """See `Lens.static`."""
        return self.show.static(self.seen(state, side), side)

    def moving(self, state: Frame, side: int) -> tuple[str, ...]:
        """See `Lens.moving`."""
        return self.show.moving(self.seen(state, side), side)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """See `World.words`."""
        return self.show.words(knobs)


def _text(text: str) -> tuple[Shape, ...]:
    return (Run(text=text, x=0.5, y=0.52, size=0.46, color="white"),)


tiles({"icon-rival": _text("vs"), "icon-move": _text("you"), **{f"value-{seat}": _text(seat) for seat in SEATS}})
