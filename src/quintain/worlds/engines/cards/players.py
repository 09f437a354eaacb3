"""Players of poker: exact equilibria of the small games, a sound player of hold'em, their leaks, and the best reply to them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from quintain.types import Ints
from quintain.worlds.engines.cards.leduc import TABLE
from quintain.worlds.engines.cards.poker import FOLD, PASS, Poker, actions_of, outcome, promise, spot_of, worth_of
from quintain.worlds.noise import Rng

Chances = tuple[tuple[int, float], ...]  # action, its probability
LEAKS = ("calls", "raises")
SAMPLES = 48  # hands of the opponent that the reply at hold'em looks at


def _kuhn(hole: Ints, said: Ints) -> float:
    """The chance of the bold action (raise, or call) in an equilibrium of the three-card game (Kuhn, 1950), with a = 1/6."""
    rank = hole[0] // 4 - 10
    if said == ():
        return (1 / 6, 0.0, 1 / 2)[rank]
    if said == (PASS,):
        return (1 / 3, 0.0, 1.0)[rank]
    return (0.0, 1 / 3 if len(said) == 1 else 1 / 2, 1.0)[rank]


def leduc_key(hole: Ints, board: Ints, said: Ints) -> str:
    """The name of an information set of the six-card game: own rank, open rank, actions."""
    marks = "".join("k" if a == PASS else "r" for a in said)
    return f"{hole[0] // 4 - 10}{board[0] // 4 - 10 if board else '-'}{marks}"


def _sound(rules: Poker, hole: Ints, board: Ints, said: Ints) -> Chances:
    """A sound player of hold'em: bets what is good, some of what is nothing, and calls by the odds of the pot."""
    spot, legal = spot_of(rules, said), actions_of(rules, said)
    guess, pot = promise(hole, board), sum(spot.paid)
    price = max(spot.paid) - spot.paid[spot.role]
    raises = [a for a in legal if a > 0]
    size = 0
    if raises:
        wish = max(spot.paid) + (pot + price if guess > 0.85 else (pot + price) * 2 // 3)
        size = min(raises, key=lambda a: abs(a - wish))
    if FOLD not in legal:
        bold = 0.9 if guess > 0.72 else 0.4 if guess > 0.52 else 0.15 if guess < 0.33 else 0.0
        return _mixed({PASS: 1 - bold, size: bold}) if size else ((PASS, 1.0),)
    need = 0.22 + 0.6 * price / (pot + price)
    bold = 0.75 if guess > 0.83 else 0.15 if guess > 0.65 else 0.03
    stay = 1.0 if guess > need else 0.1
    rest = 1 - (bold if size else 0.0)
    return _mixed({FOLD: rest * (1 - stay), PASS: rest * stay} | ({size: bold} if size else {}))


def _mixed(chances: Mapping[int, float]) -> Chances:
    return tuple([(a, p) for a, p in chances.items() if p > 0])


@functools.lru_cache(maxsize=1 << 15)
def chances(rules: Poker, leak: str, share: int, hole: Ints, board: Ints, said: Ints) -> Chances:
    """How a player acts: in `share` per cent of decisions by its leak, else by equilibrium or (at hold'em) soundly.

    Args:
        rules: the game.
        leak: `calls` or `raises`, whenever that is possible.
        share: per cent, 0 to 100.
        hole: own cards.
        board: open cards.
        said: actions so far; the player is to act.
    """
    legal = actions_of(rules, said)
    if rules.name == "kuhn":
        bold = _kuhn(hole, said)
        base: Chances = _mixed({legal[0]: 1 - bold, legal[1]: bold})
    elif rules.name == "leduc":
        base = _mixed(dict(zip(legal, TABLE[leduc_key(hole, board, said)], strict=True)))
    else:
        base = _sound(rules, hole, board, said)
    if not share:
        return base
    raises = [a for a in legal if a > 0]
    habit = raises[min(len(raises) - 1, 3)] if leak == "raises" and raises else PASS
    out = {a: p * (1 - share / 100) for a, p in base}
    out[habit] = out.get(habit, 0.0) + share / 100
    return _mixed(out)


def drawn_of(options: Chances, uniform: float) -> int:
    """The action that a number in [0, 1) picks."""
    for action, chance in options:
        uniform -= chance
        if uniform < 0:
            return action
    return options[-1][0]


@functools.lru_cache(maxsize=1 << 14)
def reply(rules: Poker, leak: str, share: int, hole: Ints, board: Ints, said: Ints) -> tuple[float, Ints]:
    """The best reply to a player with a leak, from what one knows: chips to expect in this hand, and the best actions.

    Exact in the small games; at hold'em an estimate from sampled hands of the opponent that looks one action ahead.
    """
    role = spot_of(rules, said).role
    weights = _believed(rules, leak, share, hole, board, said, role)
    total = sum(weights.values())
    if rules.hole == 1:
        model = (rules, leak, share, role)
        worth = {a: _expect(model, hole, board, (*said, a), weights) / total for a in actions_of(rules, said)}
    else:
        worth = _ahead((rules, leak, share), hole, board, said, weights)
    best = max(worth.values())
    return best, tuple(a for a, w in worth.items() if w >= best - 1e-9)


def _believed(rules: Poker, leak: str, share: int, hole: Ints, board: Ints, said: Ints, role: int) -> dict[Ints, float]:
    """The hands that the opponent may hold, each with a weight: how likely it would have acted as it did."""
    rest = [c for c in rules.deck if c not in hole and c not in board]
    if rules.hole == 1:
        hands: list[Ints] = [(c,) for c in rest]
    else:
        rng = Rng("belief", hole, board, said)
        hands = [tuple(rng.sample(rest, 2)) for _ in range(SAMPLES)]
    out = {}
    for other in hands:
        weight = 1e-12
        chance = 1.0
        for i in range(len(said)):
            spot = spot_of(rules, said[:i])
            if spot.role != role:
                open_cards = board[: rules.shown(spot.round)]
                chance *= dict(chances(rules, leak, share, other, open_cards, said[:i])).get(said[i], 0.002)
        out[other] = weight + chance
    return out


def _expect(
    model: tuple[Poker, str, int, int], hole: Ints, board: Ints, said: Ints, weights: Mapping[Ints, float]
) -> float:
    """Chips to expect in the small games, times the sum of the weights, under best play from here on."""
    rules, leak, share, role = model
    spot = spot_of(rules, said)
    if spot.role < 0:
        total = 0.0
        for other, weight in weights.items():
            won = outcome(rules, (hole, other) if role == 0 else (other, hole), board, said)
            total += weight * (won if role == 0 else -won)
        return total
    if len(board) < rules.shown(spot.round):
        cards = [c for c in rules.deck if c not in hole]
        total = 0.0
        for card in cards:
            left = {o: w / (len(cards) - 1) for o, w in weights.items() if card not in o}
            total += _expect(model, hole, (*board, card), said, left)
        return total
    legal = actions_of(rules, said)
    if spot.role == role:
        return max(_expect(model, hole, board, (*said, a), weights) for a in legal)
    total = 0.0
    for action in legal:
        left = {}
        for other, weight in weights.items():
            chance = dict(chances(rules, leak, share, other, board, said)).get(action, 0.0)
            if chance:
                left[other] = weight * chance
        if left:
            total += _expect(model, hole, board, (*said, action), left)
    return total


def _ahead(
    model: tuple[Poker, str, int], hole: Ints, board: Ints, said: Ints, weights: Mapping[Ints, float]
) -> dict[int, float]:
    """Hold'em: what folding, passing and a few raises are worth, if both pass from then on but for the answer to a raise."""
    rules, leak, share = model
    spot, legal = spot_of(rules, said), actions_of(rules, said)
    shares = _shares(rules, hole, board, weights)
    total = sum(weights.values())
    mine, theirs = spot.paid[spot.role], max(spot.paid)
    even = sum(weights[o] * shares[o] for o in weights) / total
    worth = {PASS: even * theirs * 2 - theirs}
    if FOLD in legal:
        worth[FOLD] = -mine
    raises = [a for a in legal if a > 0]
    pot = sum(spot.paid)
    wishes = {min(raises, key=lambda a: abs(a - theirs - pot * k)) for k in (0.5, 1.0, 2.0)} if raises else set()
    for action in sorted(wishes):
        gain = 0.0
        for other, weight in weights.items():
            answers = dict(chances(rules, leak, share, other, board, (*said, action)))
            gone = answers.get(FOLD, 0.0)
            again = 1 - gone - answers.get(PASS, 0.0)
            showdown = shares[other] * action * 2 - action
            gain += weight * (gone * theirs + (1 - gone) * showdown - again * (1 - shares[other]) * pot * 0.5)
        worth[action] = gain / total
    return worth


def _shares(rules: Poker, hole: Ints, board: Ints, weights: Mapping[Ints, float]) -> dict[Ints, float]:
    """How often a hold'em hand beats each hand of the opponent, over a few ways to fill the board."""
    rng, out = Rng("boards", hole, board), {}
    missing = rules.shown(len(rules.reveals)) - len(board)
    for other in weights:
        known = {*hole, *other, *board}
        rest = [c for c in rules.deck if c not in known]
        won = 0.0
        tries = 4 if missing else 1
        for _ in range(tries):
            full = (*board, *rng.sample(rest, missing)) if missing else board
            mine, theirs = worth_of(rules, hole, full), worth_of(rules, other, full)
            won += 1.0 if mine > theirs else 0.5 if mine == theirs else 0.0
        out[other] = won / tries
    return out
