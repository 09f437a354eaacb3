"""The search, the ladder and rows, against plain minimax and plain loops."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import statistics

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.board.rows import RowGame, row_game
from quintain.worlds.engines.board.search import LADDER, check_opponent, choices, replies
from quintain.worlds.kernel import GenerationError, Plan, Unsolvable
from quintain.worlds.knobs import BadKnob
from quintain.worlds.noise import Rng
from quintain.worlds.suite.games.tic_tac_toe import tic_tac_toe, tic_tac_toe_duel

SOLO_WORLD, DUEL = tic_tac_toe(), tic_tac_toe_duel()


@functools.cache
def lines(size: int, line: int) -> tuple[tuple[int, ...], ...]:
    """The winning lines as cells, from their definition."""
    out = []
    for y, x in itertools.product(range(size), repeat=2):
        for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
            cells = [(y + i * dy, x + i * dx) for i in range(line)]
            if all(0 <= r < size and 0 <= c < size for r, c in cells):
                out.append(tuple(r * size + c for r, c in cells))
    return tuple(out)


def won(signs: str, side: str, size: int, line: int) -> bool:
    return any(all(signs[c] == side for c in cells) for cells in lines(size, line))


@functools.cache
def truth(signs: str, size: int, line: int) -> int:
    """The worth for side m, to move, by plain minimax over a board written as text."""
    if won(signs, "y", size, line):
        return -1
    free = [i for i, s in enumerate(signs) if s == "."]
    if not free:
        return 0
    return max(-truth(turned(signs, i), size, line) for i in free)


def turned(signs: str, move: int) -> str:
    """The board after m moved, seen from the other side."""
    return (signs[:move] + "m" + signs[move + 1 :]).translate(str.maketrans("my", "ym"))


def within(signs: str, size: int, line: int, n: int) -> bool:
    """Whether m wins within n own moves, by trying everything."""
    free = [i for i, s in enumerate(signs) if s == "."]
    for i in free if n else ():
        after = turned(signs, i)
        if won(after, "y", size, line):
            return True
        rest = [j for j in free if j != i]
        answers = [turned(after, j) for j in rest]
        if (
            rest
            and not any(won(a, "y", size, line) for a in answers)
            and all(within(a, size, line, n - 1) for a in answers)
        ):
            return True
    return False


def position(game: RowGame, signs: str) -> tuple[int, int]:
    return tuple(sum(game.bits[c] for c, s in enumerate(signs) if s == side) for side in "my")


def boards(size: int, line: int, stones: int, count: int) -> list[str]:
    """Random boards on which nobody has won."""
    rng, out = Rng("boards", size, line, stones), []
    while len(out) < count:
        signs = ["."] * (size * size)
        for i, cell in enumerate(rng.sample(range(size * size), stones)):
            signs[cell] = "my"[i % 2]
        text = "".join(signs)
        if not won(text, "m", size, line) and not won(text, "y", size, line):
            out.append(text)
    return out


BOARDS = [(3, 3, s) for s in range(9)] + [(4, 3, s) for s in (8, 9, 12)] + [(4, 4, s) for s in (8, 10, 13)]
BOARDS += [(5, 4, s) for s in (18, 22)]


@pytest.mark.parametrize("size, line, stones", BOARDS)
def test_verdicts_are_those_of_plain_minimax(size: int, line: int, stones: int) -> None:
    game = row_game(size, line)
    for signs in boards(size, line, stones, 6):
        verdict = game.judge(position(game, signs))
        worth = truth(signs, size, line)
        assert verdict is not None and verdict.worth == worth == game.exact(*position(game, signs))
        keeping = {i for i, s in enumerate(signs) if s == "." and -truth(turned(signs, i), size, line) == worth}
        assert verdict.moves and set(verdict.moves) <= keeping
        if worth < 1:
            assert set(verdict.moves) == keeping


@pytest.mark.parametrize("size, line, stones", [(3, 3, 2), (3, 3, 3), (4, 3, 8), (4, 4, 9), (5, 4, 17)])
def test_forced_wins_are_those_found_by_trying_everything(size: int, line: int, stones: int) -> None:
    game, seen = row_game(size, line), set()
    for signs in boards(size, line, stones, 12):
        mine, yours = position(game, signs)
        for n in (1, 2, 3):
            real = within(signs, size, line, n)
            assert game.forced(mine, yours, n, True) == real
            assert real or not game.forced(mine, yours, n, False), "threats alone prove no more"
            seen.add((n, real))
        n = game.distance(mine, yours)
        if 0 < n <= 3:
            after = {i for i, s in enumerate(signs) if s == "." and not_lost_later(signs, i, size, line, n)}
            assert set(game.judge((mine, yours)).moves) == after, "all quickest wins and nothing else"
    assert len(seen) >= 3


def not_lost_later(signs: str, move: int, size: int, line: int, n: int) -> bool:
    """Whether m, after that move, wins within n moves of its own, the move included."""
    after = turned(signs, move)
    if won(after, "y", size, line):
        return True
    answers = [turned(after, j) for j, s in enumerate(after) if s == "."]
    wins_first = any(won(a, "y", size, line) for a in answers)
    return bool(answers) and not wins_first and all(within(a, size, line, n - 1) for a in answers)


@pytest.mark.parametrize("size, line", [(3, 3), (4, 3), (4, 4), (5, 4), (6, 4), (6, 5)])
def test_scanning_counts_what_plain_loops_count(size: int, line: int) -> None:
    game = row_game(size, line)

    def balance(signs: str) -> int:
        total = 0
        for cells in lines(size, line):
            m, y = (sum(signs[c] == side for c in cells) for side in "my")
            total += 0 if m and y else 5 ** (m - 1) if m else -(5 ** (y - 1)) if y else 0
        return total

    assert len(game.lines) == len(lines(size, line))
    for stones in range(0, size * size - 1, 3):
        for signs in boards(size, line, stones, 4):
            mine, yours = position(game, signs)
            sure, gains, wins = game.scan(mine, yours)
            assert sure == balance(signs)
            free = [c for c, s in enumerate(signs) if s == "."]
            put = {c: signs[:c] + "m" + signs[c + 1 :] for c in free}
            assert wins == game.wins(mine, game.full & ~(mine | yours))
            assert {c for c in free if wins & game.bits[c]} == {c for c in free if won(put[c], "m", size, line)}
            for c in free:
                if not won(put[c], "m", size, line):
                    assert gains[c] == balance(put[c]) - sure
            ahead = game.ahead((mine, yours))
            assert set(ahead) == set(free) and game.peak((mine, yours)) == max(ahead.values())
            assert all(-1 < v < 1 or (v == 1) == bool(wins & game.bits[c]) for c, v in ahead.items())


def test_a_line_does_not_run_over_the_edge() -> None:
    game = row_game(4, 3)
    assert not game.has_line(game.bits[2] | game.bits[3] | game.bits[4])
    assert game.has_line(game.bits[0] | game.bits[5] | game.bits[10]) and game.has_line(
        game.bits[2] | game.bits[5] | game.bits[8]
    )


def minimax(game: RowGame, at: tuple[int, int], depth: int) -> float:
    """What the search should find, without cuts."""
    if depth == 1:
        return max(game.ahead(at).values())
    values = []
    for move in game.tempting(at):
        after = game.play(at, move)
        worth = game.worth(after)
        values.append(-worth if worth is not None else -minimax(game, after, depth - 1))
    return max(values)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_alpha_beta_finds_what_minimax_finds(depth: int) -> None:
    for size, line, stones in ((3, 3, 2), (4, 3, 5), (4, 4, 6), (5, 4, 7)):
        game = row_game(size, line)
        for signs in boards(size, line, stones, 6):
            at = position(game, signs)
            if game.forced(*at, 1, True):
                continue
            moves = list(game.ahead(at)) if depth == 1 else game.tempting(at)
            after = {m: game.play(at, m) for m in moves}
            worth = {
                m: -(w if (w := game.worth(p)) is not None else minimax(game, p, depth - 1) if depth > 1 else 0)
                for m, p in after.items()
            }
            if depth == 1:
                worth = dict(game.ahead(at))
            best = max(worth.values())
            assert set(choices(game, at, f"depth{depth}")) == {m for m, w in worth.items() if w > best - 1e-9}


def test_the_ladder_keeps_its_promises() -> None:
    game = row_game(3, 3)
    wins = position(game, "mm.yy....")
    assert set(choices(game, wins, "random")) == {2, 5, 6, 7, 8}
    for name in LADDER[1:]:
        assert choices(game, wins, name) == (2,)
    threatened = position(game, "m..yy....")
    assert choices(game, threatened, "depth2") == choices(game, threatened, "perfect") == (5,)
    lost = position(game, "y.y.m.y.m")
    assert set(choices(game, lost, "perfect")) <= {1, 3}, "a lost side still has to be beaten"
    assert set(choices(game, threatened, "greedy")) == {1, 2, 5, 6, 7, 8}
    with pytest.raises(QuintainError, match="did you mean 'perfect'"):
        check_opponent("prefect")


def test_the_perfect_opponent_never_loses_a_drawn_game() -> None:
    """Every line of play of the other side is tried, from the empty board, with either side first."""
    game = row_game(3, 3)

    def beaten(at: tuple[int, int], perfect: bool) -> bool:
        for move in choices(game, at, "perfect") if perfect else game.legal(at):
            after = game.play(at, move)
            worth = game.worth(after)
            if (worth == -1 and not perfect) or (worth is None and beaten(after, not perfect)):
                return True
        return False

    assert not beaten((0, 0), True) and not beaten((0, 0), False)


def test_each_rung_leaves_a_random_player_less() -> None:
    means = []
    for opponent in ("random", "greedy", "depth2", "perfect"):
        rewards = []
        for seed in range(120):
            rng, state, done = Rng("rung", seed), SOLO_WORLD.start(seed, 1, opponent=opponent), False
            while not done:
                state, earned, done, _ = SOLO_WORLD.step(state, {SOLO: SOLO_WORLD.sample(state, SOLO, rng)})
            rewards.append(sum(earned[SOLO].values()))
        means.append(statistics.mean(rewards))
    assert means == sorted(means, reverse=True) and means[0] > means[-1] + 0.2


def test_the_best_reply_is_the_one_of_plain_averaging() -> None:
    game = row_game(3, 3)

    def expected(at: tuple[int, int], opponent: str) -> float:
        best = 0.0
        for move in game.legal(at):
            after = game.play(at, move)
            worth = game.worth(after)
            if worth is not None:
                value = (1 - worth) / 2
            else:
                total, answers = 0.0, choices(game, after, opponent)
                for answer in answers:
                    again = game.play(after, answer)
                    end = game.worth(again)
                    total += (1 + end) / 2 if end is not None else expected(again, opponent)
                value = total / len(answers)
            best = max(best, value)
        return best

    for opponent in ("random", "greedy", "depth1"):
        for signs in boards(3, 3, 4, 6):
            at = position(game, signs)
            value, moves = replies(game, at, opponent)
            assert value == pytest.approx(expected(at, opponent)) and set(moves) <= set(game.legal(at))


@pytest.mark.parametrize("level", range(10))
def test_every_start_can_be_won_in_the_declared_number_of_moves(level: int) -> None:
    knobs = SOLO_WORLD.levels[level]
    for seed in range(4):
        state, turns, done = SOLO_WORLD.start(seed, level), 0, False
        game = row_game(*state.setup.options)
        n = game.distance(*state.position)
        assert knobs["low"] <= n <= knobs["high"]
        while not done:
            plan = SOLO_WORLD.solve(state, SOLO)
            assert isinstance(plan, Plan) and plan.value == 1.0 and plan.moves[0] in plan.first
            state, earned, done, events = SOLO_WORLD.step(state, {SOLO: Rng(seed, turns).pick(plan.first)})
            turns += 1
            assert not any("illegal" in e for e in events.values())
        assert earned == {SOLO: {"success": 1.0}} and turns <= n


def test_a_lost_position_against_a_perfect_opponent_is_unsolvable_and_hopeful_against_a_weak_one() -> None:
    state = SOLO_WORLD.rebuild(
        "You play X; X is to move. Three in a row wins.\n   a b c\n 1 O . O\n 2 . X .\n 3 O . X", SOLO
    )
    perfect = dataclasses.replace(state, setup=dataclasses.replace(state.setup, opponent="perfect"))
    random = dataclasses.replace(state, setup=dataclasses.replace(state.setup, opponent="random"))
    assert isinstance(SOLO_WORLD.solve(perfect, SOLO), Unsolvable)
    hope = SOLO_WORLD.solve(random, SOLO)
    assert isinstance(hope, Plan) and hope.proof == "policy" and 0.2 < hope.value < 0.9


def test_wins_draws_and_losses_are_paid_to_both_seats() -> None:
    def ending(board: str, move: str) -> tuple[dict, dict]:
        state = DUEL.rebuild(f"You play X; X is to move. Three in a row wins.\n{board}", "X")
        after = DUEL.step(state, {"X": DUEL.read(move, "X")})
        assert after.done and DUEL.legal(after.state, "O") == () == DUEL.legal(after.state, "X")
        assert isinstance(DUEL.solve(after.state, "O"), Unsolvable)
        for seat in ("X", "O"):  # nobody is to move any more, and the caption still gives such a state back
            caption = DUEL.caption(after.state, seat, 2)
            assert caption.startswith(f"You play {seat}; nobody is to move.")
            again = DUEL.rebuild(caption, seat)
            assert DUEL.caption(again, seat, 2) == caption and DUEL.legal(again, seat) == ()
        return {s: sum(r.values()) for s, r in after.rewards.items()}, after.events

    won_ = ending("   a b c\n 1 X X .\n 2 O O .\n 3 . . .", "c1")
    assert won_ == ({"X": 1.0, "O": 0.0}, {"X": ("won",), "O": ("reply:c1", "lost")})
    drawn_ = ending("   a b c\n 1 X O X\n 2 X O O\n 3 O X .", "c3")
    assert drawn_ == ({"X": 0.5, "O": 0.5}, {"X": ("draw",), "O": ("reply:c3", "draw")})


@pytest.mark.parametrize(
    ("name", "board", "move", "end"),
    [
        ("ChessDuel", "no castling\n{7}k\n{8}\n{6}K{1}\n{8}\n{8}\n{8}\n{8}\nR{7}", "a1 a8", ("Black is mated", "won")),
        (
            "ChessDuel",
            "no castling\n{7}k\n{8}\n{8}\n{8}\n{8}\n{8}\n{8}\nR{6}K",
            "a1 a2",
            ("No moves are left; White's material less Black's is 5", "won"),
        ),
        (
            "ChessDuel",
            "W must mate\n{7}k\n{8}\n{8}\n{8}\n{8}\n{8}\n{8}\nR{6}K",
            "a1 a2",
            ("No moves are left; White has not mated", "lost"),
        ),
        (
            "ChessDuel",
            "no castling\n{7}k\n{8}\n{8}\n{8}\n{8}\n{8}\nr{7}\nK{7}",
            "a1 a2",
            ("Neither side can mate any more", "draw"),
        ),
        (
            "ChessDuel",
            "no castling\n{7}k\n{8}\n{5}QK{1}\n{8}\n{8}\n{8}\n{8}\n{8}",
            "f6 f7",
            ("Black has no legal move and is not in check", "draw"),
        ),
        ("GoDuel", "komi 0.5\n{1}X{1}\n{3}\n{1}O{1}", "a1", ("X has 2 points, O has 1.5 with the komi", "won")),
    ],
)
def test_how_a_match_ended_is_told(name: str, board: str, move: str, end: tuple[str, str]) -> None:
    world = world_of(name)
    note, *rows = re.sub(r"\{(\d)\}", lambda gap: "." * int(gap[1]), board).split("\n")
    side, count = world.facts.seats[0], len(rows)
    lines = [f"{count - i if side == 'W' else i + 1:2d} {' '.join(row)}" for i, row in enumerate(rows)]
    head = f"You play {side}; {side} is to move; 1 move is left. {note}"
    state = world.rebuild("\n".join([head, f"   {' '.join('abcdefgh'[:count])}", *lines]), side)
    after = world.step(state, {side: world.read(move, side)})
    assert after.done and after.events[side] == (f"end:{end[0]}", end[1])


def test_no_pass_is_asked_for_when_the_boxes_are_won() -> None:
    world = world_of("DotsBoxesDuel")
    state = world.rebuild(
        "You play X; X is to move; 9 moves are left. X=0 O=0\n   a b c\n 1 + - +\n 2 | : .\n 3 + - +", "X"
    )
    after = world.step(state, {"X": world.read("c2", "X")})
    for seat in world.facts.seats:
        caption = world.caption(after.state, seat, 2)
        assert " X=1 O=0\n" in caption and world.caption(world.rebuild(caption, seat), seat, 2) == caption


def test_seats_take_turns_and_hear_of_each_other() -> None:
    state = DUEL.start(3, 1)
    assert [DUEL.view(state, s).acts for s in ("X", "O")] == [True, False] and DUEL.legal(state, "O") == ()
    waiting = DUEL.solve(state, "O")
    assert isinstance(waiting, Plan) and waiting.moves == ()
    move = DUEL.legal(state, "X")[0]
    after = DUEL.step(state, {"X": move})
    assert after.events == {"O": (f"reply:{move.key}",)} and not after.done and after.state.noise == state.noise
    assert [DUEL.view(after.state, s).acts for s in ("X", "O")] == [False, True]
    assert DUEL.caption(after.state, "O", 2).startswith("You play O; O is to move.")
    again = DUEL.step(after.state, {"O": move})
    assert again.state is after.state and again.events == {"O": ("illegal",)}
    assert [len(DUEL.scene(s, side).shapes) for s in (state, after.state) for side in ("X", "O")] == [0, 2, 2, 0]
    assert DUEL.scene(state, "X").cells[0] == "play-X-3" and DUEL.scene(state, "O").cells[0] == "play-O-3"


def test_taken_and_outside_cells_are_illegal() -> None:
    state = SOLO_WORLD.start(0, 2)
    taken = SOLO_WORLD.moving(state, SOLO)[0][1:]
    for text in (taken, "d1", "a4", "z20"):
        outcome = SOLO_WORLD.step(state, {SOLO: SOLO_WORLD.read(text, SOLO)})
        assert outcome.state is state and outcome.events == {SOLO: ("illegal",)} and not outcome.rewards


EMPTY = dataclasses.replace(SOLO_WORLD, levels=[{**SOLO_WORLD.levels[0], "stones": 0, "more": 0, "low": 0, "high": 0}])


def test_replies_follow_from_the_noise_of_the_state_alone() -> None:
    seen = set()
    for seed in range(20):
        state = EMPTY.start(seed, 0)
        assert state.position == (0, 0)
        move = {SOLO: SOLO_WORLD.read("b2", SOLO)}
        one, two = SOLO_WORLD.step(state, move), SOLO_WORLD.step(state, move)
        assert one == two and one.state.noise == state.noise.after()
        seen.add(one.events[SOLO])
    assert len(seen) > 4  # the random opponent of level 0 does not always answer alike


def test_knobs_that_fit_no_game_are_refused() -> None:
    with pytest.raises(QuintainError, match="3 <= line <= size <= 15"):
        dataclasses.replace(SOLO_WORLD, levels=[{**SOLO_WORLD.levels[0], "size": 16}]).start(0, 0)
    with pytest.raises(BadKnob, match="size=16: it takes an integer from 3 to 6"):
        SOLO_WORLD.start(0, 0, size=16)
    with pytest.raises(BadKnob, match="opponent='gredy': it takes 'random', "):
        SOLO_WORLD.start(0, 0, opponent="gredy")
    with pytest.raises(GenerationError, match="no opening"):
        dataclasses.replace(SOLO_WORLD, levels=[{**SOLO_WORLD.levels[0], "stones": 0, "more": 0}]).start(0, 0)
    with pytest.raises(QuintainError, match="unknown knob 'opponent'"):
        DUEL.start(0, 0, opponent="random")


@pytest.mark.parametrize(
    "text", ["", "You play X; X is to move. Nine in a row wins.\n   a b c\n 1 . . .\n 2 . . .\n 3 . . ."]
)
def test_other_captions_are_refused(text: str) -> None:
    with pytest.raises(QuintainError, match="no full caption"):
        SOLO_WORLD.rebuild(text, SOLO)


def test_no_ship_afloat_is_told_so() -> None:
    world = world_of("Battleship")
    state = world.start(1, 0)
    outcome = None
    while outcome is None or not outcome.done:
        outcome = world.step(state, {SOLO: world.solve(state, SOLO).moves[0]})
        state = outcome.state
    view = world.view(state, SOLO)
    assert "Afloat: none." in view.caption(2)
    assert world.view(world.rebuild(view.caption(2), SOLO), SOLO).caption(2) == view.caption(2)
