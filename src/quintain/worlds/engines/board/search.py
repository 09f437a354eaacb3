"""One alpha-beta search for all games, a ladder of opponents on top of it, and the best reply to one of them."""

from __future__ import annotations

import functools

from quintain.registry import unknown
from quintain.types import Ints, QuintainError
from quintain.worlds.engines.board.game import Game

LADDER = ("random", "greedy", "depth1", "depth2", "depth3", "depth4", "perfect")
TIE = 1e-9  # values that differ by less are equal
HEARD = 16  # answers of an opponent that are averaged; of more, so many evenly among them


def check_opponent(name: str) -> str:
    """Return the name of an opponent.

    Raises:
        QuintainError: there is no such opponent; the message names the nearest.

    Example:
        >>> check_opponent("depth2")
        'depth2'
    """
    if name in LADDER:
        return name
    raise QuintainError(unknown("opponent", name, LADDER))


@functools.lru_cache(maxsize=1 << 16)
def choices(game: Game, position: Ints, opponent: str) -> Ints:
    """The moves among which an opponent draws evenly.

    `random` takes any legal move. `greedy` wins at once where it can and is random otherwise. `depthN` takes the best move
    by an alpha-beta search N moves deep. `perfect` plays by proof where one is found, the move that looks best
    where nothing can be won, and as `depth4` where there is no proof.

    Args:
        game: the rules.
        position: one that is not over.
        opponent: a name of `LADDER`.
    """
    if opponent == "random":
        return tuple(game.legal(position))
    if opponent == "perfect":
        verdict = game.judge(position)
        if verdict is not None:
            return verdict.moves if verdict.worth == 1 else _hardest(game, position, verdict.moves)
    ahead = game.ahead(position)
    won = tuple(move for move, value in ahead.items() if value == 1)
    if won or opponent == "greedy":
        return won or tuple(ahead)
    depth = 4 if opponent == "perfect" else int(opponent[-1])
    worth = ahead if depth == 1 else _deeper(game, position, depth)
    best = max(worth.values())
    return tuple(move for move, value in worth.items() if value >= best - TIE)


def _hardest(game: Game, position: Ints, moves: Ints) -> Ints:
    """Those of equally good moves that look best at first sight: where nothing can be won, they give up least."""
    kept = [move for move in game.tempting(position) if move in moves] or moves
    ahead = game.ahead(position)
    best = max(ahead[move] for move in kept)
    return tuple(move for move in kept if ahead[move] >= best - TIE)


def _deeper(game: Game, position: Ints, depth: int) -> dict[int, float]:
    """What each tempting move is worth, exact for the best ones; of the others it is only known that they are worse."""
    worth: dict[int, float] = {}
    best = -2.0
    for move in game.tempting(position):
        worth[move] = -_after(game, position, move, depth, -2.0, 2 * TIE - best)
        best = max(best, worth[move])
    return worth


def _after(game: Game, position: Ints, move: int, depth: int, alpha: float, beta: float) -> float:
    """What the position after a move is worth to the other side, looking `depth` - 1 moves further."""
    after = game.play(position, move)
    worth = game.worth(after)
    return float(worth) if worth is not None else _alpha_beta(game, after, depth - 1, alpha, beta)


def _alpha_beta(game: Game, position: Ints, depth: int, alpha: float, beta: float) -> float:
    if depth == 1:
        return game.peak(position)
    best = -2.0
    for move in game.tempting(position):
        best = max(best, -_after(game, position, move, depth, -beta, -max(alpha, best)))
        if best >= beta:
            break
    return best


@functools.lru_cache(maxsize=1 << 14)
def replies(game: Game, position: Ints, opponent: str) -> tuple[float, Ints]:
    """The reward to expect against an opponent of the ladder (win 1, draw 1/2), and every move that is worth as much.

    The opponent's moves are averaged, not foreseen. Exact where the game is `brief`; otherwise it looks one
    exchange ahead from the tempting moves and guesses on.
    """
    few = game.brief(position)
    moves = game.legal(position) if few else game.tempting(position)
    worth = {move: _hope(game, position, move, opponent, few) for move in moves}
    best = max(worth.values())
    return best, tuple(move for move, value in worth.items() if value >= best - TIE)


def _hope(game: Game, position: Ints, move: int, opponent: str, to_the_end: bool) -> float:
    after = game.play(position, move)
    worth = game.worth(after)
    if worth is not None:
        return (1 - worth) / 2
    total, answers = 0.0, choices(game, after, opponent)
    if not to_the_end and len(answers) > HEARD:
        answers = tuple([answers[i * len(answers) // HEARD] for i in range(HEARD)])
    for answer in answers:
        again = game.play(after, answer)
        worth = game.worth(again)
        if worth is not None:
            total += (1 + worth) / 2
        else:
            total += replies(game, again, opponent)[0] if to_the_end else game.guess(again)
    return total / len(answers)
