"""Liar's dice for two: bids about all dice, of which one sees one's own; who doubts a bid that is true loses the round."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.deck import Sheet, note, wide_note
from quintain.worlds.engines.turns import WON, After, counted
from quintain.worlds.kernel import Answer, Move, Plan
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Box, Disc, Scene

SAYINGS = {
    "bid": "The opponent bids {}.",
    "doubt": "The opponent doubts.",
    "shown": "The opponent had {}.",
    "took": "You win the round.",
    "gave": "You lose the round.",
    "won": "You won the match.",
    "lost": "You lost the match.",
}
DOUBT = Move("doubt", 0)
_BID = re.compile(
    r"(?:bid:? |raise (?:it )?(?:to )?)?(?:at least )?(?:quantity ?:? ?)?(\d{1,2})"
    r"\s*(?:x|×|\*| |-|times|of|,? face ?:?|(?:dice|die) (?:with|showing)(?: face)?)\s*([1-9])'?(?:e?s)?",
    re.ASCII,
)
_DOUBT = re.compile(r"(?:i )?(?:doubt|call|challenge)(?: (?:it|that|liar|(?:your|the|that) (?:bid|bluff)))?|liar")
_HEAD = re.compile(
    r"Rounds won: you (\d+), the opponent (\d+); (\d+) win the match\. Each has (\d) (?:dice|die) with (\d) faces\."
    r"(?: The opponent bluffs in (\d+)% of its bids\.)?"
)
_DOTS = {1: (4,), 2: (0, 8), 3: (0, 4, 8), 4: (0, 2, 6, 8), 5: (0, 2, 4, 6, 8), 6: (0, 2, 3, 5, 6, 8)}
_BODY = Box(x=0.08, y=0.08, width=0.84, height=0.84, fill="white", line="stone", thick=0.05, radius=0.16)

for _face, _at in _DOTS.items():
    _dots = tuple(Disc(x=0.27 + 0.23 * (i % 3), y=0.27 + 0.23 * (i // 3), radius=0.09, fill="ink") for i in _at)
    tiles({f"die-{_face}": (_BODY, *_dots)})
tiles({"die-hidden": (Box(x=0.08, y=0.08, width=0.84, height=0.84, fill="navy", radius=0.16), *note("?", "sky"))})
tiles(
    {
        f"times-{who}-{n}": note(f"{n} x", color)
        for who, color in (("mine", "blue"), ("theirs", "rust"))
        for n in range(1, 13)
    }
)
tiles({f"tag-{name}": note(name, "stone") for name in ("won", "of", "bids", "1st")})
for _name in ("bluff", "faces"):
    tiles(wide_note(f"wide-{_name}", _name))
tiles({f"sign-{who}": note(text, color) for who, text, color in (("mine", "you", "blue"), ("theirs", "opp", "rust"))})


@dataclass(frozen=True)
class Match:
    """What never changes: dice of a player, faces of a die, rounds to win, how often the opponent bluffs (per cent)."""

    dice: int
    faces: int
    goal: int
    bluff: int = 0


@dataclass(frozen=True, slots=True)
class Liars:
    """The state: rounds won by side, who bid first in this round, dice by side, bids (quantity * 10 + face), the noise to come."""

    match: Match
    wins: Ints
    opener: int
    hands: tuple[Ints, Ints]
    bids: Ints
    noise: Noise


@functools.lru_cache(maxsize=64)
def bids_of(dice: int, faces: int) -> Ints:
    """All bids from the lowest to the highest: by quantity, then by face."""
    return tuple([n * 10 + face for n in range(1, 2 * dice + 1) for face in range(1, faces + 1)])


@functools.lru_cache(maxsize=1 << 14)
def likely(hand: Ints, faces: int, bid: int) -> float:
    """The chance that a bid is true, for a player who knows one hand; the other has as many dice, all faces alike."""
    need = bid // 10 - hand.count(bid % 10)
    n, p = len(hand), 1 / faces
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(need, 0), n + 1))


@functools.lru_cache(maxsize=1 << 16)
def answers(match: Match, hand: Ints, last: int) -> tuple[tuple[int, float], ...]:
    """How the built-in player answers a bid (0: it is to open), as bids (0: doubt) with their chances.

    It doubts what is less likely than its own best bid is; else it makes that bid, or in a share of bids any of the next few.
    """
    higher = [b for b in bids_of(match.dice, match.faces) if b > last][: 2 * match.faces]
    best = max(higher, key=lambda b: (likely(hand, match.faces, b), -b), default=0)
    if last and (not best or 1 - likely(hand, match.faces, last) > likely(hand, match.faces, best)):
        return ((0, 1.0),)
    share = match.bluff / 100
    few = higher[: match.faces]
    chances = {b: share / len(few) for b in few}
    chances[best] = chances.get(best, 0.0) + 1 - share
    return tuple(chances.items())


@functools.lru_cache(maxsize=16)
def hands_of(dice: int, faces: int) -> tuple[Ints, ...]:
    """All throws, each as often as it comes up."""
    return tuple([tuple(sorted(h)) for h in itertools.product(range(1, faces + 1), repeat=dice)])


@functools.lru_cache(maxsize=1 << 13)
def worths(match: Match, hand: Ints, opened: int, bids: Ints) -> tuple[tuple[int, float], ...]:
    """The chance to win the round with each bid (0: doubt), from what one sees: `opened` is 1 if oneself made the first bid.

    The opponent's hands are weighed by how it would have bid with them; beyond its next answer one doubts, or it is even.
    """
    weights: dict[Ints, float] = {}
    for other in hands_of(match.dice, match.faces):
        chance = 1.0
        for i in range(opened, len(bids), 2):
            chance *= dict(answers(match, other, bids[i - 1] if i else 0)).get(bids[i], 0.01)
        weights[other] = weights.get(other, 0.0) + chance
    total = sum(weights.values())
    last = bids[-1] if bids else 0
    out = {}
    if last:
        out[0] = sum(w for o, w in weights.items() if not _true((hand, o), last)) / total
    for bid in [b for b in bids_of(match.dice, match.faces) if b > last][: 2 * match.faces]:
        value, raised = 0.0, dict[int, list[float]]()
        for other, weight in weights.items():
            for answer, chance in answers(match, other, bid):
                if not answer:
                    value += weight * chance * _true((hand, other), bid)
                else:
                    pair = raised.setdefault(answer, [0.0, 0.0])
                    pair[0] += weight * chance
                    pair[1] += weight * chance * (not _true((hand, other), answer))
        value += sum(max(false, 0.4 * every) for every, false in raised.values())
        out[bid] = value / total
    return tuple(out.items())


def _true(hands: tuple[Ints, Ints], bid: int) -> bool:
    return hands[0].count(bid % 10) + hands[1].count(bid % 10) >= bid // 10


@functools.lru_cache(maxsize=256)
def _bid(bid: int) -> Move:
    return Move(f"{bid // 10}x{bid % 10}", bid)


@functools.lru_cache(maxsize=1024)
def _legal(match: Match, last: int) -> tuple[Move, ...]:
    higher = [_bid(b) for b in bids_of(match.dice, match.faces) if b > last]
    return (*higher, *([DOUBT] if last else []))


@dataclass(frozen=True)
class DiceGame:
    """Liar's dice as `turns.Game`. Knobs: `dice`, `faces`, `goal`, `bluff`.

    Args:
        duel: both sides are seats.
        moves: (match, last bid) -> the moves that are allowed.
        judge: (match, hand, 1 if oneself made the first bid, bids) -> the chance to win the round with each bid (0: doubt).
    """

    duel: bool = False
    moves: Callable[[Match, int], tuple[Move, ...]] = _legal
    judge: Callable[[Match, Ints, int, Ints], tuple[tuple[int, float], ...]] = worths

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Liars | None:
        match = Match(knobs["dice"], knobs["faces"], knobs["goal"], 0 if self.duel else knobs["bluff"])
        noise = Noise(int(rng.uniform() * 2**53))
        return Liars(match, (0, 0), 0, self._thrown(match, noise), (), noise.after())

    def _thrown(self, match: Match, noise: Noise) -> tuple[Ints, Ints]:
        throws = [1 + noise.below(match.faces, 10 + i) for i in range(2 * match.dice)]
        return tuple(sorted(throws[: match.dice])), tuple(sorted(throws[match.dice :]))

    def layout(self, state: Liars) -> str:
        return f"{state.hands} {state.noise.seed}"

    def turns(self, state: Liars) -> int:
        match = state.match
        each = len(bids_of(match.dice, match.faces)) + 1
        return (2 * match.goal - 1) * (each if self.duel else (each + 1) // 2)

    def mover(self, state: Liars) -> int:
        if max(state.wins) >= state.match.goal:
            return -1
        return (state.opener + len(state.bids)) % 2

    def legal(self, state: Liars) -> tuple[Move, ...]:
        over = max(state.wins) >= state.match.goal
        return () if over else self.moves(state.match, state.bids[-1] if state.bids else 0)

    def guess(self, state: Liars, rng: Rng) -> Move:
        return DOUBT

    def read(self, text: str) -> Move | None:
        if _DOUBT.fullmatch(text):
            return DOUBT
        found = _BID.fullmatch(counted(text))
        return _bid(int(found[1]) * 10 + int(found[2])) if found and 0 < int(found[1]) <= 12 else None

    def play(self, state: Liars, move: Move) -> After[Liars]:
        events: tuple[list[str], list[str]] = ([], [])
        index, action = 50, move.value
        while True:
            side = self.mover(state)
            events[1 - side].append(f"bid:{move.key}" if action else "doubt")
            if action:
                state = Liars(state.match, state.wins, state.opener, state.hands, (*state.bids, action), state.noise)
            else:
                state = self._judged(state, side, events)
            mover = self.mover(state)
            if mover < 0:
                return self._over(state, events)
            if mover == 0 or self.duel:
                after = Liars(state.match, state.wins, state.opener, state.hands, state.bids, state.noise.after())
                return After(after, events=(tuple(events[0]), tuple(events[1])))
            draw = state.noise.uniform(index)
            index += 1
            for answer, chance in answers(state.match, state.hands[1], state.bids[-1] if state.bids else 0):
                action = answer
                draw -= chance
                if draw < 0:
                    break
            move = _bid(action) if action else DOUBT

    def _judged(self, state: Liars, doubter: int, events: tuple[list[str], list[str]]) -> Liars:
        """The next round, after a doubt; its loser bids first."""
        winner = 1 - doubter if _true(state.hands, state.bids[-1]) else doubter
        for side in (0, 1):
            shown = " ".join(map(str, state.hands[1 - side]))
            events[side].extend([f"shown:{shown}", "took" if side == winner else "gave"])
        wins = tuple([n + (side == winner) for side, n in enumerate(state.wins)])
        if max(wins) >= state.match.goal:
            return Liars(state.match, wins, state.opener, state.hands, state.bids, state.noise)
        noise = state.noise.after()
        return Liars(state.match, wins, 1 - winner, self._thrown(state.match, noise), (), noise)

    def _over(self, state: Liars, events: tuple[list[str], list[str]]) -> After[Liars]:
        won = [n >= state.match.goal for n in state.wins]
        told = tuple([(*events[side], "won" if won[side] else "lost") for side in (0, 1)])
        return After(state, (WON if won[0] else {}, WON if won[1] else {}), True, told)

    def advise(self, state: Liars) -> Answer:
        """The bid or doubt with the best chance to win the round."""
        side = self.mover(state)
        options = self.judge(state.match, state.hands[side], int(state.opener == side), state.bids)
        best = max(worth for _, worth in options)
        first = tuple([_bid(b) if b else DOUBT for b, worth in options if worth >= best - 1e-9])
        return Plan(first[:1], "policy", first, best)

    def caption(self, state: Liars, side: int, level: int) -> str:
        match, wins = state.match, (state.wins[side], state.wins[1 - side])
        head = f"Rounds won: you {wins[0]}, the opponent {wins[1]}; {match.goal} win the match. "
        head += f"Each has {match.dice} {'dice' if match.dice > 1 else 'die'} with {match.faces} faces."
        head += f" The opponent bluffs in {match.bluff}% of its bids." if not self.duel else ""
        if level == 1:
            head = f"Dice of each: {match.dice}, faces: {match.faces}."
        who = ["you", "opponent"] if state.opener == side else ["opponent", "you"]
        told = [f"{who[i % 2]} {_bid(b).key}" for i, b in enumerate(state.bids)]
        told = told[-1:] if level == 1 else told
        told = told or ([f"none, {who[0]} first"] if self.duel else ["none"])
        return "\n".join([head, f"Your dice: {' '.join(map(str, state.hands[side]))}", f"Bids: {', '.join(told)}"])

    def rebuild(self, caption: str, side: int) -> Liars:
        """See `World.rebuild`."""
        head, dice, bids = caption.split("\n")
        found = _HEAD.fullmatch(head)
        if not found:
            raise QuintainError(f"this is no full caption of liar's dice: {caption[:60]!r}")
        match = Match(int(found[4]), int(found[5]), int(found[3]), int(found[6] or 0))
        told = [one.split() for one in bids.partition(": ")[2].split(", ") if _BID.search(one)]
        said = tuple([int(bid[:-2]) * 10 + int(bid[-1]) for _, bid in told])
        opener = 1 - side if "opponent first" in bids or (told and told[0][0] != "you") else side
        wins = (int(found[1]), int(found[2]))
        mine = tuple(map(int, dice.partition(": ")[2].split()))
        theirs = (1,) * match.dice
        hands = (mine, theirs) if side == 0 else (theirs, mine)
        return Liars(match, wins if side == 0 else wins[::-1], opener, hands, said, Noise(0))

    def static(self, state: Liars, side: int) -> tuple[str, ...]:
        match = state.match
        return (f"dice-{match.dice}", f"faces-{match.faces}", f"goal-{match.goal}", f"bluff-{match.bluff}")

    def moving(self, state: Liars, side: int) -> tuple[str, ...]:
        own = [f"die-{n}" for n in state.hands[side]]
        who = ["mine", "theirs"] if state.opener == side else ["theirs", "mine"]
        bids = [f"{who[i % 2]}-{_bid(b).key}" for i, b in enumerate(state.bids)]
        return (f"won-{state.wins[side]}", f"lost-{state.wins[1 - side]}", *own, *bids)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        every = [_bid(b).key for b in bids_of(knobs["dice"], knobs["faces"])]
        fixed = [
            f"dice-{knobs['dice']}",
            f"faces-{knobs['faces']}",
            f"goal-{knobs['goal']}",
            f"bluff-{knobs['bluff']}",
            "bluff-0",
        ]
        out = ["doubt", *every, *fixed, *(f"die-{n}" for n in range(1, knobs["faces"] + 1))]
        out += [f"{kind}-{n}" for kind in ("won", "lost") for n in range(knobs["goal"] + 1)]
        return (*out, *(f"{who}-{bid}" for who in ("mine", "theirs") for bid in every))

    def scene(self, state: Liars, side: int) -> Scene:
        """Own dice above, then the bids in order (blue: own), then rounds won and to win, and how often the opponent bluffs."""
        match = state.match
        bids = [tile for i, b in enumerate(state.bids) for tile in self._shown(b, (state.opener + i) % 2 == side)]
        rows = max(3, -(-len(bids) // 8))
        sheet = Sheet(8, 4 + rows)
        sheet.put(0, 0, ["tag-opp", *["die-hidden"] * match.dice])
        sheet.put(1, 0, ["tag-you", *(f"die-{n}" for n in state.hands[side])])
        sheet.put(0, 5, ["wide-bluff", "wide-bluff-2", f"n-{match.bluff}"] if not self.duel else [])
        opener = [] if bids or not self.duel else [f"sign-{'mine' if state.opener == side else 'theirs'}", "tag-1st"]
        sheet.put(2, 0, ["tag-bids", *opener])
        for row in range(rows):
            sheet.put(3 + row, 0, bids[8 * row : 8 * row + 8])
        last = [
            "tag-won",
            "",
            "sign-mine",
            f"n-{state.wins[side]}",
            "sign-theirs",
            f"n-{state.wins[1 - side]}",
            "tag-of",
            f"n-{match.goal}",
        ]
        sheet.put(3 + rows, 0, last)
        sheet.put(1, 5, ["wide-faces", "wide-faces-2", f"n-{match.faces}"])
        return sheet.scene()

    def _shown(self, bid: int, mine: bool) -> tuple[str, str]:
        return (f"times-{'mine' if mine else 'theirs'}-{bid // 10}", f"die-{bid % 10}")
