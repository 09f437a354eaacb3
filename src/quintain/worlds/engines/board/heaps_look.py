"""How a game of heaps begins, what it looks like, and how its moves are written."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.game import Match, Setup
from quintain.worlds.engines.board.heaps import STEP, HeapGame, heap_game
from quintain.worlds.engines.turns import counted
from quintain.worlds.kernel import GenerationError, Move
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Run, Scene

HEAPS = "ABCDEFGH"
KNOBS = ("heaps", "tallest", "most", "last_loses")
SIDES = ("first", "second")
_HEAD = re.compile(
    r"You move (first|second); (?:the (first|second) player|nobody) is to move\. Who takes the last counter (wins|loses)\."
    r"(?: A move takes at most (\d+)\.)?"
)
_PILE = re.compile(r"\b(?:the )?(?:heap|pile) ", re.ASCII)
_SHORT = re.compile(  # no `A=2`, which may be what is left
    r"(?:(?:take|remove)\s+)?(?:heap\s+)?([a-h])\s*(?:[-:,/]\s*)?(?:(?:take|remove)\s+)?(\d{1,2})(?:\s+counters?)?",
    re.ASCII,
)
_LEFT = re.compile(  # what a heap is left with
    r"(?:(?:take|reduce|lower|bring)\s+)?(?:from\s+)?(?:heap\s+)?([a-h])"
    r"(?:\s+(?:(?:down\s+)?to|becomes|is(?:\s+left\s+with)?)\s+|\s*(?:[-=]+>|→)\s*)(\d{1,2})(?:\s+counters?)?",
    re.ASCII,
)
_LONG = re.compile(
    r"(?:(?:take|remove)\s+(?:away\s+)?)?(\d{1,2}|all)\s+(?:counters?\s+)?(?:from|off|of)\s+(?:heap\s+)?([a-h])",
    re.ASCII,
)


def _counter(fill: str, line: str) -> tuple[Disc, ...]:
    return (
        Disc(x=0.5, y=0.56, radius=0.38, fill="seam"),
        Disc(x=0.5, y=0.5, radius=0.38, fill=fill, line=line, thick=0.07),
        Disc(x=0.5, y=0.5, radius=0.2, line=line, thick=0.04),
    )


def _badge(text: str, color: str) -> tuple[Box | Run, ...]:
    return (
        Box(x=0.04, y=0.04, width=0.92, height=0.92, fill="white", line="seam", thick=0.03, radius=0.15),
        Run(text=text, x=0.5, y=0.52, size=0.5, color=color),
    )


tiles(
    {
        "counter": _counter("sky", "blue"),
        "counter-fifth": _counter("gold", "amber"),  # every fifth counter, so that tall heaps can be counted
        **{f"heap-{sign}": (Run(text=sign, x=0.5, y=0.52, size=0.62, color="ink"),) for sign in HEAPS},
        "first": _badge("1st", "blue"),
        "second": _badge("2nd", "brick"),
        "last-wins": _badge("L+", "forest"),
        "last-loses": _badge("L-", "rust"),
        **{f"most-{n}": _badge(f"1-{n}", "ink") for n in range(1, STEP)},
    }
)


@functools.lru_cache(maxsize=1024)
def _take(heap: int, count: int) -> Move:
    return Move(f"{HEAPS[heap]}-{count}", (heap, count))


def taken(match: Match, move: Move) -> Move:
    """What is taken by a move that names what it leaves; any other move as it is."""
    heap, count = move.value
    size = match.position[heap] if heap < len(match.position) else 0
    return move if count > 0 else _take(heap, max(size + count, 0))


class HeapLook:
    """Heaps as `board.game.Look`. Knobs: `heaps` of 1 to `tallest` counters, `most` taken in a move (0: no limit),
    `last_loses`. The side to move can force a win at the start.
    """

    def game(self, options: Ints) -> HeapGame:
        return heap_game(*options)

    def options(self, knobs: Mapping[str, Any]) -> Ints:
        heaps, tallest, most = knobs["heaps"], knobs["tallest"], knobs["most"]
        if not (1 <= heaps <= len(HEAPS) and 1 <= tallest < STEP and 0 <= most < STEP):
            raise QuintainError(
                f"heaps {heaps}, tallest {tallest}, most {most}: 1 to {len(HEAPS)} heaps of at most {STEP - 1}"
            )
        if most == 1:
            raise GenerationError(
                "most 1: the number of counters alone says who takes the last one, whatever anybody plays"
            )
        return (most, int(bool(knobs["last_loses"])))

    def varied(self, knobs: Mapping[str, Any]) -> bool:
        return True

    def opening(self, rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
        return tuple(1 + rng.below(knobs["tallest"]) for _ in range(knobs["heaps"]))

    def suits(self, position: Ints, knobs: Mapping[str, Any]) -> bool:
        return heap_game(*self.options(knobs)).wins(position)

    def layout(self, match: Match) -> str:
        return " ".join(map(str, (*sorted(match.position), *match.setup.options)))

    def longest(self, match: Match) -> int:
        return sum(match.position)

    def caption(self, match: Match, me: int, level: int) -> str:
        most, last_loses = match.setup.options
        mover = f"the {SIDES[match.mover]} player" if any(match.position) else "nobody"
        head = f"You move {SIDES[me]}; {mover} is to move."
        head += f" Who takes the last counter {'loses' if last_loses else 'wins'}."
        head += f" A move takes at most {most}." if most else ""
        heaps = [f"{sign}: {size}" for sign, size in zip(HEAPS, match.position, strict=False)]
        if level == 2:
            return "\n".join([head, *(f"{h} {'o' * n}".rstrip() for h, n in zip(heaps, match.position, strict=True))])
        return f"{head} {', '.join(heaps)}."

    def rebuild(self, caption: str) -> Match:
        head, *lines = caption.split("\n")
        said = _HEAD.fullmatch(head)
        sizes = [line.split() for line in lines]
        if not said or any(
            len(s) < 2 or s[0] != f"{h}:" or not s[1].isdigit() for h, s in zip(HEAPS, sizes, strict=False)
        ):
            raise QuintainError(f"this is no full caption of a game of heaps: {caption[:60]!r}")
        options = (int(said[4] or 0), int(said[3] == "loses"))
        return Match(Setup(options), tuple(int(s[1]) for s in sizes), SIDES.index(said[2] or SIDES[0]))

    def scene(self, match: Match, me: int) -> Scene:
        """One row per heap; below, who looks, whether the last counter wins (L+) or loses (L-), and the limit of a move."""
        most, last_loses = match.setup.options
        width = max(8, *match.position) + 1
        cells: list[str] = []
        for sign, size in zip(HEAPS, match.position, strict=False):
            row = [f"heap-{sign}", *("counter" if i % 5 else "counter-fifth" for i in range(1, size + 1))]
            cells += row + [""] * (width - len(row))
        badges = ["last-loses" if last_loses else "last-wins", SIDES[me], *([f"most-{most}"] if most else [])]
        cells += ["", *badges] + [""] * (width - 1 - len(badges))
        return Scene(width=width, height=len(match.position) + 1, cells=tuple(cells), columns=width)

    def static(self, match: Match, me: int) -> tuple[str, ...]:
        most, last_loses = match.setup.options
        return (f"play-{SIDES[me]}", f"last-{'loses' if last_loses else 'wins'}", f"most-{most}")

    def moving(self, match: Match) -> tuple[str, ...]:
        return tuple([f"{sign}{size}" for sign, size in zip(HEAPS, match.position, strict=False)])

    def words(self, knobs: Mapping[str, Any], sides: int) -> tuple[str, ...]:
        heaps, tallest = HEAPS[: knobs["heaps"]], knobs["tallest"]
        takes = [f"{sign}-{n}" for sign in heaps for n in range(1, min(tallest, knobs["most"] or STEP) + 1)]
        fixed = [f"play-{side}" for side in SIDES[:sides]]
        fixed += [f"last-{'loses' if knobs['last_loses'] else 'wins'}", f"most-{knobs['most']}"]
        return (*takes, *fixed, *(f"{sign}{size}" for sign in heaps for size in range(tallest + 1)))

    def read(self, text: str) -> Move | None:
        text = text.strip()
        if len(text) > 60:
            return None
        text = _PILE.sub("heap ", counted(text.lower()))
        if left := _LEFT.fullmatch(text):
            return Move(f"{left[1].upper()} to {int(left[2])}", (HEAPS.lower().index(left[1]), -int(left[2])))
        if short := _SHORT.fullmatch(text):
            sign, count = short.groups()
        elif long := _LONG.fullmatch(text):
            count, sign = long.groups()
        else:
            return None
        heap = HEAPS.lower().index(sign)
        if count == "all":
            return Move(f"{sign.upper()} to 0", (heap, 0))
        return _take(heap, int(count)) if 0 < int(count) < STEP else None

    def move(self, index: int, options: Ints) -> Move:
        return _take(*divmod(index, STEP))

    def index(self, move: Move, options: Ints) -> int:
        heap, count = move.value
        return heap * STEP + count
