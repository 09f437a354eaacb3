"""Go, and life and death, against a second set of rules, written from the definition: groups by flooding, captures, ko, suicide, area."""

from __future__ import annotations

from quintain.types import Ints
from quintain.worlds.engines.board import tsumego
from quintain.worlds.engines.board.go import FREE, Go, counted
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.noise import Rng

SIZE = 4


def near(at: tuple[int, int]) -> list[tuple[int, int]]:
    row, column = at
    around = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
    return [(r, c) for r, c in around if 0 <= r < SIZE and 0 <= c < SIZE]


def flood(board: dict[tuple[int, int], int], at: tuple[int, int]) -> tuple[set, set]:
    """All points of the same code joined to one, and all codes and points around them."""
    seen, wave = {at}, [at]
    while wave:
        wave = [p for q in wave for p in near(q) if p not in seen and board[p] == board[at]]
        seen |= set(wave)
    return seen, {p for q in seen for p in near(q)} - seen


def plays(cells: Ints, mine: int) -> dict[int, Ints]:
    """Every stone that is not a suicide, and the board after it; without the ko."""
    out = {}
    for i in range(SIZE * SIZE):
        board = {divmod(k, SIZE): code for k, code in enumerate(cells)}
        at = divmod(i, SIZE)
        if board[at]:
            continue
        board[at] = mine
        for p in near(at):
            if board[p] == 3 - mine:
                group, around = flood(board, p)
                if all(board[q] for q in around):
                    board.update(dict.fromkeys(group, 0))
        if any(not board[q] for q in flood(board, at)[1]):
            out[i] = tuple(board.values())
    return out


def test_random_games_follow_the_definition() -> None:
    game, kos, taken = MenGame(Go(SIZE)), 0, 0
    for seed in range(25):
        rng, position, before = Rng("go", seed), (*Go(SIZE).begin(), 400, 0), ()
        for _ in range(60):
            cells, mine = position[: SIZE * SIZE], position[-1] + 1
            known = plays(cells, mine)
            legal = [path[0] for path in game.rules.paths(position)][1:]
            ko = position[SIZE * SIZE]
            assert sorted(legal) == sorted(i for i in known if i != ko)
            if ko != FREE:
                kos += 1
                assert known[ko] == before, "what a ko forbids is the board of the move before"
            for i in legal:
                after = game.rules.moved(position, (i,))
                assert after[: SIZE * SIZE] == known[i]
                taken += sum(after[: SIZE * SIZE]) < sum(cells)
            if not legal:
                break
            before, position = cells, game.play(position, game.pack((rng.pick(legal),)))
    assert kos > 10 and taken > 100


def test_the_area_is_what_reaches_one_colour_alone() -> None:
    rng = Rng("area")
    for _ in range(200):
        cells = tuple([rng.pick((0, 0, 0, 1, 2)) for _ in range(SIZE * SIZE)])
        board = {divmod(k, SIZE): code for k, code in enumerate(cells)}
        total = [0, 0]
        for at, code in board.items():
            met = {code} if code else {board[p] for p in flood(board, at)[1]}
            total = [total[0] + (met == {1}), total[1] + (met == {2})]
        assert counted(cells, SIZE) == tuple(total)


def test_two_passes_end_the_game_and_more_points_win() -> None:
    game = MenGame(Go(5))
    empty = (*Go(5).begin(), 30, 0)
    alone = game.play(empty, game.spelled("c3"))
    done = game.play(game.play(alone, game.spelled("pass")), game.spelled("pass"))
    assert game.worth(alone) is None and game.worth(done) == -1, "White is to move and Black has all points"
    nothing = game.play(game.play(empty, game.spelled("pass")), game.spelled("pass"))
    assert game.worth(nothing) == -1, "the komi wins an empty board for White"


def wins(game: MenGame, position: Ints) -> bool:
    """Whether the side to move wins a position of life and death, by trying everything, passes too."""
    worth = game.worth(position)
    if worth is not None:
        return worth == 1
    return any(not wins(game, game.play(position, move)) for move in game.legal(position)[::-1])


def test_life_and_death_agree_with_trying_everything() -> None:
    rng, seen = Rng("life"), set()
    for size, space, moves, count in ((4, 3, 2, 12), (4, 4, 2, 6), (4, 3, 3, 4)):
        game, done = MenGame(tsumego.Tsumego(size)), 0
        while done < count:
            knobs = {"size": size, "space": space, "moves": moves, "keys": 9}
            position = tsumego.pose(rng, knobs)
            if position is None or not tsumego.kept(position, knobs):
                continue
            done += 1
            seen.add(position[-3])
            won = {game.unpack(m) for m in game.legal(position) if not wins(game, game.play(position, m))}
            assert set(tsumego.winning(position)) == won
            for move in game.legal(position)[:3]:
                after = game.play(position, move)
                if game.worth(after) is None:
                    reply = game.play(after, game.pack(tsumego.defence(after)))
                    assert wins(game, after) != wins(game, reply), "the defence gives nothing away"
    assert seen == {0, 1}
