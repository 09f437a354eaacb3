"""Two players build fireworks together: each sees the other's cards and not its own, and says what it may by clues.

The partner is built in and plays as the oracle would in its place, from what it may know.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.deck import MARGIN, Sheet, note, wide_note
from quintain.worlds.engines.cards.hanabi_said import NAMES, clue, own_card, read
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import GenerationError, Move, Plan
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Run, Scene

SAYINGS = {
    "played": "The partner plays {}.",
    "missed": "The partner plays {}, which does not fit.",
    "dropped": "The partner discards {}.",
    "clue": "The partner gives the clue {}.",
    "mine": "Your card was {}.",
    "over": "The fireworks are over.",
}
HUES = "RGBYW"
EMPTY = "no cards"
_INKS = {"R": "brick", "G": "green", "B": "blue", "Y": "amber", "W": "stone"}
COPIES = (3, 2, 2, 2, 1)  # cards of each rank and colour, for the ranks from 1
LAST = 2  # turns after the last card of the deck was drawn
MISTAKES = 3  # cards played that do not fit, with which all is lost
SURE, BOLD = 0.99, 0.6  # chances with which a card is played: at once, and when there is nothing better
_HEAD = re.compile(
    r"Points (\d+), mistakes (\d), full marks (\d+)\. Clues left: (\d) of (\d)\. Deck: (\d+)\. Ranks: (\d)\. Last turns: (\d)\."
)


@dataclass(frozen=True)
class Rules:
    """What never changes: colours, ranks, cards of a hand, clues at most, points for full marks."""

    colours: int
    ranks: int
    size: int
    clues: int
    par: int

    @functools.cached_property
    def deck(self) -> Ints:
        """All cards: colour * 10 + rank."""
        return tuple([c * 10 + r + 1 for c in range(self.colours) for r in range(self.ranks) for _ in range(COPIES[r])])


@dataclass(frozen=True, slots=True)
class Fireworks:
    """The state: the highest rank of each colour, cards by side, what clues left possible of each card (bits of colours, of ranks), the
    deck, what was discarded, clues left, the side to move, turns to go once the deck is used up (-1 before), and mistakes.
    """

    rules: Rules
    tops: Ints
    hands: tuple[Ints, Ints]
    marks: tuple[tuple[tuple[int, int], ...], ...]
    deck: Ints
    gone: Ints
    clues: int
    side: int
    last: int = -1
    wrong: int = 0


def _name(card: int) -> str:
    return f"{HUES[card // 10]}{card % 10}"


def touched(card: int, sign: str) -> bool:
    """Whether a clue is about a card."""
    return sign in _name(card)


def told(hand: Ints, marks: tuple[tuple[int, int], ...], sign: str) -> tuple[tuple[int, int], ...]:
    """What is possible of each card after a clue."""
    out = []
    for card, (hues, ranks) in zip(hand, marks, strict=True):
        bit = 1 << HUES.index(sign) if sign in HUES else 1 << int(sign)
        keep = bit if touched(card, sign) else ~bit
        out.append((hues & keep, ranks) if sign in HUES else (hues, ranks & keep))
    return tuple(out)


def chance(tops: Ints, unseen: Ints, mark: tuple[int, int]) -> tuple[float, float]:
    """The chances that a card with these marks, one of the unseen ones, fits now, and that it never will."""
    may = [c for c in unseen if mark[0] >> c // 10 & 1 and mark[1] >> c % 10 & 1]
    fits = sum(tops[c // 10] + 1 == c % 10 for c in may)
    return fits / max(len(may), 1), sum(tops[c // 10] >= c % 10 for c in may) / max(len(may), 1)


def _done(state: Fireworks, move: Move) -> tuple[Fireworks, str]:
    """After a move of the side whose turn it is, and what the seat hears of it."""
    side, rules = state.side, state.rules
    tops, marks, hands = list(state.tops), list(state.marks), list(state.hands)
    deck, gone, clues, wrong = state.deck, state.gone, state.clues, state.wrong
    if isinstance(move.value, str):
        marks[1 - side] = told(hands[1 - side], marks[1 - side], move.value)
        clues -= 1
        heard = f"clue:{move.key[5:]}"
    else:
        i, card, plays = move.value, hands[side][move.value], move.key.startswith("play")
        fits = plays and tops[card // 10] + 1 == card % 10
        if fits:
            tops[card // 10] += 1
        else:
            gone = tuple(sorted((*gone, card)))
            clues = min(clues + (not plays), rules.clues)
            wrong += plays
        heard = (
            f"{'played' if fits else 'missed' if plays else 'dropped'}:{_name(card)}" if side else f"mine:{_name(card)}"
        )
        hands[side] = (*hands[side][:i], *hands[side][i + 1 :], *deck[:1])
        marks[side] = (*marks[side][:i], *marks[side][i + 1 :], *((_blank(rules),) if deck else ()))
        deck = deck[1:]
    last = state.last - 1 if state.last > 0 else LAST if not deck and state.last < 0 else state.last
    pair = hands[0], hands[1]
    return Fireworks(rules, tuple(tops), pair, tuple(marks), deck, gone, clues, 1 - side, last, wrong), heard


def _blank(rules: Rules) -> tuple[int, int]:
    """What a card may be of which nothing is known."""
    return (1 << rules.colours) - 1, (2 << rules.ranks) - 2


@dataclass(frozen=True)
class Hanabi:
    """Fireworks as `turns.Game`. Knobs: `colours`, `ranks`, `size`, `clues`, `par`."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Fireworks | None:
        rules = Rules(knobs["colours"], knobs["ranks"], knobs["size"], knobs["clues"], knobs["par"])
        deck, size = rng.sample(rules.deck, len(rules.deck)), rules.size
        most = min(rules.colours * rules.ranks, len(deck) - 2 * size + LAST)
        if rules.par > most:
            raise GenerationError(
                f"par {rules.par}: {rules.colours} colours of {rules.ranks} ranks, {size} cards each, allow {most} points"
            )
        blank = _blank(rules)
        hands = tuple(deck[:size]), tuple(deck[size : 2 * size])
        return Fireworks(
            rules, (0,) * rules.colours, hands, ((blank,) * size,) * 2, tuple(deck[2 * size :]), (), rules.clues, 0
        )

    def layout(self, state: Fireworks) -> str:
        return f"{state.hands} {state.deck}"

    def turns(self, state: Fireworks) -> int:
        return len(state.rules.deck) + state.rules.clues

    def mover(self, state: Fireworks) -> int:
        over = not state.last or state.wrong == MISTAKES or sum(state.tops) == state.rules.colours * state.rules.ranks
        return -1 if over else 0

    def legal(self, state: Fireworks) -> tuple[Move, ...]:
        if self.mover(state) < 0:
            return ()
        signs = sorted({s for card in state.hands[1 - state.side] for s in _name(card)}) if state.clues else []
        own = range(len(state.hands[state.side]))
        return (*map(clue, signs), *(own_card("discard", i) for i in own), *(own_card("play", i) for i in own))

    def guess(self, state: Fireworks, rng: Rng) -> Move:
        return own_card("play", 0)

    def read(self, text: str) -> Move | None:
        return read(text)

    def play(self, state: Fireworks, move: Move) -> After[Fireworks]:
        """What a move does, and the partner's answer to it."""
        state, told_ = _done(state, move)
        said = [told_] if told_.startswith("mine") else []
        if self.mover(state) >= 0:
            state, told_ = _done(state, self.advise(state).moves[0])
            said.append(told_)
        if self.mover(state) >= 0:
            return After(state, events=(tuple(said),))
        points, par = sum(state.tops) if state.wrong < MISTAKES else 0, state.rules.par
        share = max(2 * points / par - 1, 0.0)
        reward = WON if share >= 1 else {"points": share} if share else {}
        return After(state, (reward,), True, ((*said, "over"),))

    def advise(self, state: Fireworks) -> Plan:
        """Play what surely fits; tell the other what fits; play what probably fits; discard what is least missed."""
        side = state.side
        mine, theirs, marks = state.marks[side], state.hands[1 - side], state.marks[1 - side]
        unseen = _unseen(state, side)
        odds = [chance(state.tops, unseen, mark) for mark in mine]
        best = max(range(len(mine)), key=lambda i: odds[i][0])
        bold = odds[best][0] >= BOLD and state.wrong + 1 < MISTAKES
        if odds[best][0] >= SURE or (bold and not state.clues):
            return self._plan(own_card("play", best))
        other = tuple(sorted((*unseen, *theirs)))
        if state.clues:
            gains, fits = [], dict[tuple[int, int], float]()
            for move in [m for m in self.legal(state) if isinstance(m.value, str)]:
                new = told(theirs, marks, move.value)
                pairs = zip(theirs, marks, new, strict=True)
                fits |= {mark: chance(state.tops, other, mark)[0] for mark in (*marks, *new) if mark not in fits}
                sign = [(fits[b] - fits[a]) * (1 if state.tops[c // 10] + 1 == c % 10 else -1) for c, a, b in pairs]
                gains.append((sum(sign), move.key, move))
            if gains and max(gains)[0] > 0.3:
                return self._plan(max(gains)[2])
        if bold:
            return self._plan(own_card("play", best))
        return self._plan(own_card("discard", max(range(len(mine)), key=lambda i: (odds[i][1] - odds[i][0], -i))))

    def _plan(self, move: Move) -> Plan:
        return Plan((move,), "policy", (), 0.6)

    def caption(self, state: Fireworks, side: int, level: int) -> str:
        rules = state.rules
        built = f"Fireworks: {' '.join([f'{HUES[c]}{top}' for c, top in enumerate(state.tops)])}"
        other = f"The partner has: {' '.join(map(_name, state.hands[1 - side])) or EMPTY}"
        own = f"Your cards: {', '.join([_possible(rules, mark) for mark in state.marks[side]]) or EMPTY}"
        if level == 1:
            return f"{built}\n{other}\n{own}\nClues left: {state.clues}."
        head = f"Points {sum(state.tops)}, mistakes {state.wrong}, full marks {rules.par}."
        head += f" Clues left: {state.clues} of {rules.clues}. Deck: {len(state.deck)}."
        head += f" Ranks: {rules.ranks}. Last turns: {state.last if state.last >= 0 else 9}."
        knows = f"It knows: {', '.join([_possible(rules, mark) for mark in state.marks[1 - side]]) or EMPTY}"
        gone = f"Discarded: {' '.join(map(_name, state.gone)) or EMPTY}"
        return "\n".join([head, built, other, knows, own, gone])

    def rebuild(self, caption: str, side: int) -> Fireworks:
        """See `World.rebuild`; own cards are the least that their clues allow."""
        lines = caption.split("\n")
        found = _HEAD.fullmatch(lines[0])
        if not found or len(lines) != 6:
            raise QuintainError(f"this is no full caption of fireworks: {caption[:60]!r}")
        built, other, knows, own, gone = [line.partition(": ")[2] for line in lines[1:]]
        tops = tuple([int(word[1]) for word in built.split()])
        _, wrong, par, left, clues, deck, ranks, last = map(int, found.groups())
        theirs = _cards(other)
        marks = [_marks(text) for text in (own, knows)]
        mine = tuple([(h & -h).bit_length() * 10 - 10 + (r & -r).bit_length() - 1 for h, r in marks[0]])
        size = max(len(mine), len(theirs))
        rules = Rules(len(tops), ranks, size, clues, par)
        pair = marks[0], marks[1]
        deck_ = (1,) * deck
        return Fireworks(
            rules, tops, (mine, theirs), pair, deck_, _cards(gone), left, 0, last if last < 9 else -1, wrong
        )

    def static(self, state: Fireworks, side: int) -> tuple[str, ...]:
        rules = state.rules
        return (f"colours:{rules.colours}", f"ranks:{rules.ranks}", f"marks:{rules.par}", f"most:{rules.clues}")

    def moving(self, state: Fireworks, side: int) -> tuple[str, ...]:
        cards = [f"theirs:{_name(c)}" for c in state.hands[1 - side]] + [f"gone:{_name(c)}" for c in state.gone]
        known = [
            f"{who}:{_possible(state.rules, m)}"
            for who, s in (("mine", side), ("known", 1 - side))
            for m in state.marks[s]
        ]
        tops = [f"top:{HUES[c]}{n}" for c, n in enumerate(state.tops)]
        counts = {"wrong": state.wrong, "clues": state.clues, "deck": len(state.deck), "last": state.last}
        return (*tops, *(f"{what}:{n}" for what, n in counts.items()), *cards, *known)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        rules = Rules(knobs["colours"], knobs["ranks"], knobs["size"], knobs["clues"], knobs["par"])
        signs, cards = HUES[: rules.colours], [_name(c) for c in sorted(set(rules.deck))]
        out = [
            "play",
            "discard",
            "clue",
            *(NAMES[s] for s in signs),
            *map(str, range(1, max(rules.ranks, rules.size) + 1)),
        ]
        out += [f"colours:{rules.colours}", f"ranks:{rules.ranks}", f"marks:{rules.par}", f"most:{rules.clues}"]
        out += [f"top:{s}{n}" for s in signs for n in range(rules.ranks + 1)]
        counts = {"clues": range(rules.clues + 1), "deck": range(len(rules.deck)), "last": (-1, 0, 1, 2)}
        for what, numbers in {**counts, "wrong": range(MISTAKES + 1)}.items():
            out += [f"{what}:{n}" for n in numbers]
        out += [f"{what}:{card}" for what in ("theirs", "gone") for card in cards]
        marks = [(h, r << 1) for h in range(1, 1 << rules.colours) for r in range(1, 1 << rules.ranks)]
        return (*out, *(f"{who}:{_possible(rules, mark)}" for who in ("mine", "known") for mark in marks))

    def scene(self, state: Fireworks, side: int) -> Scene:
        """Fireworks, the other seat's cards over what it knows of them, what one knows of the own cards, discards by colour, the score."""
        rules, sheet, shapes = state.rules, Sheet(9, 9), list[Run]()
        sheet.put(0, 0, ["tag-built", *(f"fire-{HUES[c]}{n}" for c, n in enumerate(state.tops)), f"to-{rules.ranks}"])
        for row, who, tag in ((1, 1 - side, "tag-other"), (3, side, "tag-yours")):
            sheet.put(row, 0, [tag])
            for i, (card, (hues, ranks)) in enumerate(zip(state.hands[who], state.marks[who], strict=True)):
                sheet.put(row, 1 + 2 * i, ["card-back" if who == side else f"fire-{_name(card)}"])
                shapes += _marked((hues, ranks), 1 + 2 * i, row + 1)
        sheet.put(5, 0, ["tag-gone"])
        for i in range(rules.colours):
            row, column = 5 + i // 2, 1 + i % 2 * 4
            sheet.put(row, column, [f"hue-{HUES[i]}"])
            shapes += _gone(tuple([c % 10 for c in state.gone if c // 10 == i]), column, row)
        sheet.put(0, 7, ["tag-wrong", f"n-{state.wrong}"])
        sheet.put(
            7, 5, ["tag-deck", f"n-{len(state.deck)}", *(["tag-last", f"n-{state.last}"] if state.last >= 0 else [])]
        )
        points = ["wide-points", "wide-points-2", f"n-{sum(state.tops)}", "tag-of", f"n-{rules.par}"]
        sheet.put(8, 0, [*points, "tag-clues", f"n-{state.clues}", "tag-of", f"n-{rules.clues}"])
        return replace(sheet.scene(), shapes=tuple(shapes))


@functools.lru_cache(maxsize=8192)
def _marked(mark: tuple[int, int], column: int, row: int) -> tuple[Run, Run]:
    """The colours and, below them, the ranks that a card may have, as wide as two cells."""
    hues = "".join([s for i, s in enumerate(HUES) if mark[0] >> i & 1])
    ranks = "".join([str(r) for r in range(1, len(COPIES) + 1) if mark[1] >> r & 1])
    x, y = MARGIN + column + 0.5, MARGIN + row
    return Run(text=hues, x=x, y=y + 0.24, size=0.42), Run(text=ranks, x=x, y=y + 0.74, size=0.42, color="blue")


@functools.lru_cache(maxsize=8192)
def _gone(ranks: Ints, column: int, row: int) -> tuple[Run, ...]:
    """The ranks of a colour that are discarded, in the three cells beside its sign."""
    text = "".join(map(str, ranks))
    return (Run(text=text, x=MARGIN + column + 2.5, y=MARGIN + row + 0.5, size=0.5),) if text else ()


def _unseen(state: Fireworks, side: int) -> Ints:
    """The cards that a side does not see: its own and the deck."""
    pool = list(state.rules.deck)
    for card in (
        *state.hands[1 - side],
        *state.gone,
        *(c * 10 + r for c, top in enumerate(state.tops) for r in range(1, top + 1)),
    ):
        if card in pool:
            pool.remove(card)
    return tuple(pool)


@functools.lru_cache(maxsize=4096)
def _possible(rules: Rules, mark: tuple[int, int]) -> str:
    """The colours and ranks that a card may have, as in `RG12`."""
    hues = [s for i, s in enumerate(HUES[: rules.colours]) if mark[0] >> i & 1]
    return "".join([*hues, *(str(r) for r in range(1, rules.ranks + 1) if mark[1] >> r & 1)])


def _marks(text: str) -> tuple[tuple[int, int], ...]:
    out = []
    for word in text.split(", ") if text != EMPTY else ():
        out.append((sum(1 << HUES.index(s) for s in word if s in HUES), sum(1 << int(s) for s in word if s.isdigit())))
    return tuple(out)


def _cards(text: str) -> Ints:
    return tuple([HUES.index(w[0]) * 10 + int(w[1]) for w in text.split()]) if text != EMPTY else ()


def _card(sign: str, rank: int) -> tuple[Box, Run, Run]:
    color = _INKS[sign] if rank else "cloud"
    body = Box(x=0.1, y=0.03, width=0.8, height=0.94, fill=color, line="ink", thick=0.04, radius=0.1)
    return (
        body,
        Run(text=str(rank), x=0.5, y=0.33, size=0.55, color="white"),
        Run(text=sign, x=0.5, y=0.75, size=0.42, color="white"),
    )


tiles({f"fire-{sign}{rank}": _card(sign, rank) for sign in HUES for rank in range(6)})
tiles(
    {
        f"hue-{sign}": (
            Box(x=0.14, y=0.14, width=0.72, height=0.72, fill=ink, line="ink", thick=0.04, radius=0.1),
            Run(text=sign, x=0.5, y=0.52, size=0.5, color="white"),
        )
        for sign, ink in _INKS.items()
    }
)
TAGS = ("built", "other", "yours", "gone", "clues", "deck", "wrong", "last")
tiles({f"tag-{name}": note(name.upper(), "stone") for name in TAGS})
tiles({f"to-{rank}": note(f"to {rank}", "stone") for rank in range(1, 6)} | wide_note("wide-points", "POINTS"))
tiles({"tag-of": note("of", "stone")})
