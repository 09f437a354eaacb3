"""Gates on the age of the policy that played a group."""

from __future__ import annotations

from quintain.parts import Gate, Groups, PartError, State, Transform
from quintain.registry import register


@register("gate", "drop_stale", status="paper", confidence="code", example={"limit": 1})
def drop_stale(limit: int) -> Gate:
    """Leave out groups that hold tokens of a policy older than `limit` versions.

    When to use: asynchronous runs whose objective cannot bear the whole lag that the window allows.

    Maths: keep iff `newest - oldest_g <= limit`; `oldest_g` is the oldest version in the group, `newest` the newest
    version that this gate has seen in any group, its state.

    Args:
        limit: largest age, in versions, >= 0.

    Returns:
        A gate that needs version spans only.

    Raises:
        PartError: a negative limit.

    Special cases: in a synchronous run nothing is dropped.

    Example:
        >>> drop_stale(limit=2).apply((), 0)
        ((), 0)
    """
    if limit < 0:
        raise PartError(f"drop_stale: limit is {limit} versions; it must be >= 0")

    def apply(groups: Groups, newest: State) -> tuple[Groups, State]:
        seen = (t.versions[1] for g in groups for t in g.trajectories)
        newest = max([newest, *seen, *(g.version for g in groups)])
        return tuple(g for g in groups if newest - g.oldest <= limit), newest

    return Transform(lambda: 0, apply)
