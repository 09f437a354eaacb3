"""What a learner says of every sampled token of a step, written beside the tokens as streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from quintain.learn.forward import Reader
from quintain.learn.pack import lay_out, pack
from quintain.types import Batch, Group


def add_streams(
    groups: tuple[Group, ...], names: Sequence[str], reader: Reader, pieces: Callable[[Batch], list[Batch]]
) -> tuple[Group, ...]:
    """The groups with streams `old`, `ref` or `value`: one number per sampled token, 0 elsewhere.

    Args:
        groups: of the step.
        names: of the streams.
        reader: of the learner.
        pieces: cuts a batch into what one forward pass takes.
    """
    layout = lay_out([t for g in groups for t in g.trajectories])
    batch = pack(groups, streams=())
    sampled = layout.flat((n.mask for n in layout.nodes), bool)[layout.rows]
    mask = sampled & layout.fresh & (batch.position > 0)
    batch = replace(batch, mask=mask, streams={**batch.streams, "row": layout.rows})
    found = {name: np.zeros(int(layout.start[-1])) for name in names}
    for piece in pieces(batch):
        rows = piece.streams["row"][piece.mask]
        for name, flat in found.items():
            flat[rows] = reader.scores(piece, name)
    done = list(layout.trajectories)
    for name, flat in found.items():
        values, ends = flat.tolist(), layout.start.tolist()
        node_rows = [tuple(values[a:b]) for a, b in pairwise(ends)]
        done = [t.with_stream(name, tuple(node_rows[i:j])) for t, (i, j) in zip(done, pairwise(layout.first.tolist()))]
    each = iter(done)
    return tuple(replace(g, trajectories=tuple(next(each) for _ in g.trajectories)) for g in groups)
