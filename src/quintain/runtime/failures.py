"""What comes to nothing: episodes that all fail end a run after a few steps; steps that train nothing are told of."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quintain.rewards.env import RewardError
from quintain.types import Group, Kind, QuintainError, Stop, Trajectory

STEPS = 3  # steps in which not one episode may get through before the run ends
SHARE = 0.9  # of a step's episodes: from here on nearly all
HALF = 0.5  # of a step's episodes: from here on it is told that they fail, as what is left trains on without a word
LEAST = 1e-9  # of a step's episodes: at least one
UNSCORED = "reward_error:"  # begins the event of an episode that a reward function failed on
IDLE = 10  # steps on end that train nothing before it is said
DEAD = 10  # steps on end in which no episode got through before a run ends in which some did: what they asked has gone
COUNTED = (
    "groups_played",
    "groups_withheld",
    "groups_refilled_for_lag",
    "groups_trained",
    "tokens",
    "episodes",
    "unscored",
    "answers_cut",
)  # summed over such steps
MEANT = ("reward", "solved_some", "malformed", "turns")  # means of a step, averaged over them


class EveryEpisodeFailed(QuintainError):
    """Not one episode got through: a crash, a deadline or a prompt without room each time. The message quotes the first."""


class Failures:
    """Counts the episodes that their env ended by a fault, or whose prompt left no room to speak.

    Args:
        limit: groups after which the run ends if not one episode got through, >= 1.
        alone: no other rank plays; where others do, they are asked at the end of each step.
    """

    def __init__(self, limit: int, alone: bool = True) -> None:
        self.limit, self.alone = limit, alone
        self.groups = 0
        self.cause = ""  # of the first failure
        self.healthy = False
        self.blind = False  # at least half of the last step's episodes had no reward but `reward.on_error`
        self.told = 0.0  # the larger of the shares `HALF` and `SHARE` that was told of
        self._episodes = self._failed = self._unscored = 0  # since the last step
        self._why = ""  # of the first that a reward function failed on
        self._told = 0.0  # the share of them that was told of
        self._dead, self._late = 0, ""  # steps on end in which no episode got through, and the first cause

    def see(self, group: Group) -> None:
        """Count a played group.

        Raises:
            EveryEpisodeFailed: it is group number `limit`, and every episode so far failed.
        """
        spoiled = [t for t in group.trajectories if failed(t)]
        whys = [
            f"{t.id}, task {group.task.key}: {e}"
            for t in group.trajectories
            for e in t.events
            if e.startswith(UNSCORED)
        ]
        self._unscored += len(whys)
        self._why = self._why or next(iter(whys), "")
        self.groups += 1
        self._episodes += len(group.trajectories)
        self._failed += len(spoiled)
        self.healthy = self.healthy or len(spoiled) < len(group.trajectories)
        if spoiled:
            cause = f"{spoiled[0].id}, task {group.task.key}: {told(spoiled[0].events, spoiled[0].stop)}"
            self.cause, self._late = self.cause or cause, self._late or cause
        if self.alone and self.groups >= self.limit:
            self.check()

    def check(self) -> None:
        """Refuse to go on if there were episodes and every one failed."""
        if self.cause and not self.healthy:
            raise EveryEpisodeFailed(
                f"every episode of the first {self.groups} groups failed, so there is nothing to learn from; "
                f"the first was {self.cause}: mend the env or the agent, its options, the task or model.context"
            )

    def check_scored(self) -> None:
        """Refuse to go on if at least half of the episodes since the last step have no reward but `reward.on_error`."""
        if 0 < self._unscored >= HALF * self._episodes:
            raise RewardError(
                f"{self._unscored} of {self._episodes} episodes of this step have reward.on_error, as their reward failed, so that groups "
                f"carry no signal; the first was {self._why}: mend the reward"
            )

    def warning(self, sums: Callable[[Mapping[str, float]], Mapping[str, float]] = dict) -> str:
        """What to say of the step that ends now: "" unless half of its episodes failed, or nearly all, and it was not said before.

        Also where a reward function failed on some episode, for the first time, and again on half of a step's.

        Args:
            sums: adds up over all ranks, which call this together.

        Raises:
            EveryEpisodeFailed: no rank is healthy, and together they have played what all may; or no episode of the last `DEAD` steps
                got through.
        """
        own = {"episodes": self._episodes, "failed": self._failed, "unscored": self._unscored, "healthy": self.healthy}
        every = sums({name: float(n) for name, n in {**own, "groups": self.groups, "limit": self.limit}.items()})
        self._episodes, self._failed, self._unscored, self.healthy = 0, 0, 0, every["healthy"] > 0
        if not self.alone and every["groups"] >= every["limit"]:
            self.check()
        self.blind = 0 < every["unscored"] >= HALF * every["episodes"]
        said = ". ".join(filter(None, (self._of_failed(every), self._of_unscored(every))))
        self._ended(every)
        self._why = ""
        return said

    def _of_failed(self, every: Mapping[str, float]) -> str:
        shares = [share for share in (HALF, SHARE) if 0 < every["failed"] >= share * every["episodes"]]
        if not shares or shares[-1] <= self.told:
            return ""
        self.told = shares[-1]
        first = f"; the first was {self._late}" if self._late else ""
        return f"{every['failed']:.0f} of {every['episodes']:.0f} episodes of this step failed{first}"

    def _of_unscored(self, every: Mapping[str, float]) -> str:
        share = HALF if self.blind else LEAST
        if not every["unscored"] or share <= self._told:
            return ""
        self._told = share
        first = f"; the first was {self._why}" if self._why else ""
        count = f"{every['unscored']:.0f} of {every['episodes']:.0f}"
        return f"{count} episodes of this step have reward.on_error, as their reward failed{first}"

    def _ended(self, every: Mapping[str, float]) -> None:
        """Count a step, of the sums over all ranks; one without episodes says nothing."""
        if not every["episodes"]:
            return
        self._dead = self._dead + 1 if every["failed"] == every["episodes"] else 0
        if self._dead >= DEAD:
            first = f"; the first was {self._late}" if self._late else ""
            raise EveryEpisodeFailed(
                f"every episode of the last {DEAD} steps failed, so that nothing is learned any more{first}: mend the env or the agent"
            )
        self._late = self._late if self._dead else ""


class Standstill:
    """Says once that steps train nothing, why, and what to do.

    Args:
        steps: of the run; a short one is told of in its last step.
        failures: of the run, whose `warning` is asked first.
        folder: of the run.
    """

    def __init__(self, steps: int, failures: Failures | None = None, folder: Path = Path("RUN")) -> None:
        self.failures, self.folder = failures, folder
        self.steps, self.limit = steps, max(1, min(IDLE, steps))
        self.told, self._seen = False, 0
        self._rows: list[Mapping[str, float]] = []  # of the last steps on end that trained nothing

    def warning(self, row: Mapping[str, float], step: int = 0) -> str:
        """What to say of a step with these metrics: "" unless it is the last of `limit` that trained nothing.

        Or it is the last of the run, and none trained anything since it was begun or resumed. A step trains nothing without tokens, or
        where every gradient is 0; a batch that was skipped is told of elsewhere, and so is a step whose episodes failed, or the reward of
        half of them: it says nothing of the tasks, and counts as if it had not been.
        """
        if not _outage(row) and not (self.failures and self.failures.blind):
            idle = not row.get("tokens", 1.0) or not row.get("grad_norm", 1.0)
            self._rows = [*self._rows, row] if idle and not row.get("skipped") and not self.told else []
            self._seen += 1
        last = step + 1 == self.steps and len(self._rows) == self._seen > 0
        if self.told or (len(self._rows) < self.limit and not last):
            return ""
        self.told = True
        total = {name: sum(r.get(name, 0.0) for r in self._rows) for name in (*COUNTED, *MEANT)}
        which = f"the last {len(self._rows)} steps" if len(self._rows) > 1 else "the last step"
        return f"{which} trained nothing: {_idle(total, len(self._rows), self.folder)}"


def _outage(row: Mapping[str, float]) -> bool:
    """Whether nearly all episodes of a step failed (see `failed`), by its metrics."""
    stops = (Stop.crashed, Stop.timeout, *(() if row.get("turns") else (Stop.truncated_tokens,)))
    return sum(row.get(f"stop/{stop}", 0.0) for stop in stops) >= SHARE


def _idle(total: Mapping[str, float], steps: int, folder: Path) -> str:
    """The cause and the fix, from the sums of some steps."""
    shown = f"quintain show {shlex.quote(str(folder))}"
    groups, late = total["groups_played"], total["groups_withheld"] + total["groups_refilled_for_lag"]
    reward, some = total["reward"] / steps, total["solved_some"] / steps
    if late and late >= SHARE * groups:
        return f"{late:.0f} of {groups:.0f} groups came too late; raise run.max_lag, or set run.over_limit=wait"
    if total["tokens"] or total["groups_trained"]:  # trajectories without an advantage are not even read
        why = "all advantages are 0"
    else:
        why = f"the gates left out every one of {groups:.0f} groups, as their episodes all earned the same"
    why = f"{why} (mean reward {reward:.3g}; a group with a success: {100 * some:.0f} %); "
    if total["unscored"] >= SHARE * max(total["episodes"], 1.0):
        return (
            f"{why}nothing scores the answers that the agent gives: set reward=exact, which compares them with the column `answer`, or a "
            "reward of your own (quintain new reward NAME), or have the agent return a number"
        )
    if total["answers_cut"] >= HALF * max(total["turns"] / steps * total["episodes"], 1.0):
        return (
            f"{why}most answers are cut at the token limit of a turn before they end: set rollout.max_tokens higher; `{shown}` has an "
            "episode"
        )
    if total["malformed"] >= SHARE * max(total["turns"], 1e-9):
        return (
            f"{why}nearly all that the policy says cannot be read as an action: show it how with warm_start.steps=50 (in a world) or "
            f"a model that can follow the format; `{shown}` has an episode"
        )
    if some < 1.0 - SHARE:
        return (
            f"{why}it hardly ever succeeds: make tasks easier (a lower level), begin with warm_start.steps=50 (in a world), play more "
            f"episodes a group (rollout.group_size), or reward what comes before success; `{shown}` has an episode"
        )
    return f"{why}the tasks tell its episodes apart no more: make them harder (a higher level), or reward finer"


def too_few(groups: Sequence[Group], rollout: str, members: int) -> str:
    """What to say of an evaluation whose groups have fewer trajectories than its rollout was asked for, "" where none has."""
    few = [group for group in groups if len(group.trajectories) < members]
    if not few:
        return ""
    return (
        f"the rollout {rollout!r} gave fewer trajectories than it was asked for ({members} a task) in {len(few)} of {len(groups)} groups "
        f"(the first: {len(few[0].trajectories)} of task {few[0].task.key}); scores are over those that it gave"
    )


class Cut(NamedTuple):
    """Answers that ended at the limit of a turn and not with its end, of how many, and that limit in tokens."""

    count: int = 0
    answers: int = 0
    limit: int = 0

    def plus(self, other: Cut) -> Cut:
        """Both together."""
        return Cut(self.count + other.count, self.answers + other.answers, max(self.limit, other.limit))

    def told(self) -> str:
        """What to say of them; "" where there is none.

        Example:
            >>> Cut(3, 40, 16).told()
            '3 of 40 answers were cut at 16 tokens, and count as they stand; rollout.max_tokens gives them more'
        """
        return (
            f"{self.count:,} of {self.answers:,} answers were cut at {self.limit:,} tokens, and count as they stand; "
            "rollout.max_tokens gives them more"
        ) * bool(self.count)


def cut_of(trajectories: Iterable[Trajectory]) -> Cut:
    """The answers of a policy that is sampled in tokens; a turn of a fixed number of words has no end that could be cut off."""
    said = [node for t in trajectories for node in t.nodes if node.kind is Kind.sampled]
    ends = [(node, node.sampling) for node in said if node.sampling and node.sampling.stop]
    cut = [s.max_tokens for n, s in ends if len(n.tokens) >= s.max_tokens and n.tokens[-1] not in s.stop]
    return Cut(len(cut), len(said), max(cut, default=0))


def refuse_failures(groups: Sequence[Group], sums: Callable[[Mapping[str, float]], Mapping[str, float]] = dict) -> str:
    """What to say of episodes of an evaluation that failed, "" where none of these did.

    Args:
        groups: that were played here.
        sums: adds up over all ranks, which call this together.

    Raises:
        EveryEpisodeFailed: every one did, in all ranks; the message quotes the first cause.
    """
    spoiled = [(group.task.key, t) for group in groups for t in group.trajectories if failed(t)]
    own = {"episodes": sum(len(group.trajectories) for group in groups), "failed": len(spoiled)}
    every = sums({name: float(n) for name, n in own.items()})
    causes = (f"; the first was task {task}: {told(t.events, t.stop)}" for task, t in spoiled)
    cause = next(causes, "")  # a rank may have played none
    if 0 < every["failed"] == every["episodes"]:
        raise EveryEpisodeFailed(
            f"every one of {every['episodes']:.0f} episodes failed, so there is nothing to sum up{cause}: mend the env or the agent, its "
            "options, the task or model.context"
        )
    count = f"{every['failed']:.0f} of {every['episodes']:.0f}"
    return f"{count} episodes failed, and count with what they had earned{cause}" if spoiled else ""


def failed(t: Trajectory) -> bool:
    """Whether the env ended the episode by a fault, or its prompt left no room to speak."""
    return t.stop in (Stop.crashed, Stop.timeout) or (
        t.stop is Stop.truncated_tokens
        and not (t.turns or t.turn_rewards)  # what is said in messages is no sampled turn
    )


def told(events: tuple[str, ...], stop: Stop) -> str:
    """The event that says why an episode failed."""
    return next((e for e in events if e.startswith((f"{stop}:", "stalled", "full"))), str(stop))
