"""A walk through rooms, after which one says where things stood, as counted from where the walk began."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.engines.grid.board import WALL
from quintain.worlds.engines.raycast.explore import news
from quintain.worlds.engines.raycast.floor import Place, Stand
from quintain.worlds.engines.raycast.look import (
    brief_caption,
    full_caption,
    lexicon,
    moving_words,
    parse_caption,
    scene_of,
)
from quintain.worlds.engines.raycast.roam import CHOICES, layout_of
from quintain.worlds.engines.raycast.rooms import flat
from quintain.worlds.engines.raycast.rules import FORWARD, REACH, RIGHT, ahead, known, stood
from quintain.worlds.engines.raycast.things import COLOURS, SHAPES, kind_of, named, tile_of, word
from quintain.worlds.engines.raycast.walls import BAR, SIDE
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Run, Scene, Shape, Sprite
from quintain.worlds.splits import Draft

SAYINGS = {"blocked": "Something solid is ahead; nothing moved.", "right": "Right places: {}."}
WAYS = ("north", "east", "south", "west")
FAR = 40  # cells
_NAME, _NUMBER = rf"({'|'.join(COLOURS)})[ _-]({'|'.join(SHAPES)})", r"([+-]?\d{1,2})"
_THING = re.compile(rf"{_NAME}\s*(?:(?:is )?at|:|=|@)?\s*[(\[]?\s*{_NUMBER}\s*(?:,|\s)\s*{_NUMBER}\s*[)\]]?", re.ASCII)
_WAY = r"([+-]?\d{{1,2}})\s*(?:cells?\s+)?({})\b"
_AND = r"\s*(?:,|and\b)?\s*"
_TOWARDS = re.compile(  # 2 east, 1 south; or the other way round
    rf"(?<![\w+-]){_WAY.format('east|west|e|w')}{_AND}{_WAY.format('north|south|n|s')}"
    rf"|(?<![\w+-]){_WAY.format('north|south|n|s')}{_AND}{_WAY.format('east|west|e|w')}",
    re.ASCII,
)
_BETWEEN = re.compile(r"\s*(?:[;,.]|and\b)*\s*(?:- |\d{1,2}[.)] +(?=[a-z]))?")
_LAST = re.compile(r"Say where: ([a-z, ]+)\.(?: You are at (-?\d+) (-?\d+), facing (\w+)\.)?(?: You said: (.*)\.)?")
Spot = tuple[int, int]  # cells east and north of the start
Said = tuple[tuple[int, Spot], ...]


def _spot(found: re.Match[str]) -> str:
    """The cells east and north that two numbers with their ways say."""
    ways = dict[str, int]()
    for number, way in zip(found.groups()[::2], found.groups()[1::2], strict=True):
        if number:
            back = way[0] in "ws"
            if back and number[0] in "+-":
                return found[0]  # -2 west may be either
            ways["x" if way[0] in "ew" else "y"] = -int(number) if back else int(number)
    return f"{ways['x']} {ways['y']}"


@dataclass(frozen=True, slots=True)
class Recall:
    """The state: where the seat stands and what it has seen, where it began, the kinds that are asked for, whether its own place is
    shown, and what was said: numbers kind, east, north of each thing.
    """

    stand: Stand
    origin: int
    asked: Ints
    compass: int
    said: Ints = ()


def place_of(state: Recall, cell: int) -> Spot:
    """The cells east and north of the start."""
    wide = state.stand.place.floor.width
    return cell % wide - state.origin % wide, state.origin // wide - cell // wide


def truth(state: Recall) -> Said:
    """Where the things are that are asked for."""
    stand = state.stand
    where = dict(zip(stand.place.kinds, stand.where, strict=True))
    return tuple([(kind, place_of(state, where[kind])) for kind in state.asked])


def say(said: Said) -> Move:
    """The answer with these places."""
    return Move(" ".join([f"{word(kind)} {x} {y}" for kind, (x, y) in said]), said)


def walked(stand: Stand, key: str) -> Stand:
    """After a turn or a step; the same in front of something solid."""
    if key != FORWARD:
        return stood(stand, stand.at, (stand.heading + (1 if key == RIGHT else 3)) % 4)
    to, thing = ahead(stand)
    return stood(stand, to, stand.heading) if to >= 0 > thing else stand


def tour(state: Recall) -> list[str] | None:
    """Moves after which all things that are asked for have been seen, each from what was seen before it; None where they cannot all be."""
    stand, keys = state.stand, list[str]()
    cells = [cell for kind, cell in zip(stand.place.kinds, stand.where, strict=True) if kind in state.asked]
    while not all(known(stand) >> cell & 1 for cell in cells):
        leg = news(stand)
        if not leg:
            return None
        for key in leg:
            before = known(stand)
            stand = walked(stand, key)
            keys.append(key)
            if known(stand) != before:
                break
    return keys


@dataclass(frozen=True)
class RecallGame:
    """Remembering rooms as `turns.Game`. Knobs: `rooms`, `size`, `others` (things but one), `kinds` (to choose from), `compass` (1: the
    seat is told where it is), `least` (moves of the walk).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Recall] | None:
        made = flat(rng, knobs)
        if made is None:
            return None
        kinds = tuple(sorted(made.place.kinds))
        stand = stood(made, made.at, 0)
        state = Recall(stand, made.at, kinds, knobs["compass"])

        def finish() -> Recall | None:
            keys = tour(state)
            if keys is None or not knobs["least"] <= len(keys) <= 3 * knobs["least"] + 8:
                return None
            place = replace(stand.place, budget=len(keys) * 3 // 2 + 3)
            return replace(state, stand=replace(stand, place=place))

        return Draft(state, finish)

    def layout(self, state: Recall) -> str:
        return layout_of(state.stand)

    def turns(self, state: Recall) -> int:
        return state.stand.place.budget

    def mover(self, state: Recall) -> int:
        return -1 if state.said else 0

    def legal(self, state: Recall) -> tuple[Move, ...]:
        return ()

    def guess(self, state: Recall, rng: Rng) -> Move:
        """A move, or now and then any places."""
        if rng.below(8):
            return rng.pick(CHOICES.moves)
        return say(tuple([(kind, (rng.below(9) - 4, rng.below(9) - 4)) for kind in state.asked]))

    def read(self, text: str) -> Move | None:
        text = text.replace("−", "-")
        move = CHOICES.read(text)
        if move is not None:
            return move
        text = _TOWARDS.sub(_spot, re.sub(r"^(?:- |1[.)] +(?=[a-z]))", "", text))
        out, at = dict[int, Spot](), 0
        while at < len(text):
            found = _THING.match(text, at)
            if not found or max(abs(int(found[3])), abs(int(found[4]))) > FAR:
                return None
            spot = int(found[3]), int(found[4])
            if out.setdefault(kind_of(f"{found[1]} {found[2]}"), spot) != spot:
                return None  # one thing at two places
            between = _BETWEEN.match(text, found.end())
            at = between.end() if between else found.end()
        return say(tuple(sorted(out.items()))) if out else None

    def play(self, state: Recall, move: Move) -> After[Recall]:
        if move.value is None:
            stand = walked(state.stand, move.key)
            told = ("blocked",) if stand is state.stand else ()
            return After(replace(state, stand=stand), events=(told,))
        right = len(set(move.value) & set(truth(state)))
        said = tuple([n for kind, spot in move.value for n in (kind, *spot)])
        whole = right == len(state.asked)
        reward = WON if whole else {"places": right / len(state.asked)} if right else {}
        return After(replace(state, said=said), (reward,), True, ((f"right:{right}",),))

    def advise(self, state: Recall) -> Answer:
        if state.said:
            return Unsolvable("the episode is over")
        keys = tour(state)
        if keys is None:
            return Unsolvable("not all of the things can be seen")
        return Plan((*[CHOICES[key] for key in keys], say(truth(state))))

    def _told(self, state: Recall) -> str:
        """What is asked, one's own place if it is shown, and what was said."""
        stand = state.stand
        text = f"Say where: {', '.join([named(kind) for kind in state.asked])}."
        if state.compass:
            x, y = place_of(state, stand.at)
            text += f" You are at {x} {y}, facing {WAYS[stand.heading]}."
        return text + (f" You said: {say(_said(state)).key}." if state.said else "")

    def caption(self, state: Recall, side: int, level: int) -> str:
        text = full_caption(state.stand) if level == 2 else brief_caption(state.stand)
        return f"{text.rpartition(chr(10))[0]}\n{self._told(state)}"

    def rebuild(self, caption: str, side: int) -> Recall:
        """See `World.rebuild`."""
        body, _, last = caption.rpartition("\n")
        found = _LAST.fullmatch(last)
        if not found:
            raise QuintainError(f"this is no full caption of a walk to remember: {caption[:60]!r}")
        asked = tuple([kind_of(name) for name in found[1].split(", ")])
        stand = parse_caption(f"{body}\nFind: {named(asked[0])}.", REACH)
        move = self.read(found[5]) if found[5] else None
        said = tuple([n for kind, spot in move.value for n in (kind, *spot)]) if move else ()
        if not found[4]:
            return Recall(stand, stand.at, asked, 0, said)
        return _turned_to(Recall(stand, stand.at, asked, 1, said), WAYS.index(found[4]), (int(found[2]), int(found[3])))

    def static(self, state: Recall, side: int) -> tuple[str, ...]:
        return tuple([f"ask:{word(kind)}" for kind in state.asked])

    def moving(self, state: Recall, side: int) -> tuple[str, ...]:
        out = moving_words(state.stand)
        if state.compass:
            x, y = place_of(state, state.stand.at)
            out = (*out, f"x:{x}", f"y:{y}", WAYS[state.stand.heading])
        return (*out, *(say(_said(state)).key.split() if state.said else ()))

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        kinds = range(knobs["kinds"])
        numbers = range(-FAR, FAR + 1)
        out = [m.key for m in CHOICES.moves] + [word(k) for k in kinds] + [f"ask:{word(k)}" for k in kinds] + [*WAYS]
        out += [f"{axis}{n}" for axis in ("", "x:", "y:") for n in numbers]
        return (*out, *lexicon(kinds))

    def scene(self, state: Recall, side: int) -> Scene:
        view = scene_of(state.stand)
        kept = view.shapes[:-2]  # but for the word and the thing in the bar
        many = len(state.asked)
        size = min(0.66, 4.9 / many)
        bar: list[Shape] = [
            Sprite(tile=tile_of(k), x=0.15 + size * i, y=BAR + 0.2, size=size) for i, k in enumerate(state.asked)
        ]
        bar += _plate(_said(state))
        if state.compass:
            x, y = place_of(state, state.stand.at)
            bar.append(Run(text=f"{x}, {y} {WAYS[state.stand.heading]}", x=6.5, y=BAR + 0.52, size=0.5, color="ink"))
        else:
            bar.append(Run(text="where?", x=6.7, y=BAR + 0.52, size=0.55, color="stone"))
        return replace(view, shapes=(*kept, *bar))


def _said(state: Recall) -> Said:
    numbers = state.said
    return tuple([(numbers[i], (numbers[i + 1], numbers[i + 2])) for i in range(0, len(numbers), 3)])


def _plate(said: Said) -> list[Shape]:
    """What was said: things and places in rows of four, on the ground above the bar."""
    high = 0.44 * -(-len(said) // 4)
    out: list[Shape] = [Box(x=0, y=BAR - high, width=SIDE, height=high, fill="white")] if said else []
    for i, (kind, (x, y)) in enumerate(said):
        left, top = 0.15 + 2 * (i % 4), BAR - high + 0.44 * (i // 4)
        out.append(Sprite(tile=tile_of(kind), x=left, y=top + 0.04, size=0.38))
        text = f"{x},{y}"
        out.append(Run(text=text, x=left + 0.46 + 0.085 * len(text), y=top + 0.23, size=0.34, color="blue"))
    return out


def _turned_to(state: Recall, heading: int, spot: Spot) -> Recall:
    """The same view from a seat that faces another way, so many cells from the start: the board is turned and laid out anew."""
    stand = state.stand
    floor = stand.place.floor
    wide, high = floor.width, floor.height
    rows = [[(floor.cells[i], i) for i in range(y * wide, (y + 1) * wide)] for y in range(high)]
    for _ in range(heading):
        rows = [list(row) for row in zip(*rows[::-1], strict=True)]
    x, y = spot
    pad = max(abs(x), abs(y)) + 1
    empty = (WALL, -1)
    across = len(rows[0]) + 2 * pad
    margin = [[empty] * across for _ in range(pad)]
    full = [*margin, *([*[empty] * pad, *row, *[empty] * pad] for row in rows), *margin]
    flat_ = [cell for row in full for cell in row]
    new = {old: i for i, (_, old) in enumerate(flat_) if old >= 0}
    board = type(floor)(across, len(full), "".join([sign for sign, _ in flat_]))
    place = Place(stand.place.task, board, stand.place.kinds, stand.place.wanted)
    where = tuple([new[cell] for cell in stand.where])
    at = new[stand.at]
    return replace(state, stand=Stand(place, at, heading, where), origin=at - x + y * across)
