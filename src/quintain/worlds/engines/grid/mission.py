"""Errands in rooms: go to, fetch, put next to and open, one task after another; things are carried, doors may be locked."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.worlds.directions import DIRECTIONS
from quintain.worlds.engines.grid.board import FLOOR, WALL, Board, neighbours
from quintain.worlds.engines.grid.maps import steps, unread
from quintain.worlds.engines.raycast.things import COLOURS, NAMES, SHAPES, Handled, handling
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Choices, Move
from quintain.worlds.noise import Rng
from quintain.worlds.splits import Draft

HELD = -1  # the place of what is carried
SHUT, OPENED, LOCKED = 0, 1, 2
STATUS = ("shut", "open", "locked")
KEY = len(SHAPES) * len(COLOURS)  # kinds from here on are keys, by colour
DOOR = KEY + len(COLOURS)  # and from here on doors
KINDS = (*NAMES[:KEY], *(f"{c} key" for c in COLOURS), *(f"{c} door" for c in COLOURS))
LETTERS = "abcdefghijklmnopqrstuvwx"  # signs of things, by kind
DOORS = ("ABCDEF", "RSTUVW", "HIJKLM")  # signs of doors, by status and colour
GO, FETCH, OPEN, PUT = range(4)
_TOLD = ("go to the {}", "fetch the {}", "open the {}", "put the {} next to the {}")
_READ = [re.compile(told.replace("{}", r"(\w+ \w+)")) for told in _TOLD]
CHOICES = Choices(
    *DIRECTIONS,
    "take",
    "drop",
    synonyms={d[0]: d for d in DIRECTIONS}
    | dict(zip(("north", "south", "west", "east"), DIRECTIONS, strict=True))
    | dict.fromkeys(("pick up", "pickup", "grab", "get", "t", "take it", "grab it", "get it", "pick it up"), "take")
    | dict.fromkeys(("put down", "put", "lay down", "drop it", "put it down", "lay it down"), "drop"),
)
ANSWER = "One of: up, down, left, right, take, drop."
Task = tuple[int, int, int]  # what to do, with which kind, and next to which kind (or -1)


@dataclass(frozen=True, slots=True)
class House:
    """What never changes: walls, the kinds of the things, the colours of the doors on `board.doors`, and the tasks in their order."""

    board: Board
    things: tuple[int, ...]
    colours: tuple[int, ...]
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Errand:
    """The state: where the walker and the things are, what became of the doors, and how many tasks are done."""

    house: House
    at: int
    places: tuple[int, ...]
    doors: tuple[int, ...]
    done: int = 0

    @property
    def board(self) -> Board:
        """The walls."""
        return self.house.board

    def place(self, kind: int) -> int:
        """The cell of a thing, or `HELD`."""
        return self.places[self.house.things.index(kind)]

    def held(self) -> int:
        """The index of the thing in the hands, or -1."""
        return self.places.index(HELD) if HELD in self.places else -1

    def door(self, kind: int) -> int:
        """The index of a door."""
        return self.house.colours.index(kind - DOOR)


def told(task: Task) -> str:
    """A task in words.

    Example:
        >>> told((3, 0, 7))
        'put the blue box next to the green ball'
    """
    what, one, two = task
    return _TOLD[what].format(KINDS[one], KINDS[two])


def met(state: Errand, task: Task) -> bool:
    """Whether what a task asks for is so."""
    what, one, two = task
    if what == OPEN:
        return state.doors[state.door(one)] == OPENED
    place = state.place(one)
    if what == FETCH:
        return place == HELD
    if what == GO:
        return place == state.at
    near = neighbours(state.board.width, state.board.height)
    other = state.place(two)
    return place >= 0 and other >= 0 and other in near[place]


def moved(state: Errand, move: Move) -> Errand | None:
    """The state after a move, before tasks are counted; None if the move cannot be made."""
    house, at, places, doors = state.house, state.at, state.places, state.doors
    held = state.held()
    if move.key == "take":
        if at not in places:
            return None
        now = list(places)
        now[places.index(at)] = HELD
        if held >= 0:
            now[held] = at
        return Errand(house, at, tuple(now), doors, state.done)
    if move.key == "drop":
        if held < 0 or at in places or at in house.board.doors:
            return None
        return Errand(house, at, (*places[:held], at, *places[held + 1 :]), doors, state.done)
    to = steps(house.board)[at][DIRECTIONS.index(move.key)]
    if to < 0:
        return None
    door = house.board.doors.index(to) if to in house.board.doors else -1
    if door < 0 or doors[door] == OPENED:
        return Errand(house, to, places, doors, state.done)
    if doors[door] == LOCKED and (held < 0 or house.things[held] != KEY + house.colours[door]):
        return None
    return Errand(house, at, places, (*doors[:door], OPENED, *doors[door + 1 :]), state.done)


def acted(state: Errand, move: Move) -> Errand | None:
    """The state after a move; None if the move cannot be made. Tasks count in their order, each as soon as it is met."""
    after = moved(state, move)
    if after is None:
        return None
    tasks, done = after.house.tasks, after.done
    while done < len(tasks) and met(after, tasks[done]):
        done += 1
    return after if done == after.done else Errand(after.house, after.at, after.places, after.doors, done)


def handled(text: str) -> Move | None:
    """What a text takes or drops, if it names that."""
    thing = handling(text)
    return Move(" ".join(thing), thing, True) if thing and (" " not in thing.thing or thing.thing in KINDS) else None


def named(state: Errand, move: Move) -> Move:
    """Taking or dropping, where what is named is what lies there or is held; other moves as they are."""
    if not isinstance(move.value, Handled):
        return move
    place = state.at if move.value.verb == "take" else HELD
    if place not in state.places:
        return move
    kind = KINDS[state.house.things[state.places.index(place)]]
    return CHOICES[move.value.verb] if move.value.fits(kind) else move


@dataclass(frozen=True)
class MissionRules:
    """The rules of such houses; `make` builds one, `plan` is the oracle."""

    make: Callable[[Rng, Mapping[str, Any]], Draft[Errand] | None]
    plan: Callable[[Errand], Answer]
    choices = CHOICES

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Errand] | None:
        return self.make(rng, knobs)

    def over(self, state: Errand) -> bool:
        return state.done == len(state.house.tasks)

    def legal(self, state: Errand) -> tuple[Move, ...]:
        return tuple([move for move in CHOICES.moves if moved(state, move) is not None])

    def play(self, state: Errand, move: Move) -> After[Errand]:
        after = acted(state, move) or state
        if self.over(after):
            return After(after, (WON,), True)
        return After(after, events=(("done",),) if after.done > state.done else ())

    def advise(self, state: Errand) -> Answer:
        return self.plan(state)

    def signs(self, state: Errand) -> Sequence[str]:
        house = state.house
        out = list(house.board.cells)
        for kind, place in zip(house.things, state.places, strict=True):
            if place >= 0:
                out[place] = LETTERS[kind]
        for cell, colour, status in zip(house.board.doors, house.colours, state.doors, strict=True):
            out[cell] = DOORS[status][colour]
        return out

    def lines(self, state: Errand) -> tuple[str, ...]:
        house, held = state.house, state.held()
        here = [k for k, place in zip(house.things, state.places, strict=True) if place >= 0]
        doors = zip(house.colours, state.doors, strict=True)
        legend = ["P you", *(f"{LETTERS[k]} {KINDS[k]}" for k in here)]
        legend += [f"{DOORS[s][c]} {KINDS[DOOR + c]}, {STATUS[s]}" for c, s in doors]
        return (
            f"Mission: {', then '.join(map(told, house.tasks))}.",
            f"Done: {state.done} of {len(house.tasks)}.",
            f"You hold the {KINDS[house.things[held]]}." if held >= 0 else "You hold nothing.",
            f"Legend: {'; '.join(legend)}.",
        )

    def parse(self, signs: str, width: int, at: int, lines: Sequence[str]) -> Errand:
        if len(lines) != 4:
            unread("\n".join(lines))
        held = lines[2].removeprefix("You hold the ")[:-1]
        lying = [(LETTERS.index(s), c) for c, s in enumerate(signs) if s in LETTERS]
        things = sorted([*lying, *([(KINDS.index(held), HELD)] if held in KINDS else [])])
        shut = [(row.index(s), c, status) for c, s in enumerate(signs) for status, row in enumerate(DOORS) if s in row]
        doors = sorted(shut)
        cells = "".join(sign if sign == WALL else FLOOR for sign in signs)
        board = Board(width, len(signs) // width, cells, doors=tuple(cell for _, cell, _ in doors))
        tasks = tuple(_task(text) for text in lines[0].removeprefix("Mission: ")[:-1].split(", then "))
        house = House(board, tuple(k for k, _ in things), tuple(c for c, _, _ in doors), tasks)
        return Errand(house, at, tuple(c for _, c in things), tuple(s for _, _, s in doors), int(lines[1].split()[1]))


@functools.lru_cache(maxsize=1024)
def _task(text: str) -> Task:
    for what, pattern in enumerate(_READ):
        found = pattern.fullmatch(text)
        if found and set(found.groups()) <= set(KINDS):
            one, *two = map(KINDS.index, found.groups())
            return what, one, two[0] if two else -1
    return unread(text)
