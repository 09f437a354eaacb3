"""Rules of two-handed poker, from three cards and one bet up to hold'em, and what a hand is worth."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.engines.cards.deck import deck_of

# what the rules of all worlds of poker tell alike: of the opponent, of the score of a duel, of a match
OPPONENT = """
Your score counts what you win more than the player in your seat at a second table, where two copies of the opponent play the same
cards. The opponent plays {} but for one leak, told with the hand: in the told share of its decisions it calls (or checks), or it
raises whenever it can{} and else calls (or checks). In a picture that share stands beside its cards: RAISE 80 is 80%."""
DUEL = "\nYour score is the chips that you have won, or below zero lost, so far."
MATCH = """
With nothing to call one checks, else one calls or folds. In the text raise 3 says that its player has then put 3 chips into the pot of
this hand in all. The roles change after each hand. Cards have a rank (T is a ten) and a suit. Reward grows with your score, from 0 at
minus the full win, over 1/2 at zero, to 1 at the full win; a match that is not played to its end brings nothing. In a picture each row
below your cards is a round of betting; your actions and chips are blue, +3 stands for 3 chips put in so far, and PAR is the full win."""

FOLD, PASS = -1, 0  # actions; a raise is the number of chips that its player has put in after it


@dataclass(frozen=True)
class Poker:
    """The rules of one game.

    Args:
        name: `kuhn`, `leduc`, `limit` or `free`.
        ranks: ranks of the deck, from `low` on.
        suits: suits of the deck.
        low: lowest rank, as in `deck`.
        hole: cards of a player.
        reveals: cards that are laid open before each round.
        blinds: chips that the two players put in before the first round; role 0 acts first in it.
        bets: size of a raise in each round; 0 leaves it to the player.
        cap: raises in a round at most.
        stack: chips that a player can put in at most.
        later: the role that acts first after the first round.
    """

    name: str
    ranks: int
    suits: int
    low: int
    hole: int
    reveals: Ints
    blinds: tuple[int, int]
    bets: Ints
    cap: int
    stack: int
    later: int = 0

    @property
    def deck(self) -> Ints:
        """All cards."""
        return deck_of(self.ranks, self.suits, self.low)

    @functools.cached_property
    def most(self) -> int:
        """Chips that a hand can bring: what the other player can put in."""
        return min(self.stack, max(self.blinds) + self.cap * sum(self.bets)) if all(self.bets) else self.stack

    def shown(self, rounds: int) -> int:
        """How many cards lie open in round number `rounds`."""
        return sum(self.reveals[: rounds + 1])


KUHN = Poker("kuhn", 3, 1, 10, 1, (0,), (1, 1), (1,), 1, 2)
LEDUC = Poker("leduc", 3, 2, 10, 1, (0, 1), (1, 1), (2, 4), 2, 13)
LIMIT = Poker("limit", 13, 4, 0, 2, (0, 3, 1, 1), (1, 2), (2, 2, 4, 4), 3, 98, 1)


@functools.lru_cache(maxsize=16)
def free(stack: int) -> Poker:
    """Hold'em without a limit, with so many chips."""
    return Poker("free", 13, 4, 0, 2, (0, 3, 1, 1), (1, 2), (0, 0, 0, 0), 3, stack, 1)


class Spot(NamedTuple):
    """Where a hand stands: the round, the role that acts (-1: over), chips put in by role, raises in this round, the least size of a
    raise, the role that folded (-1: none), and where in the actions each round began.
    """

    round: int
    role: int
    paid: tuple[int, int]
    raises: int
    least: int
    folded: int
    starts: Ints


@functools.lru_cache(maxsize=1 << 16)
def spot_of(rules: Poker, said: Ints) -> Spot:
    """Where a hand stands after these actions."""
    paid, rounds, role, raises, acted = list(rules.blinds), 0, 0, 0, 0
    least, starts = rules.blinds[1], [0]
    for i, action in enumerate(said):
        if action == FOLD:
            return Spot(rounds, -1, (paid[0], paid[1]), raises, least, role, tuple(starts))
        if action == PASS:
            paid[role], acted = max(paid), acted + 1
        else:
            least = max(least, action - max(paid))
            paid[role], raises, acted = action, raises + 1, 1
        role = 1 - role
        if action == PASS and acted >= 2:
            if rounds + 1 == len(rules.reveals) or paid[0] >= rules.stack:
                return Spot(rounds, -1, (paid[0], paid[1]), raises, least, -1, tuple(starts))
            rounds, role, raises, acted, least = rounds + 1, rules.later, 0, 0, rules.blinds[1]
            starts.append(i + 1)
    return Spot(rounds, role, (paid[0], paid[1]), raises, least, -1, tuple(starts))


@functools.lru_cache(maxsize=1 << 16)
def actions_of(rules: Poker, said: Ints) -> Ints:
    """What the player who is to act may do: fold (facing a bet), pass, raise."""
    spot = spot_of(rules, said)
    if spot.role < 0:
        return ()
    most = max(spot.paid)
    out = [FOLD, PASS] if most > spot.paid[spot.role] else [PASS]
    if spot.raises < rules.cap and most < rules.stack:
        size = rules.bets[spot.round]
        if size:
            out.append(min(most + size, rules.stack))
        else:
            out.extend(range(min(most + spot.least, rules.stack), rules.stack + 1))
    return tuple(out)


def outcome(rules: Poker, holes: Sequence[Ints], board: Ints, said: Ints) -> int:
    """What role 0 wins (or loses, < 0) in a hand that is over; holes by role."""
    spot = spot_of(rules, said)
    if spot.folded >= 0:
        return spot.paid[1] if spot.folded == 1 else -spot.paid[0]
    worths = [worth_of(rules, hole, board) for hole in holes]
    return 0 if worths[0] == worths[1] else spot.paid[1] if worths[0] > worths[1] else -spot.paid[0]


def worth_of(rules: Poker, hole: Ints, board: Ints) -> int:
    """A number that is higher for a better hand at the end."""
    if rules.hole == 1:
        rank = hole[0] // 4
        return rank + 100 * (bool(board) and board[0] // 4 == rank)
    return value_of(hole + board)


def high(card: int) -> int:
    """The rank with the ace on top: 0 for a two, 12 for an ace."""
    return (card // 4 + 12) % 13


def _straight(mask: int) -> int:
    """The highest rank of a straight in a set of ranks, or -1."""
    mask = mask << 1 | mask >> 12  # the ace also counts below the two
    run = mask & mask >> 1 & mask >> 2 & mask >> 3 & mask >> 4
    return run.bit_length() + 2 if run else -1


@functools.lru_cache(maxsize=1 << 16)
def value_of(cards: Ints) -> int:
    """The value of the best five of up to seven cards: category * 13**5 and the ranks that count.

    Categories: 0 high card, 1 pair, 2 two pairs, 3 three, 4 straight, 5 flush, 6 full house, 7 four, 8 straight flush.
    """
    counts, suits, masks = [0] * 13, [0] * 4, [0] * 4
    for card in cards:
        rank = high(card)
        counts[rank] += 1
        suits[card & 3] += 1
        masks[card & 3] |= 1 << rank
    flush = next((s for s in range(4) if suits[s] >= 5), -1)
    ranks = [r for r in range(12, -1, -1) if flush >= 0 and masks[flush] >> r & 1][:5]
    if flush >= 0 and (top := _straight(masks[flush])) >= 0:
        return _packed(8, [top])
    order = sorted([r for r in range(13) if counts[r]], key=lambda r: (-counts[r], -r))
    first = counts[order[0]]
    second = counts[order[1]] if len(order) > 1 else 0
    if first == 4:
        return _packed(7, [order[0], max(order[1:], default=0)])
    if first == 3 and second >= 2:
        return _packed(6, order[:2])
    if flush >= 0:
        return _packed(5, ranks)
    top = _straight(masks[0] | masks[1] | masks[2] | masks[3])
    if top >= 0:
        return _packed(4, [top])
    if first == 3:
        return _packed(3, order[:3])
    if first == 2 and second == 2:
        return _packed(2, [*order[:2], max(order[2:], default=0)])
    return _packed(1, order[:4]) if first == 2 else _packed(0, order[:5])


def _packed(category: int, ranks: Sequence[int]) -> int:
    value = category
    for i in range(5):
        value = value * 13 + (ranks[i] if i < len(ranks) else 0)
    return value


@functools.lru_cache(maxsize=1 << 15)
def promise(hole: Ints, board: Ints) -> float:
    """A quick guess, in [0, 1], at how often a hold'em hand beats another: from its highest cards, its category, and draws."""
    tops = sorted((high(card) for card in hole), reverse=True)
    if not board:
        if tops[0] == tops[1]:
            return 0.5 + 0.029 * tops[0]
        return 0.3 + 0.0185 * tops[0] + 0.0095 * tops[1] + 0.025 * (hole[0] % 4 == hole[1] % 4)
    mine, common = value_of(hole + board) // 13**5, value_of(board) // 13**5
    guess = 0.22 + 0.013 * tops[0]
    if mine > common or mine >= 5:
        paired = [high(c) for c in hole if any(high(c) == high(b) for b in board) or tops[0] == tops[1]]
        over = sum(high(b) > max(paired, default=0) for b in board)
        guess = (0.0, 0.78 - 0.07 * over, 0.86, 0.9, 0.92, 0.94, 0.96, 0.99, 1.0)[mine]
    if len(board) < 5 and mine < 4:
        four = any(sum(c % 4 == s for c in hole + board) == 4 for s in {c % 4 for c in hole})
        mask = functools.reduce(int.__or__, (1 << high(c) for c in hole + board))
        open_run = bool(mask & mask >> 1 & mask >> 2 & mask >> 3)
        guess = min(guess + (0.15 if four else 0.0) + (0.1 if open_run else 0.0), 0.95)
    return guess
