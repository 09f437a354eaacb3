"""Chess against numbers known from the literature, and against another program where it is at hand."""

from __future__ import annotations

import pytest

from quintain.envs.world import world_of
from quintain.types import Ints
from quintain.worlds.engines.board.chess import NAMES, SIGNS, Chess, checked, lead, spent
from quintain.worlds.engines.board.chess_legal import LegalGame, goals
from quintain.worlds.engines.board.chess_look import brief, named, read, read_small, scattered
from quintain.worlds.engines.board.chess_mate import forced, kept, pose
from quintain.worlds.engines.board.game import Match, Setup
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.noise import Rng

GAME = MenGame(Chess())


def fen(text: str) -> Ints:
    """A position from the field's notation."""
    board, side, rights, passed = text.split()[:4]
    cells = [
        code for sign in board.replace("/", "") for code in ([0] * int(sign) if sign.isdigit() else [SIGNS.index(sign)])
    ]
    castling = sum([1 << i for i, sign in enumerate("KQkq") if sign in rights])
    return (*cells, castling, NAMES.index(passed) if passed != "-" else -1, 0, 400, "wb".index(side))


def perft(position: Ints, depth: int) -> int:
    moves = GAME.legal(position)
    return len(moves) if depth == 1 else sum([perft(GAME.play(position, move), depth - 1) for move in moves])


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", (20, 400, 8902)),
        ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -", (48, 2039)),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -", (14, 191, 2812)),
        ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq -", (6, 264)),
        ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ -", (44, 1486)),
    ],
)
def test_counts_of_positions_are_the_known_ones(text: str, counts: tuple[int, ...]) -> None:
    assert tuple(perft(fen(text), depth) for depth in range(1, len(counts) + 1)) == counts


def test_random_games_agree_with_another_program() -> None:
    chess = pytest.importorskip("chess")
    for seed in range(12):
        other, position, rng = chess.Board(), (*Chess().begin(), 400, 0), Rng("games", seed)
        for _ in range(80):
            mine = {move: GAME.spell(move) for move in GAME.legal(position)}
            theirs = {m.uci(): m for m in other.legal_moves}
            short = {
                k: "".join(w[:1] if w == "queen" else w for w in v.replace("knight", "n").split())
                for k, v in mine.items()
            }
            short = {k: v.replace("rook", "r").replace("bishop", "b") for k, v in short.items()}
            assert sorted(short.values()) == sorted(theirs)
            assert checked(position, position[-1]) == other.is_check()
            for key, name in short.items():
                move = read(other.san(theirs[name]))
                assert move is not None
                assert named(Match(Setup(()), position), move).key == mine[key]
            worth = GAME.worth(position)
            assert (worth == -1) == other.is_checkmate()
            if worth is not None:
                break
            move = rng.pick(sorted(mine))
            position = GAME.play(position, move)
            other.push(theirs[short[move]])


def mated(position: Ints, n: int) -> list[int]:
    """White's moves that mate in n moves at most, by trying everything."""
    return [move for move in GAME.legal(position) if _lost(GAME.play(position, move), n)]


def _lost(position: Ints, n: int) -> bool:
    replies = GAME.legal(position)
    if not replies:
        return checked(position, 1)
    return n > 1 and all(mated(GAME.play(position, reply), n - 1) for reply in replies)


def test_forced_mates_are_those_found_by_trying_everything() -> None:
    rng, seen = Rng("mates"), 0
    for moves, white, black in ((1, (2, 4), (0, 4)), (1, (4, 6), (2, 4)), (2, (2, 2), (0, 0))):
        while seen < 8 * moves:
            knobs = {"moves": moves, "white": white, "black": black, "keys": 9}
            position = pose(rng, knobs)
            if position and kept(position, knobs):
                seen += 1
                found = {GAME.pack(path) for path in forced(position[:-2], moves)}
                assert found == set(mated((*position[:-2], 9, 0), moves))
        seen = 0
    assert not forced(fen("7k/8/8/8/8/8/8/K5R1 w - -")[:-2], 2)
    assert forced(fen("7k/8/5KQ1/8/8/8/8/8 w - -")[:-2], 1)


def test_mates_of_any_position_are_those_found_by_trying_everything() -> None:
    rng, mates = Rng("any"), 0
    for _ in range(150):
        men = "kK" + "".join([rng.pick("QRRBNP") for _ in range(6)]) + "".join([rng.pick("rnbpp") for _ in range(4)])
        position = (*scattered(rng, men), 0, -1, 0, 9, 0)
        if not checked(position, 1):
            found = {GAME.pack(path) for path in forced(position[:-2], 1)}
            assert found == set(mated(position, 1))
            mates += len(found)
    assert mates > 10


@pytest.mark.parametrize(
    ("text", "move", "mates"),
    [
        ("4rkr1/4p1p1/8/8/8/8/8/4K2R w K -", "e1 g1", True),
        ("8/8/R7/2k5/2n5/8/3PN1B1/1R2K3 w - -", "d2 d4", True),
        ("8/8/R7/2k5/2p5/8/3PN1B1/1R2K3 w - -", "d2 d4", False),  # the pawn that gives check is taken in passing
    ],
)
def test_mates_by_castling_and_by_pawns_that_pass(text: str, move: str, mates: bool) -> None:
    found = [GAME.pack(path) for path in forced(fen(text)[:-2], 1)]
    assert set(found) == set(mated((*fen(text)[:-2], 9, 0), 1))
    assert (GAME.spelled(move) in found) == mates


def test_goals_of_a_marked_piece_leave_its_king_safe() -> None:
    rng, twisted = Rng("goals"), 0
    for _ in range(300):
        state = LegalGame().deal(rng, {"men": 8, "twist": 100})
        if state is None:
            continue
        twisted += 1
        other = [GAME.unpack(move)[1] for move in GAME.legal(state.position) if GAME.unpack(move)[0] == state.marked]
        assert set(other) == set(goals(state.position, state.marked))
        for to in other:
            assert not checked(Chess().moved(state.position, (state.marked, to)), state.position[-1])
    assert twisted > 50


@pytest.mark.parametrize(("men", "worth"), [("P", 1), ("N", 3), ("B", 3), ("R", 5), ("Q", 9), ("QRRBBNNPPPPPPPP", 39)])
def test_material_counts_alike_on_both_sides(men: str, worth: int) -> None:
    row = {side: "".join([men, "K"]).ljust(16, ".") for side in "wb"}
    cells = [SIGNS.index(sign) if sign in SIGNS and sign != "." else 0 for sign in row["w"]]
    white, black = (*cells, *[0] * 48), (*[c + 6 if c else 0 for c in cells], *[0] * 48)
    assert lead((*white, 0, -1, 0, 0)) == worth == -lead((*black, 0, -1, 0, 0))
    assert spent((*white, 0, -1, 0, 0)) == 1 == spent((*black, 0, -1, 0, 1)) and spent((*black, 0, -1, 0, 0)) == -1


def test_equal_material_is_a_draw_when_the_moves_are_spent() -> None:
    assert spent((*fen("4k3/6n1/8/8/8/8/8/4K1N1 w - -")[:-2], 0)) == 0


@pytest.mark.parametrize(
    ("side", "said", "key"),
    [
        ("W", "O-O", "e1 g1"),
        ("W", "0-0-0", "e1 c1"),
        ("B", "O-O-O", "e8 c8"),
        ("B", "o-o", "e8 g8"),
        ("W", "castle kingside", "e1 g1"),
        ("B", "queenside castling", "e8 c8"),
        ("W", "Kg1", "e1 g1"),
        ("B", "1... O-O-O", "e8 c8"),
        ("W", "e1 h1", "e1 g1"),
    ],
)
def test_castling_is_read_by_its_signs(side: str, said: str, key: str) -> None:
    world = world_of("ChessDuel")
    rows = ["r . . . k . . r", *[". . . . . . . ."] * 6, "R . . . K . . R"]
    board = "\n".join(["   a b c d e f g h", *(f" {8 - i} {row}" for i, row in enumerate(rows))])
    state = world.rebuild(f"You play {side}; {side} is to move; 9 moves are left. castling KQkq\n{board}", side)
    moves = [world.read(text, side) for text in (said, key)]
    one, two = (world.step(state, {side: move}) for move in moves)
    assert one == two and one.state != state
    # without a king on its cell a rook would go there
    state = world.rebuild(world.caption(state, side, 2).replace("K . .", "R . K").replace("k . .", "r . k"), side)
    assert world.step(state, {side: moves[0]}).events == {side: ("illegal",)}


@pytest.mark.parametrize(("rights", "key"), [("K", "e1 g1"), ("Q", "e1 c1"), ("KQ", "castling"), ("-", "castling")])
def test_castling_that_names_no_side_is_the_one_that_is_possible(rights: str, key: str) -> None:
    position = fen(f"r3k2r/8/8/8/8/8/8/R3K2R w {rights} -")
    for said in ("castles", "I castle", "Castling"):
        move = read(said)
        assert move is not None and named(Match(Setup(()), position), move).key == key


@pytest.mark.parametrize(
    ("said", "key"),
    [
        *(("Nh3", "f4 h3"), ("knight to h3", "f4 h3"), ("nh3+", "f4 h3"), ("12. Nh3!", "f4 h3"), ("Ne2", "")),
        *(
            ("Nce2", "c3 e2"),
            ("N4e2", "f4 e2"),
            ("Nc3e2", "c3 e2"),
            ("Nbe2", ""),
            ("knight takes d5", ""),
            ("Nfxd5", "f4 d5"),
        ),
        *(("exd5", "e4 d5"), ("e takes d5", "e4 d5"), ("cd5", "c4 d5"), ("pawn takes d5", ""), ("bxd5", "")),
        *(("a3", "a2 a3"), ("pawn to a3", "a2 a3"), ("to e5", "e4 e5"), ("a4", "b3 a4"), ("e3", ""), ("a8=Q", "")),
        *(
            ("Bxa4", "d7 a4"),
            ("bxa4", "b3 a4"),
            ("ba4", "b3 a4"),
            ("Bc6", "d7 c6"),
            ("bc6", "d7 c6"),
            ("bb4", ""),
            ("b4", "b3 b4"),
            ("Kd1", "e1 d1"),
        ),
        *(("bishop takes pawn", "d7 a4"), ("pawn takes pawn", ""), ("Rook captures pawn", "")),
        *(("f4 captures pawn d5", "f4 d5"), ("pawn takes the pawn on a4", "b3 a4"), ("Nf4xpd5", "f4 d5")),
        *(("Bishop takes pawn on a4", "d7 a4"), ("Pa2-a3", "a2 a3"), ("Pa2a3", "a2 a3"), ("Pa3", "a2 a3")),
        *(("a3 (pawn from a2 to a3)", "a2 a3"), ("f4h3 (Nh3)", "f4 h3"), ("N4e2 (f4 to e2)", "f4 e2")),
        *(("Ba3 (a2 a3)", ""), ("Rh3 (f4 h3)", "")),
        *(("R1h4", "h1 h4"), ("R8xh5", "h8 h5"), ("Rh5", ""), ("Rg8", "h8 g8"), ("Qd1", "")),
    ],
)
def test_short_notation_names_the_one_move_that_fits(said: str, key: str) -> None:
    """Two knights reach e2 and d5, two pawns d5, two rooks h5; a4 is reached by a pawn and by the bishop."""
    position = fen("7R/k2B4/8/3p4/p1P1PN2/1PN5/P7/4K2R w - -")
    legal = {GAME.spell(m) for m in GAME.legal(position)}
    # two fit `bxa4` where capitals are lost
    moves = [read(said)] if said.lower() in ("bxa4", "ba4") else [read(said), read_small(said.lower())]
    for move, again in zip(moves, (read, read_small), strict=False):
        assert move is not None
        assert again(move.key.lower() if again is read_small else move.key) == move
        meant = named(Match(Setup(()), position), move).key
        assert meant == key if key else meant not in legal


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("take e4", None),
        ("a h1", None),
        ("7h", None),
        ("a pawn promotes, e8 queen", "e8=Q"),
        ("knight d7 or e5", None),
        ("Nd5 (from c3 to e2)", None),
        ("e2 to e4", "e2 e4"),
    ],
)
def test_one_cell_among_other_words_is_no_move_of_a_pawn(said: str, key: str | None) -> None:
    move = read(said)
    assert (move and move.key) == key and (move is None or read(move.key) == move)


@pytest.mark.parametrize("said", ["bxa4", "ba4"])
def test_a_small_b_that_may_be_either_names_no_move_where_capitals_are_lost(said: str) -> None:
    position = fen("7R/k2B4/8/3p4/p1P1PN2/1PN5/P7/4K2R w - -")
    move = read_small(said)
    assert move is not None
    assert read_small(move.key) == move
    assert named(Match(Setup(()), position), move).key == "ba4"


@pytest.mark.parametrize(
    "said", ["a b3", "b1 c3", "B1c3", "b1xc3", "pawn 2 e4", "N b d7", "knight", "Nf9", "1e4", "Zf3", "e", "the b3"]
)
def test_other_texts_are_no_short_notation(said: str) -> None:
    assert brief(said) is None


@pytest.mark.parametrize(
    ("eighth", "seventh", "key"),
    [
        (". . . . . . k .", ". . . . P . . .", "e7 e8 queen"),
        (". . . . r . k .", ". . . P P . . .", "d7 e8 queen"),
        (". . . . r . k .", ". . . P . P . .", ""),
        (". . . . r . k .", ". . . . P . . .", ""),
        (". . . . . . k .", ". . . . . . . .", ""),
    ],
)
def test_a_promotion_without_the_cell_that_is_left_is_the_one_that_fits(eighth: str, seventh: str, key: str) -> None:
    world = world_of("ChessDuel")
    rows = [eighth, seventh, *[". . . . . . . ."] * 5, ". . . . K . . ."]
    board = "\n".join(["   a b c d e f g h", *(f" {8 - i} {row}" for i, row in enumerate(rows))])
    state = world.rebuild(f"You play W; W is to move; 9 moves are left. no castling\n{board}", "W")
    for said in ("e8=Q", "e8=Q+", "e8 queen"):
        move = world.read(said, "W")
        assert move is not None
        if key:
            assert world.step(state, {"W": move}) == world.step(state, {"W": world.read(key, "W")})
            assert world.step(state, {"W": move}).state != state
        else:
            assert world.step(state, {"W": move}).events == {"W": ("illegal",)}
