"""Counterfactual regret minimisation for the six-card game: where the table of `leduc` comes from.

`rows(solved(4000))` gives the rows of the table, in a minute or two; no world needs it while it runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quintain.types import Ints
from quintain.worlds.engines.cards.poker import LEDUC, PASS, actions_of, spot_of

RANKS = 3
Pair = tuple[np.ndarray, np.ndarray]


def _ways() -> np.ndarray:
    """How many deals there are of two hands and an open card, by rank [3, 3, 3]."""
    out = np.zeros((RANKS, RANKS, RANKS))
    for a in range(6):
        for b in range(6):
            for c in range(6):
                if len({a, b, c}) == 3:
                    out[a // 2, b // 2, c // 2] += 1
    return out / out.sum()


WAYS = _ways()
HIGHER = np.sign(np.subtract.outer(np.arange(RANKS), np.arange(RANKS))).astype(float)


class Regrets:
    """The plus variant (Tammelin, 2014): regrets are kept above zero, later iterations count more in the mean."""

    def __init__(self) -> None:
        self.regret: dict[tuple[int, Ints], np.ndarray] = {}
        self.total: dict[tuple[int, Ints], np.ndarray] = {}

    def strategy(self, key: tuple[int, Ints], count: int) -> np.ndarray:
        """Chances [actions, ranks] in proportion to the regrets."""
        regret = self.regret.setdefault(key, np.zeros((count, RANKS)))
        total = regret.sum(0)
        return np.where(total > 0, regret / np.where(total > 0, total, 1), 1 / count)

    def visit(self, said: Ints, board: int, reach: Pair, learner: int, weight: float) -> Pair:
        """Values by own rank of both roles below a node, times the chance that the other role gets there."""
        spot = spot_of(LEDUC, said)
        if spot.role < 0:
            return _end(said, board, reach)
        if spot.round == 1 and board < 0:
            parts = [self.visit(said, b, reach, learner, weight) for b in range(RANKS)]
            return sum(p[0] for p in parts), sum(p[1] for p in parts)  # pyrefly: ignore
        key, legal = (board, said), actions_of(LEDUC, said)
        chances = self.strategy(key, len(legal))
        me = spot.role
        values = []
        for i, action in enumerate(legal):
            after = (reach[0] * chances[i], reach[1]) if me == 0 else (reach[0], reach[1] * chances[i])
            values.append(self.visit((*said, action), board, after, learner, weight))
        own = sum(chances[i] * values[i][me] for i in range(len(legal)))
        other = sum(v[1 - me] for v in values)
        if me == learner:
            self.regret[key] = np.maximum(self.regret[key] + np.stack([v[me] for v in values]) - own, 0)
            kept = self.total.setdefault(key, np.zeros((len(legal), RANKS)))
            kept += weight * reach[me] * chances
        return (own, other) if me == 0 else (other, own)  # pyrefly: ignore


def _end(said: Ints, board: int, reach: Pair) -> Pair:
    spot = spot_of(LEDUC, said)
    ways = WAYS.sum(2) if board < 0 else WAYS[:, :, board]
    if spot.folded >= 0:
        won: Any = float(spot.paid[1]) if spot.folded == 1 else -float(spot.paid[0])
    else:
        won = HIGHER.copy()
        won[board, :], won[:, board] = 1, -1
        won[board, board] = 0
        won = won * spot.paid[0]
    worth = ways * won
    return worth @ reach[1], -(worth.T @ reach[0])


def solved(iterations: int) -> dict[str, tuple[float, ...]]:
    """The mean strategy after so many iterations: information set -> chances of fold (facing a bet), pass and raise."""
    learnt, ones = Regrets(), np.ones(RANKS)
    for i in range(1, iterations + 1):
        for learner in (0, 1):
            learnt.visit((), -1, (ones, ones), learner, float(i))
    out = {}
    for (board, said), total in sorted(learnt.total.items()):
        marks = "".join("k" if a == PASS else "r" for a in said)
        for rank in range(RANKS):
            row = total[:, rank]
            row = row / row.sum() if row.sum() > 0 else np.full(len(row), 1 / len(row))
            out[f"{rank}{'-' if board < 0 else board}{marks}"] = tuple(float(x) for x in row)
    return out


def rows(table: dict[str, tuple[float, ...]]) -> list[str]:
    """The table as text: a name and thousandths for each information set, four to a line."""
    cells = [f"{key}={','.join(str(round(1000 * p)) for p in row)}" for key, row in table.items()]
    return [" ".join(cells[i : i + 6]) for i in range(0, len(cells), 6)]
