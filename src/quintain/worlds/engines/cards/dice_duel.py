"""Liar's dice between two seats: small raises, and an oracle that takes nothing about the other seat for granted."""

from __future__ import annotations

import functools

from quintain.types import Ints
from quintain.worlds.engines.cards.dice import DOUBT, Match, bids_of, likely
from quintain.worlds.kernel import Move

EVEN = 0.5  # what a round is worth that goes on
CAUTION = 0.5  # how often a bid is taken to be doubted


@functools.lru_cache(maxsize=1024)
def raises(match: Match, last: int) -> tuple[Move, ...]:
    """The moves after a bid (0: none yet): as many of the next bids as a die has faces, and a doubt of the bid."""
    higher = [bid for bid in bids_of(match.dice, match.faces) if bid > last][: match.faces]
    return (*[Move(f"{bid // 10}x{bid % 10}", bid) for bid in higher], *([DOUBT] if last else []))


@functools.lru_cache(maxsize=1 << 14)
def values(match: Match, hand: Ints, opened: int, bids: Ints) -> tuple[tuple[int, float], ...]:
    """The chance to win the round with each bid (0: doubt) for somebody who sees one hand and takes all others for as likely.

    A bid is doubted or raised; raised, it is worth what a doubt of any raise would be, or as good as even.
    """
    last = bids[-1] if bids else 0
    out = [(0, 1 - likely(hand, match.faces, last))] if last else []
    for bid in [move.value for move in raises(match, last) if move.value]:
        after = [1 - likely(hand, match.faces, more.value) for more in raises(match, bid) if more.value]
        goes_on = max(EVEN, sum(after) / len(after)) if after else 0.0
        share = CAUTION if after else 1.0
        out.append((bid, share * likely(hand, match.faces, bid) + (1 - share) * goes_on))
    return tuple(out)
