"""Games of men against counts that are known, plain minimax and plain loops."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import networkx as nx
import pytest

from quintain.envs.world import world_of
from quintain.registry import names
from quintain.types import Ints, QuintainError
from quintain.worlds.engines.board.flips import Othello
from quintain.worlds.engines.board.game import Match, Setup
from quintain.worlds.engines.board.isolation import Isolation
from quintain.worlds.engines.board.jumps import alquerque, checkers
from quintain.worlds.engines.board.lines import ConnectK, WildLines, column_alone, mark_last, shape
from quintain.worlds.engines.board.lineups import LinesOfAction
from quintain.worlds.engines.board.match import BoardWorld
from quintain.worlds.engines.board.men import Board, MenGame, Rules
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.engines.board.nested import UltimateTTT
from quintain.worlds.engines.board.rows import row_game
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box


def begun(rules: Rules, left: int = 200) -> tuple[MenGame, Ints]:
    """A game and the position in which it begins."""
    return MenGame(rules), (*rules.begin(), left, 0)


def leaves(game: MenGame, position: Ints, depth: int) -> int:
    """How many games of so many moves there are."""
    if not depth:
        return 1
    if game.worth(position) is not None:
        return 0
    return sum(leaves(game, game.play(position, move), depth - 1) for move in game.legal(position))


def reached(rules: Rules, key: str, moves: int) -> list[Ints]:
    """The positions of a random match."""
    (game, position), rng, out = begun(rules), Rng(key), []
    for _ in range(moves):
        out.append(position)
        if game.worth(position) is not None:
            break
        position = game.play(position, rng.pick(game.legal(position)))
    return out


def truth(game: MenGame, position: Ints) -> int:
    """The worth under best play, by minimax without bounds."""
    worth = game.worth(position)
    if worth is not None:
        return worth
    return max(-truth(game, game.play(position, move)) for move in game.legal(position))


@pytest.mark.parametrize(
    ("rules", "counts"),
    [
        (Othello(8), (4, 12, 56, 244, 1396)),
        (checkers(8), (7, 49, 302, 1469)),
        (UltimateTTT(), (81, 720, 6336)),
        (LinesOfAction(8), (36,)),
        (ConnectK(7, 6, 4), (7, 49, 343)),
    ],
)
def test_as_many_games_begin_as_is_known(rules: Rules, counts: tuple[int, ...]) -> None:
    game, position = begun(rules)
    assert tuple(leaves(game, position, depth) for depth in range(1, len(counts) + 1)) == counts


@pytest.mark.parametrize("rules", [ConnectK(3, 3, 3), WildLines(3, 3), Isolation(3), ConnectK(4, 2, 3)])
def test_what_is_proved_is_true(rules: Rules) -> None:
    game, proved = MenGame(rules), 0
    for seed in range(12):
        for position in reached(rules, f"proof {seed}", 9)[4:]:
            verdict = game.judge(position) if game.worth(position) is None else None
            if verdict is not None:
                proved += 1
                worths = {move: -truth(game, game.play(position, move)) for move in game.legal(position)}
                assert verdict.worth == max(worths.values())
                assert all(worths[move] == verdict.worth for move in verdict.moves)
    assert proved > 10


GAMES = sorted(
    name for name in names("world") if isinstance(world_of(name), BoardWorld) and "limit" in world_of(name).levels[0]
)


@pytest.mark.parametrize("name", GAMES)
def test_moves_suffice_where_the_rules_say_so(name: str) -> None:
    world = world_of(name)
    games = [world.look.game(world.look.options(knobs)) for knobs in world.levels[:4]]
    lasts = [getattr(game, "board", Board(columns=1, rows=1)).lasts for game in games]
    assert all(lasts) == any(lasts) == ("always enough" in " ".join(world.facts.rules.split()))
    for game, most in zip(games, lasts, strict=True):
        for seed in range(20 if most else 0):
            position, rng = (*game.rules.begin(), most, 0), Rng("lasts", seed)
            while game.rules.ended(position) is None:
                assert position[-2] > 0, f"no moves are left after {most}"
                position = game.play(position, rng.pick(game.legal(position)))


def test_the_value_of_free_marks_is_true_where_it_is_sure() -> None:
    rules, sure = WildLines(3, 3), 0
    game = MenGame(rules)
    for seed in range(30):
        for position in reached(rules, f"wild {seed}", 7)[4:]:
            if game.worth(position) is None and abs(rules.value(position)) == 1:
                sure += 1
                assert truth(game, position) == rules.value(position)
    assert sure > 30


@pytest.mark.parametrize(("columns", "rows", "line"), [(7, 6, 4), (4, 5, 3), (6, 4, 4)])
def test_discs_end_when_who_dropped_the_last_has_a_line(columns: int, rows: int, line: int) -> None:
    rules, won, open_ = ConnectK(columns, rows, line), 0, 0
    steps = [(1, 0), (0, 1), (1, 1), (-1, 1)]
    lines = [
        [(x + i * dx) + (y + i * dy) * columns for i in range(line)]
        for x, y, (dx, dy) in itertools.product(range(columns), range(rows), steps)
        if 0 <= x + (line - 1) * dx < columns and y + (line - 1) * dy < rows
    ]
    rng = Rng("discs", columns)
    for _ in range(400):
        cells = tuple(rng.below(3) for _ in range(columns * rows))
        mover = rng.below(2)
        made = any(all(cells[c] == 2 - mover for c in found) for found in lines)
        ended = rules.ended((*cells, 9, mover))
        assert (ended == -1) == made and (made or ended == (None if 0 in cells[:columns] else 0))
        won, open_ = won + made, open_ + (ended is None)
    assert won > 30 and open_ > 30


def test_a_proof_that_takes_too_long_is_none() -> None:
    rules = ConnectK(5, 4, 4)
    rules.board = dataclasses.replace(rules.board, nodes=1)
    game, position = begun(rules)
    assert game.judge(position) is None


def test_men_of_a_side_hang_together_as_in_a_graph() -> None:
    rules = LinesOfAction(6)
    for seed in range(8):
        for position in reached(rules, f"groups {seed}", 40):
            for code in (1, 2):
                men = [divmod(c, 6) for c in range(36) if position[c] == code]
                graph = nx.Graph()
                graph.add_nodes_from(men)
                close = [
                    (a, b) for a, b in itertools.combinations(men, 2) if max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1
                ]
                graph.add_edges_from(close)
                assert rules.groups(position, code) == nx.number_connected_components(graph)


def test_moves_of_lines_of_action_go_as_far_as_men_stand_there() -> None:
    rules = LinesOfAction(5)
    for position in itertools.chain(*(reached(rules, f"far {seed}", 20) for seed in range(4))):
        board, mine = {divmod(c, 5): position[c] for c in range(25)}, position[-1] + 1
        want = set()
        for (row, column), (down, right) in itertools.product(board, itertools.product((-1, 0, 1), repeat=2)):
            if board[row, column] == mine and (down or right):
                on_line = [board.get((row + i * down, column + i * right), 0) for i in range(-5, 6)]
                far = sum(map(bool, on_line))
                between = [board.get((row + i * down, column + i * right)) for i in range(1, far)]
                to = (row + far * down, column + far * right)
                if to in board and board[to] != mine and 3 - mine not in between:
                    want.add((row * 5 + column, to[0] * 5 + to[1]))
        if want:
            assert set(rules.paths(position)) == want


def test_the_net_of_alquerque_and_its_leaps() -> None:
    rules = alquerque(5, 5)
    assert sum(map(len, rules.steps[1])) == 2 * (40 + 16)  # lines across and down, and one diagonal in each square
    codes = [0] * 25
    codes[12], codes[6], codes[2], codes[23] = 1, 2, 2, 2  # c3; b2, c1, d5: over b2 to a1, and no further
    position = (*codes, 9, 0)
    assert set(rules.paths(position)) == {(12, 0)}
    assert rules.moved(position, (12, 0))[:7] == (1, 0, 2, 0, 0, 0, 0)
    codes[1] = 2  # b1: from a1 on over it to c1 is barred, so nothing changes
    assert set(rules.paths((*codes, 9, 0))) == {(12, 0)}
    codes[2] = 0
    assert set(rules.paths((*codes, 9, 0))) == {(12, 0, 2)}
    assert rules.board.spent((*codes, 0, 0)) == -1


def test_a_man_that_is_crowned_stops() -> None:
    rules = checkers(8)
    codes = [0] * 64
    codes[17], codes[10], codes[12] = 1, 2, 2  # b3 leaps over c2 to d1 and could, as a king, go on over e2
    position = (*codes, 9, 0)
    assert list(rules.paths(position)) == [(17, 3)]
    after = rules.moved(position, (17, 3))
    assert after[3] == 3 and after[10] == 0 and after[12] == 2


@functools.cache
def near(size: int, at: int) -> frozenset[int]:
    return frozenset(
        c for c in range(size**2) if c != at and max(abs(c % size - at % size), abs(c // size - at // size)) == 1
    )


def test_moves_of_isolation() -> None:
    for position in itertools.chain(*(reached(Isolation(4), f"squares {seed}", 12) for seed in range(4))):
        at, rules = position.index(position[-1] + 1), Isolation(4)
        want = set()
        for to in near(4, at):
            if not position[to]:
                want |= {(to, gone) for gone in range(16) if gone != to and (not position[gone] or gone == at)}
        assert set(rules.paths(position)) == want and (rules.ended(position) is None) == bool(want)


@pytest.mark.parametrize(("size", "line"), [(5, 4), (6, 4), (9, 5)])
def test_fours_are_the_cells_that_threaten(size: int, line: int) -> None:
    game, rng = row_game(size, line), Rng("fours", size)
    for _ in range(30):
        cells = rng.sample(range(game.cells), game.cells // 2)
        mine = sum(game.bits[c] for c in cells[::2])
        free = game.full & ~sum(game.bits[c] for c in cells)
        if game.wins(mine, free):
            continue
        want = sum(bit for bit in game.bits if bit & free and game.wins(mine | bit, free ^ bit))
        assert game.fours(mine, free) == want


def test_moves_are_packed_named_and_read() -> None:
    look = MenLook(checkers, ("size",), {})
    game = look.game((8,))
    for path in ((0, 1), (63, 45, 27), (5,), (7, 0, 7, 0, 7, 0, 7)):
        assert game.unpack(game.pack(path)) == path
        assert game.spelled(game.spell(game.pack(path))) == game.pack(path)
    assert game.spelled("z9 a1") == -1 == game.spelled("")
    for text in ("b6 d4 f2", " B6xd4xf2", "b6-d4-f2", "b6 to d4, then f2", "b6d4f2"):
        move = look.read(text)
        assert move is not None and move.key == "b6 d4 f2"
    assert look.read("b6 knight") is None and look.read("b6 " * 90) is None
    assert [column_alone(t) for t in ("column c", " c", "drop in column c")] == ["c"] * 3 and mark_last(
        "x b2"
    ) == "b2 x"


def test_a_cell_names_its_column_where_a_disc_would_come_to_lie_there() -> None:
    world = world_of("ConnectKDuel")
    text = "You play X; X is to move; 9 moves are left. 3 in a row wins.\n   a b c\n 1 . . .\n 2 . O .\n 3 . X ."
    state, bad = world.rebuild(text, "X"), {"X": ("illegal",)}
    for said, heard in (
        ("b1", {"O": ("reply:b",)}),
        ("a3", {"O": ("reply:a",)}),
        ("b2", bad),
        ("a2", bad),
        ("i3", bad),
    ):
        assert world.step(state, {"X": world.read(said, "X")}).events == heard


def test_problems_leave_turns_for_refused_moves_and_leaps_hear_of_captures() -> None:
    state = world_of("Tsumego").start(1, 0)
    assert world_of("Tsumego").turns(state) == (state.position[-2] + 1) // 2 + 2
    assert "capture" in world_of("Checkers").facts.sayings["illegal"]


def test_captions_of_boards_that_count_upward() -> None:
    def upward(columns: int, rows: int, line: int) -> ConnectK:
        rules = ConnectK(columns, rows, line)
        rules.board = dataclasses.replace(rules.board, upward=True)
        return rules

    look = MenLook(upward, ("columns", "rows", "line"), {}, specials="abcd", shape=shape)
    game = look.game((4, 3, 3))
    assert game.names[0] == "a3" and game.names[-1] == "d1"
    position = game.play((*game.rules.begin(), 7, 0), game.spelled("b"))
    match = Match(Setup((4, 3, 3)), position, 1)
    text = look.caption(match, 1, 2)
    assert text.endswith(" 3 . . . .\n 2 . . . .\n 1 . X . .") and "X: b1" in look.caption(match, 1, 1)
    again = look.rebuild(text)
    assert again.position == position and again.mover == 1
    with pytest.raises(QuintainError, match="no full caption"):
        look.rebuild(text.replace("X . .", "? . ."))


@pytest.mark.parametrize(
    "name",
    ["HeapDuel", "NimDuel", "QuantumTTTDuel", "IsolationDuel", "ChessDuel", "Tsumego", "ChessMate", "UltimateTTTDuel"],
)
def test_nobody_is_to_move_when_a_game_is_over(name: str) -> None:
    world = world_of(name)
    state, rng, done = world.start(1, 0), Rng("over", name), False
    while not done:
        seat = next(s for s in world.facts.seats if world.view(state, s).acts)
        assert "nobody" not in world.caption(state, seat, 2)
        state, _, done, _ = world.step(state, {seat: world.sample(state, seat, rng)})
    for seat in world.facts.seats:
        caption = world.caption(state, seat, 2)
        again = world.rebuild(caption, seat)
        assert "; nobody is to move" in caption and world.caption(again, seat, 2) == caption
        assert world.scene(state, seat).shapes[-1] == Box(x=0.7, y=0, width=0.3, height=0.3, fill="brick")
        assert "Play in" not in caption and not any("-here-" in tile for tile in world.scene(state, seat).cells)
        assert world.legal(again, seat) == () and world.scene(again, seat) == world.scene(state, seat)
