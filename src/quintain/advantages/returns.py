"""Returns and generalised advantage estimation over turns or tokens; observation tokens neither earn nor discount.

Dims: K steps of one path, where a step is a sampled token or a sampled node (turn).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from quintain.advantages.rows import bad_reward
from quintain.advantages.units import node_rewards, sampled_nodes
from quintain.parts import Advantage, Groups, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Stop, Trajectory

Place = tuple[int, int]  # node, token
TRUNCATED = frozenset({Stop.truncated_turns, Stop.truncated_tokens, Stop.timeout, Stop.cancelled, Stop.aborted})


class Path(NamedTuple):
    """One path as K steps: the sampled tokens of each, the reward of each, the nodes that this path trains, and where it ends."""

    steps: list[list[Place]]
    rewards: list[float]
    fresh: frozenset[int]
    end: Place


def by_token(tokens: Sequence[list[Place]]) -> list[list[Place]]:
    """One step per sampled token."""
    return [[place] for node in tokens for place in node]


def by_turn(tokens: Sequence[list[Place]]) -> list[list[Place]]:
    """One step per sampled node."""
    return list(tokens)


LEVELS: dict[str, Callable[[Sequence[list[Place]]], list[list[Place]]]] = {"token": by_token, "turn": by_turn}


def paths(trajectory: Trajectory, level: str) -> Iterator[Path]:
    """The paths of a trajectory that hold sampled tokens, cut into steps.

    A turn's reward sits on its last sampled token, what is left of the trajectory's reward on the last of the path. The stream
    `token_reward`, if there is one, is added token by token.
    """
    charges = trajectory.streams.get("token_reward")
    for path, fresh in trajectory.paths():
        nodes = sampled_nodes(trajectory, path)
        tokens = [[(i, j) for j, drawn in enumerate(trajectory.nodes[i].mask) if drawn] for i in nodes]
        steps = LEVELS[level](tokens)
        earned = {at[-1]: r for at, r in zip(tokens, node_rewards(trajectory, nodes, charged=False), strict=True)}
        rewards = [earned.get(step[-1], 0.0) for step in steps]
        if charges is not None:
            rewards = [r + sum(charges[i][j] for i, j in step) for r, step in zip(rewards, steps, strict=True)]
        if steps:
            last = next(i for i in reversed(path) if trajectory.nodes[i].tokens)
            yield Path(steps, rewards, fresh, (last, len(trajectory.nodes[last].tokens) - 1))


def scan(rewards: Sequence[float], values: Sequence[float], after: float, gamma: float, lam: float) -> list[float]:
    """Generalised advantages [K]: `d_k = r_k + gamma V_(k+1) - V_k`, `A_k = d_k + gamma lam A_(k+1)`, `V_K = after`.

    Example:
        >>> scan([0.0, 1.0], [0.0, 0.0], 0.0, 0.5, 1.0)
        [0.5, 1.0]
    """
    out = [0.0] * len(rewards)
    trace = 0.0
    for k in range(len(rewards) - 1, -1, -1):
        trace = rewards[k] + gamma * after - values[k] + gamma * lam * trace
        out[k], after = trace, values[k]
    return out


def _write(trajectory: Trajectory, solved: Iterable[tuple[Path, list[float], list[float]]]) -> Trajectory:
    """Set `advantage` and `return` on the steps of the paths that train them, 0 elsewhere."""
    pair: tuple[dict[int, list[float]], dict[int, list[float]]] = ({}, {})
    for path, *found in solved:
        for rows, values in zip(pair, found, strict=True):
            for step, value in zip(path.steps, values, strict=True):
                for i, j in step:
                    if i in path.fresh:
                        rows.setdefault(i, [0.0] * len(trajectory.nodes[i].tokens))[j] = value
    streams = {
        name: tuple(tuple(rows[i]) if i in rows else (0.0,) * len(n.tokens) for i, n in enumerate(trajectory.nodes))
        for name, rows in zip(("advantage", "return"), pair, strict=True)
    }
    return replace(trajectory, streams={**trajectory.streams, **streams})


def _check(part: str, gamma: float, level: str) -> None:
    if not 0 <= gamma <= 1:
        raise PartError(f"{part}: gamma is {gamma}; it must lie in [0, 1]")
    if level not in LEVELS:
        raise PartError(unknown(f"level of {part}", level, LEVELS))


def _each(function: Callable[[Trajectory], Trajectory]) -> Callable[[Groups], Groups]:
    def apply(groups: Groups) -> Groups:
        for group in groups:
            for t in group.trajectories:
                if not all(map(_finite, (t.reward, *t.turn_rewards))):
                    raise bad_reward(group, t)
        return tuple(replace(g, trajectories=tuple(map(function, g.trajectories))) for g in groups)

    return apply


def _finite(value: float) -> bool:
    return value - value == 0


@register("advantage", "returns", status="paper", confidence="paper")
def returns(gamma: float = 1.0, level: str = "token") -> Advantage:
    """The discounted reward to go, as it is: no baseline, no scale.

    When to use: plain REINFORCE, or REINFORCE++ with `whiten` after it.

    Maths: `A_k = sum_(l >= k) gamma^(l - k) r_l` [K] over the sampled tokens or turns of a path; the streams `advantage` and `return` hold
    it.

    Args:
        gamma: discount per step, in [0, 1].
        level: `token` or `turn`: what a step is.

    Returns: An advantage that writes the streams `advantage` and `return`.
    Special cases: a trajectory without sampled tokens passes with zeros. In a tree each node takes its value from the path that trains it.

    Example:
        >>> returns(gamma=0.99).apply((), None)
        ((), None)

    Reference: Williams, 1992. Differs from the paper: nothing.
    """
    _check("returns", gamma, level)

    def one(trajectory: Trajectory) -> Trajectory:
        solved = []
        for path in paths(trajectory, level):
            found = scan(path.rewards, [0.0] * len(path.rewards), 0.0, gamma, 1.0)
            solved.append((path, found, found))
        return _write(trajectory, solved)

    return stateless(_each(one), apart=True)


@register(
    "advantage",
    "gae",
    methods={
        "GAE": {
            "recipe": ("algorithm=ppo",),
            "cases": ("gae_value", "token_gae", "turn_gae"),
            "shown": "tests/unit/advantages/test_advantages.py::test_discount_counts_turns_or_tokens_and_no_observation",
        }
    },
    paper="1506.02438",
    status="paper",
    confidence="code",
)
def gae(gamma: float = 1.0, lam: float = 0.95, level: str = "token", bootstrap: bool = False) -> Advantage:
    """Generalised advantage estimation from a value head, over tokens or turns; observation tokens are stepped over.

    When to use: PPO. `level="turn"` judges a whole turn by the value at its first token, so that discounts count turns.

    Maths: over the K sampled tokens (or turns) of a path, `d_k = r_k + gamma V_(k+1) - V_k`, `A_k = d_k + gamma lam A_(k+1)`, return `R_k =
    A_k + V_k`; `V` [K] the stream `value` at the step's first token, `r` [K] the rewards. Tokens of one turn share A and R.

    Args:
        gamma: discount per step, in [0, 1].
        lam: 0 is one-step (little variance, the critic's bias), 1 is the return minus the value; in [0, 1].
        level: `token` or `turn`: what a step is.
        bootstrap: value the end of an episode that was cut short by the last token that the policy read after its last step, or by
            that step where it read none, instead of by 0.

    Returns: An advantage that writes the streams `advantage` and `return`; it needs `values`.
    Special cases: a trajectory without sampled tokens passes with zeros; with `lam = 1` and values 0 this is `returns`.
    Example: `gae()`
    Reference: Schulman et al., 2015, arXiv 1506.02438. Differs from the paper: steps skip tokens that the policy did not sample.
    """
    _check("gae", gamma, level)
    if not 0 <= lam <= 1:
        raise PartError(f"gae: lam is {lam}; it must lie in [0, 1]")

    def one(trajectory: Trajectory) -> Trajectory:
        value = trajectory.streams.get("value")
        if value is None:
            raise PartError(f"gae: trajectory {trajectory.id!r} has no stream 'value'; train with a value head")
        solved = []
        for path in paths(trajectory, level):
            values = [value[step[0][0]][step[0][1]] for step in path.steps]
            after = 0.0
            if bootstrap and trajectory.stop in TRUNCATED:
                node, token = path.end
                after = values[-1] if path.end == path.steps[-1][-1] else value[node][token]
            found = scan(path.rewards, values, after, gamma, lam)
            solved.append((path, found, [a + v for a, v in zip(found, values, strict=True)]))
        return _write(trajectory, solved)

    return stateless(_each(one), needs=("values",), apart=True)
