"""What the players of a hand of poker may say, and what else it may be called."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field, replace

from quintain.types import Ints
from quintain.worlds.engines.cards.poker import FOLD, PASS, Poker, actions_of, spot_of
from quintain.worlds.engines.turns import counted
from quintain.worlds.kernel import Move


@dataclass(frozen=True, slots=True)
class Act:
    """What a move does, and what else it may be called where it is legal."""

    action: int
    names: tuple[str, ...] = field(default=(), compare=False)


PLAIN = {k: Move(k, Act(a)) for k, a in (("fold", FOLD), ("check", PASS), ("call", PASS), ("raise", 1))}
OTHER = {"k": "check", "pass": "check", "bet": "raise", "c": "call", "f": "fold", "r": "raise", "b": "raise"}
LEAST = "raise min"
ALL = ("all in", "all-in", "allin", "shove", "raise all in", "raise all-in", "bet all", "raise all")
_RAISE = re.compile(
    r"(?:re-?)?(raise|bet)(?: it)?(?::|( to(?: a total of)?| total)|( by))? \$?(\d{1,3})(?: chips?)?( total)?", re.ASCII
)
_LEAST = re.compile(r"(?:re-?)?raise (?:by |to )?(?:the )?min(?:imum)?|min(?:imum)?[ -]raise|raise min")
_CALL = re.compile(r"call \$?\d{1,3}(?: chips?)?", re.ASCII)


def read(text: str) -> Move | None:
    """The move that a text in small letters names."""
    text = " ".join(text.split()).removeprefix("i ")
    name = OTHER.get(text, text)
    if name in PLAIN:
        return PLAIN[name]
    if text in ALL:
        return Move(ALL[0])
    if _CALL.fullmatch(text):
        return PLAIN["call"]
    if _LEAST.fullmatch(text):
        return Move(LEAST)
    found = _RAISE.fullmatch(counted(text) if " to " in text else text)
    if not found or not int(found[4]) or (found[3] and found[5]):
        return None
    word = "bet" if found[1] == "bet" and not (found[2] or found[3] or found[5]) else "raise"
    return Move(f"{word}{found[3] or ''} {int(found[4])}", Act(int(found[4])))


@functools.lru_cache(maxsize=1 << 14)
def moves_of(rules: Poker, said: Ints) -> tuple[Move, ...]:
    """A raise may name its size or all its chips, the bet that opens a round its own; to put in all of the stack is a raise or a call."""
    legal, spot = actions_of(rules, said), spot_of(rules, said)
    size, most, out = rules.bets[spot.round], max(*legal, *spot.paid), list[Move]()
    least = min((action for action in legal if action > 0), default=0)
    for action in legal:
        if action > 0 and not size:
            ahead = action - max(spot.paid)
            bet = f"bet {ahead if len(set(spot.paid)) == 1 else action}"
            out.append(Move(f"raise {action}", Act(action, (f"raise by {ahead}", bet, *(LEAST,) * (action == least)))))
        else:
            out.append(PLAIN["raise" if action > 0 else "fold" if action < 0 else "call" if FOLD in legal else "check"])
    names = (
        (*(f"{word} {n}" for word in ("raise", "bet") for n in (most, size)), f"raise by {size}", LEAST)
        if size and out[-1:] == [PLAIN["raise"]]
        else ()
    )
    names = (ALL[0],) if not size and most == rules.stack else names
    if names and out:
        out[-1] = replace(out[-1], value=replace(out[-1].value, names=(*out[-1].value.names, *names)))
    return tuple(out)
