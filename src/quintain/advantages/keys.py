"""Keys: which rows are compared with each other. Rows with equal keys share a cell; several keys must all agree."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from quintain.advantages.rows import Key, Rows
from quintain.parts import PartError
from quintain.registry import register
from quintain.types import Trajectory


@register("key", "prompt")
def prompt() -> Key:
    """Rows of one group: all trajectories of one task (GRPO).

    Example: `prompt()`
    """
    return Key(lambda rows: rows.group.tolist(), apart=True)


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
    """Rows of the same engine: one policy that plays several seats has one role there, and `agent` tells them apart."""
    return Key(lambda rows: [t.role for t in rows.trajectories])


@register("key", "turn")
def turn() -> Key:
    """Rows at the same turn; for the unit `turn`."""
    return Key(lambda rows: rows.turn.tolist())


@register("key", "env")
def env() -> Key:
    """Rows of the same env (game)."""
    return Key(lambda rows: [rows.groups[g].task.env for g in rows.group.tolist()])


@register("key", "turn_count")
def turn_count() -> Key:
    """Rows whose trajectories spoke equally often: the number of tool calls as a stratum."""
    return Key(lambda rows: [t.turns for t in rows.trajectories])


@register("key", "state")
def state() -> Key:
    """Rows that acted in the same state, by its digest before the action; for the unit `turn`.

    Special cases: a single turn without a digest is alone in its cell.
    """
    return history(1)


@register("key", "history")
def history(length: int = 2) -> Key:
    """Rows whose last `length` states agree, the one before the action included; for the unit `turn` (HGPO).

    Special cases: a turn with fewer states behind it, or without a digest, is alone in its cell.
    """
    if length < 1:
        raise PartError(f"key history: length is {length}; it must be >= 1")

    def label(t: Trajectory, when: int) -> Hashable:
        known = length - 1 <= when < len(t.digests)
        return t.digests[when - length + 1 : when + 1] if known else None

    return _digested("history", label)


@register("key", "transition")
def transition(history: int = 0) -> Key:
    """Rows that took the same action from the same state into the same next state; for the unit `turn` (SALT).

    `history` transitions before it, as far as there are so many, must agree too: our option, the paper states none.
    """

    def label(t: Trajectory, when: int) -> Hashable:
        edges = list(zip(t.digests, t.actions, t.next_digests, strict=False))
        return tuple(edges[max(0, when - history) : when + 1]) if 0 <= when < len(edges) else None

    return _digested("transition", label)


def _digested(name: str, label: Callable[[Trajectory, int], Hashable]) -> Key:
    """A key from the digests of a trajectory and a turn; a row without a label is alone."""

    def labels(rows: Rows) -> Sequence[Hashable]:
        out: list[Hashable] = []
        for at, (trajectory, when) in enumerate(zip(rows.trajectories, rows.turn.tolist(), strict=True)):
            if not trajectory.digests:
                raise PartError(
                    f"key {name}: trajectory {trajectory.id!r} has no digests; the rollout must record them"
                )
            found = label(trajectory, when)
            out.append(at if found is None else found)
        return out

    return Key(labels, frozenset({"digests"}))


@register("key", "tag", example={"of": "stratum"})
def tag(of: str) -> Key:
    """Rows whose trajectories carry the same tag `of`: a stratum, guided or not, memory on or off."""
    return Key(lambda rows: [t.tags.get(of) for t in rows.trajectories])
