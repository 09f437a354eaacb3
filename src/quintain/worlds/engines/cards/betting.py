"""A match of poker: hands against a player whose leak is told, scored against a second table, or between two seats."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.betting_said import PLAIN, moves_of, read
from quintain.worlds.engines.cards.deck import NAMES, Sheet, cards_of, dealt, faces, names, note, wide_note
from quintain.worlds.engines.cards.players import LEAKS, chances, drawn_of, reply
from quintain.worlds.engines.cards.poker import FOLD, PASS, Poker, actions_of, outcome, spot_of
from quintain.worlds.engines.turns import WON, After, digit_words, digits
from quintain.worlds.kernel import Answer, GenerationError, Move, Plan
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Run, Scene

SAYINGS = {
    "ended": "The opponent {}.",
    "open": "The open cards are {}.",
    "shown": "The opponent shows {}.",
    "hand": "The hand brings you {}.",
    "table": "With the same cards, the player in your seat at the other table makes {}.",
    "over": "The match is over.",
}


_HEAD = re.compile(
    r"Hand (\d+) of (\d+)\. Your score is (-?\d+); (\d+) is a full win\. You act (first|second)\."
    r"(?: Stacks of (\d+)\.)?(?: The opponent (calls|raises) in (\d+)% of its decisions\.)?"
)
ROUNDS = ("1st", "2nd", "3rd", "4th")
ACTS = ("fold", "check", "call")  # in letters of one size

tiles({f"tag-{name}": note(name.upper(), "stone") for name in ("opp", "you", "par")})
for _name in ("hand", "stack", "score"):
    tiles(wide_note(f"wide-{_name}", _name.upper()))
for _name in LEAKS:
    tiles(wide_note(f"wide-{_name}", _name[:-1].upper(), "wine"))
tiles({f"round-{name}": note(name, "stone") for name in ROUNDS})
for _who, _color in (("mine", "blue"), ("theirs", "rust")):
    tiles({f"{_who}-{name}": (Run(text=name, x=0.5, y=0.52, size=0.33, color=_color),) for name in ACTS})
    tiles({f"{_who}-{n}": note(f"+{n}", _color) for n in range(1, 301)})
for _name in ("first", "second"):
    tiles(wide_note(f"wide-{_name}", _name, "blue"))


@dataclass(frozen=True)
class Stakes:
    """What never changes: hands of the match, the score for a full win, the opponent's leak and how often it shows, the stack."""

    hands: int
    par: int
    leak: str = ""
    share: int = 0
    stack: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """The state: number of the hand, score of side 0, hidden cards by side, the open cards of the hand (all of them, dealt ahead),
    the actions of the hand, the noise of what comes.
    """

    stakes: Stakes
    hand: int
    score: int
    holes: tuple[Ints, Ints]
    board: Ints
    said: Ints
    noise: Noise


class _Draws:
    """Numbers of one step of the noise, one after the other."""

    def __init__(self, noise: Noise) -> None:
        self.noise, self.index = noise, 100

    def uniform(self) -> float:
        self.index += 1
        return self.noise.uniform(self.index)


@dataclass(frozen=True)
class Betting:
    """Poker as `turns.Game`. Knobs: `hands`, `par`, `leak`, `share` (per cent), `stack` (without a limit: chips of a hand).

    Args:
        rules: stack -> the game.
        duel: both sides are seats; there is no second table then.
    """

    rules: Callable[[int], Poker]
    duel: bool = False

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Table | None:
        if knobs["hands"] % 2 or (not self.duel and knobs["leak"] not in LEAKS):
            raise GenerationError(f"hands {knobs['hands']} must be even, and the leak one of {LEAKS}")
        leak, share = ("", 0) if self.duel else (knobs["leak"], knobs["share"])
        stakes = Stakes(knobs["hands"], knobs["par"], leak, share, knobs["stack"])
        most = stakes.hands * self.rules(stakes.stack).most * (1 if self.duel else 2)  # also what the other table loses
        if stakes.par > most:
            raise GenerationError(f"par {stakes.par}: {stakes.hands} hands bring {most} chips at most")
        noise = Noise(int(rng.uniform() * 2**53))
        return self._open(stakes, 0, 0, noise)

    def layout(self, state: Table) -> str:
        return f"{state.holes} {state.noise.seed}"

    def turns(self, state: Table) -> int:
        rules = self.rules(state.stakes.stack)
        each = sum(rules.cap // 2 + 2 for _ in rules.reveals)
        return state.stakes.hands * each * (2 if self.duel else 1)

    def _open(self, stakes: Stakes, hand: int, score: int, noise: Noise) -> Table:
        """The next hand, up to the first decision of a seat."""
        rules = self.rules(stakes.stack)
        board = sum(rules.reveals)
        cards = dealt(rules.deck, 2 * rules.hole + board, noise)
        holes = tuple(sorted(cards[: rules.hole])), tuple(sorted(cards[rules.hole : 2 * rules.hole]))
        table = Table(stakes, hand, score, holes, cards[2 * rules.hole :], (), noise)
        return self._answered(table, _Draws(noise))

    def _answered(self, table: Table, draws: _Draws) -> Table:
        """After the built-in opponent has acted as often as it is its turn."""
        stakes, said = table.stakes, table.said
        rules = self.rules(stakes.stack)
        while not self.duel:
            spot = spot_of(rules, said)
            if spot.role < 0 or self._side(table, spot.role) == 0:
                break
            board = table.board[: rules.shown(spot.round)]
            options = chances(rules, stakes.leak, stakes.share, table.holes[1], board, said)
            said = (*said, drawn_of(options, draws.uniform()))
        return Table(stakes, table.hand, table.score, table.holes, table.board, said, table.noise.after())

    def _side(self, table: Table, role: int) -> int:
        return (role + min(table.hand, table.stakes.hands - 1)) % 2

    def mover(self, state: Table) -> int:
        if state.hand >= state.stakes.hands:
            return -1
        return self._side(state, spot_of(self.rules(state.stakes.stack), state.said).role)

    def legal(self, state: Table) -> tuple[Move, ...]:
        return moves_of(self.rules(state.stakes.stack), state.said) if state.hand < state.stakes.hands else ()

    def meant(self, state: Table, move: Move) -> Move:
        """The legal move that one stands for, or that one itself."""
        return next((m for m in self.legal(state) if move.key in m.value.names), move)

    def guess(self, state: Table, rng: Rng) -> Move:
        return PLAIN[rng.pick(tuple(PLAIN))]

    def read(self, text: str) -> Move | None:
        return read(text)

    def play(self, state: Table, move: Move) -> After[Table]:
        rules = self.rules(state.stakes.stack)
        legal = actions_of(rules, state.said)
        action = legal[-1] if move.key == "raise" else move.value.action
        draws = _Draws(state.noise)
        after = Table(
            state.stakes, state.hand, state.score, state.holes, state.board, (*state.said, action), state.noise
        )
        after = self._answered(after, draws)
        if spot_of(rules, after.said).role >= 0:
            return After(after)
        return self._settled(after, draws)

    def _settled(self, table: Table, draws: _Draws) -> After[Table]:
        """The score after a hand that is over, and the next hand that asks for a decision, or the end of the match."""
        stakes, rules = table.stakes, self.rules(table.stakes.stack)
        events: tuple[list[str], list[str]] = ([], [])
        while True:
            won = self._won(table, table.said)
            last = self._side(table, spot_of(rules, table.said[:-1]).role)
            events[1 - last].append(f"ended:{_action_name(rules, table.said, len(table.said) - 1)}s")
            for side in (0, 1):
                if spot_of(rules, table.said).folded < 0:
                    events[side].extend([f"open:{names(table.board)}"] * bool(table.board))
                    events[side].append(f"shown:{names(table.holes[1 - side])}")
                events[side].append(f"hand:{won if side == 0 else -won:+d} chip{'s' * (abs(won) != 1)}")
            score = table.score + won
            if not self.duel:
                other = self._won(table, self._second(table, draws))
                events[0].append(f"table:{other:+d}")
                score -= other
            if table.hand + 1 == stakes.hands:
                after = Table(stakes, stakes.hands, score, table.holes, table.board, table.said, table.noise)
                rewards = tuple(_reward(s, stakes.par) for s in (score, -score))
                return After(after, rewards, True, ((*events[0], "over"), (*events[1], "over")))
            table = self._open(stakes, table.hand + 1, score, table.noise.after())
            if spot_of(rules, table.said).role >= 0:
                return After(table, events=(tuple(events[0]), tuple(events[1])))
            draws = _Draws(table.noise)

    def _won(self, table: Table, said: Ints) -> int:
        """What side 0 won in a hand."""
        by_role = table.holes if self._side(table, 0) == 0 else table.holes[::-1]
        won = outcome(self.rules(table.stakes.stack), by_role, table.board, said)
        return won if self._side(table, 0) == 0 else -won

    def _second(self, table: Table, draws: _Draws) -> Ints:
        """How the same hand goes at the other table, where two copies of the opponent play it."""
        stakes, rules = table.stakes, self.rules(table.stakes.stack)
        said: Ints = ()
        while (spot := spot_of(rules, said)).role >= 0:
            hole = table.holes[self._side(table, spot.role)]
            options = chances(rules, stakes.leak, stakes.share, hole, table.board[: rules.shown(spot.round)], said)
            said = (*said, drawn_of(options, draws.uniform()))
        return said

    def advise(self, state: Table) -> Answer:
        """The best reply to the opponent as it is described; between seats an equilibrium, or sound play where none is known."""
        stakes, rules = state.stakes, self.rules(state.stakes.stack)
        spot = spot_of(rules, state.said)
        hole, board = state.holes[self.mover(state)], state.board[: rules.shown(spot.round)]
        if self.duel:
            options = chances(rules, "", 0, hole, board, state.said)
            best: Ints = (drawn_of(options, state.noise.uniform(99)),)
        else:
            _, best = reply(rules, stakes.leak, stakes.share, hole, board, state.said)
        legal = dict(zip(actions_of(rules, state.said), self.legal(state), strict=True))
        first = tuple([legal[a] for a in best])
        return Plan(first[:1], "policy", first, 0.5)

    def caption(self, state: Table, side: int, level: int) -> str:
        stakes, rules = state.stakes, self.rules(state.stakes.stack)
        score = state.score if side == 0 else -state.score
        order = "first" if self._side(state, 0) == side else "second"
        head = f"Hand {min(state.hand + 1, stakes.hands)} of {stakes.hands}. Your score is {score}; {stakes.par} is a full win. "
        head += f"You act {order}."
        head += f" Stacks of {stakes.stack}." if stakes.stack else ""
        head += f" The opponent {stakes.leak} in {stakes.share}% of its decisions." if stakes.leak else ""
        spot = spot_of(rules, state.said)
        board = names(state.board[: rules.shown(spot.round)])
        paid = spot.paid if order == "first" else spot.paid[::-1]
        lines = [head, f"Your cards: {names(state.holes[side])}", f"Open cards: {board}"]
        if level == 2:
            lines += [
                f"{ROUNDS[i]} round: {', '.join(said) or 'nothing yet'}"
                for i, said in enumerate(self._told(state, side))
            ]
        lines.append(f"In the pot: you {paid[0]}, the opponent {paid[1]}")
        return "\n".join(lines)

    def _told(self, state: Table, side: int) -> list[list[str]]:
        """The actions of each round in words."""
        rules, out = self.rules(state.stakes.stack), [[]]
        starts = spot_of(rules, state.said).starts
        for i in range(len(state.said)):
            if i in starts[1:]:
                out.append([])
            who = "you" if self._side(state, spot_of(rules, state.said[:i]).role) == side else "opponent"
            out[-1].append(f"{who} {_action_name(rules, state.said, i)}")
        if len(out) < len(starts):
            out.append([])
        return out

    def rebuild(self, caption: str, side: int) -> Table:
        """See `World.rebuild`."""
        head, hole, board, *rest = caption.split("\n")
        found = _HEAD.fullmatch(head)
        if not found:
            raise QuintainError(f"this is no full caption of a match of poker: {caption[:60]!r}")
        hand, score = int(found[1]) - 1, int(found[3])
        rounds = [line.partition(": ")[2] for line in rest[:-1]]
        told = [t for line in rounds if line != "nothing yet" for t in line.split(", ")]
        said: Ints = ()
        stakes = Stakes(int(found[2]), int(found[4]), found[7] or "", int(found[8] or 0), int(found[6] or 0))
        rules = self.rules(stakes.stack)
        for one in told:
            word = one.split()[-1]
            said = (*said, int(word) if word.isdigit() else FOLD if word == "fold" else PASS)
        mine, seen = cards_of(hole.partition(": ")[2]), cards_of(board.partition(": ")[2])
        unseen = [c for c in rules.deck if c not in mine and c not in seen]
        theirs = tuple(unseen[: rules.hole])
        full = (*seen, *unseen[rules.hole :])[: sum(rules.reveals)]
        holes = (mine, theirs) if side == 0 else (theirs, mine)
        return Table(stakes, hand, score if side == 0 else -score, holes, full, said, Noise(0))

    def static(self, state: Table, side: int) -> tuple[str, ...]:
        stakes = state.stakes
        leak = (stakes.leak, *digits("share", stakes.share)) if stakes.leak else ()
        return (f"hands-{stakes.hands}", *leak)

    def moving(self, state: Table, side: int) -> tuple[str, ...]:
        rules = self.rules(state.stakes.stack)
        spot = spot_of(rules, state.said)
        score = state.score if side == 0 else -state.score
        order = "first" if self._side(state, 0) == side else "second"
        cards = [f"mine-{NAMES[c]}" for c in state.holes[side]]
        cards += [f"open-{NAMES[c]}" for c in state.board[: rules.shown(spot.round)]]
        said = [f"said-{i}-{_action_name(rules, state.said, i).replace(' ', '-')}" for i in range(len(state.said))]
        return (f"hand-{min(state.hand, state.stakes.hands - 1)}", order, *digits("score", score), *cards, *said)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        rules = self.rules(knobs["stack"])
        sizes = _sizes(rules)
        longest = len(rules.reveals) * (rules.cap + 3)
        acts = ["fold", "check", "call", *(f"raise-{n}" for n in sizes)]
        amounts = [str(n) for n in sizes] if knobs["stack"] else []
        out = ["fold", "check", "call", "raise", *amounts, f"hands-{knobs['hands']}", "first", "second"]
        out += [*LEAKS, *digit_words("share", 3), *digit_words("score", 5)]
        out += [f"hand-{i}" for i in range(knobs["hands"] + 1)]
        out += [f"{kind}-{NAMES[c]}" for kind in ("mine", "open") for c in rules.deck]
        return (*out, *(f"said-{i}-{a}" for i in range(longest) for a in acts))

    def scene(self, state: Table, side: int) -> Scene:
        """Cards above, then a row of actions for each round (blue: own), then hand, score and the score for a full win."""
        stakes, rules = state.stakes, self.rules(state.stakes.stack)
        spot, rounds = spot_of(rules, state.said), len(rules.reveals)
        sheet = Sheet(8, 5 + rounds)
        order = "first" if self._side(state, 0) == side else "second"
        mine, theirs = spot.paid if order == "first" else spot.paid[::-1]
        leak = [f"wide-{stakes.leak}", f"wide-{stakes.leak}-2", f"n-{stakes.share}"] if stakes.leak else []
        sheet.put(0, 0, ["tag-opp", *["card-back"] * rules.hole])
        sheet.put(0, 4, leak)
        sheet.put(0, 7, [f"theirs-{theirs}"])
        if sum(rules.reveals):
            seen = faces(state.board[: rules.shown(spot.round)])
            sheet.put(1, 1, seen + ["card-slot"] * (sum(rules.reveals) - len(seen)))
        sheet.put(2, 0, ["tag-you", *faces(state.holes[side])])
        sheet.put(2, 5, [f"wide-{order}", f"wide-{order}-2", f"mine-{mine}"])
        for i, told in enumerate(self._told(state, side)):
            marks = []
            for one in told:
                who, *act = one.split()
                marks.append(f"{'mine' if who == 'you' else 'theirs'}-{act[-1]}")
            sheet.put(3 + i, 0, [f"round-{ROUNDS[i]}", *marks])
        score = state.score if side == 0 else -state.score
        hand = ["wide-hand", "wide-hand-2", f"n-{min(state.hand + 1, stakes.hands)}", "tag-of", f"n-{stakes.hands}"]
        stack = ["wide-stack", "wide-stack-2", f"n-{stakes.stack}"] if stakes.stack else []
        sheet.put(3 + rounds, 0, [*hand, *stack])
        points = ["wide-score", "wide-score-2", f"n-{max(-999, min(score, 999))}", "", "", "", "tag-par"]
        sheet.put(4 + rounds, 0, [*points, f"n-{stakes.par}"])
        return sheet.scene()


def _action_name(rules: Poker, said: Ints, index: int) -> str:
    """An action that was taken: `call`, or `raise 8` with the chips that its player has put in after it."""
    action = said[index]
    if action > 0:
        return f"raise {action}"
    if action == FOLD:
        return "fold"
    return "call" if FOLD in actions_of(rules, said[:index]) else "check"


@functools.lru_cache(maxsize=16)
def _sizes(rules: Poker) -> Ints:
    return tuple(range(1, rules.stack + 1))


def _reward(score: int, par: int) -> Mapping[str, float]:
    """The share of chips: 0 at a score of -par or less, 1/2 at 0, and success from par on."""
    return WON if score >= par else {"chips": max(0.5 + score / (2 * par), 0.0)}
