"""Gates that change what the policy's words are scored behind: without the prompt, without a hint, behind other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quintain.parts import Gate, Groups, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Floats, Group, Kind, Node, Trajectory

GIVEN = tuple(k.value for k in Kind if k not in (Kind.sampled, Kind.external))


@register("gate", "rewrite_context", status="paper", confidence="paper", rewrites=True, example={"kinds": ["hint"]})
def rewrite_context(kinds: Sequence[str] = ("prompt",), put: str = "", keep: int = 1, until: int = 0) -> Gate:
    """Train what was said as if it had been said in another context.

    When to use: learning without the prompt (PreRL), without a policy text or hint that was shown (TriMPI, traces drawn
    with a hint), behind a critique (FCP). Ratios must be anchored at `old`, which is scored afterwards.

    Maths: `log pi(y | c)` in place of `log pi(y | x)`: messages of `kinds` lose their tokens; the first of them takes
    those of the tag `put`.

    Args:
        kinds: of messages: `prompt`, `hint`, `memory`, `obs`, `tool` or `forced`.
        put: tag of the trajectory that holds token ids; empty puts nothing.
        keep: tokens of the path's first message that stay, >= 1, as something must stand before the first word.
        until: groups of policies from this version on stay as they are; 0 rewrites all.

    Returns:
        A gate that rewrites groups and keeps all.

    Raises:
        PartError: an unknown kind, or keep < 1.

    Special cases: the logprobs that the engine recorded stay those of the context that it saw.

    Example:
        >>> rewrite_context(("hint",)).apply((), None)
        ((), None)

    Reference: PreRL (abstract), FCP (paper text), TriMPI (abstract). Differs from the paper: none says what stays first.
    """
    for one in kinds:
        if one not in GIVEN:
            raise PartError(unknown("kind of rewrite_context", one, GIVEN))
    if keep < 1:
        raise PartError(f"rewrite_context: keep is {keep}; it must be >= 1")

    def rewritten(t: Trajectory) -> Trajectory:
        chosen = [i for i, n in enumerate(t.nodes) if n.kind.value in kinds]
        given = tuple(t.tags.get(put) or ()) if put else ()
        nodes, streams = list(t.nodes), {name: list(rows) for name, rows in t.streams.items()}
        for i in chosen:
            ids = t.nodes[i].tokens[:keep] if t.nodes[i].parent is None else ()
            nodes[i] = _given(t.nodes[i], ids + (given if i == chosen[0] else ()))
            for rows in streams.values():
                rows[i] = (0.0,) * len(nodes[i].tokens)
        rows_of: dict[str, tuple[Floats, ...]] = {name: tuple(rows) for name, rows in streams.items()}
        return replace(t, nodes=tuple(nodes), streams=rows_of)

    def one(group: Group) -> Group:
        if until and group.version >= until:
            return group
        return replace(group, trajectories=tuple(map(rewritten, group.trajectories)))

    def apply(groups: Groups) -> Groups:
        return tuple(map(one, groups))

    return stateless(apply)


def _given(node: Node, tokens: tuple[int, ...]) -> Node:
    n = len(tokens)
    return replace(node, tokens=tokens, mask=(False,) * n, logprobs=(0.0,) * n)
