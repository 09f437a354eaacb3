"""Gin rummy for two: draw, discard, and knock once the cards outside melds count little; against a built-in player."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.deck import NAMES, SPOKEN, Sheet, cards_of, deck_of, faces, names, note, spoken
from quintain.worlds.engines.turns import WON, After, digit_words, digits
from quintain.worlds.kernel import Answer, Move, Plan
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Scene

SAYINGS = {
    "drew": "You drew {}.",
    "stock": "The opponent draws from the stock.",
    "took": "The opponent takes {} from the pile.",
    "left": "The opponent discards {}.",
    "knock": "The opponent knocks.",
    "mine": "You had {}.",
    "shown": "The opponent had {}.",
    "scored": "The hand brings you {}.",
    "lost": "The hand brings the opponent {}.",
    "even": "The stock is used up; nobody scores.",
    "won": "You have more points; the match is won.",
    "over": "The match is over and not won.",
}
BONUS = 5  # points for gin, and for a count below that of who knocked
LAST = 2  # cards of the stock with which a hand ends
ROWS, WIDE = 4, 6  # of the pile in a picture
STOCK, PILE = Move("stock", -1), Move("pile", -2)
_STOCK = re.compile(
    r"(?:(?:draw|take) (?:a card )?)?(?:from )?(?:the )?(?:stock|deck|(?:draw|(?<=from )stock|(?<=from the )stock) pile)"
    r"|draw(?: (?:a|the hidden) card)?"
)
_PILE = re.compile(
    r"pile|take|(?:draw|take) (?:a card )?(?:from )?(?:the )?(?:(?:discard )?pile|(?:top )?discard|open card)"
)
_OPEN = re.compile(rf"(?:take|pick up) (?:the )?({SPOKEN})", re.ASCII)
_MOVE = re.compile(rf"(discard|drop|throw|knock)(?:,? discard(?:ing)?)?(?: with)?:? (?:the )?({SPOKEN})", re.ASCII)
_HEAD = re.compile(
    r"Hand (\d+) of (\d+)(, over)?\. Points: you (\d+), the opponent (\d+)\. Knock with at most (\d+)\."
    r" Ranks: (\d+)\. The opponent slips in (\d+)% of its discards\."
)
tiles(
    {
        f"tag-{name}": note(name.upper(), "stone")
        for name in ("opp", "you", "pile", "stock", "hand", "knock", "count", "slips", "ranks")
    }
)
tiles(
    {
        f"mark-{name}": note(name, color)
        for name, color in (("you", "blue"), ("opp", "rust"), ("of", "stone"), ("over", "brick"))
    }
)


@dataclass(frozen=True)
class Match:
    """What never changes: ranks of the deck, cards of a hand, the highest count to knock, hands, discards at random in per cent."""

    ranks: int
    size: int
    limit: int
    hands: int
    slips: int


@dataclass(frozen=True, slots=True)
class Gin:
    """The state: number of the hand, points by side, cards by side, the stock, the pile, cards that the opponent is known to hold,
    and the noise. Side 0 is to draw, or to discard when it has one card more.
    """

    match: Match
    hand: int
    points: tuple[int, int]
    mine: Ints
    theirs: Ints
    stock: Ints
    pile: Ints
    known: Ints
    noise: Noise


def worth(card: int) -> int:
    """The points of a card outside melds."""
    return min(card // 4 + 1, 10)


@functools.lru_cache(maxsize=1 << 17)
def count(cards: Ints) -> int:
    """The least points outside melds (three or four of a rank, three or more in a row of a suit); cards in rising order.

    Example:
        >>> count(tuple(sorted(cards_of("5C 5D 5H 6H 7H 9S"))))
        19
    """
    if len(cards) < 3:
        return sum([worth(card) for card in cards])
    first, rest = cards[0], cards[1:]
    best = worth(first) + count(rest)
    twins = [card for card in rest if card // 4 == first // 4]
    groups = [twins] if len(twins) == 2 else []
    if len(twins) == 3:
        groups = [twins, *([c for c in twins if c != out] for out in twins)]
    run, following = [], first + 4
    while following in rest:
        run.append(following)
        following += 4
        if len(run) > 1:
            groups.append(run.copy())
    for group in groups:
        best = min(best, count(tuple([card for card in rest if card not in group])))
    return best


@functools.lru_cache(maxsize=1 << 16)
def least(cards: Ints) -> tuple[int, int]:
    """The least count after one discard, and the highest card with which that is so."""
    return min([(count(cards[:i] + cards[i + 1 :]), -card) for i, card in enumerate(cards)])


@functools.lru_cache(maxsize=1 << 13)
def hope(cards: Ints, unseen: Ints) -> float:
    """The mean of the least count after one more card from the unseen ones."""
    return sum([least(tuple(sorted((*cards, card))))[0] for card in unseen]) / max(len(unseen), 1)


@functools.lru_cache(maxsize=512)
def _away(card: int, knock: int) -> Move:
    return Move(f"{'knock' if knock else 'discard'} {NAMES[card]}", card + 100 * knock)


@dataclass(frozen=True)
class Rummy:
    """Gin rummy as `turns.Game`. Knobs: `ranks`, `size`, `limit`, `hands`, `slips`."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Gin | None:
        match = Match(knobs["ranks"], knobs["size"], knobs["limit"], knobs["hands"], knobs["slips"])
        return self._open(match, 0, (0, 0), Noise(int(rng.uniform() * 2**53)), [])

    def _open(self, match: Match, hand: int, points: tuple[int, int], noise: Noise, said: list[str]) -> Gin:
        """The next hand; in every second one the opponent begins."""
        deck, size = list(deck_of(match.ranks, 4)), match.size
        for i in range(len(deck) - 1):
            j = i + noise.below(len(deck) - i, 200 + i)
            deck[i], deck[j] = deck[j], deck[i]
        mine, theirs = tuple(sorted(deck[:size])), tuple(sorted(deck[size : 2 * size]))
        state = Gin(
            match, hand, points, mine, theirs, tuple(deck[2 * size + 1 :]), (deck[2 * size],), (), noise.after()
        )
        return self._answered(state, said)[0] if hand % 2 else state

    def layout(self, state: Gin) -> str:
        return f"{state.mine} {state.stock} {state.noise.seed}"

    def turns(self, state: Gin) -> int:
        match = state.match
        return match.hands * (4 * match.ranks - 2 * match.size + 2)

    def mover(self, state: Gin) -> int:
        return 0 if state.hand < state.match.hands else -1

    def legal(self, state: Gin) -> tuple[Move, ...]:
        if self.mover(state) < 0:
            return ()
        return _legal(state.match, state.mine)

    def guess(self, state: Gin, rng: Rng) -> Move:
        return STOCK

    def meant(self, state: Gin, move: Move) -> Move:
        """The pile for its open card, where that is named; any other move as it is."""
        return PILE if state.pile and move.key == f"take {NAMES[state.pile[-1]]}" else move

    def read(self, text: str) -> Move | None:
        if _STOCK.fullmatch(text):
            return STOCK
        if _PILE.fullmatch(text):
            return PILE
        if found := _OPEN.fullmatch(text):
            return Move(f"take {NAMES[spoken(found[1])]}")
        found = _MOVE.fullmatch(text)
        if not found:
            return None
        return _away(spoken(found[2]), int(found[1] == "knock"))

    def play(self, state: Gin, move: Move) -> After[Gin]:
        value, said = move.value, list[str]()
        if value < 0:
            card = state.stock[0] if value == STOCK.value else state.pile[-1]
            stock, pile = (state.stock[1:], state.pile) if value == STOCK.value else (state.stock, state.pile[:-1])
            after = replace(state, mine=tuple(sorted((*state.mine, card))), stock=stock, pile=pile)
            return After(after, events=((f"drew:{NAMES[card]}",),))
        card, knock = value % 100, value >= 100
        mine = tuple([c for c in state.mine if c != card])
        state = replace(state, mine=mine, pile=(*state.pile, card), noise=state.noise.after())
        if knock:
            state = self._settled(state, 0, said)
        elif len(state.stock) <= LAST:
            state = self._next(state, (0, 0), [*said, "even"], said)
        else:
            state = self._answered(state, said)[0]
        if state.hand < state.match.hands:
            return After(state, events=(tuple(said),))
        won = state.points[0] > state.points[1]
        return After(state, (WON if won else {},), True, ((*said, "won" if won else "over"),))

    def _answered(self, state: Gin, said: list[str]) -> tuple[Gin, list[str]]:
        """After the opponent's turn: it takes the open card where that helps a meld, and knocks as soon as it can."""
        match, theirs = state.match, state.theirs
        top = state.pile[-1]
        without = count(theirs)
        taken = least(tuple(sorted((*theirs, top))))
        stock, pile, known = state.stock, state.pile, state.known
        if taken[0] < without - worth(top) and taken[1] != -top:
            theirs, pile, known = tuple(sorted((*theirs, top))), pile[:-1], tuple(sorted((*known, top)))
            said.append(f"took:{NAMES[top]}")
        else:
            theirs, stock = tuple(sorted((*theirs, stock[0]))), stock[1:]
            said.append("stock")
        left, card = least(theirs)
        card = -card
        if left > match.limit and state.noise.uniform(1) * 100 < match.slips:
            card = theirs[state.noise.below(len(theirs), 2)]
        theirs = tuple([c for c in theirs if c != card])
        known = tuple([c for c in known if c != card])
        said.append(f"left:{NAMES[card]}")
        state = replace(state, theirs=theirs, stock=stock, pile=(*pile, card), known=known)
        if count(theirs) <= match.limit:
            said.append("knock")
            return self._settled(state, 1, said), said
        if len(stock) <= LAST:
            return self._next(state, (0, 0), ["even"], said), said
        return state, said

    def _settled(self, state: Gin, knocker: int, said: list[str]) -> Gin:
        """After a knock: the lower count scores the difference."""
        counts = count(state.mine), count(state.theirs)
        mine, other = counts[knocker], counts[1 - knocker]
        said += [f"mine:{names(state.mine)}", f"shown:{names(state.theirs)}"][1 - knocker :]
        winner = knocker if mine < other else 1 - knocker
        gained = abs(other - mine) + (BONUS if winner != knocker or not mine else 0)
        points = (gained, 0) if winner == 0 else (0, gained)
        return self._next(
            state, points, [f"{'lost' if winner else 'scored'}:{gained} point{'s' * (gained != 1)}"], said
        )

    def _next(self, state: Gin, gained: tuple[int, int], told: Sequence[str], said: list[str]) -> Gin:
        """The next hand, or the end."""
        said.extend(told)
        points = (state.points[0] + gained[0], state.points[1] + gained[1])
        if state.hand + 1 == state.match.hands:
            return replace(state, hand=state.hand + 1, points=points)
        return self._open(state.match, state.hand + 1, points, state.noise.after(), said)

    def advise(self, state: Gin) -> Answer:
        """Knock as soon as that is allowed; else keep what the next card, one of those not seen, is most likely to complete."""
        match = state.match
        unseen = tuple(
            [c for c in deck_of(match.ranks, 4) if c not in state.mine and c not in state.pile and c not in state.known]
        )
        if len(state.mine) == match.size:
            top = least(tuple(sorted((*state.mine, state.pile[-1]))))
            move = PILE if top[1] != -state.pile[-1] and top[0] < hope(state.mine, unseen) else STOCK
            return Plan((move,), "policy", (), 0.6)
        left, card = least(state.mine)
        if left <= match.limit:
            return Plan((_away(-card, 1),), "policy", (), 0.7)
        options = []
        for i, card in enumerate(state.mine):
            rest = state.mine[:i] + state.mine[i + 1 :]
            now = count(rest)
            if now <= left + 6:
                options.append((0.6 * hope(rest, unseen) + 0.4 * now, -card))
        return Plan((_away(-min(options)[1], 0),), "policy", (), 0.6)

    def caption(self, state: Gin, side: int, level: int) -> str:
        match = state.match
        cards = f"Your cards: {names(state.mine)}; outside melds they count {count(state.mine)}."
        last = f"Open card: {NAMES[state.pile[-1]] if state.pile else 'none'}."
        if level == 1:
            return f"{cards}\n{last}"
        score = f"Points: you {state.points[0]}, the opponent {state.points[1]}."
        over = ", over" if state.hand == match.hands else ""
        head = f"Hand {_hand(state)} of {match.hands}{over}. {score}"
        head += f" Knock with at most {match.limit}. Ranks: {match.ranks}. The opponent slips in {match.slips}% of its discards."
        known = f"The opponent has {len(state.theirs)} cards, among them: {names(state.known)}"
        return "\n".join(
            [head, known, f"Stock: {len(state.stock)}", f"Pile, open card last: {names(state.pile)}", cards]
        )

    def rebuild(self, caption: str, side: int) -> Gin:
        """See `World.rebuild`."""
        lines = caption.split("\n")
        found = _HEAD.fullmatch(lines[0])
        if not found or len(lines) != 5:
            raise QuintainError(f"this is no full caption of gin rummy: {caption[:60]!r}")
        hand, hands, mine_, theirs_, limit, ranks, slips = map(int, found.group(1, 2, 4, 5, 6, 7, 8))
        known, pile = cards_of(lines[1].partition(": ")[2]), cards_of(lines[3].partition(": ")[2])
        mine, size = cards_of(lines[4].partition(";")[0].partition(": ")[2]), int(lines[1].split()[3])
        unseen = [c for c in deck_of(ranks, 4) if c not in known and c not in pile and c not in mine]
        theirs = tuple(sorted((*known, *unseen[: size - len(known)])))
        stock = tuple(unseen[size - len(known) :])
        match = Match(ranks, size, limit, hands, slips)
        return Gin(match, hand if found[3] else hand - 1, (mine_, theirs_), mine, theirs, stock, pile, known, Noise(0))

    def static(self, state: Gin, side: int) -> tuple[str, ...]:
        match = state.match
        return (
            f"ranks-{match.ranks}",
            f"size-{match.size}",
            f"limit-{match.limit}",
            f"hands-{match.hands}",
            f"slips-{match.slips}",
        )

    def moving(self, state: Gin, side: int) -> tuple[str, ...]:
        points = (*digits("mine", state.points[0]), *digits("theirs", state.points[1]))
        cards = [f"own-{NAMES[c]}" for c in state.mine] + [f"known-{NAMES[c]}" for c in state.known]
        return (
            f"hand-{state.hand}",
            *points,
            *digits("stock", len(state.stock)),
            *cards,
            *(f"pile-{NAMES[c]}" for c in state.pile),
        )

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        deck = [NAMES[c] for c in deck_of(knobs["ranks"], 4)]
        out = [
            "stock",
            "pile",
            "discard",
            "knock",
            *deck,
            *(f"{k}-{name}" for k in ("own", "known", "pile") for name in deck),
        ]
        out += [f"{key}-{knobs[key]}" for key in ("ranks", "size", "limit", "hands", "slips")]
        out += [f"hand-{i}" for i in range(knobs["hands"] + 1)]
        return (*out, *digit_words("mine", 4), *digit_words("theirs", 4), *digit_words("stock", 2))

    def scene(self, state: Gin, side: int) -> Scene:
        """The opponent's cards as far as they are known, the stock, the end of the pile with the open card last, the own cards, the
        score.
        """
        match, sheet = state.match, Sheet(9, 9)
        backs = ["card-back"] * (len(state.theirs) - len(state.known))
        sheet.put(0, 0, ["tag-opp", *faces(state.known), *backs])
        sheet.put(1, 0, ["tag-stock", f"n-{len(state.stock)}", "tag-pile"])
        pile = faces(state.pile[-ROWS * WIDE :])
        for row in range(ROWS):
            sheet.put(1 + row, 3, pile[WIDE * row : WIDE * row + WIDE])
        sheet.put(5, 0, ["tag-you", *faces(state.mine[:8])])
        sheet.put(6, 1, faces(state.mine[8:]))
        told = {"count": count(state.mine), "knock": match.limit, "slips": match.slips, "ranks": match.ranks}
        sheet.put(7, 0, [tile for name, n in told.items() for tile in (f"tag-{name}", f"n-{n}")])
        over = ["mark-over"] if state.hand >= match.hands else []
        hand = ["tag-hand", f"n-{_hand(state)}", "mark-of", f"n-{match.hands}"]
        sheet.put(8, 0, [*hand, "mark-you", f"n-{state.points[0]}", "mark-opp", f"n-{state.points[1]}", *over])
        return sheet.scene()


def _hand(state: Gin) -> int:
    """The number of the hand, from 1 on; after the end that of the last one."""
    return min(state.hand + 1, state.match.hands)


@functools.lru_cache(maxsize=1 << 13)
def _legal(match: Match, mine: Ints) -> tuple[Move, ...]:
    if len(mine) == match.size:
        return (STOCK, PILE)
    drops = [_away(card, 0) for card in mine]
    knocks = [_away(c, 1) for i, c in enumerate(mine) if count(mine[:i] + mine[i + 1 :]) <= match.limit]
    return (*drops, *knocks)
