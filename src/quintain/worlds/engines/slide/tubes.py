"""Tubes of coloured water: pour like onto like until every tube holds one colour or nothing."""

from __future__ import annotations

import functools
import heapq
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.engines.slide.pose import Pose, along
from quintain.worlds.kernel import Answer, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape
from quintain.worlds.splits import Draft

HUES = {"r": "brick", "g": "green", "b": "sky", "y": "gold", "p": "plum", "n": "navy", "k": "bark", "m": "mint"}
INKS = {"r": "white", "g": "white", "n": "white", "k": "white"}
MOST = 10  # tubes
NODES = ((1, 600), (3, 6_000), (6, 60_000))  # weight of the estimate, nodes: the first plan is a shortest one
DEAL_NODES = 500
_TEXT = re.compile(
    r"(?:(?:pour|move) (?:the )?(?:(?:water|liquid|colou?r|top layer) (?=from ))?)?"
    r"(?:from )?(?:tube )?(\d{1,2})(?: ?(?:->|-|>|,|to|into) ?| )(?:tube )?(\d{1,2})",
    re.ASCII,
)
Node = tuple[str, ...]


def pours(tubes: Node, size: int) -> Iterator[tuple[int, int, Node]]:
    """(from, to, the tubes after) of each pour: as much of the colour on top as there is room for."""
    for i, tube in enumerate(tubes):
        if not tube:
            continue
        run = len(tube) - len(tube.rstrip(tube[-1]))
        for j, other in enumerate(tubes):
            room = size - len(other)
            if i != j and room and (not other or other[-1] == tube[-1]):
                count = min(run, room)
                after = list(tubes)
                after[i], after[j] = tube[:-count], other + tube[-1] * count
                yield i, j, tuple(after)


def runs(tubes: Node) -> int:
    """How many stretches of one colour there are in all tubes."""
    return sum(1 for tube in tubes for a, b in zip(tube, " " + tube, strict=False) if a != b)


def sorted_out(tubes: Node, size: int) -> bool:
    """Whether each tube is empty or full of one colour."""
    return all(not tube or tube == tube[0] * size for tube in tubes)


def search(tubes: Node, size: int, haste: int, limit: int) -> tuple[list[Node], int, bool]:
    """Best first on pours done + `haste` x (stretches - colours): (the nodes of a plan, nodes looked at, whether it is finished).

    No pour joins more than one pair of stretches, so with `haste` 1 the plan is a shortest one. Tubes are alike but for what they
    hold, and to pour a whole tube into an empty one is for nothing.
    """
    start = tuple(sorted(tubes))
    least = len(set("".join(tubes)))
    came: dict[Node, Node | None] = {start: None}
    spent, heap, count = {start: 0}, [(0, 0, start)], 0
    closed = set()
    while heap:
        here = heapq.heappop(heap)[2]
        if here in closed:
            continue
        if sorted_out(here, size):
            out = [here]
            while (before := came[out[-1]]) is not None:
                out.append(before)
            return out[::-1], count, True
        if count >= limit:
            return [], count, False
        closed.add(here)
        count += 1
        total = spent[here] + 1
        for i, j, after in pours(here, size):
            if not here[j] and here[i] == here[i][0] * len(here[i]):
                continue
            node = tuple(sorted(after))
            if total < spent.get(node, 1 << 30):
                spent[node], came[node] = total, here
                heapq.heappush(heap, (total + haste * (runs(node) - least), -total, node))
    return [], count, True


@dataclass(frozen=True)
class Tubes:
    """Tubes as `pose.Rules`: `board` is how much a tube holds, `now` the tubes from the bottom up, joined by `/`.

    Knobs: `colors`, `size` (units of each colour, and what a tube holds), `empty` (tubes), `low` (moves of the plan at least).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Pose]:
        size, colors = knobs["size"], rng.sample(tuple(HUES), knobs["colors"])
        units = [color for color in colors for _ in range(size)]
        rng.shuffle(units)
        tubes = ["".join(units[i : i + size]) for i in range(0, len(units), size)] + [""] * knobs["empty"]
        pose = Pose(str(size), "/".join(tubes))

        def finish() -> Pose | None:
            path, _, _ = search(tuple(tubes), size, 2, DEAL_NODES)
            return replace(pose, budget=len(path) + 1) if len(path) > knobs["low"] else None

        return Draft(pose, finish)

    def layout(self, pose: Pose) -> str:
        """The tubes in order of their patterns, the colours in order of appearance."""
        tubes = sorted(pose.now.split("/"), key=lambda tube: (_renamed(tube), tube))
        return _renamed("/".join(tubes))

    def solved(self, board: str, now: str) -> bool:
        return sorted_out(tuple(now.split("/")), int(board))

    def options(self, board: str, now: str) -> list[tuple[str, str]]:
        return [(f"{i + 1} {j + 1}", "/".join(after)) for i, j, after in pours(tuple(now.split("/")), int(board))]

    def answer(self, board: str, now: str) -> Answer:
        """A shortest plan if it is found soon, else a short one."""
        nodes = 0
        for haste, limit in NODES:
            path, count, ended = search(tuple(now.split("/")), int(board), haste, limit)
            nodes += count
            if path:
                return along(self, board, now, path, lambda text: tuple(sorted(text.split("/"))))
            if ended:
                return Unsolvable("every way to pour was tried")
        return Unknown(nodes)

    def spell(self, text: str) -> str:
        found = _TEXT.fullmatch(" ".join(text) if len(text) == 2 else text)  # 14: from 1 to 4
        if not found or not (0 < int(found[1]) <= MOST and 0 < int(found[2]) <= MOST):
            return ""
        return f"{int(found[1])} {int(found[2])}"

    def caption(self, board: str, now: str, level: int) -> str:
        tubes = now.split("/")
        if level == 1:
            done = sum(bool(tube) and tube == tube[0] * int(board) for tube in tubes)
            return f"Tubes: {len(tubes)}. Full of one colour: {done}. Empty: {tubes.count('')}. A tube holds {board}."
        return "\n".join(f"{i}: {' '.join(tube.ljust(int(board), '.'))}" for i, tube in enumerate(tubes, 1))

    def parse(self, caption: str) -> Pose:
        tubes = [line.partition(": ")[2].replace(" ", "") for line in caption.split("\n")]
        if not tubes[0] or len({len(tube) for tube in tubes}) != 1 or set("".join(tubes)) - {*HUES, "."}:
            raise QuintainError(f"this is no full caption of tubes: {caption[:60]!r}")
        return Pose(str(len(tubes[0])), "/".join(tube.rstrip(".") for tube in tubes))

    def static(self, board: str, now: str) -> tuple[str, ...]:
        return ()

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        tubes = [tube.ljust(int(board), ".") for tube in now.split("/")]
        return tuple([f"{i}:{height}{sign}" for i, tube in enumerate(tubes, 1) for height, sign in enumerate(tube)])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        names = [str(i + 1) for i in range(knobs["colors"] + knobs["empty"])]
        return (*names, *(f"{n}:{h}{sign}" for n in names for h in range(knobs["size"]) for sign in (*HUES, ".")))

    def scene(self, board: str, now: str) -> Scene:
        tubes, size = now.split("/"), int(board)
        rows = 1 if len(tubes) <= 5 else 2
        across, unit = -(-len(tubes) // rows), 0.8 if rows == 1 else 0.6
        wide, share = across * 1.5 + 0.2, size * unit + 1.1
        side = max(wide, rows * share + 0.1)
        shapes: list[Shape] = []
        for i, tube in enumerate(tubes):
            x, y = (side - wide) / 2 + 0.3 + i % across * 1.5, (side - rows * share) / 2 + i // across * share + 0.25
            shapes += _tube(tube, (size, unit), i + 1, x, y)
        return Scene(width=side, height=side, shapes=tuple(shapes))


def _renamed(text: str) -> str:
    """The text with its colours renamed in the order in which they first appear."""
    names = {sign: chr(65 + i) for i, sign in enumerate(dict.fromkeys(text.replace("/", "")))}
    return "".join([names.get(sign, sign) for sign in text])


@functools.lru_cache(maxsize=4096)
def _tube(tube: str, sizes: tuple[int, float], number: int, x: float, y: float) -> tuple[Shape, ...]:
    """A tube of glass with its water, and its number below; `sizes` are how many layers it holds and how high one is."""
    size, unit = sizes
    foot = y + size * unit
    out: list[Shape] = [Box(x=x, y=y, width=1.2, height=foot - y + 0.1, fill="white", radius=0.25)]
    for i, sign in enumerate(tube):
        top = foot - (i + 1) * unit
        out.append(Box(x=x + 0.06, y=top, width=1.08, height=unit + 0.02, fill=HUES[sign], radius=0.0 if i else 0.2))
        if not i:
            out.append(Box(x=x + 0.06, y=top, width=1.08, height=unit / 2, fill=HUES[sign]))
        out.append(
            Run(text=sign, x=x + 0.6, y=top + unit / 2, size=min(0.55, unit * 0.85), color=INKS.get(sign, "ink"))
        )
    low, right = foot + 0.05, x + 1.2
    glass = ((x, y - 0.1), (x, low - 0.2), (x + 0.2, low), (right - 0.2, low), (right, low - 0.2), (right, y - 0.1))
    out.append(Polygon(points=glass, line="slate", thick=0.08, closed=False))
    out.append(Run(text=str(number), x=x + 0.6, y=foot + 0.45, size=0.55, color="stone"))
    return tuple(out)
