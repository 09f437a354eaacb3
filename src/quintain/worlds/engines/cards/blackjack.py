"""Blackjack from a shoe whose cards go back at once: chances never change, so the worth of each decision is exact."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.deck import NAMES, Sheet, cards_of, faces, names, note
from quintain.worlds.engines.turns import WON, After, digit_words, digits
from quintain.worlds.kernel import Answer, Choices, Move, Plan
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Scene

SAYINGS = {
    "drew": "You drew {}.",
    "cost": "In expectation the best decision was worth {} chips more.",
    "dealer": "The dealer ends with {}.",
    "hand": "The hand brings you {}.",
    "over": "All hands are played.",
}
LIMIT, STAND = 21, 17
MILLION = 1_000_000
FLAWLESS = 20_000  # millionths of a chip that may be lost in all
RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "T")
CHOICES = Choices(
    *("hit", "stand", "double", "surrender"),
    synonyms={
        "h": "hit",
        "card": "hit",
        "s": "stand",
        "stay": "stand",
        "d": "double",
        "double down": "double",
        "fold": "surrender",
    },
)
_HEAD = re.compile(
    r"Hands played: (\d+) of (\d+)\. Chips: (-?\d+(?:\.5)?)\. Allowance: (\d+)\."
    r" The dealer (hits|stands on) soft 17\. Double: (yes|no)\. Surrender: (yes|no)\."
)

tiles(
    {
        f"tag-{name}": note(name.upper(), "stone")
        for name in ("dealer", "mine", "chips", "shoe", "h17", "s17", "dbl", "sur", "allow")
    }
)
tiles({f"half-{n}": note(f"{n / 2:g}", "ink") for n in range(-99, 100)})


@dataclass(frozen=True)
class House:
    """What never changes: cards of each rank in the shoe, hands, millionths of a chip that may be lost before nothing is earned,
    and whether the dealer hits a soft 17, doubling and surrender are allowed.
    """

    shoe: Ints
    hands: int
    allow: int
    soft: int
    double: int
    surrender: int


@dataclass(frozen=True, slots=True)
class Deal:
    """The state: hands played, half chips won, the dealer's card, the own cards, millionths of a chip lost by decisions, the noise."""

    house: House
    played: int
    chips: int
    up: int
    mine: Ints
    lost: int
    noise: Noise


Count = tuple[int, int]  # total, whether an ace counts 11


@functools.lru_cache(maxsize=1 << 10)
def added(total: int, soft: int, rank: int) -> Count:
    """A count after one more card (rank 0 is the ace)."""
    total += rank + 1
    if rank == 0 and not soft and total + 10 <= LIMIT:
        return total + 10, 1
    return (total - 10, 0) if soft and total > LIMIT else (total, soft)


def count_of(cards: Sequence[int]) -> Count:
    """The count of some cards.

    Example:
        >>> count_of((0, 20)), count_of((0, 36, 36))
        ((17, 1), (21, 0))
    """
    now: Count = (0, 0)
    for card in cards:
        now = added(*now, card // 4)
    return now


@functools.lru_cache(maxsize=1 << 14)
def ends(shoe: Ints, soft17: int, total: int, soft: int) -> tuple[float, ...]:
    """The chances that the dealer ends with 17, 18, 19, 20, 21 or more than that."""
    if total > LIMIT:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    if total >= STAND and not (soft17 and soft and total == STAND):
        return tuple([float(total == STAND + i) for i in range(6)])
    out, whole = [0.0] * 6, sum(shoe)
    for rank, many in enumerate(shoe):
        if many:
            for i, chance in enumerate(ends(shoe, soft17, *added(total, soft, rank))):
                out[i] += chance * many / whole
    return tuple(out)


@functools.lru_cache(maxsize=1 << 15)
def _stood(house: House, up: int, total: int) -> float:
    """What standing on a total is worth against the dealer's rank."""
    if total > LIMIT:
        return -1.0
    chances = ends(house.shoe, house.soft, *added(0, 0, up))
    return chances[5] + sum(p * ((total > STAND + i) - (total < STAND + i)) for i, p in enumerate(chances[:5]))


@functools.lru_cache(maxsize=1 << 15)
def best(house: House, up: int, total: int, soft: int) -> float:
    """What a hand of three or more cards is worth."""
    if total >= LIMIT:
        return _stood(house, up, total)
    return max(_stood(house, up, total), _hit(house, up, total, soft))


def _hit(house: House, up: int, total: int, soft: int) -> float:
    return _mean(house.shoe, [best(house, up, *added(total, soft, rank)) for rank in range(10)])


def _mean(shoe: Ints, values: Sequence[float]) -> float:
    return sum(many * value for many, value in zip(shoe, values, strict=True)) / sum(shoe)


@functools.lru_cache(maxsize=1 << 14)
def worths(house: House, up: int, total: int, soft: int, fresh: bool) -> dict[str, float]:
    """Decision -> chips to expect from it, for a hand that is `fresh` while it has two cards."""
    out = {"hit": _hit(house, up, total, soft), "stand": _stood(house, up, total)}
    if fresh and house.double:
        after = [added(total, soft, rank)[0] for rank in range(10)]
        out["double"] = 2 * _mean(house.shoe, [_stood(house, up, t) for t in after])
    if fresh and house.surrender:
        out["surrender"] = -0.5
    return out


class _Draws:
    """Cards from the shoe by the noise of one step."""

    def __init__(self, house: House, noise: Noise) -> None:
        self.deck = [rank for rank, many in enumerate(house.shoe) for _ in range(many)]
        self.noise, self.index = noise, 0

    def card(self) -> int:
        self.index += 2
        return self.deck[self.noise.below(len(self.deck), self.index)] * 4 + self.noise.below(4, self.index + 1)


@dataclass(frozen=True)
class Blackjack:
    """Blackjack as `turns.Game`. Knobs: `hands`, `allow` (hundredths of a chip), `odd` (how far the number of cards of a rank may
    be from that of a usual deck), `soft`, `double`, `surrender`.
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Deal | None:
        odd = knobs["odd"]
        shoe = tuple(
            [max(0, (1, 4)[rank == 9] * 4 + (1 + (rank == 9)) * (rng.below(2 * odd + 1) - odd)) for rank in range(10)]
        )
        if sum(shoe) < 20 or sum(many > 0 for many in shoe) < 6:
            return None
        house = House(
            shoe, knobs["hands"], knobs["allow"] * MILLION // 100, knobs["soft"], knobs["double"], knobs["surrender"]
        )
        noise = Noise(int(rng.uniform() * 2**53))
        return self._open(house, 0, 0, 0, _Draws(house, noise))

    def _open(self, house: House, played: int, chips: int, lost: int, draws: _Draws) -> Deal:
        """The next hand; two cards that make 21 are dealt again."""
        up, mine = draws.card(), (draws.card(), draws.card())
        while count_of(mine)[0] == LIMIT:
            mine = draws.card(), draws.card()
        return Deal(house, played, chips, up, mine, lost, draws.noise.after())

    def layout(self, state: Deal) -> str:
        return f"{state.house.shoe} {state.up} {state.mine} {state.noise.seed}"

    def turns(self, state: Deal) -> int:
        return state.house.hands * 5 + 5

    def mover(self, state: Deal) -> int:
        return 0 if state.played < state.house.hands else -1

    def _worths(self, state: Deal) -> dict[str, float]:
        return worths(state.house, state.up // 4, *count_of(state.mine), len(state.mine) == 2)

    def legal(self, state: Deal) -> tuple[Move, ...]:
        return tuple([CHOICES[name] for name in self._worths(state)]) if self.mover(state) == 0 else ()

    def guess(self, state: Deal, rng: Rng) -> Move:
        return rng.pick(CHOICES.moves)

    def read(self, text: str) -> Move | None:
        return CHOICES.read(text)

    def play(self, state: Deal, move: Move) -> After[Deal]:
        told = self._worths(state)
        cost = round(MILLION * (max(told.values()) - told[move.key]))
        draws, mine = _Draws(state.house, state.noise), state.mine
        dear = f"{cost / MILLION:.2f}"
        said = [f"cost:{dear}"] if dear != "0.00" else []
        if move.key in ("hit", "double"):
            mine = (*mine, draws.card())
            said.append(f"drew:{NAMES[mine[-1]]} and have {count_of(mine)[0]}")
        total = count_of(mine)[0]
        lost = state.lost + cost
        if move.key == "hit" and total < LIMIT:
            return After(
                Deal(state.house, state.played, state.chips, state.up, mine, lost, state.noise.after()),
                events=(tuple(said),),
            )
        won = -1
        if move.key != "surrender" and total <= LIMIT:
            theirs = [state.up]
            while (now := count_of(theirs))[0] < STAND or (now == (STAND, 1) and state.house.soft):
                theirs.append(draws.card())
            said.append(f"dealer:{names(theirs)}")
            won = 2 if now[0] > LIMIT else 2 * ((total > now[0]) - (total < now[0]))
        elif move.key != "surrender":
            won = -2
        won *= 1 + (move.key == "double")
        said.append(f"hand:{won / 2:g} chip{'s' * (abs(won) != 2)}")
        played, chips = state.played + 1, state.chips + won
        if played == state.house.hands:
            last = Deal(state.house, played, chips, state.up, mine, lost, state.noise.after())
            return After(last, (self._reward(last),), True, ((*said, "over"),))
        return After(self._open(state.house, played, chips, lost, draws), events=(tuple(said),))

    def _reward(self, state: Deal) -> Mapping[str, float]:
        return WON if state.lost <= FLAWLESS else {"play": max(1 - state.lost / state.house.allow, 0.0)}

    def advise(self, state: Deal) -> Answer:
        """The decision with the highest expectation."""
        told = self._worths(state)
        most = max(told.values())
        first = tuple([CHOICES[name] for name, worth in told.items() if worth >= most - 1e-12])
        return Plan(first[:1], "policy", first, 1.0)

    def caption(self, state: Deal, side: int, level: int) -> str:
        house, (total, soft) = state.house, count_of(state.mine)
        hands = f"Dealer: {NAMES[state.up]}\nYou: {names(state.mine)}"
        if level == 1:
            return f"{hands}\nYou have {'soft' if soft else 'hard'} {total}."
        head = f"Hands played: {state.played} of {house.hands}. Chips: {state.chips / 2:g}. Allowance: {house.allow * 100 // MILLION}."
        head += f" The dealer {'hits' if house.soft else 'stands on'} soft 17."
        head += "".join(
            [
                f" {name}: {'yes' if on else 'no'}."
                for name, on in (("Double", house.double), ("Surrender", house.surrender))
            ]
        )
        return f"{head}\nShoe: {' '.join([f'{r}x{n}' for r, n in zip(RANKS, house.shoe, strict=True)])}\n{hands}"

    def rebuild(self, caption: str, side: int) -> Deal:
        """See `World.rebuild`."""
        lines = caption.split("\n")
        found = _HEAD.fullmatch(lines[0])
        if not found or len(lines) != 4:
            raise QuintainError(f"this is no full caption of blackjack: {caption[:60]!r}")
        shoe, up, mine = [line.partition(": ")[2] for line in lines[1:]]
        numbers = tuple([int(part.partition("x")[2]) for part in shoe.split()])
        flags = (int(found[5] == "hits"), int(found[6] == "yes"), int(found[7] == "yes"))
        house = House(numbers, int(found[2]), int(found[4]) * MILLION // 100, *flags)
        return Deal(house, int(found[1]), int(float(found[3]) * 2), cards_of(up)[0], cards_of(mine), 0, Noise(0))

    def static(self, state: Deal, side: int) -> tuple[str, ...]:
        house = state.house
        flags = (f"soft-{house.soft}", f"double-{house.double}", f"surrender-{house.surrender}")
        shoe = [f"{rank}x{many}" for rank, many in zip(RANKS, house.shoe, strict=True)]
        return (f"hands-{house.hands}", *digits("allow", house.allow * 100 // MILLION), *flags, *shoe)

    def moving(self, state: Deal, side: int) -> tuple[str, ...]:
        return (
            f"played-{state.played}",
            *digits("half", state.chips),
            f"up-{NAMES[state.up]}",
            *(NAMES[c] for c in state.mine),
        )

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        cards = [NAMES[c] for c in range(40)]
        flags = [f"{name}-{n}" for name in ("soft", "double", "surrender") for n in (0, 1)]
        out = [m.key for m in CHOICES.moves] + flags + cards + [f"up-{name}" for name in cards]
        out += [f"{rank}x{n}" for rank in RANKS for n in range((9, 33)[rank == "T"])]
        out += [f"hands-{knobs['hands']}", *(f"played-{n}" for n in range(knobs["hands"] + 1))]
        return (*out, *digit_words("half", 3), *digit_words("allow", 3))

    def scene(self, state: Deal, side: int) -> Scene:
        """The dealer's card, the own cards, the shoe as ranks and how many there are of each, then the rules and the score."""
        house, sheet = state.house, Sheet(8, 8)
        sheet.put(0, 0, ["tag-dealer", *faces((state.up,)), "card-slot"])
        allowed = ["tag-h17" if house.soft else "tag-s17", *["tag-dbl"] * house.double, *["tag-sur"] * house.surrender]
        for i, tile in enumerate(allowed):
            sheet.put(0, 3 + 2 * i, [tile])
        sheet.put(1, 0, ["tag-mine", *faces(state.mine[:6])])
        sheet.put(2, 0, [f"n-{count_of(state.mine)[0]}", *faces(state.mine[6:12])])
        for row, part in ((3, range(5)), (5, range(5, 10))):
            sheet.put(row, 1, [f"rank-{RANKS[i]}" for i in part])
            sheet.put(row + 1, 1, [f"n-{house.shoe[i]}" for i in part])
        sheet.put(3, 0, ["tag-shoe"])
        sheet.put(5, 7, ["tag-allow"])
        sheet.put(6, 7, [f"n-{house.allow * 100 // MILLION}"])
        score = ["tag-chips", f"half-{max(-99, min(state.chips, 99))}"]
        sheet.put(7, 0, ["tag-hand", f"n-{state.played}", "tag-of", f"n-{house.hands}", *score])
        return sheet.scene()


tiles({f"rank-{rank}": note("10" if rank == "T" else rank, "blue") for rank in RANKS})
tiles({"tag-hand": note("HAND", "stone"), "tag-of": note("of", "stone")})
