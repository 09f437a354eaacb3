"""Which trajectories, turns and tokens of a step are trained: links after the advantages that write `weight.rl`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quintain.parts import Advantage, BadReward, Groups, PartError, State, Transform, stateless
from quintain.registry import register
from quintain.types import Group, Node, Trajectory

WEIGHT = "weight.rl"
Token = tuple[int, int]
Pair = Sequence[float]


def up(share: float, count: int) -> int:
    """`share` of `count`, rounded up; what is whole but for rounding stays."""
    return min(count, max(0, math.ceil(share * count - 1e-9)))


def ramp(ends: Pair, progress: float) -> float:
    """From the first to the second of `ends` in a line, `progress` in [0, 1].

    Example:
        >>> ramp((64, 256), 0.25)
        112.0
    """
    return ends[0] + (ends[1] - ends[0]) * min(1.0, max(0.0, progress))


def widest(values: Sequence[float], count: int) -> list[int]:
    """The `count` indices, in order, whose values have the largest variance: some lowest and some highest.

    Example:
        >>> widest([0.0, 1.0, 0.1, -1.0], 2)
        [1, 3]
    """
    count, order = min(count, len(values)), np.argsort(np.asarray(values, np.float64), kind="stable")
    if count <= 0:
        return []
    ranked = np.asarray(values, np.float64)[order]
    ranked = ranked - ranked.mean()
    first, square = (np.concatenate([[0.0], np.cumsum(v)]) for v in (ranked, ranked**2))
    low = np.arange(count + 1)
    top = len(values) - count + low  # where the highest begin
    mean = (first[low] + first[-1] - first[top]) / count
    best = int(np.argmax((square[low] + square[-1] - square[top]) / count - mean**2))
    return sorted(order[[*range(best), *range(len(values) - count + best, len(values))]].tolist())


def top_tokens(scores: Sequence[Sequence[float]], share: float) -> list[Token]:
    """The places (row, column), in order, of the top `share` of all scores, rounded up; of equal ones the first.

    Example:
        >>> top_tokens([[0.1, 3.0], [2.0]], 0.5)
        [(0, 1), (1, 0)]
    """
    places = [(i, j) for i, row in enumerate(scores) for j in range(len(row))]
    ranked = sorted(places, key=lambda at: -scores[at[0]][at[1]])
    return sorted(ranked[: up(share, len(places))])


def surprise_of(node: Node) -> list[float]:
    """How open each token of a node was, in nats: the entropy of its recorded alternatives, the rest as one.

    Special cases: without alternatives it is the token's own -logprob, one draw of the entropy.

    Example:
        >>> from quintain.types import Role, Kind
        >>> surprise_of(Node.given(None, (1, 2)))
        [0.0, 0.0]
    """
    if not node.top_logprobs:
        return [-p if m else 0.0 for p, m in zip(node.logprobs, node.mask, strict=True)]
    return [_entropy(row) if m else 0.0 for row, m in zip(node.top_logprobs, node.mask, strict=True)]


def _entropy(logprobs: Sequence[float]) -> float:
    shares = [math.exp(p) for p in logprobs]
    shares.append(max(0.0, 1.0 - sum(shares)))
    return -sum(p * math.log(p) for p in shares if p > 0)


def weigh(trajectory: Trajectory, weights: Mapping[Token, float] | float) -> Trajectory:
    """`weight.rl` times a number, or times one number per (node, token), 0 where none is given."""
    before = trajectory.streams.get(WEIGHT)
    rows = []
    for i, node in enumerate(trajectory.nodes):
        own = before[i] if before is not None else tuple(map(float, node.mask))
        factor = (weights.get((i, j), 0.0) if isinstance(weights, Mapping) else weights for j in range(len(own)))
        rows.append(tuple(v * f if m else 0.0 for v, f, m in zip(own, factor, node.mask, strict=True)))
    return trajectory.with_stream(WEIGHT, tuple(rows))


def _flat(groups: Groups) -> list[Trajectory]:
    return [t for g in groups for t in g.trajectories]


def _back(groups: Groups, done: Sequence[Trajectory]) -> Groups:
    given = iter(done)
    return tuple(replace(g, trajectories=tuple(next(given) for _ in g.trajectories)) for g in groups)


def credit_of(trajectory: Trajectory) -> float:
    """The advantage of largest size among its sampled tokens.

    Raises:
        PartError: it has none.
    """
    if "advantage" not in trajectory.streams:
        raise PartError(f"trajectory {trajectory.id!r} has no advantage; put `normalise` before the selection")
    return max((v for row in trajectory.streams["advantage"] for v in row), key=abs, default=0.0)


@register(
    "advantage",
    "keep_extremes",
    paper="2509.22115",
    status="paper",
    confidence="note",
    after="normalise",
    example={"samples": [0.5, 0.5]},
)
def keep_extremes(samples: Pair = (0.25, 1.0), tokens: Pair = (0.1, 1.0), steps: int = 1000) -> Advantage:
    """Train on the samples with the most spread advantages, and on their tokens where credit meets doubt (D3S).

    When to use: after the advantages, to spend a step on what teaches most; from few to all while training goes on.

    Maths: over the whole step the N trajectories that maximise `var A` (always some lowest and some highest), N =
    samples of all; of their tokens the top K of `|A_t| H_t`; N and K move in a line over `steps`. `weight.rl` is 0
    elsewhere.

    Args:
        samples: share of the trajectories at the first step and after `steps`, in (0, 1], rounded up.
        tokens: share of their tokens, likewise.
        steps: how many steps the way takes, >= 1.

    Returns:
        A link that multiplies `weight.rl`; its state counts steps.

    Raises:
        PartError: a value outside its range, or (when applied) no stream `advantage`.

    Special cases: entropies are those recorded at sampling (`top_logprobs`), else -logprob. Advantages are not
    normalised again. A trajectory of several advantages is ranked by the largest.

    Example:
        >>> keep_extremes().apply((), 0)
        ((), 1)

    Reference: D3S, arXiv 2509.22115. Differs from the paper: the sampler's entropies, rounding up.
    """
    if not (all(0 < v <= 1 for v in (*samples, *tokens)) and len(samples) == len(tokens) == 2 and steps >= 1):
        raise PartError(
            f"keep_extremes: samples {samples}, tokens {tokens}, steps {steps}; two shares in (0, 1], steps >= 1"
        )

    def apply(groups: Groups, step: State) -> tuple[Groups, State]:
        runs = _flat(groups)
        kept = widest([credit_of(t) for t in runs], up(ramp(samples, step / steps), len(runs)))
        places = [[(i, j) for i, n in enumerate(runs[k].nodes) for j, m in enumerate(n.mask) if m] for k in kept]
        scores = [_scores(runs[k], at) for k, at in zip(kept, places, strict=True)]
        chosen: list[dict[Token, float]] = [{} for _ in runs]
        for row, column in top_tokens(scores, ramp(tokens, step / steps)):
            chosen[kept[row]][places[row][column]] = 1.0
        return _back(groups, [weigh(t, c) for t, c in zip(runs, chosen, strict=True)]), step + 1

    return Transform(lambda: 0, apply)


def _scores(t: Trajectory, places: Sequence[Token]) -> list[float]:
    doubt = {i: surprise_of(t.nodes[i]) for i in {i for i, _ in places}}
    return token_scores([t.streams["advantage"][i][j] for i, j in places], [doubt[i][j] for i, j in places])


def token_scores(advantage: Sequence[float], entropy: Sequence[float]) -> list[float]:
    """`|A| H` of each token.

    Example:
        >>> token_scores([-2.0], [0.5])
        [1.0]
    """
    return [abs(a) * h for a, h in zip(advantage, entropy, strict=True)]


@register("advantage", "keep_uncertain", paper="2509.23866", status="paper", confidence="note", after="normalise")
def keep_uncertain(share: float = 0.8) -> Advantage:
    """Train on the turns at which the policy was least sure (DART-GUI).

    When to use: long episodes of mostly routine turns.

    Maths: `h = mean_t H_t` over the sampled tokens of a turn; `weight.rl` is 0 on all but the top `share` of the turns of
    the step, by h, rounded up.

    Args:
        share: of the turns, in (0, 1].

    Returns:
        A link that multiplies `weight.rl`.

    Raises:
        PartError: share outside (0, 1].

    Special cases: entropies are those recorded at sampling (`top_logprobs`), else -logprob; of equal turns the first.

    Example:
        >>> keep_uncertain().apply((), None)
        ((), None)

    Reference: DART-GUI, 2025, arXiv 2509.23866. Differs from the paper: its share was not read.
    """
    if not 0 < share <= 1:
        raise PartError(f"keep_uncertain: share is {share}; it must lie in (0, 1]")

    def apply(groups: Groups) -> Groups:
        runs = _flat(groups)
        turns = [[i for i, n in enumerate(t.nodes) if any(n.mask)] for t in runs]
        doubt = [[_mean_doubt(t.nodes[i]) for i in at] for t, at in zip(runs, turns, strict=True)]
        chosen: list[dict[Token, float]] = [{} for _ in runs]
        for row, column in top_tokens(doubt, share):
            node = turns[row][column]
            chosen[row] |= {(node, j): 1.0 for j in range(len(runs[row].nodes[node].tokens))}
        return _back(groups, [weigh(t, c) for t, c in zip(runs, chosen, strict=True)])

    return stateless(apply)


def _mean_doubt(node: Node) -> float:
    return sum(surprise_of(node)) / sum(node.mask)


def recomposed(right: Sequence[bool], length: Sequence[float], share: float) -> tuple[list[int], list[int]]:
    """The shortest `share` of the right and the longest of the wrong (rounded down), and the others; both in order.

    Example:
        >>> recomposed([True, True, False, False], [9, 3, 5, 7], 0.5)
        ([1, 3], [0, 2])
    """
    good = sorted((i for i, r in enumerate(right) if r), key=lambda i: length[i])
    bad = sorted((i for i, r in enumerate(right) if not r), key=lambda i: -length[i])
    first = {i for side in (good, bad) for i in side[: math.floor(share * len(side) + 1e-9)]}
    return sorted(first), [i for i in range(len(right)) if i not in first]


@register("advantage", "recompose", paper="2509.25958", status="paper", confidence="note", after="normalise")
def recompose(share: float = 0.5, every: int = 4, column: str = "") -> Advantage:
    """Train on short right and long wrong answers, and now and then on the others (RoRecomp): shorter reasoning.

    When to use: after the advantages, where answers grow without getting better.

    Maths: over the step, `weight.rl` is 1 for the `share` shortest of the right (r > 0) and the `share` longest of the
    wrong, 0 for the others; on each `every`-th step it is the other way round.

    Args:
        share: of the right and of the wrong, in [0, 1], rounded down.
        every: how often the others have their turn, in steps; 0 is never.
        column: the named reward that says right; empty takes the sum.

    Returns:
        A link that multiplies `weight.rl`; its state counts steps.

    Raises:
        PartError: a value outside its range.
        BadReward: (when applied) a reward is NaN or infinite.

    Special cases: a step without right answers keeps its longest wrong ones.

    Example:
        >>> recompose().apply((), 0)
        ((), 1)

    Reference: RoRecomp, 2025, arXiv 2509.25958. Differs from the paper: the others are those of the same step, not of a
    store; its share was not read.
    """
    if not 0 <= share <= 1 or every < 0:
        raise PartError(f"recompose: share is {share}, every {every}; share must lie in [0, 1], every be >= 0")

    def apply(groups: Groups, step: State) -> tuple[Groups, State]:
        runs = _flat(groups)
        earned = [t.rewards.get(column, 0.0) if column else t.reward for t in runs]
        if not np.isfinite(earned).all():
            raise BadReward(f"recompose: rewards {earned} are not all finite; mend the reward part")
        priority, others = recomposed([r > 0 for r in earned], [t.length for t in runs], share)
        chosen = set(others if every and (step + 1) % every == 0 else priority)
        return _back(groups, [weigh(t, float(i in chosen)) for i, t in enumerate(runs)]), step + 1

    return Transform(lambda: 0, apply)


def sharpened(advantage: float, eta: float, strength: float = 2.5, most: float = 0.5) -> float:
    """`A + min(max(strength (1 - eta), 0), most A)`, for A > 0.

    Example:
        >>> sharpened(1.0, 0.5), sharpened(1.0, 2.0), sharpened(-1.0, 0.5)
        (1.5, 1.0, -1.0)
    """
    return advantage + min(max(strength * (1 - eta), 0.0), most * max(advantage, 0.0))


def relative_odds(logps: Sequence[float]) -> list[float]:
    """`eta_i = exp(s_i - mean s)`: how likely each is beside its group.

    Example:
        >>> relative_odds([-1.0, -1.0])
        [1.0, 1.0]
    """
    centre = sum(logps) / len(logps) if logps else 0.0
    return [math.exp(min(s - centre, 700.0)) for s in logps]


@register(
    "advantage",
    "sharpen_novel",
    methods={
        "XRPO": {
            "recipe": ('\'algorithm.advantage=["normalise","sharpen_novel"]\'',),
            "cases": ("xrpo_novelty",),
            "shown": "tests/unit/gates/test_select.py::test_only_right_and_unlikely_answers_gain",
        }
    },
    paper="2510.06672",
    status="experimental",
    confidence="guess",
    after="normalise",
)
def sharpen_novel(strength: float = 2.5, most: float = 0.5, column: str = "") -> Advantage:
    """Give more credit to right answers that are unlikely beside the others of their group (XRPO).

    When to use: after the advantages, to keep rare ways of solving a task alive.

    Maths: `s_i` the mean logprob of the sampled tokens, `eta_i = exp(s_i - mean_group s)`; where r > 0 and A > 0,
    `A <- A + min(max(strength (1 - eta), 0), most A)`.

    Args:
        strength: of the gain, >= 0; 2.5 in the paper.
        most: largest gain as a share of A, >= 0; 0.5 in the paper.
        column: the named reward that says right; empty takes the sum.

    Returns:
        A link that rewrites the stream `advantage`.

    Raises:
        PartError: a negative value, or (when applied) no stream `advantage`.

    Special cases: a trajectory without sampled tokens has s = 0; wrong answers are left alone.

    Example:
        >>> sharpen_novel().apply((), None)
        ((), None)

    Reference: XRPO, 2025, arXiv 2510.06672. Differs from the paper: eta and the constants were read, the form is ours.
    """
    if strength < 0 or most < 0:
        raise PartError(f"sharpen_novel: strength is {strength}, most {most}; both must be >= 0")

    def one(group: Group) -> Group:
        eta = relative_odds([_mean_logp(t) for t in group.trajectories])
        out = []
        for t, e in zip(group.trajectories, eta, strict=True):
            credit_of(t)
            right = (t.rewards.get(column, 0.0) if column else t.reward) > 0
            rows = tuple(tuple(sharpened(a, e, strength, most) for a in row) for row in t.streams["advantage"])
            out.append(t.with_stream("advantage", rows) if right else t)
        return replace(group, trajectories=tuple(out))

    return stateless(lambda groups: tuple(map(one, groups)))


def _mean_logp(t: Trajectory) -> float:
    drawn = [p for n in t.nodes for p, m in zip(n.logprobs, n.mask, strict=True) if m]
    return sum(drawn) / len(drawn) if drawn else 0.0
