"""Keys: which rows are compared with each other. Rows with equal keys share a cell; several keys must all agree."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from quintain.advantages.rows import Key, Rows
from quintain.parts import PartError
from quintain.registry import register


@register("key", "prompt")
def prompt() -> Key:
    """Rows of one group: all trajectories of one task (GRPO).

    Example:
        >>> prompt().needs
        frozenset()
    """
    return Key(lambda rows: rows.group.tolist())


@register("key", "batch")
def batch() -> Key:
    """All rows of the step."""
    return Key(lambda rows: [0] * len(rows))


@register("key", "agent")
def agent() -> Key:
    """Rows of the same agent (seat)."""
    return Key(lambda rows: [t.agent for t in rows.trajectories])


@register("key", "role")
def role() -> Key:
    """Rows that play the same role."""
    return Key(lambda rows: [t.role for t in rows.trajectories])


@register("key", "turn")
def turn() -> Key:
    """Rows at the same turn; for the unit `turn`."""
    return Key(lambda rows: rows.turn.tolist())


@register("key", "state")
def state() -> Key:
    """Rows that acted in the same state, by its digest before the action; for the unit `turn`.

    Raises:
        PartError: (when applied) a trajectory with turns has no digests.

    Special cases: a single turn without a digest is alone in its cell.
    """

    def labels(rows: Rows) -> Sequence[Hashable]:
        out: list[Hashable] = []
        for at, (trajectory, when) in enumerate(zip(rows.trajectories, rows.turn.tolist(), strict=True)):
            if not trajectory.digests:
                raise PartError(f"key state: trajectory {trajectory.id!r} has no digests; the rollout must record them")
            known = 0 <= when < len(trajectory.digests)
            out.append(trajectory.digests[when] if known else at)
        return out

    return Key(labels, frozenset({"digests"}))


@register("key", "tag", example={"of": "stratum"})
def tag(of: str) -> Key:
    """Rows whose trajectories carry the same tag `of`: a stratum, guided or not, memory on or off."""
    return Key(lambda rows: [t.tags.get(of) for t in rows.trajectories])
