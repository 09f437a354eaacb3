"""A chain of marbles on a track: shoot marbles into it so that equal ones vanish before the chain reaches the hole."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.engines.arcade.loop import BLANK, GOAL, HIT, Frame, Ints, Look, Stage, ending, left, planned
from quintain.worlds.engines.arcade.quest import Leg, answered, played, quest
from quintain.worlds.kernel import Answer, Choices, GenerationError, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape
from quintain.worlds.splits import Draft

TRACK, HOLE, FULL = "+", "O", "X"
COLOURS = ("red", "green", "blue", "yellow", "white")
SIGNS = "RGBYW"
PLACES = 50  # the last place that can be named
ACTIONS = Choices(
    "swap",
    *(f"shoot{n}" for n in range(1, PLACES + 1)),
    synonyms={"s": "swap"}
    | {
        f"{word}{n}": f"shoot{n}"
        for n in range(1, PLACES + 1)
        for word in (
            "shoot ",
            "shoot at ",
            "shoot-",
            "shoot: ",
            "shoot at place ",
            "shoot place ",
            "shoot in front of ",
            "shoot in front of marble ",
            "shoot #",
            "place ",
            "fire ",
            "s",
        )
    },
)
NONE = -1


def wound(width: int, height: int, spiral: bool) -> list[tuple[int, int]]:
    """The cells (column, row) of a track that nowhere touches itself: a spiral to the middle, or to and fro from top to bottom."""
    if not spiral:
        out: list[tuple[int, int]] = []
        for y in range(0, height, 2):
            row = [(x, y) for x in range(width)]
            row = row if y % 4 == 0 else row[::-1]
            out += row if y + 2 >= height else [*row, (row[-1][0], y + 1)]
        return out
    seen, at, step, turned = {(0, 0): None}, (0, 0), (1, 0), 0
    while turned < 2:  # until two turns in a row lead nowhere
        to = (at[0] + step[0], at[1] + step[1])
        touched = sum([(to[0] + x, to[1] + y) in seen for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1))])
        if 0 <= to[0] < width and 0 <= to[1] < height and to not in seen and touched == 1:
            at, turned = to, 0
            seen[at] = None
        else:
            step, turned = (-step[1], step[0]), turned + 1
    return list(seen)


@functools.lru_cache(maxsize=4096)
def path(cells: str, width: int) -> Ints:
    """The cells of the track, the hole last: from the hole on, each cell has one neighbour that was not there yet."""
    out = [cells.index(HOLE)]
    while True:
        y, x = divmod(out[-1], width)
        near = [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
        ahead = [r * width + c for r, c in near if 0 <= c < width and 0 <= r * width + c < len(cells)]
        ahead = [i for i in ahead if cells[i] == TRACK and i not in out[-2:]]
        if not ahead:
            return tuple(reversed(out))
        out.append(ahead[0])


def vanished(chain: Ints, at: int) -> Ints:
    """The chain after the group of the marble at an index has vanished, if it has three or more, and what meets then likewise.

    Example:
        >>> vanished((0, 1, 1, 1, 0, 0, 2), 2), vanished((0, 1, 1, 0), 1)
        ((2,), (0, 1, 1, 0))
    """
    while True:
        first = last = at
        while first and chain[first - 1] == chain[at]:
            first -= 1
        while last + 1 < len(chain) and chain[last + 1] == chain[at]:
            last += 1
        if last - first < 2:
            return chain
        chain, at = (*chain[:first], *chain[last + 1 :]), first
        if not 0 < at < len(chain) or chain[at - 1] != chain[at]:
            return chain


class Marbles:
    """The rules of the marbles.

    `Frame.things` is (colours from the front on, (seed of marbles to come, how many were drawn)); `Frame.at` the place of the
    first marble on the track, turns to the next step of the chain, the marble in the gun and the next; `Stage.data` ((turns from
    step to step,),).
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {
        TRACK: "chain-track",
        HOLE: "chain-hole",
        FULL: "chain-full",
        **{sign: f"chain-{name}" for sign, name in zip(SIGNS, COLOURS, strict=True)},
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame]:
        width, height, many = knobs["width"], knobs["height"], knobs["marbles"]
        track, flips = wound(width, height, bool(rng.below(2))), (rng.below(2), rng.below(2))
        if many + 2 >= len(track):  # the front may be two cells ahead, and the last cell is the hole
            raise GenerationError(f"{many} marbles are too many for a track of {len(track)} cells")
        spots = [(height - 1 - y if flips[0] else y) * width + (width - 1 - x if flips[1] else x) for x, y in track]
        signs = dict.fromkeys(spots, TRACK) | {spots[-1]: HOLE}
        cells = "".join(signs.get(i, BLANK) for i in range(width * height))
        chain: list[int] = []
        while len(chain) < many:
            colour = rng.below(knobs["colours"])
            if chain[-2:] != [colour, colour]:
                chain.append(colour)
        seed = int(rng.uniform() * 2**31)
        front = many - 1 + rng.below(3)
        at = (front, knobs["pace"], rng.pick(chain), rng.pick(chain))
        stage = Stage(width, height, 400, cells=cells, data=((knobs["pace"],),))
        frame = Frame(stage, 0, at, (tuple(chain), (seed, 0)))
        found = functools.partial(answered, self, frame, self._legs, _worth, 3 * many, 0)
        return planned(frame, found, lambda moves: moves * 4 // 3 + 3, knobs["low"])

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, (front, wait, gun, then), (chain, (seed, drawn)) = frame.stage, frame.at, frame.things
        pace = stage.data[0][0]
        if action == "swap":
            gun, then = then, gun
        else:
            place = min(int(action[5:]) - 1, len(chain))
            longer = (*chain[:place], gun, *chain[place:])
            chain = vanished(longer, place)
            front, gun, then = front + 1 - (len(longer) - len(chain)), then, NONE
        present = sorted(set(chain))
        if chain:
            gun, drawn = (gun, drawn) if gun in present else _draw(present, seed, drawn)
            then, drawn = (then, drawn) if then in present else _draw(present, seed, drawn)
        wait -= 1
        if not wait:
            front, wait = front + 1, pace
        last = len(path(stage.cells, stage.width)) - 1
        over = ending(frame, not chain, bool(chain) and front >= last)
        if front > last:  # a push and a step at once: what is beyond the hole is gone
            chain, front = chain[front - last :], last
        return Frame(stage, frame.turn + 1, (front, wait, gun, then), (chain, (seed, drawn)), 0, over)

    def _legs(self, frame: Frame) -> Iterator[Leg]:
        """Each marble of the two, put to every group of its colour, or to the rear if there is none."""
        chain, (_, _, gun, then) = frame.things[0], frame.at
        for colour, words in ((gun, ()), (then, ("swap",))):
            starts = [i for i, c in enumerate(chain) if c == colour and (not i or chain[i - 1] != c) and i < PLACES]
            for place in starts or [min(len(chain), PLACES - 1)]:
                leg = (*words, f"shoot{place + 1}")
                yield leg, played(self, frame, leg)
            if gun == then:
                return

    def _shots(self, frame: Frame) -> Iterator[Leg]:
        """Every action that leads elsewhere than the others: before a marble of its own colour is as good as behind it."""
        chain, gun = frame.things[0], frame.at[2]
        places = [i for i in range(min(len(chain) + 1, PLACES)) if not i or chain[i - 1] != gun]
        for word in ("swap", *(f"shoot{place + 1}" for place in places)):
            yield (word,), self.advance(frame, word)

    def plan(self, frame: Frame) -> Answer:
        if frame.over:
            return Unsolvable("the episode is over")
        found = quest(frame, self._legs, _worth, 300)
        if isinstance(found, int):
            found = quest(frame, self._shots, lambda now: now.turn, 2000)
        if isinstance(found, int):
            return Unknown(found) if found > 0 else Unsolvable("every way was tried")
        return Plan(tuple([ACTIONS[word] for word in found]))

    def look(self, frame: Frame) -> Look:
        stage, (front, wait, gun, then), chain = frame.stage, frame.at, frame.things[0]
        signs, track = [*stage.cells], path(stage.cells, stage.width)
        for i, colour in enumerate(chain):
            if 0 <= front - i < len(track) - 1:
                signs[track[front - i]] = SIGNS[colour]
        if frame.over == HIT:
            signs[track[-1]] = FULL
        guns = (("gun", f"{COLOURS[gun]}-marble"), ("next", f"{COLOURS[then]}-marble")) if frame.over != GOAL else ()
        counters = (left(frame), ("push", f"{wait}-of-{stage.data[0][0]}"), *guns)
        return Look(stage.width, "".join(signs), counters, (), frame.over)

    def restore(self, look: Look) -> Frame:
        counters = dict(look.counters)
        cells = "".join(HOLE if s in (HOLE, FULL) else BLANK if s == BLANK else TRACK for s in look.signs)
        track = path(cells, look.width)
        signs = [look.signs[i] for i in track]
        places = [i for i, sign in enumerate(signs) if sign in SIGNS or sign == FULL][::-1]
        chain = tuple(max(SIGNS.find(signs[i]), 0) for i in places)
        wait, pace = (int(n) for n in counters["push"].split("-of-"))
        gun, then = (COLOURS.index(counters.get(name, "red-marble")[:-7]) for name in ("gun", "next"))
        stage = Stage(look.width, len(cells) // look.width, int(counters["turns"]), cells=cells, data=((pace,),))
        return Frame(stage, 0, (places[0] if places else 0, wait, gun, then), (chain, (0, 0)), over=look.over)

    def brief(self, frame: Frame) -> str:
        (front, wait, gun, then), chain = frame.at, frame.things[0]
        way = len(path(frame.stage.cells, frame.stage.width)) - 1 - front
        colours = " ".join(SIGNS[colour] for colour in chain)
        if frame.over in (GOAL, HIT):
            return "The chain is gone." if frame.over == GOAL else "The chain has reached the hole."
        where = f"The chain from the front: {colours}. Cells from its front to the hole: {max(way, 0)}. It steps in turn {wait} from now."
        return f"{where} In the gun: {SIGNS[gun]}, then {SIGNS[then]}. Turns left: {left(frame)[1]}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        stage = frame.stage
        out, track = ["chain-lawn"] * len(stage.cells), path(stage.cells, stage.width)
        for i, cell in enumerate(track):
            out[cell] = "chain-track"
            if 0 <= frame.at[0] - i < len(frame.things[0]) and i < len(track) - 1:
                out[cell] = f"chain-track+chain-place-{frame.at[0] - i + 1}"
        return tuple(out)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        pace = knobs["pace"]
        guns = [f"{name}:{colour}-marble" for name in ("gun", "next") for colour in COLOURS[: knobs["colours"]]]
        return (
            knobs["width"],
            knobs["height"],
            ("turns", *(f"push:{n}-of-{pace}" for n in range(1, pace + 1)), *guns),
            (),
        )


def aims(frame: Frame) -> tuple[Move, ...]:
    """Only places in the chain can be shot at, and the one behind it."""
    return ACTIONS.moves[: 2 + min(len(frame.things[0]), PLACES - 1)]


def _draw(present: Sequence[int], seed: int, drawn: int) -> tuple[int, int]:
    """A marble of one of the colours that are in the chain, and how many have been drawn."""
    return present[Noise(seed, drawn).below(len(present))], drawn + 1


def _worth(frame: Frame) -> float:
    chain = frame.things[0]
    groups = sum([a != b for a, b in itertools.pairwise(chain)])
    return len(chain) + 1.5 * groups + 0.4 * frame.turn


def _marble(number: int, x: float = 0.4, y: float = 0.6, r: float = 0.34) -> tuple[Shape, ...]:
    """A marble with a mark of its own, so that hue is never the only difference; room is left for its number."""
    fill, line = (("brick", "rust"), ("green", "forest"), ("sky", "blue"), ("gold", "amber"), ("white", "cloud"))[
        number
    ]
    half = r * 0.42
    up = ((x, y - 1.2 * half), (x + 1.1 * half, y + 0.8 * half), (x - 1.1 * half, y + 0.8 * half))
    cross = ((x - half, y - half), (x + half, y + half)), ((x - half, y + half), (x + half, y - half))
    marks: tuple[tuple[Shape, ...], ...] = (
        (Box(x=x - half, y=y - half * 0.4, width=2 * half, height=half * 0.8, fill="white"),),
        (Polygon(points=up, fill="white"),),
        (Box(x=x - half, y=y - half, width=2 * half, height=2 * half, fill="white"),),
        (Disc(x=x, y=y, radius=half, fill="white", line="amber", thick=0.03),),
        tuple(Polygon(points=points, line="stone", thick=0.06, closed=False) for points in cross),
    )
    return (Disc(x=x, y=y, radius=r, fill=fill, line=line, thick=0.06), *marks[number])


def _beat(wait: int, pace: int) -> tuple[Shape, ...]:
    return tuple(
        Disc(x=0.46 + (i - (pace - 1) / 2) * 0.24, y=0.52, radius=0.09, fill="gold" if i < wait else "stone")
        for i in range(pace)
    )


ART: dict[str, tuple[Shape, ...]] = {
    "chain-lawn": (Box(x=0, y=0, width=1, height=1, fill="mint"),),
    "chain-track": (
        Box(x=0, y=0, width=1, height=1, fill="sand"),
        Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="floor"),
    ),
    "chain-hole": (Disc(x=0.5, y=0.5, radius=0.42, fill="ink", line="stone", thick=0.08),),
    "chain-full": (
        Disc(x=0.5, y=0.5, radius=0.42, fill="ink", line="stone", thick=0.08),
        *(Polygon(points=((0.2, y), (0.8, 1 - y)), line="brick", thick=0.14, closed=False) for y in (0.2, 0.8)),
    ),
    **{f"chain-{name}": _marble(i) for i, name in enumerate(COLOURS)},
    **{f"value-{name}-marble": _marble(i, 0.42, 0.52, 0.36) for i, name in enumerate(COLOURS)},
    **{f"chain-place-{n}": (Run(text=str(n), x=0.74, y=0.22, size=0.4, color="ink"),) for n in range(1, 100)},
    **{f"value-{wait}-of-{pace}": _beat(wait, pace) for pace in (1, 2, 3, 4) for wait in range(1, pace + 1)},
    "icon-push": (
        Polygon(points=((0.2, 0.52), (0.78, 0.52)), line="white", thick=0.12, closed=False),
        Polygon(points=((0.54, 0.26), (0.82, 0.52), (0.54, 0.78)), line="white", thick=0.12, closed=False),
    ),
    "icon-gun": (Run(text="now", x=0.5, y=0.52, size=0.44, color="white"),),
    "icon-next": (Run(text="next", x=0.5, y=0.52, size=0.42, color="white"),),
}
tiles(ART)
