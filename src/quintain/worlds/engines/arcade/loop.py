"""The loop of all arcade games: one action word per turn moves the world some ticks, by integers and without chance.

A game gives its rules as `Rules`; what it shows is a `Look`: a board of signs, a note for each row and a few counters.
Captions, words and pictures all follow from that, so they cannot tell different things.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from quintain.types import QuintainError
from quintain.worlds.engines.arcade import art
from quintain.worlds.engines.turns import WON, After, TurnWorld, digit_words, digits
from quintain.worlds.kernel import Answer, Choices, Facts, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.splits import Draft, canonical

art.add()
BLANK = "."
RUNNING, GOAL, HIT, LATE = range(4)
ENDINGS = ("running", "won", "lost", "late")
SAYINGS = {"won": "You made it.", "lost": "That ended it.", "late": "The turns are used up."}
COUNTED = """The counter of turns counts the moves that you make. An answer that cannot be read or is not allowed does not lower it, but
takes one of the turns that you have."""
LIMIT = 60_000  # nodes that a search expands before it gives up
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"
Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """The fixed part of a game: a board of `cells`, row by row, at most `turns` turns, and what else its rules keep in `data`."""

    width: int
    height: int
    turns: int
    goal: int = 1
    cells: str = ""
    data: tuple[Ints, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """The state of a game: turns gone by, the player, other things that move, points, and how it ended if it has."""

    stage: Stage
    turn: int
    at: Ints
    things: tuple[Ints, ...] = ()
    score: int = 0
    over: int = RUNNING


class Look(NamedTuple):
    """What is to be seen: signs row by row, a note per row or none at all, counters (name, value), and the ending."""

    width: int
    signs: str
    counters: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    over: int = RUNNING


class Rules(Protocol):
    """One arcade game, as pure functions of frames."""

    @property
    def actions(self) -> Choices:
        """The action words."""
        ...

    @property
    def sprites(self) -> Mapping[str, str]:
        """Sign -> tile that is drawn over the ground."""
        ...

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Frame | Draft[Frame] | None:
        """A first frame or a draft of it (see `planned`), or None to draw again."""
        ...

    def advance(self, frame: Frame, action: str) -> Frame:
        """The frame one turn later."""
        ...

    def plan(self, frame: Frame) -> Answer:
        """The oracle."""
        ...

    def look(self, frame: Frame) -> Look:
        """What is to be seen."""
        ...

    def restore(self, look: Look) -> Frame:
        """A frame that looks so."""
        ...

    def brief(self, frame: Frame) -> str:
        """The essentials in words."""
        ...

    def ground(self, frame: Frame) -> tuple[str, ...]:
        """The tile under each cell."""
        ...

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        """Width, height, the names of counters with any words they may show (`name:word`), and all notes."""
        ...


@dataclass(frozen=True)
class Cabinet:
    """A game of the turn loop made from the rules of an arcade game."""

    rules: Rules
    offers: Callable[[Frame], tuple[Move, ...]] | None = None

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Frame | Draft[Frame] | None:
        """See `Game.deal`."""
        return self.rules.deal(rng, knobs)

    def layout(self, state: Frame) -> str:
        """See `Game.layout`: the board as it looks, turned and mirrored alike, and what is kept about it."""
        stage = state.stage
        signs = canonical(self.rules.look(state).signs, stage.width, stage.height)
        return f"{signs} {sorted(stage.data)}"

    def turns(self, state: Frame) -> int:
        """See `Game.turns`."""
        return state.stage.turns

    def mover(self, state: Frame) -> int:
        """See `Game.mover`."""
        return -1 if state.over else 0

    def legal(self, state: Frame) -> tuple[Move, ...]:
        """See `Game.legal`: time passes whatever is done, so every action is a move."""
        if state.over:
            return ()
        return self.offers(state) if self.offers else self.rules.actions.moves

    def guess(self, state: Frame, rng: Rng) -> Move:
        """See `Game.guess`."""
        return rng.pick(self.rules.actions.moves)

    def read(self, text: str) -> Move | None:
        """See `Game.read`."""
        return self.rules.actions.read(text)

    def play(self, state: Frame, move: Move) -> After[Frame] | None:
        """See `Game.play`."""
        after = self.rules.advance(state, move.key)
        if not after.over:
            return After(after)
        return After(after, (WON,) if after.over == GOAL else (), True, ((ENDINGS[after.over],),))

    def advise(self, state: Frame) -> Answer:
        """See `Game.advise`."""
        return self.rules.plan(state)

    def caption(self, state: Frame, side: int, level: int) -> str:
        """See `Lens.caption`."""
        return written(self.rules.look(state)) if level > 1 else self.rules.brief(state)

    def rebuild(self, caption: str, side: int) -> Frame:
        """See `World.rebuild`."""
        return self.rules.restore(read_back(caption))

    def static(self, state: Frame, side: int) -> tuple[str, ...]:
        """See `Lens.static`."""
        stage = state.stage
        notes = [f"row{SIGNS[y]}:{n.replace(' ', '-')}" for y, n in enumerate(self.rules.look(state).notes) if n]
        return (*_placed(stage.cells, stage.width), *notes)

    def moving(self, state: Frame, side: int) -> tuple[str, ...]:
        """See `Lens.moving`."""
        look, fixed = self.rules.look(state), state.stage.cells
        signs = (
            "".join([BLANK if s == f else s for s, f in zip(look.signs, fixed, strict=True)]) if fixed else look.signs
        )
        out = list(_placed(signs, look.width))
        for name, value in look.counters:
            out += digits(name, int(value)) if value.isdecimal() else [f"{name}:{value}"]
        return tuple(out)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """See `World.words`."""
        width, height, names, notes = self.rules.lexicon(knobs)
        places = [SIGNS[y] + SIGNS[x] for y in range(height) for x in range(width)]
        out = [m.key for m in self.rules.actions.moves]
        out += [word for m in self.rules.actions.moves for word in m.key.split()]
        out = [word for word in out if " " not in word]
        out += [sign + place for sign in self.rules.sprites for place in places]
        for name in names:
            out += [name] if ":" in name else digit_words(name, 3)
        return (*out, *(f"row{SIGNS[y]}:{n.replace(' ', '-')}" for y in range(height) for n in notes))

    def scene(self, state: Frame, side: int) -> Scene:
        """See `Lens.scene`: a bar of counters above the board, notes at its left."""
        look, sprites = self.rules.look(state), self.rules.sprites
        cells = [
            g if s == BLANK else f"{g}+{sprites[s]}" for g, s in zip(self.rules.ground(state), look.signs, strict=True)
        ]
        width = look.width
        if look.notes:
            rows = [
                [f"note-{n.replace(' ', '-')}", *cells[i * width : (i + 1) * width]] for i, n in enumerate(look.notes)
            ]
            cells, width = [c for row in rows for c in row], width + 1
        bar: list[str] = []
        counters, fit = list(look.counters), width // 2  # a counter takes two cells; so many fit in a line
        fit = -(-len(counters) // -(-len(counters) // fit))  # as many in each line
        over = {"turns": f"over-{ENDINGS[look.over]}"} if look.over else {}  # in place of the clock
        for i in range(0, len(counters), fit):
            line = [
                tile
                for name, value in counters[i : i + fit]
                for tile in (f"hud+{over.get(name, f'icon-{name}')}", f"hud+value-{value}")
            ]
            bar += line + ["hud"] * (width - len(line))
        rows = (len(bar) + len(cells)) // width
        return Scene(width=width, height=rows, cells=(*bar, *cells), columns=width)


def arcade(
    facts: Facts,
    levels: Sequence[Mapping[str, Any]],
    rules: Rules,
    offers: Callable[[Frame], tuple[Move, ...]] | None = None,
) -> TurnWorld[Frame]:
    """A world of one arcade game; `offers` are the actions of a frame where not all make sense."""
    facts = replace(facts, rules=f"{facts.rules}\n{COUNTED}")
    return TurnWorld(facts=facts, levels=levels, game=Cabinet(rules, offers), schema=Frame)


def planned(frame: Frame, plan: Callable[[], Answer], turns: Callable[[int], int], low: int = 0) -> Draft[Frame]:
    """A frame that is kept if its plan has `low` moves or more; `turns` of their number is its budget."""

    def finish() -> Frame | None:
        found = plan()
        if not isinstance(found, Plan) or len(found.moves) < low:
            return None
        return replace(frame, stage=replace(frame.stage, turns=turns(len(found.moves))))

    return Draft(frame, finish)


def left(frame: Frame) -> tuple[str, str]:
    """The counter of the turns that are left."""
    return ("turns", str(frame.stage.turns - frame.turn))


def ending(frame: Frame, won: bool, hit: bool) -> int:
    """How a frame ends a turn from now: hit before won, won before late."""
    return HIT if hit else GOAL if won else LATE if frame.turn + 1 >= frame.stage.turns else RUNNING


def written(look: Look) -> str:
    """A look as the lines of a full caption."""
    rows = [" ".join(look.signs[i : i + look.width]) for i in range(0, len(look.signs), look.width)]
    if look.notes:
        rows = [f"{row}  {note}".rstrip() for row, note in zip(rows, look.notes, strict=True)]
    head = "; ".join([f"{name} {value}" for name, value in look.counters])
    return "\n".join([head, *rows, *([f"over: {ENDINGS[look.over]}"] if look.over else [])])


def read_back(caption: str) -> Look:
    """The look that a full caption tells.

    Raises:
        QuintainError: it is no full caption of an arcade game.
    """
    head, *rows = caption.split("\n")
    over = ENDINGS.index(rows.pop()[6:]) if rows and rows[-1].startswith("over: ") else RUNNING
    counters = [tuple(part.split(" ", 1)) for part in head.split("; ")]
    parts = [row.partition("  ") for row in rows]
    boards = [p[0].replace(" ", "") for p in parts]
    if len({len(b) for b in boards}) != 1 or any(len(c) != 2 for c in counters):
        raise QuintainError(f"this is no full caption of an arcade game: {caption[:60]!r}")
    notes = tuple(p[2] for p in parts)
    pairs = tuple((c[0], c[1]) for c in counters)
    return Look(len(boards[0]), "".join(boards), pairs, notes if any(notes) else (), over)


@functools.lru_cache(maxsize=4096)
def _placed(signs: str, width: int) -> tuple[str, ...]:
    """A word per cell that is not blank: its sign, row and column."""
    return tuple([s + SIGNS[i // width] + SIGNS[i % width] for i, s in enumerate(signs) if s != BLANK])


Node = tuple[Any, ...]
Options = Callable[[Node, int], Iterable[tuple[int, Node, bool]]]


def search(actions: Choices, start: Node, turn: int, last: int, options: Options) -> Answer:
    """Breadth-first search over (turn, node): the shortest plan, with every first move that starts one.

    Args:
        actions: the moves.
        start: what there is besides the turn.
        turn: the turn of `start`.
        last: the turn by which the goal must be reached.
        options: (node, turn) -> (index of a move, node a turn later, won), without moves that lose.
    """
    layer: dict[Node, int] = {start: 0}
    back: list[dict[Node, tuple[Node, int]]] = [{}]
    nodes = 0
    while layer and turn < last:
        after: dict[Node, int] = {}
        came: dict[Node, tuple[Node, int]] = {}
        won: list[tuple[Node, int]] = []
        firsts = 0
        for node, mask in layer.items():
            for action, new, goal in options(node, turn):
                bit = mask or 1 << action
                if goal:
                    won.append((node, action))
                    firsts |= bit
                elif new in after:
                    after[new] |= bit
                else:
                    after[new] = bit
                    came[new] = (node, action)
        if won:
            node, action = won[0]
            path = [action]
            for table in reversed(back[1:]):
                node, action = table[node]
                path.append(action)
            moves = actions.moves
            first = tuple(m for i, m in enumerate(moves) if firsts >> i & 1)
            return Plan(tuple([moves[i] for i in reversed(path)]), first=first)
        nodes += len(layer)
        if nodes > LIMIT:
            return Unknown(nodes)
        layer, turn = after, turn + 1
        back.append(came)
    return Unsolvable("every way was tried")
