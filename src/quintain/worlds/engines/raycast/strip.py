"""A strip of first-person frames of a walk: say with which moves it was made."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.engines.grid.board import FLOOR, GOAL, WALL
from quintain.worlds.engines.grid.layouts import maze
from quintain.worlds.engines.raycast.fan import CELLS
from quintain.worlds.engines.raycast.floor import Floor, Sight
from quintain.worlds.engines.raycast.tracks import explained, shows, tracks
from quintain.worlds.engines.raycast.walls import BAR, GROUND, SIDE, Part, faces
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape

SAYINGS = {"wrong": "These moves do not show these frames.", "right": "These are the moves."}
LONGEST = 40  # moves
TRIES = 200  # walks in one maze
GAP = 0.4  # between frames, in the units of a frame
CUT = 1.6  # of the ceiling, which tells what the floor tells, is left out
HIGH = BAR - CUT  # of a frame
FOOT = 13  # times the sheet is wider than the line below it is high
_SIGNS = {"turn": "", "f": "f", "forward": "f", "ahead": "f", "l": "l", "left": "l", "r": "r", "right": "r"}
_HEAD = re.compile(r"(\d+) frames, (\d+) moves? from each to the next\.")
Pose = tuple[int, int]  # cell, heading


@dataclass(frozen=True, slots=True)
class Strip:
    """The state: (floor, cell, heading) of each frame, moves from a frame to the next, the moves that were said, and whether right."""

    frames: tuple[tuple[Floor, int, int], ...]
    every: int
    said: str = ""
    right: int = 0


def moved(floor: Floor, pose: Pose, sign: str) -> Pose | None:
    """The pose after a move; None in front of a wall."""
    at, heading = pose
    if sign != "f":
        return at, (heading + (1 if sign == "r" else 3)) % 4
    to = floor.ahead[heading][at]
    return (to, heading) if to >= 0 else None


def sights(state: Strip) -> tuple[Sight, ...]:
    """What the frames show: all that a seat knows of the maze."""
    return tuple([floor.sight(at, heading) for floor, at, heading in state.frames])


@functools.lru_cache(maxsize=2048)
def walks(state: Strip) -> tuple[str, ...]:
    """All lists of moves that show the frames in some maze, at most two."""
    return tracks(sights(state), state.every, 2)


def _walk(rng: Rng, floor: Floor, pose: Pose, moves: int) -> list[Pose]:
    """The places of a walk of so many moves, no two turns one after the other; [] if it met a dead end."""
    poses, last = [pose], "f"
    for _ in range(moves):
        ahead = floor.ahead[pose[1]][pose[0]] >= 0
        options = ("fffflr" if ahead else "lr") if last == "f" else "f" if ahead else ""
        if not options:
            return []
        last = rng.pick(options)
        pose = moved(floor, pose, last) or pose
        poses.append(pose)
    return poses


@functools.lru_cache(maxsize=4096)
def _say(signs: str) -> Move:
    return Move(" ".join(signs), signs)


@dataclass(frozen=True)
class StripGame:
    """Frames of a walk as `turns.Game`. Knobs: `size` and `loops` of the maze, `frames`, `every` (moves from a frame to the next)."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Strip | None:
        made = maze(rng, knobs)
        if made is None:
            return None
        board = made.board
        floor = Floor(board.width, board.height, board.cells.replace(GOAL, FLOOR))
        count, every, pose = knobs["frames"], knobs["every"], (made.at, rng.below(4))
        for _ in range(TRIES):
            poses = _walk(rng, floor, pose, (count - 1) * every)
            if poses:
                state = Strip(tuple([(floor, *at) for at in poses[::every]]), every)
                ways = walks(state)
                return state if len(ways) == 1 and len(set(ways[0])) > 1 else None
        return None

    def layout(self, state: Strip) -> str:
        """What is shown, or its mirror image."""
        texts = [sight.text for sight in sights(state)]
        rows = [[signs[k : k + width] for k in range(0, len(signs), width)] for signs, width in texts]
        images = (["\n".join(["".join(row[::way]) for row in frame]) for frame in rows] for way in (1, -1))
        return f"{state.every}\n" + min(["\n\n".join(image) for image in images])

    def turns(self, state: Strip) -> int:
        return 1

    def mover(self, state: Strip) -> int:
        return -1 if state.said else 0

    def legal(self, state: Strip) -> tuple[Move, ...]:
        return ()

    def guess(self, state: Strip, rng: Rng) -> Move:
        return _say("".join([rng.pick("ffflr") for _ in range((len(state.frames) - 1) * state.every)]))

    def read(self, text: str) -> Move | None:
        parts = [part for part in re.split(r"[\s,;.>/|-]+", re.sub(r"^(?:all )?moves:", "", text)) if part]
        signs = "".join([_SIGNS.get(part, "?" if set(part) - set("flr") else part) for part in parts])
        return _say(signs) if signs and "?" not in signs and len(signs) <= LONGEST else None

    def play(self, state: Strip, move: Move) -> After[Strip]:
        right = shows(sights(state), state.every, move.value)
        after = Strip(state.frames, state.every, move.value, int(right))
        return After(after, (WON if right else {},), True, (("right" if right else "wrong",),))

    def advise(self, state: Strip) -> Answer:
        ways = walks(state)
        if not ways:
            return Unsolvable("no walk shows these frames")
        return Plan((_say(ways[0]),), because=explained(sights(state), state.every, ways[0]))

    def caption(self, state: Strip, side: int, level: int) -> str:
        head = f"{len(state.frames)} frames, {state.every} move{'s' if state.every > 1 else ''} from each to the next."
        said = [f"Answer: {' '.join(state.said)}"] if state.said else []
        if level == 1:
            free = [sum(o == 0 for _, o in floor.sight(at, heading).open) - 1 for floor, at, heading in state.frames]
            return "\n".join([head, f"Free cells ahead in each: {' '.join(map(str, free))}", *said])
        blocks = []
        for i, (floor, at, heading) in enumerate(state.frames, 1):
            signs, width = floor.sight(at, heading).text
            blocks += [f"frame {i}", *(" ".join(signs[k : k + width]) for k in range(0, len(signs), width))]
        return "\n".join([head, *blocks, *said])

    def rebuild(self, caption: str, side: int) -> Strip:
        """See `World.rebuild`; each frame has a floor of its own then, with wall wherever nothing is seen."""
        head, *lines = caption.split("\n")
        found = _HEAD.fullmatch(head)
        if not found:
            raise QuintainError(f"this is no full caption of frames: {caption[:60]!r}")
        said = lines.pop().partition(": ")[2].replace(" ", "") if lines[-1].startswith("Answer: ") else ""
        frames = []
        for block in "\n".join(lines).split("frame ")[1:]:
            rows = [row.split(" ") for row in block.strip("\n").split("\n")[1:]]
            cells = "".join([WALL if sign in "#?" else FLOOR for row in rows for sign in row])
            frames.append(
                (Floor(len(rows[0]), len(rows), cells), (len(rows) - 1) * len(rows[0]) + len(rows[0]) // 2, 0)
            )
        return Strip(tuple(frames), int(found[2]), said)

    def static(self, state: Strip, side: int) -> tuple[str, ...]:
        out = [f"every:{state.every}"]
        for i, (floor, at, heading) in enumerate(state.frames, 1):
            out += [f"frame:{i}", *floor.sight(at, heading).words]
        return tuple(out)

    def moving(self, state: Strip, side: int) -> tuple[str, ...]:
        return tuple(state.said)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        frames = [f"frame:{i + 1}" for i in range(knobs["frames"])]
        return (*"flr", f"every:{knobs['every']}", *frames, *(f".@{d},{o}" for d, o in CELLS))

    def scene(self, state: Strip, side: int) -> Scene:
        """The frames row by row with their numbers, as large as fits, and below them how many moves part them, or the answer."""
        count = len(state.frames)
        columns = min(range(1, count + 1), key=lambda n: max(_sheet(n, count)))
        rows = -(-count // columns)
        wide, deep = _sheet(columns, count)
        high = deep - wide / FOOT
        corners = [(GAP + i % columns * (SIDE + GAP), GAP + i // columns * (HIGH + GAP)) for i in range(count)]
        shapes: list[Shape] = []
        # walls stand out above and below a frame: the row above hides that, and what parts the rows
        for (floor, at, heading), (x, y) in [*zip(state.frames, corners, strict=True)][::-1]:
            shapes += _shifted(None, x, y - CUT)
            for part in floor.sight(at, heading).parts:
                shapes += _shifted(part, x, y - CUT)
        tops = [(-2.0, 2 + GAP), *((row * (HIGH + GAP), GAP + 0.12) for row in range(1, rows)), (high - GAP, GAP + 0.5)]
        shapes += [Box(x=0, y=y, width=wide, height=tall, fill="paper") for y, tall in tops]
        x, y = corners[-1][0] + SIDE + 0.1, corners[-1][1]
        shapes.append(Box(x=x, y=y, width=wide - x, height=HIGH, fill="paper"))
        for i, (x, y) in enumerate(corners, 1):
            shapes.append(Box(x=x, y=y, width=SIDE, height=HIGH, line="slate", thick=0.12))
            shapes.append(Box(x=x, y=y, width=1.5, height=1.5, fill="slate"))
            shapes.append(Run(text=str(i), x=x + 0.75, y=y + 0.78, size=1.2, color="white"))
        text = f"{state.every} move{'s' if state.every > 1 else ''} from each to the next"
        text, color = (f"answer {state.said}", "blue") if state.said else (text, "stone")
        size = min(wide / 18, wide * 1.6 / len(text))
        told = Run(text=text, x=wide / 2, y=high + 0.4 * wide / FOOT, size=size, color=color)
        return Scene(width=wide, height=deep, shapes=(*shapes, told))


def _sheet(columns: int, count: int) -> tuple[float, float]:
    """How wide and how high the sheet is that holds so many frames in so many columns."""
    wide = columns * (SIDE + GAP) + GAP
    return wide, -(-count // columns) * (HIGH + GAP) + GAP + wide / FOOT


@functools.lru_cache(maxsize=2048)
def _shifted(part: Part | None, x: float, y: float) -> tuple[Shape, ...]:
    """A part of the walls, or the ground, in the frame whose upper left corner is at (x, y)."""
    return tuple([_moved(shape, x, y) for shape in (faces(*part, small=True) if part else GROUND)])


def _moved(shape: Shape, x: float, y: float) -> Shape:
    """A shape of a view, which is made of boxes and polygons, elsewhere."""
    if isinstance(shape, Box):
        return Box(
            x=shape.x + x, y=shape.y + y, width=shape.width, height=shape.height, fill=shape.fill, line=shape.line
        )
    assert isinstance(shape, Polygon), f"a view has walls, floor and ceiling, not {shape!r}"
    points = tuple([(round(a + x, 3), round(b + y, 3)) for a, b in shape.points])
    return Polygon(points=points, fill=shape.fill, line=shape.line, thick=shape.thick, closed=shape.closed)
