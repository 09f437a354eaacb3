"""Tasks made of what was played: judge an answer, choose between two, mend a wrong one (SPARK)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

from quintain.given import next_of, seen_by
from quintain.parts import Sampler, State
from quintain.registry import register, unknown
from quintain.samplers.blends import part_of, refuse_strays
from quintain.samplers.draws import choice, uniform
from quintain.samplers.worlds import SEEDS, SamplerError, check_shard
from quintain.types import Group, Kind, Message, Role, Task, Text, Trajectory

KINDS = ("single", "pair", "mend")
BOX = r"Think it through, then put {} into \boxed{{}}."
PROMPTS = {
    "single": "Is this answer to the question right?\n\nQuestion:\n{question}\n\nAnswer:\n{first}\n\n"
    + BOX.format("Yes or No"),
    "pair": "One of these two answers to the question is right. Which one?\n\nQuestion:\n{question}\n\nAnswer A:\n{first}\n\n"
    "Answer B:\n{second}\n\n" + BOX.format("A or B"),
    "mend": "This answer to the question is wrong. Find the mistake and answer the question.\n\nQuestion:\n{question}\n\n"
    "Wrong answer:\n{first}\n\n" + BOX.format("the right answer"),
}
_SLOT = re.compile(r"\{(question|first|second)\}")


class Recycled:
    """Draws what `recycle` describes."""

    def __init__(self, inner: Sampler, kinds: Sequence[str], share: float, limits: Mapping[str, Any]) -> None:
        self.inner, self.kinds, self.share = inner, tuple(kinds), share
        self.single, self.bar = limits["single"], limits["bar"]
        self.keep, self.length, self.seed = limits["keep"], limits["length"], limits["seed"]
        self.everyones = getattr(inner, "everyones", True)

    def init(self) -> State:
        """Nothing was drawn and nothing waits."""
        return {"drawn": 0, "inner": self.inner.init(), "waiting": []}

    def draw(self, state: State) -> tuple[Task | None, State]:
        """A task that waits where one is due, else the next one of the inner sampler, whose end is the end."""
        number, waiting = state["drawn"], list(state["waiting"])
        if waiting and floor((number + 1) * self.share) > floor(number * self.share):
            made: dict[str, Any] = dict(waiting.pop(0))
            task = Task(messages=(Message.of("user", made.pop("opening")),), **made)
            return task, {**state, "drawn": number + 1, "waiting": waiting}
        task, inner = next_of(self.inner, state["inner"])
        if task is not None and not task.messages:
            raise SamplerError(
                f"recycle: task {task.key} of {task.env} has no opening of its own, so that none can be made of it; recycle "
                "rows of data, as in sampler.name=recycle data=prompts.jsonl"
            )
        return task, {**state, "drawn": number + (task is not None), "inner": inner}

    def observe(self, state: State, group: Group) -> State:
        """Make tasks of a finished group; those that were made of others teach no further ones."""
        if "recycled" in group.task.params:
            return state
        state = {**state, "inner": seen_by(self.inner, state["inner"], group)}
        if not group.task.messages or any(not isinstance(part, Text) for m in group.task.messages for part in m.parts):
            return state  # played by another process; or a picture, which cannot be told in words
        return {**state, "waiting": [*state["waiting"], *self._made(group)][-self.keep :]}

    def _made(self, group: Group) -> list[dict[str, Any]]:
        ticket, said = group.ticket, [(t.reward > self.bar, self._told(t)) for t in group.trajectories]
        right, wrong = ([text for good, text in said if good is side and text] for side in (True, False))
        made, mixed = list[dict[str, Any]](), bool(right and wrong)
        chance = self.single if "single" in self.kinds else 0.0
        if mixed and "pair" in self.kinds and uniform(self.seed, ticket, 0) >= chance:
            first = uniform(self.seed, ticket, 1) < 0.5
            texts = [self._one(right, ticket, 2), self._one(wrong, ticket, 3)]
            made.append(self._task(group, "pair", texts if first else texts[::-1], "A" if first else "B"))
        elif "single" in self.kinds and (right or wrong):
            good = uniform(self.seed, ticket, 1) < 0.5 if mixed else bool(right)
            text = self._one(right if good else wrong, ticket, 2)
            made.append(self._task(group, "single", [text], "Yes" if good else "No"))
        if "mend" in self.kinds and wrong and "answer" in group.task.params:
            made.append(self._task(group, "mend", [self._one(wrong, ticket, 4)], group.task.params["answer"]))
        return made

    def _task(self, group: Group, kind: str, texts: Sequence[str], answer: Any) -> dict[str, Any]:
        """A task as JSON; its opening is the text of one message."""
        question = "\n\n".join(m.text for m in group.task.messages if m.role is Role.user)
        given = {"question": question, "first": texts[0], "second": texts[-1]}
        words = _SLOT.sub(lambda slot: given[slot[1]], PROMPTS[kind])
        task = group.task
        params = {**(task.params if kind == "mend" else {}), "answer": answer, "recycled": kind}
        rest = {"env": task.env, "seed": task.seed, "level": task.level, "split": task.split}
        return {"key": f"{kind}:{group.ticket}:{task.key}", "params": params, "opening": words, **rest}

    def _told(self, trajectory: Trajectory) -> str:
        """What was said behind the opening, its end if it is long."""
        spoken = (n.text for n in trajectory.nodes if n.kind is not Kind.prompt)
        return "\n".join(filter(None, spoken)).strip()[-self.length :]

    def _one(self, texts: Sequence[str], ticket: int, number: int) -> str:
        return texts[choice([1.0] * len(texts), self.seed, ticket, number)]


@register(
    "sampler",
    "recycle",
    methods={
        "SPARK": {
            "wants": "data with answers: sampler.name=recycle reward.name=recycled reward.solve=number",
            "shown": "tests/unit/samplers/test_recycle.py::test_the_judge_of_a_mixed_group_chooses_between_a_right_and_a_wrong_answer",
        }
    },
    paper="2509.22624",
    status="paper",
    confidence="code",
    example={"inner": {"name": "dataset", "path": "prompts.jsonl"}},
)
def recycle(
    inner: Sampler | Mapping[str, Any] | str = "dataset",
    kinds: Sequence[str] = KINDS,
    share: float = 0.5,
    limits: Mapping[str, Any] | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> Sampler:
    """Make new tasks of what was played, so that the policy learns to judge and to mend as well as to answer (SPARK).

    Use it for questions with checkable answers, with the reward `recycled`: the same model becomes its own reward model.

    A finished group of right and wrong answers gives a choice between one of each (`pair`), or three times in ten a verdict
    on one of them (`single`); a group of one sort gives a verdict. A wrong answer is also given back to be mended
    (`mend`), where the task has an `answer`. Judging and mending are not recycled again.

    Args:
        inner: the sampler whose tasks are played, or its name and options.
        kinds: of tasks to make: `single`, `pair`, `mend`.
        share: of the draws that may be such tasks, in [0, 1); where none waits the inner sampler goes on.
        limits: `single` (0.3): how often a mixed group gives a verdict in place of a choice; `bar` (0.5): what a right answer
            earns more than; `keep` (256): tasks that wait, the oldest go first; `length` (2000): characters of an answer, its
            last ones.
        seed: chooses among the answers.
        **kwargs: options for the inner sampler where it is named, such as `path`, `split` and `shard`.

    Raises:
        UnknownName: an option that the inner sampler does not take.
        SamplerError: an unknown kind or limit, or a number out of range; (when drawn) tasks without an opening of their own.

    Special cases: prompts with pictures are not recycled, as the question could not be told; answers without text neither.

    Example:
        >>> sampler = recycle({"name": "worlds", "env": "KeyDoor", "levels": [0]})
        >>> sampler.init()["waiting"]
        []

    Reference: SPARK, 2025, arXiv 2509.22624. Differs from the paper: the wording, one per kind; judges see what was said, not
    the boxed answer alone; an even share of the draws instead of up to 64 prompts a step.
    """
    refuse_strays("recycle", recycle, [inner], kwargs)
    given = {"single": 0.3, "bar": 0.5, "keep": 256, "length": 2000, **(limits or {}), "seed": seed}
    for name in given:
        if name not in ("single", "bar", "keep", "length", "seed"):
            raise SamplerError(unknown("entry of limits:", name, ("single", "bar", "keep", "length")))
    for name in kinds:
        if name not in KINDS:
            raise SamplerError(unknown("kind of recycle", name, KINDS))
    whole = all(isinstance(given[n], int) and given[n] >= 1 for n in ("keep", "length"))
    if not (kinds and 0 <= share < 1 and 0 <= given["single"] <= 1 and whole):
        raise SamplerError(
            f"recycle: kinds {list(kinds)}, share {share}, limits {given}; it needs a kind, share in [0, 1), single in [0, 1], "
            "keep and length whole numbers >= 1"
        )
    if "shard" in kwargs:
        check_shard(kwargs["shard"])
    return Recycled(part_of(inner, {**kwargs, "seed": seed % SEEDS}), kinds, share, given)
