"""Card games: truth by other means than the engine's own, and nothing hidden that shows."""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from dataclasses import replace

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.testing.worlds import shown, walk
from quintain.types import QuintainError
from quintain.worlds.engines.cards.dice import Match, answers, likely, worths
from quintain.worlds.engines.cards.leduc import TABLE
from quintain.worlds.engines.cards.leduc_solve import solved as regret_solved
from quintain.worlds.engines.cards.piles import Kind, after, steps, won
from quintain.worlds.engines.cards.piles_solve import solved
from quintain.worlds.engines.cards.players import chances, leduc_key, reply
from quintain.worlds.engines.cards.poker import KUHN, LEDUC, actions_of, outcome, spot_of, value_of
from quintain.worlds.kernel import GenerationError, Plan, Unsolvable
from quintain.worlds.noise import Rng

POKER = (
    "KuhnPoker",
    "KuhnDuel",
    "LeducPoker",
    "LeducDuel",
    "HoldemLimit",
    "HoldemLimitDuel",
    "HoldemFree",
    "HoldemFreeDuel",
)
PATIENCE = ("Klondike", "FreeCell", "SpiderDeal")


def kuhn_value(bold: dict[tuple[str, int], float]) -> float:
    """What the first player of three-card poker wins on average; `bold` gives the chance to raise or call, by history and card."""
    total = 0.0
    for a, b in itertools.permutations(range(3), 2):
        sign = 1 if a > b else -1
        r, r2, c, c2 = bold["", a], bold["k", b], bold["r", b], bold["kr", a]
        raised = r * (c * 2 * sign + (1 - c))
        passed = (1 - r) * ((1 - r2) * sign + r2 * (c2 * 2 * sign - (1 - c2)))
        total += (raised + passed) / 6
    return total


def kuhn_chances(leak: str, share: int) -> dict[tuple[str, int], float]:
    """The engine's player of three-card poker in the words of `kuhn_value`."""
    said = {"": (), "k": (0,), "r": (2,), "kr": (0, 2)}
    out = {}
    for history, actions in said.items():
        for card in range(3):
            last = actions_of(KUHN, actions)[-1]
            out[history, card] = dict(chances(KUHN, leak, share, ((10 + card) * 4 + 3,), (), actions)).get(last, 0.0)
    return out


def kuhn_best(first: bool, against: dict[tuple[str, int], float]) -> float:
    """The most that a role can win against a player, over all its 64 pure strategies."""
    mine = [(h, c) for h in (("", "kr") if first else ("k", "r")) for c in range(3)]
    values = [
        kuhn_value({**against, **dict(zip(mine, pure, strict=True))})
        for pure in itertools.product((0.0, 1.0), repeat=6)
    ]
    return max(values) if first else -min(values)


def test_three_card_poker_is_played_in_equilibrium() -> None:
    play = kuhn_chances("", 0)
    assert kuhn_value(play) == pytest.approx(-1 / 18)
    assert kuhn_best(True, play) == pytest.approx(-1 / 18) and kuhn_best(False, play) == pytest.approx(1 / 18)
    assert kuhn_best(True, {**play, ("r", 1): 0.9}) > -1 / 18 + 0.01, "the check would see a player who calls too much"


@pytest.mark.parametrize("leak", ["calls", "raises"])
def test_the_best_reply_at_three_card_poker_is_the_best_of_all_strategies(leak: str) -> None:
    against = kuhn_chances(leak, 60)
    first = sum(reply(KUHN, leak, 60, ((10 + card) * 4 + 3,), (), ())[0] for card in range(3)) / 3
    assert first == pytest.approx(kuhn_best(True, against))


def leduc_best(role: int, chance_of) -> float:
    """What a best reply wins at six-card poker against the table, worked out by walking the tree with every hand of the other."""

    def value(hole: int, board: tuple[int, ...], said: tuple[int, ...], others: dict[int, float]) -> float:
        spot = spot_of(LEDUC, said)
        if spot.role < 0:
            total = 0.0
            for other, weight in others.items():
                gain = outcome(LEDUC, ((hole,), (other,)) if role == 0 else ((other,), (hole,)), board, said)
                total += weight * (gain if role == 0 else -gain)
            return total
        if spot.round == 1 and not board:
            return sum(
                value(hole, (b,), said, {o: w / 4 for o, w in others.items() if o != b})
                for b in LEDUC.deck
                if b != hole
            )
        legal = actions_of(LEDUC, said)
        if spot.role == role:
            return max(value(hole, board, (*said, a), others) for a in legal)
        total = 0.0
        for i, action in enumerate(legal):
            kept = {o: w * chance_of(o, board, said)[i] for o, w in others.items()}
            total += value(hole, board, (*said, action), kept)
        return total

    ranks = (0, 2, 4)  # the two suits of a rank are alike
    return sum(value(LEDUC.deck[i], (), (), {o: 1 / 5 for o in LEDUC.deck if o != LEDUC.deck[i]}) for i in ranks) / 3


def test_nobody_gains_much_against_the_table_of_six_card_poker() -> None:
    def by_table(other: int, board: tuple[int, ...], said: tuple[int, ...]) -> tuple[float, ...]:
        return TABLE[leduc_key((other,), board, said)]

    gains = leduc_best(0, by_table), leduc_best(1, by_table)
    assert 0 <= sum(gains) < 0.01, f"exploitability {sum(gains)}"
    assert gains[0] == pytest.approx(-0.0856, abs=0.004), "the known value of the game to the first player"

    def timid(other: int, board: tuple[int, ...], said: tuple[int, ...]) -> tuple[float, ...]:
        return (1.0,) + (0.0,) * (len(by_table(other, board, said)) - 1)

    assert leduc_best(0, timid) > 0.5


def test_regrets_lead_to_the_table() -> None:
    few = regret_solved(60)
    assert set(few) == set(TABLE) and all(len(few[k]) == len(TABLE[k]) for k in few)

    def learnt(other: int, board: tuple[int, ...], said: tuple[int, ...]) -> tuple[float, ...]:
        return few[leduc_key((other,), board, said)]

    assert leduc_best(0, learnt) + leduc_best(1, learnt) < 0.25


def naive(cards: tuple[int, ...]) -> tuple[int, ...]:
    """Category and ranks of five cards, written down anew."""
    ranks = sorted((14 if c // 4 == 0 else c // 4 + 1 for c in cards), reverse=True)
    flush = len({c % 4 for c in cards}) == 1
    straight = len(set(ranks)) == 5 and (ranks[0] - ranks[4] == 4 or ranks == [14, 5, 4, 3, 2])
    groups = sorted(((n, r) for r, n in Counter(ranks).items()), reverse=True)
    shape = tuple(n for n, _ in groups)
    if straight:
        return (8 if flush else 4, 5 if ranks[:2] == [14, 5] else ranks[0])
    by_shape = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1, (1, 1, 1, 1, 1): 0}
    return (5 if flush else by_shape[shape], *(r for _, r in groups))


def test_hands_of_seven_cards_rank_as_the_best_five_of_them() -> None:
    rng = Rng("hands")
    pools = [range(52), [c for c in range(52) if c % 4 < 2], [c for c in range(52) if 3 < c // 4 < 11]]
    hands = [tuple(rng.sample(pools[i % 3], 7)) for i in range(1200)]
    best = {hand: max(naive(five) for five in itertools.combinations(hand, 5)) for hand in hands}
    order = sorted(hands, key=best.__getitem__)
    for one, two in itertools.pairwise(order):
        assert (value_of(one) < value_of(two)) == (best[one] < best[two])
        assert (value_of(one) == value_of(two)) == (best[one] == best[two])
    assert {b[0] for b in best.values()} == set(range(9))


@pytest.mark.parametrize("name", POKER)
def test_a_seat_sees_nothing_of_hidden_cards(name: str) -> None:
    world = world_of(name)
    sides = range(len(world.facts.seats))
    for seed in range(4):
        for state in walk(world, world.start(seed, 5), Rng("hidden", seed), 12):
            for side in sides:
                rules = {"K": KUHN, "L": LEDUC}.get(name[0]) or world.game.rules(state.stakes.stack)
                seen = state.board[: rules.shown(spot_of(rules, state.said).round)]
                free = [c for c in rules.deck if c not in state.holes[side] and c not in seen]
                Rng("other", seed).shuffle(free)
                theirs = tuple(sorted(free[: rules.hole]))
                holes = (state.holes[0], theirs) if side == 0 else (theirs, state.holes[1])
                twin = replace(state, holes=holes, board=(*seen, *free[rules.hole :])[: len(state.board)])
                seat = world.facts.seats[side]
                assert shown(world, twin, seat) == shown(world, state, seat)


@pytest.mark.parametrize("name", [n for n in POKER if n.endswith("Duel")])
def test_chips_that_one_seat_wins_the_other_loses(name: str) -> None:
    world = world_of(name)
    ended = 0
    for seed in range(6):
        state, rng = world.start(seed, 1), Rng("sum", seed)
        for _ in range(world.turns(state)):
            seat = world.facts.seats[world.game.mover(state)]
            result = world.step(state, {seat: world.view(state, seat).sample(rng)})
            state = result.state
            if result.done:
                one, two = (sum(result.rewards[s].values()) for s in world.facts.seats)
                assert one + two == pytest.approx(1) and (one > two) == (state.score > 0)
                ended += 1
                break
    assert ended == 6


def test_a_copy_of_the_opponent_scores_nothing_in_the_mean() -> None:
    world = world_of("LeducPoker")
    total, n = 0.0, 120
    for seed in range(n):
        state = world.start(seed, 2)
        rng = Rng("copy", seed)
        while world.game.mover(state) == 0:
            spot = spot_of(LEDUC, state.said)
            seen = state.board[: LEDUC.shown(spot.round)]
            options = chances(LEDUC, state.stakes.leak, state.stakes.share, state.holes[0], seen, state.said)
            at, draw = 0, rng.uniform()
            while (draw := draw - options[at][1]) > 0 and at + 1 < len(options):
                at += 1
            moves = dict(zip(actions_of(LEDUC, state.said), world.game.legal(state), strict=True))
            state = world.step(state, {"agent": moves[options[at][0]]}).state
        total += state.score
    assert abs(total / n) < 1.5


def reachable(kind: Kind, table: tuple, limit: int = 60_000) -> bool | None:
    """Whether a patience can be won, by breadth-first search over every legal step."""
    seen, queue = {table}, deque([table])
    while queue:
        here = queue.popleft()
        if won(kind, here):
            return True
        for step in steps(kind, here):
            new = after(kind, here, step)
            if new not in seen:
                seen.add(new)
                queue.append(new)
        if len(seen) > limit:
            return None
    return False


@pytest.mark.parametrize(
    ("game", "suits", "ranks", "columns", "cells", "runs"),
    [("klondike", 2, 3, 2, 0, 0), ("freecell", 2, 4, 2, 1, 0), ("spider", 1, 3, 2, 2, 2)],
)
def test_the_search_finds_a_way_exactly_where_there_is_one(
    game: str, suits: int, ranks: int, columns: int, cells: int, runs: int
) -> None:
    kind = Kind(game, suits, ranks, columns, cells if game == "freecell" else 0, runs)
    truths = []
    for seed in range(60):
        rng = Rng("small", game, seed)
        base = range(runs * ranks) if game == "spider" else [r * 4 + s for r in range(ranks) for s in (2, 3)]
        deck = [(c % ranks) * 4 + 3 for c in base] if game == "spider" else list(base)
        rng.shuffle(deck)
        laid = len(deck) if game == "freecell" else len(deck) - 2
        piles = tuple(tuple(deck[i:laid:columns]) for i in range(columns))
        under = tuple((len(p) - 1) * (game != "freecell") for p in piles)
        homes = (0,) if game == "spider" else (0,) * suits
        table = (piles, under, (-1,) * kind.cells, homes, tuple(deck[laid:]), ())
        truth, found = reachable(kind, table), solved(kind, table, 100_000)
        assert truth is not None and (found.way is not None) == truth and (truth or found.complete)
        here = table
        for step in found.way or ():
            assert step in steps(kind, here)
            here = after(kind, here, step)
        assert not truth or won(kind, here)
        truths.append(truth)
    assert True in truths and (game == "klondike" or False in truths)


@pytest.mark.parametrize("name", PATIENCE)
def test_no_card_is_lost(name: str) -> None:
    world = world_of(name)
    for seed in range(5):
        start = world.start(seed, 6)
        every = sorted((*sum(start.piles, ()), *start.stock))
        for state in walk(world, start, Rng("cards", seed), 40):
            home = every if name == "SpiderDeal" and state.homes[0] else []
            there = [*sum(state.piles, ()), *state.stock, *state.waste, *(c for c in state.cells if c >= 0)]
            if name != "SpiderDeal":
                there += [r * 4 + 4 - len(state.homes) + s for s, n in enumerate(state.homes) for r in range(n)]
            assert home or sorted(there) == every


@pytest.mark.parametrize("name", PATIENCE)
def test_with_closed_cards_nothing_hidden_shows_and_the_oracle_does_not_look(name: str) -> None:
    world = world_of(name)
    for seed in range(3):
        state = world.start(seed, 2, open=0)
        hidden = [c for pile, n in zip(state.piles, state.under, strict=True) for c in pile[:n]] + list(state.stock)
        Rng("mix", seed).shuffle(hidden)
        piles = tuple(
            tuple(hidden.pop() for _ in range(n)) + p[n:] for p, n in zip(state.piles, state.under, strict=True)
        )
        twin = replace(state, piles=piles, stock=tuple(hidden))
        assert shown(world, state, "agent") == shown(world, twin, "agent")
        assert world.solve(state, "agent") == world.solve(twin, "agent")


def test_a_lost_patience_is_called_unsolvable() -> None:
    world = world_of("FreeCell")
    kind, told = Kind("freecell", 2, 4, 2, 1), []
    for seed in range(30):
        deck = [rank * 4 + suit for rank in range(4) for suit in (2, 3)]
        Rng("lost", seed).shuffle(deck)
        state = world.schema(kind, (tuple(deck[::2]), tuple(deck[1::2])), (0, 0), (-1,), (0, 0), (), ())
        answer, truth = world.solve(state, "agent"), reachable(kind, state.table)
        assert isinstance(answer, Plan if truth else Unsolvable)
        told.append(truth)
    assert {True, False} == set(told)


def test_the_chance_of_a_bid_is_a_count_of_throws() -> None:
    for hand, bid in itertools.product(((1, 1), (2, 5), (3, 6)), (11, 22, 35, 41, 16)):
        throws = list(itertools.product(range(1, 7), repeat=2))
        true = sum((hand + other).count(bid % 10) >= bid // 10 for other in throws)
        assert likely(hand, 6, bid) == pytest.approx(true / len(throws))


def test_doubting_is_worth_what_all_hands_behind_the_bids_say() -> None:
    match = Match(2, 4, 3, 30)
    for hand, bids in itertools.product(((1, 2), (3, 3)), ((12,), (23,), (11, 22, 23))):
        weights = Counter()
        for other in itertools.product(range(1, 5), repeat=2):
            chance = 1.0
            for i in range(0, len(bids), 2):
                chance *= dict(answers(match, tuple(sorted(other)), bids[i - 1] if i else 0)).get(bids[i], 0.01)
            weights[(hand + other).count(bids[-1] % 10) >= bids[-1] // 10] += chance
        doubt = dict(worths(match, hand, 0, bids))[0]
        assert doubt == pytest.approx(weights[False] / (weights[False] + weights[True]))


def test_dice_of_the_opponent_do_not_show() -> None:
    world = world_of("LiarsDice")
    for seed in range(4):
        for state in walk(world, world.start(seed, 6), Rng("dice", seed), 8):
            twin = replace(state, hands=(state.hands[0], (1,) * state.match.dice))
            assert shown(world, state, "agent") == shown(world, twin, "agent")
            if world.game.mover(state) == 0:
                assert world.solve(state, "agent") == world.solve(twin, "agent")


@pytest.mark.parametrize("name", [*POKER, "Hanabi2"])
def test_every_number_of_a_caption_is_in_the_picture(name: str) -> None:
    """But for how many ranks Hanabi has, which its marks show."""
    world, rng = world_of(name), Rng("numbers", name)
    for level in (0, 4, 9):
        for state in [*walk(world, world.start(3, level), rng, 40)][::4]:
            for seat in world.facts.seats:
                text = world.view(state, seat).caption(2)
                scene = world.view(world.rebuild(text, seat), seat).scene()
                for found in re.finditer(r"(?<!Ranks: )\b\d+", text.split("\n")[0]):
                    other = f"{text[: found.start()]}{int(found[0]) + 1}{text[found.end() :]}"
                    try:
                        view = world.view(world.rebuild(other, seat), seat)
                    except QuintainError:  # no such game
                        continue
                    assert view.caption(2) != other or view.scene() != scene, (text, other)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("Klondike", "Game: klondike, 2 suits, 4 ranks"),
        ("FreeCell", "Game: freecell, 2 suits, 4 ranks"),
        ("SpiderDeal", "Game: spider, 1 suit, 4 ranks, 2 runs"),
    ],
)
def test_the_first_line_of_a_patience_tells_what_it_has(name: str, head: str) -> None:
    world = world_of(name)
    assert world.caption(world.start(0, 0), "agent", 2).split("\n")[0] == head


@pytest.mark.parametrize("name", PATIENCE)
def test_no_cards_are_no_move(name: str) -> None:
    world = world_of(name)
    assert world.read("3x0-5", "agent") is None and world.read("3x1-5", "agent") is not None


@pytest.mark.parametrize("name", ["LiarsDice", "LiarsDuel"])
def test_the_short_caption_of_dice_says_less(name: str) -> None:
    world = world_of(name)
    state, seat = world.start(0, 3), world.facts.seats[0]
    short, full = (world.caption(state, seat, level) for level in (1, 2))
    assert (
        " 1 die with" in world.caption(world.start(0, 3, dice=1 if name == "LiarsDice" else 2), seat, 2)
        or name == "LiarsDuel"
    )
    assert len(short) < len(full) and "Rounds won" not in short and "Your dice" in short


@pytest.mark.parametrize(
    ("name", "size", "all_chips"), [("KuhnDuel", 1, 2), ("LeducDuel", 2, 3), ("HoldemLimitDuel", 2, 4)]
)
def test_a_fixed_raise_may_name_its_own_chips_alone(name: str, size: int, all_chips: int) -> None:
    world = world_of(name)
    state = world.start(1, 3)
    for text in ("raise", f"raise to {all_chips}", f"raise {size}", f"raise by {size}", f"I raise by {size} chips"):
        after = world.step(state, {"first": world.read(text, "first")})
        assert after == world.step(state, {"first": world.view(state, "first").legal()[-1]}) and after.state != state
    for text in ("raise 99", f"raise by {all_chips}", "all in"):
        assert world.step(state, {"first": world.read(text, "first")}).events == {"first": ("illegal",)}


def test_a_free_raise_by_some_chips_is_more_than_the_call() -> None:
    world = world_of("HoldemFreeDuel")
    state = world.start(1, 3)
    for by in (2, 6):  # the blinds are 1 and 2
        after = world.step(state, {"first": world.read(f"raise by {by}", "first")})
        assert after == world.step(state, {"first": world.read(f"raise to {2 + by}", "first")}) and after.state != state
    assert world.step(state, {"first": world.read("raise by 1", "first")}).events == {"first": ("illegal",)}


def test_what_ends_a_hand_is_told() -> None:
    world = world_of("HoldemFreeDuel")
    state = world.start(1, 3)
    for seat, text in (("first", "all in"), ("second", "I call")):
        state, _, _, events = world.step(state, {seat: world.read(text, seat)})
    assert [event.partition(":")[0] for event in events["first"]] == ["ended", "open", "shown", "hand"]
    assert events["first"][0] == "ended:calls" and len(events["second"][0].split()) == 5
    folded = world.step(state, {"second": world.read("I fold", "second")}).events
    assert folded == {"first": ("ended:folds", "hand:+1 chip"), "second": ("hand:-1 chip",)}


def test_all_in_is_the_highest_raise_or_a_call() -> None:
    world = world_of("HoldemFreeDuel")
    state = world.start(1, 3)
    every = world.read("all in", "first")
    after = world.step(state, {"first": every}).state
    assert after == world.step(state, {"first": world.view(state, "first").legal()[-1]}).state
    legal = {move.key for move in world.view(after, "second").legal()}
    assert legal == {"fold", "call"}
    assert world.step(after, {"second": every}) == world.step(after, {"second": world.read("call", "second")})
    for amount in (4, 6, 8):  # no more raises are left, and a call is not all
        seat = world.facts.seats[world.game.mover(state)]
        state = world.step(state, {seat: world.read(f"raise {amount}", seat)}).state
    assert world.step(state, {"second": every}).events == {"second": ("illegal",)}


@pytest.mark.parametrize(
    ("name", "knob"), [("FreeCell", "depth"), ("FreeCell", "runs"), ("Klondike", "cells"), ("SpiderDeal", "cells")]
)
def test_a_game_of_patience_has_no_parts_of_another(name: str, knob: str) -> None:
    with pytest.raises(GenerationError, match=f"{knob}=1: this game of patience has no {knob}; it is 0"):
        world_of(name).start(1, 5, **{knob: 1})


def test_both_seats_know_who_opens_a_round_of_dice() -> None:
    world, seen = world_of("LiarsDuel"), set()
    for seed in range(12):
        state = world.start(seed, 0)
        for seat in world.facts.seats:
            view = world.view(state, seat)
            rebuilt = world.rebuild(view.caption(2), seat)
            assert world.view(rebuilt, seat).legal() == view.legal()
            seen.add(view.caption(2).rpartition("Bids: ")[2])
    assert seen == {"none, you first", "none, opponent first"}


@pytest.mark.parametrize("seed", range(4))
def test_the_picture_of_klondike_has_stock_and_waste_in_the_order_of_the_text(seed: int) -> None:
    world = world_of("Klondike")
    state = world.start(seed, 9)
    for _ in range(7):
        state = world.step(state, {SOLO: world.read("draw", SOLO)}).state
    text = dict(line.split(": ") for line in world.caption(state, SOLO, 2).splitlines() if ":" in line)
    cells = [cell for cell in world.scene(state, SOLO).cells if "l-" in cell and "foot" in cell]
    drawn = [cell.partition("l-")[2].partition("+")[0] for cell in cells]
    wanted = f"{text['Stock']} {text['Waste']}".replace("empty", "").split()
    assert drawn[: len(wanted)] == wanted and len(text["Waste"].split()) == 7
