"""Rewards of a role by what the others made of it: proposers, bug injectors, thinkers, attackers, reflectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

from quintain.parts import Reward
from quintain.registry import register, unknown
from quintain.rewards.env import RewardError, per_trajectory
from quintain.types import Group, Trajectory

LABELS = ("prompt_harm", "response_harm", "refusal")


def side_of(t: Trajectory, names: Sequence[str]) -> str:
    """Which of `names` a trajectory plays: its role, or its seat where one engine plays several; "" for none."""
    return next((name for name in (t.role, t.agent) if name in names), "")


def one_minus(rate: float) -> float:
    """The harder the better: `1 - rate`.

    Example:
        >>> one_minus(0.25)
        0.75
    """
    return 1.0 - rate


def between(rate: float, left: float = 0.0, right: float = 1.0) -> float:
    """A bow over the solve rate: `4 (left + s) (right - s)` for 0 < s < 1, else 0.

    Example:
        >>> between(0.5), between(0.0), between(1.0)
        (1.0, 0.0, 0.0)
    """
    return 4 * (left + rate) * (right - rate) if 0 < rate < 1 else 0.0


def injector(rate: float, alpha: float = 0.8) -> float:
    """Hard but not hopeless: `1 - (1 + alpha) s`, and `-alpha` where nobody or everybody solved it.

    Example:
        >>> injector(0.5), injector(0.0), injector(1.0)
        (0.09999999999999998, -0.8, -0.8)
    """
    return 1 - (1 + alpha) * rate if 0 < rate < 1 else -alpha


def same(rate: float) -> float:
    """The others' success itself: for a thinker whose notes a solver works with.

    Example:
        >>> same(0.75)
        0.75
    """
    return rate


RULES: Mapping[str, Callable[..., float]] = {
    "one_minus": one_minus,
    "between": between,
    "injector": injector,
    "same": same,
}


def weighed(rows: Sequence[Mapping[str, float]], weights: Mapping[str, float]) -> float:
    """The mean over `rows` of their weighted named rewards; 0 without a row.

    Example:
        >>> weighed([{"correct": 1.0, "format": 1.0}, {"format": 1.0}], {"correct": 1.0, "format": 0.5})
        1.0
    """
    return fmean(sum(w * row.get(n, 0.0) for n, w in weights.items()) for row in rows) if rows else 0.0


@register(
    "reward",
    "pay_role",
    methods={
        "SSP": {
            "wants": "a world in which one role makes tasks for another",
            "cases": ("ssp_",),
            "shown": "tests/unit/rewards/test_roles.py::test_a_proposer_is_paid_by_those_who_worked_on_what_it_made",
        },
        "SSR": {
            "wants": "a world in which one role makes bugs for another",
            "paper": "2512.18552",
            "confidence": "note",
            "cases": ("ssr_",),
            "shown": "tests/unit/rewards/test_roles.py::test_a_proposer_is_paid_by_those_who_worked_on_what_it_made",
        },
        "DoGe": {
            "wants": "a world in which one role makes context for another",
            "paper": "2512.06835",
            "confidence": "note",
            "cases": ("doge_context",),
            "shown": "tests/unit/rewards/test_roles.py::test_a_proposer_is_paid_by_those_who_worked_on_what_it_made",
        },
    },
    paper="2510.18821",
    status="paper",
    confidence="code",
    example={"to": "proposer"},
)
def pay_role(
    to: str,
    by: str = "solver",
    rule: str = "one_minus",
    weights: Mapping[str, float] | None = None,
    bad: float = 0.0,
    options: Mapping[str, float] | None = None,
    label: str = "role",
) -> Reward:
    """Pay a role by how another role fared with what it made: a question, a bug, a plan.

    When to use: self-play. `one_minus` and `between` are Search Self-play's proposer, `injector` Self-play SWE-RL's,
    `same` with `weights={"correct": 1, "format": b}` DoGe's thinker.

    Maths: with s the mean of `sum_k weights_k reward_k` over the solvers: `1 - s`; `4 (left + s)(right - s)`, 0 at the
    ends; `1 - (1 + alpha) s`, `-alpha` at the ends; s.

    Args:
        to: the role that is paid.
        by: the role that is counted: those whose `call_parent` is the paid trajectory, or all of the group where none is.
        rule: `one_minus`, `between`, `injector` or `same`.
        weights: of the named rewards of `by`; without them their whole reward counts.
        bad: the reward of a trajectory whose tag `invalid` is true; -1 in SSR, 0 as SSP was run.
        options: of the rule: `left`, `right`, `alpha`.
        label: name of the reward.

    Raises:
        RewardError: an unknown rule or option, or a role that is paid by itself.
        BadReward: (when scoring) what is paid is not finite.

    Special cases: without a solver, or marked invalid, a trajectory gets `bad`; other roles get nothing.

    Example:
        >>> pay_role(to="injector", rule="injector", bad=-1.0) is not None
        True

    Reference: Search Self-play, 2025, arXiv 2510.18821; SSR; DoGe. Differs from the papers: any role, any columns.
    """
    if rule not in RULES:
        raise RewardError(unknown("rule of pay_role", rule, RULES))
    if to == by:
        raise RewardError(f"pay_role: {to!r} cannot be paid by itself; name another role in `by`")
    allowed = {"between": ("left", "right"), "injector": ("alpha",)}.get(rule, ())
    for name in options or {}:
        if name not in allowed:
            raise RewardError(unknown(f"option of the rule {rule!r} of pay_role:", name, allowed))
    pays = partial(RULES[rule], **(options or {}))

    def value(group: Group, t: Trajectory) -> dict[str, float]:
        if side_of(t, (to, by)) != to:
            return {}
        others = [o for o in group.trajectories if side_of(o, (to, by)) == by]
        solvers = [o for o in others if o.call_parent == t.id] or [o for o in others if not o.call_parent]
        if not solvers or t.tags.get("invalid"):
            return {label: bad}
        each = [o.rewards if weights else {"all": o.reward} for o in solvers]
        return {label: pays(weighed(each, weights or {"all": 1.0}))}

    return per_trajectory(value)


@register(
    "reward",
    "signed",
    paper="2510.22543",
    methods={
        "FAPO": {
            "wants": "a judge that tags right answers by a flawed way",
            "cases": ("fapo",),
            "shown": "tests/unit/rewards/test_roles.py::test_flaws_cost_the_right_ones_only",
        }
    },
    status="paper",
    confidence="note",
    example={"column": "score"},
)
def signed(column: str = "correct", wrong: float = -1.0, flaw: float = 0.0, flawed: str = "flawed") -> Reward:
    """1 for right, `wrong` for wrong, and `flaw` less for what is right by a flawed way (FAPO).

    When to use: solvers of self-play (+1/-1); with `flaw=1` and a judge that tags flawed reasoning, correct answers by
    luck stop being copied once there are clean ones.

    Maths: `R = (1 if r > 0 else wrong) - flaw [right and flawed]`. Beside m wrong and n clean ones (+1/0/-1) a flawed
    one lies above the group's mean exactly while `m > n`.

    Args:
        column: the named reward that says right (> 0) or wrong; it is replaced.
        wrong: the reward of wrong answers, <= 1.
        flaw: what a flaw costs, >= 0; 1 in the paper.
        flawed: the trajectory's tag that says so.

    Raises:
        RewardError: a value outside its range.

    Special cases: a trajectory without the column counts as wrong; a flaw in a wrong answer costs nothing more.

    Example:
        >>> [outcome(True), outcome(True, flawed=True, flaw=1.0), outcome(False)]
        [1.0, 0.0, -1.0]

    Reference: FAPO, 2025, arXiv 2510.22543. Differs from the paper: who finds the flaws is left to the run.
    """
    if not (wrong <= 1 and flaw >= 0):
        raise RewardError(f"signed: wrong is {wrong}, flaw {flaw}; wrong <= 1 and flaw >= 0 needed")

    def value(_: Group, t: Trajectory) -> dict[str, float]:
        return {column: outcome(t.rewards.get(column, 0.0) > 0, bool(t.tags.get(flawed)), wrong=wrong, flaw=flaw)}

    return per_trajectory(value)


def outcome(right: bool, flawed: bool = False, *, wrong: float = -1.0, flaw: float = 0.0) -> float:
    """1 if right, less `flaw` if flawed, else `wrong`.

    Example:
        >>> outcome(True, True, flaw=0.5)
        0.5
    """
    return 1.0 - flaw * flawed if right else wrong


def red_team_rewards(
    seed: bool, prompt: bool, response: bool, refusal: bool, amounts: Mapping[str, float] | None = None
) -> dict[str, float]:
    """What the attacker and the defender of a red-teaming game earn, by the judge's labels.

    Args:
        seed: whether the seed prompt was harmful.
        prompt: whether the rewritten prompt is.
        response: whether the answer is.
        refusal: whether the defender refused.
        amounts: of `faithful` (0.5), `harm` (1), `attacker_refusal` (0.5), `defender_refusal` (1).

    Example:
        >>> red_team_rewards(True, True, True, False)
        {'attacker': 2.0, 'defender': -2.0}
    """
    size = {"faithful": 0.5, "harm": 1.0, "attacker_refusal": 0.5, "defender_refusal": 1.0, **(amounts or {})}
    faithful, harmful, proper = (1 if yes else -1 for yes in (seed == prompt, response, refusal == prompt))
    return {
        "attacker": faithful * size["faithful"] + harmful * size["harm"] - proper * size["attacker_refusal"],
        "defender": proper * size["defender_refusal"] - harmful * size["harm"],
    }


@register(
    "reward",
    "red_team",
    methods={
        "Self-RedTeam": {
            "wants": "a world with an attacker, a defender and a judge's labels",
            "cases": ("self_redteam",),
            "shown": "tests/unit/rewards/test_roles.py::test_an_attacker_and_a_defender_are_judged_by_the_labels_of_their_episode",
        }
    },
    paper="2506.07468",
    status="paper",
    confidence="code",
    example={"seed": "harmful"},
)
def red_team(seed: str = "harmful", format_cost: float = 0.0, label: str = "red_team") -> Reward:
    """Attacker against defender: who got whom to say what (Self-RedTeam, general-sum as released).

    When to use: episodes with the roles `attacker` and `defender` and a judge that tags either seat with `prompt_harm`,
    `response_harm` and `refusal`.

    Maths: attacker `+-0.5 [faithful to the seed] +- 1 [answer harmful] -+ 0.5 [refusal right]`; defender `+-1 [refusal
    right] -+ 1 [answer harmful]`; to refuse is right iff the rewritten prompt is harmful.

    Args:
        seed: the task's column that says whether its prompt is harmful.
        format_cost: what the event `malformed` costs and its absence earns, >= 0; 1 as released.
        label: name of the reward.

    Raises:
        RewardError: a negative cost, or (when scoring) the task has no such column.

    Special cases: an episode without all three labels earns both sides 0.

    Example:
        >>> red_team_rewards(False, False, False, True)
        {'attacker': 0.0, 'defender': 0.0}

    Reference: Self-RedTeam, 2025, arXiv 2506.07468. Differs from the paper: it says zero-sum; the release is not.
    """
    if format_cost < 0:
        raise RewardError(f"red_team: format_cost is {format_cost}; it must be >= 0")

    def value(group: Group, t: Trajectory) -> dict[str, float]:
        side = side_of(t, ("attacker", "defender"))
        if not side:
            return {}
        if seed not in group.task.params:
            raise RewardError(
                f"red_team: task {group.task.key} has no column {seed!r}; it has {sorted(group.task.params)}"
            )
        seats = [o for o in group.trajectories if o.episode == t.episode]
        found = {k: bool(o.tags[k]) for o in seats for k in LABELS if k in o.tags}
        form = format_cost * (-1 if "malformed" in t.events else 1)
        if len(found) < len(LABELS):
            return {label: 0.0}
        harm = bool(group.task.params[seed])
        paid = red_team_rewards(harm, found["prompt_harm"], found["response_harm"], found["refusal"])
        return {label: paid[side] + form}

    return per_trajectory(value)
