"""What an objective measures over a whole step before any of it is applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from quintain.batch import Batch, Terms
from quintain.learn.forward import Reader
from quintain.learn.ranks import Ranks
from quintain.parts import Objective, sums_of


def measured(
    pieces: Sequence[Batch], objective: Objective, reader: Reader, totals: dict[str, Any], ranks: Ranks
) -> Terms | None:
    """Add what the objective measures to the totals, round by round; every piece goes forward once.

    Returns:
        The terms of a lone piece, with gradients, which spare a forward pass; else None.
    """
    if objective.measure is None:
        return None
    alone, kept = len(pieces) == 1, list[Terms]()
    for turn in range(objective.rounds):
        sums: dict[str, Any] = {}
        for i, piece in enumerate(pieces):
            if turn == 0:
                with torch.set_grad_enabled(alone):
                    terms = reader.terms(piece, objective.needs, totals)
                kept += [terms] if alone or objective.rounds > 1 else []
            else:
                terms = replace(kept[i], totals=totals)
            with torch.no_grad():
                for name, value in sums_of(objective, terms).items():
                    sums[name] = sums[name] + value if name in sums else value
        totals.update(ranks.sums(sums))
    return kept[0] if alone else None
