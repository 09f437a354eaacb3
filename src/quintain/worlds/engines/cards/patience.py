"""Patience: one player brings all cards home. Deals are drawn until the search finds a way, so each can be solved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.deck import (
    CARDS,
    NAMES,
    RANKS,
    SUITS,
    Sheet,
    deck_of,
    note,
    wide_note,
)
from quintain.worlds.engines.cards.patience_said import DRAWN, LETTERS, Named, move_of, read
from quintain.worlds.engines.cards.piles import CELL, HOME, WASTE, Kind, Table, after, steps, won
from quintain.worlds.engines.cards.piles_solve import solved
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, GenerationError, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.splits import Draft

SAYINGS = {"won": "All cards are home.", "stuck": "No move is left."}
NODES = 6_000  # tables that the oracle looks at

for _name in ("stock", "waste", "runs"):
    tiles(wide_note(f"wide-{_name}", _name.upper()))
tiles({"tag-of": note("of", "stone")})
tiles({f"cell-{sign}": note(sign, "stone") for sign in LETTERS})
tiles({f"top-{rank}": note("10" if rank == "T" else rank) for rank in RANKS})
tiles({"top-none": note("-", "cloud")})


@dataclass(frozen=True, slots=True)
class Patience:
    """The state: what never changes, and the table, see `piles`."""

    kind: Kind
    piles: tuple[Ints, ...]
    under: Ints
    cells: Ints
    homes: Ints
    stock: Ints
    waste: Ints

    @property
    def table(self) -> Table:
        """The table as the rules take it."""
        return self.piles, self.under, self.cells, self.homes, self.stock, self.waste


def named(state: Patience, move: Move) -> Move:
    """The one step of the card that is named, to the first free cell if to any; other moves as they are."""
    if not isinstance(move.value, Named):
        return move
    fits = [step for step in steps(state.kind, state.table) if move.value.says(state.table, step)]
    return move_of(fits[0]) if len(fits) == 1 or (fits and len(move.value.targets) > 1) else move


@dataclass(frozen=True)
class PatienceGame:
    """Patience as `turns.Game`. Knobs: `suits`, `ranks`, `columns`, `cells`, `depth` (cards in each column; 0: all are laid out),
    `runs` (spider: how many, suits in turn), `open` (0 hides the cards that lie face down and the stock).

    Args:
        game: `klondike`, `freecell` or `spider`.
        quick: tables that the search may look at while a deal is chosen.
    """

    game: str
    quick: int = 250

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Patience]:
        kind = Kind(
            self.game, knobs["suits"], knobs["ranks"], knobs["columns"], knobs["cells"], knobs["runs"], 0, knobs["open"]
        )
        for knob, has in (("cells", "freecell"), ("runs", "spider"), ("depth", "spider")):
            if knobs[knob] and self.game != has:
                raise GenerationError(f"{knob}={knobs[knob]}: this game of patience has no {knob}; it is 0")
        table = self._shuffled(rng, kind, knobs["depth"])

        def finish() -> Patience | None:
            way = solved(kind, table, self.quick).way
            return Patience(replace(kind, budget=len(way) * 9 // 8 + 3), *table) if way else None

        return Draft(Patience(kind, *table), finish)

    def _shuffled(self, rng: Rng, kind: Kind, depth: int) -> Table:
        if self.game == "spider":
            deck = [rank * 4 + 3 - run % kind.suits for run in range(kind.runs) for rank in range(kind.ranks)]
        else:
            deck = list(deck_of(kind.ranks, kind.suits))
        rng.shuffle(deck)
        homes = (0,) if self.game == "spider" else (0,) * kind.suits
        if self.game == "klondike":
            piles, at = [], 0
            for i in range(kind.columns):
                piles.append(tuple(deck[at : at + i + 1]))
                at += i + 1
            return tuple(piles), tuple(range(kind.columns)), (), homes, tuple(deck[at:]), ()
        laid = depth * kind.columns if depth else len(deck)
        piles = [tuple(deck[i : laid : kind.columns]) for i in range(kind.columns)]
        under = tuple([(len(p) - 1) * (self.game == "spider") for p in piles])
        return tuple(piles), under, (-1,) * kind.cells, homes, tuple(deck[laid:]), ()

    def layout(self, state: Patience) -> str:
        return f"{sorted(state.piles)} {state.stock}"

    def turns(self, state: Patience) -> int:
        return state.kind.budget

    def mover(self, state: Patience) -> int:
        return -1 if won(state.kind, state.table) else 0

    def legal(self, state: Patience) -> tuple[Move, ...]:
        return tuple([move_of(step) for step in steps(state.kind, state.table)])

    def guess(self, state: Patience, rng: Rng) -> Move:
        return DRAWN

    def read(self, text: str) -> Move | None:
        return read(text)

    def play(self, state: Patience, move: Move) -> After[Patience] | None:
        step = move.value
        if step not in steps(state.kind, state.table):
            return None
        new = Patience(state.kind, *after(state.kind, state.table, step))
        if won(new.kind, new.table):
            return After(new, (WON,), True, (("won",),))
        return After(new) if steps(new.kind, new.table) else After(new, (), True, (("stuck",),))

    def advise(self, state: Patience) -> Answer:
        """A way to the end. Where cards are hidden, one that would work if they lay in one order that nothing seen excludes."""
        hidden = not state.kind.open and (any(state.under) or state.stock)
        seen = self.rebuild(self.caption(state, 0, 2), 0) if hidden else state
        found = solved(seen.kind if hidden else state.kind, seen.table, NODES)
        if found.way is None:
            if hidden:
                legal = self.legal(state)
                return Plan(legal[:1], "policy", (), 0.0) if legal else Unsolvable("nothing can be moved")
            return Unsolvable("no order of moves brings all cards home") if found.complete else Unknown(found.nodes)
        moves = tuple([move_of(step) for step in found.way])
        return Plan(moves[:1], "policy", (), 0.5) if hidden else Plan(moves)

    def caption(self, state: Patience, side: int, level: int) -> str:
        kind = state.kind
        if level == 1:
            ends = [NAMES[p[-1]] if p else "empty" for p in state.piles]
            more = f" Open waste: {NAMES[state.waste[-1]]}." if state.waste else ""
            return f"{self._home(state)}\nLast cards of the columns: {', '.join(ends)}.{more}"
        head = f"Game: {kind.game}, {kind.suits} suit{'s' * (kind.suits > 1)}, {kind.ranks} ranks"
        lines = [f"{head}, {kind.runs} runs" if kind.runs else head, self._home(state)]
        if kind.cells:
            shown = [f"{s} {NAMES[c] if c >= 0 else 'empty'}" for s, c in zip(LETTERS, state.cells, strict=False)]
            lines.append("Cells: " + ", ".join(shown))
        lines += [f"Column {i + 1}: {' '.join(self._signs(state, i)) or 'empty'}" for i in range(kind.columns)]
        if kind.game != "freecell":
            lines.append(f"Stock: {' '.join(self._stock(state)) or 'empty'}")
        if kind.game == "klondike":
            lines.append(f"Waste: {' '.join(NAMES[c] for c in state.waste) or 'empty'}")
        return "\n".join(lines)

    def _home(self, state: Patience) -> str:
        if self.game == "spider":
            return f"Runs done: {state.homes[0]}"
        tops = [
            f"{s} {RANKS[n - 1] if n else '-'}" for s, n in zip(SUITS[4 - state.kind.suits :], state.homes, strict=True)
        ]
        return f"Home: {', '.join(tops)}"

    def _signs(self, state: Patience, column: int) -> list[str]:
        pile, under = state.piles[column], state.under[column]
        down = [f"[{NAMES[c]}]" if state.kind.open else "[?]" for c in pile[:under]]
        return down + [NAMES[c] for c in pile[under:]]

    def _stock(self, state: Patience) -> list[str]:
        """The stock, next card first."""
        return [NAMES[c] if state.kind.open else "?" for c in state.stock[::-1]]

    def rebuild(self, caption: str, side: int) -> Patience:
        """See `World.rebuild`; cards that are not seen come in the order of the deck."""
        head, home, *lines = caption.split("\n")
        found = re.fullmatch(r"Game: (\w+), (\d) suits?, (\d+) ranks(?:, (\d+) runs)?", head)
        if not found or found[1] != self.game:
            raise QuintainError(f"this is no full caption of {self.game}: {caption[:60]!r}")
        told = {name: rest for name, _, rest in (line.partition(": ") for line in lines)}
        columns = [told[name] for name in told if name.startswith("Column")]
        kind = Kind(
            self.game, int(found[2]), int(found[3]), len(columns), 0, int(found[4] or 0), 0, int("?" not in caption)
        )
        if self.game == "spider":
            homes: Ints = (int(home.rpartition(" ")[2]),)
            pool = [rank * 4 + 3 - run % kind.suits for run in range(kind.runs) for rank in range(kind.ranks)]
        else:
            tops = [part.split()[-1] for part in home.partition(": ")[2].split(", ")]
            homes = tuple([0 if t == "-" else RANKS.index(t) + 1 for t in tops])
            pool = [c for c in deck_of(kind.ranks, kind.suits) if c >> 2 >= homes[(c & 3) - (4 - kind.suits)]]
        cells = tuple([CARDS.get(part.split()[1], -1) for part in told["Cells"].split(", ")]) if "Cells" in told else ()
        for name in re.findall(r"\b([A2-9TJQK][CDHS])\b", caption.partition("\n")[2]):
            pool.remove(CARDS[name])

        def cards(text: str) -> Ints:
            if text == "empty":
                return ()
            return tuple([pool.pop() if "?" in sign else CARDS[sign.strip("[]")] for sign in text.split()])

        piles = tuple([cards(text) for text in columns])
        under = tuple([text.count("[") for text in columns])
        stock, waste = cards(told.get("Stock", "empty"))[::-1], cards(told.get("Waste", "empty"))
        return Patience(replace(kind, cells=len(cells)), piles, under, cells, homes, stock, waste)

    def static(self, state: Patience, side: int) -> tuple[str, ...]:
        return (f"suits-{state.kind.suits}", f"ranks-{state.kind.ranks}", f"runs-{state.kind.runs}")

    def moving(self, state: Patience, side: int) -> tuple[str, ...]:
        out = [f"home-{i}-{n}" for i, n in enumerate(state.homes)]
        out += [f"cell-{s}-{NAMES[c]}" for s, c in zip(LETTERS, state.cells, strict=False) if c >= 0]
        for i in range(len(state.piles)):
            out += [f"col-{i + 1}", *self._signs(state, i)]
        return (*out, "stock", *self._stock(state), "waste", *(NAMES[c] for c in state.waste))

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        columns, ranks, cells = range(knobs["columns"]), knobs["ranks"], range(CELL, CELL + knobs["cells"])
        deck = [NAMES[c] for c in deck_of(ranks, knobs["suits"])]
        keys = ["draw", *(move_of((s, 1, HOME)).key for s in (*columns, *cells, WASTE))]
        keys += [move_of((s, 1, t)).key for s in (*columns, *cells, WASTE) for t in (*columns, *cells) if s != t]
        keys += [move_of((s, n, t)).key for s in columns for t in columns for n in range(2, ranks + 1) if s != t]
        out = [
            *keys,
            f"suits-{knobs['suits']}",
            f"ranks-{ranks}",
            f"runs-{knobs['runs']}",
            "stock",
            "waste",
            "?",
            "[?]",
        ]
        out += [f"home-{i}-{n}" for i in range(knobs["suits"]) for n in range(max(ranks, knobs["runs"]) + 1)]
        out += [f"col-{i + 1}" for i in columns] + deck + [f"[{name}]" for name in deck]
        return (*out, *(f"cell-{s}-{name}" for s in LETTERS[: knobs["cells"]] for name in deck))

    def scene(self, state: Patience, side: int) -> Scene:
        """Each card is two cells wide: rank and suit. Above, what is home, free cells, stock and waste; grey cards lie face down."""
        kind = state.kind
        width = 2 * kind.columns
        head: list[list[str]] = (
            [["wide-runs", "wide-runs-2", f"n-{state.homes[0]}", "tag-of", f"n-{kind.runs}"]]
            if kind.game == "spider"
            else []
        )
        if not head:
            marks = [
                (f"suit-{s}", f"top-{RANKS[n - 1]}" if n else "top-none")
                for s, n in zip(SUITS[4 - kind.suits :], state.homes, strict=True)
            ]
            head = [[name for pair in marks for name in pair]]
        if kind.cells:
            slots = [
                (f"cell-{s}", *(_whole(_strip(c)) if c >= 0 else ("slotl", "slotr")))
                for s, c in zip(LETTERS, state.cells, strict=False)
            ]
            head += _wrapped([name for slot in slots for name in slot], width // 3 * 3)
        if kind.game != "freecell":
            stock = [_whole(_strip(c, "under-", kind.open)) for c in state.stock[::-1]]
            head += _wrapped([name for card in stock for name in card], width - 2, "wide-stock")
        if kind.game == "klondike":
            head += _wrapped([n for c in state.waste for n in _whole(_strip(c))], width - 2, "wide-waste")
        tall = len(head) + 1 + max(map(len, state.piles))
        sheet = Sheet(width, max(tall, width * 3 // 4))
        for row, names in enumerate(head):
            sheet.put(row, 0, names)
        for i, pile in enumerate(state.piles):
            sheet.put(len(head), 2 * i, [f"col-{i + 1}"])
            for row, card in enumerate(pile):
                down = row < state.under[i]
                strip = _strip(card, "under-" if down else "", kind.open or not down)
                sheet.put(len(head) + 1 + row, 2 * i, strip if row < len(pile) - 1 else _whole(strip))
        return sheet.scene()


def _strip(card: int, mark: str = "", seen: int = 1) -> tuple[str, str]:
    return (f"{mark}l-{NAMES[card]}", f"{mark}r-{NAMES[card]}") if seen else ("backl", "backr")


def _whole(strip: tuple[str, str]) -> tuple[str, str]:
    """The halves of a card that nothing lies on: it has a lower edge."""
    return f"{strip[0]}+footl", f"{strip[1]}+footr"


def _wrapped(names: Sequence[str], width: int, tag: str = "") -> list[list[str]]:
    """Rows of at most `width` tiles, the first after a tag, the others indented likewise."""
    rows = [list(names[i : i + width]) for i in range(0, len(names), width)] or [[]]
    return [[*((tag, f"{tag}-2") if i == 0 else ("", "")), *row] if tag else row for i, row in enumerate(rows)]
