"""Gates that change what the policy's words are scored behind: without the prompt, without a hint, behind other words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quintain.parts import Gate, Groups, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Floats, Group, Ints, Kind, Trajectory

SEEN = "seen"  # tag of a trajectory: node -> its tokens before they were changed
GIVEN = tuple(k.value for k in Kind if k not in (Kind.sampled, Kind.external))


@register("gate", "rewrite_context", status="paper", confidence="paper", rewrites=True, example={"kinds": ["hint"]})
def rewrite_context(kinds: Sequence[str] = ("prompt",), put: str = "", keep: int = 1, until: int = 0) -> Gate:
    """Train what was said as if it had been said in another context.

    When to use: learning without the prompt (PreRL), without a policy text or hint that was shown (TriMPI, traces drawn
    with a hint), behind a critique (FCP). Ratios must be anchored at `old`, which is scored afterwards.

    Maths: `log pi(y | c)` in place of `log pi(y | x)`: messages of `kinds` lose their tokens; the first of them takes
    those of the tag `put`, and so does each hint while the prompt stays. A hint that gets none gives way to the ids of the
    tag `bare`, so that what is read is the prompt as it is written without it, where words that meet are other tokens.

    Args:
        kinds: of messages: `prompt`, `hint`, `memory`, `obs`, `tool` or `forced`.
        put: tag of the trajectory that holds token ids; empty puts nothing.
        keep: tokens of the path's first message that stay, >= 1, as something must stand before the first word.
        until: groups of policies from this version on stay as they are; 0 rewrites all.

    Returns:
        A gate that rewrites groups and keeps all.

    Raises:
        PartError: an unknown kind, keep < 1, or `put` with groups in which nothing of these kinds was said or no
            trajectory has the tag.

    Special cases: the logprobs that the engine recorded stay those of the context that it saw; its tokens are kept as the tag
    `seen`, so that the audit of a batch goes on to compare like with like.

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
        tokens: dict[int, Ints] = {}
        for i in chosen:
            tokens[i] = t.nodes[i].tokens[:keep] if t.nodes[i].parent is None else ()
            if t.nodes[i].kind is Kind.hint and Kind.prompt not in kinds:  # one on every path
                tokens[i] += given or tuple(t.tags.get("bare") or ())
            elif i == chosen[0]:
                tokens[i] += given
        seen = {str(i): t.nodes[i].tokens for i in chosen} | t.tags.get(SEEN, {})
        return replace(_with_tokens(t, tokens), tags={**t.tags, SEEN: seen})

    def one(group: Group) -> Group:
        if until and group.version >= until:
            return group
        return replace(group, trajectories=tuple(map(rewritten, group.trajectories)))

    def apply(groups: Groups) -> Groups:
        told = [t for g in groups for t in g.trajectories if t.nodes]
        if put and told and not any(put in t.tags and any(n.kind.value in kinds for n in t.nodes) for t in told):
            raise PartError(
                f"rewrite_context: no trajectory has a message of kind {' or '.join(kinds)} and the tag {put!r}, whose token ids "
                "are to stand in its place; show hints with rollout.options.hint.text (and .critique)"
            )
        return tuple(map(one, groups))

    return stateless(apply, needs=(f"tag:{put}",) if put else ())


def as_seen(t: Trajectory) -> Trajectory:
    """The trajectory with the tokens that the engine saw."""
    return _with_tokens(t, {int(i): tuple(tokens) for i, tokens in t.tags.get(SEEN, {}).items()})


def _with_tokens(t: Trajectory, tokens: Mapping[int, Ints]) -> Trajectory:
    """The trajectory with other tokens in some of its given nodes; its streams are 0 there."""
    nodes, streams = list(t.nodes), {name: list(rows) for name, rows in t.streams.items()}
    for i, ids in tokens.items():
        none = (0.0,) * len(ids)
        nodes[i] = replace(nodes[i], tokens=ids, mask=(False,) * len(ids), logprobs=none)
        for rows in streams.values():
            rows[i] = none
    made: dict[str, tuple[Floats, ...]] = {name: tuple(rows) for name, rows in streams.items()}
    return replace(t, nodes=tuple(nodes), streams=made)
