"""The warm start of a run: supervised steps on demonstrations of the oracle, before the first step of reinforcement learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.config import Config
from quintain.learn.learner import TorchLearner
from quintain.learn.pack import Demo
from quintain.learn.sft import imitate
from quintain.runtime import policy
from quintain.runtime.learner_group import GroupLearner, GroupTeacher
from quintain.runtime.stage import need_demos
from quintain.waits import Paced, done, waiting

Say = Callable[[str], None]


async def warm_start(config: Config, opened: Any, say: Say) -> bool:
    """Imitate the oracle for a fixed number of steps, if the config asks for it; False if the run drains before their end.

    Args:
        config: of the run.
        opened: the run with its stage, model, ranks and learner (`assemble.Open`).
        say: tells a person.
    """
    if not config.warm_start.steps:
        return True
    with waiting("warm start"):
        return await _warm_start(config, opened, say)


def make_teacher(config: Config, opened: Any) -> TorchLearner | GroupTeacher:
    """Who takes the supervised steps: the model of this process, or that of the learner group."""
    if isinstance(opened.learner, GroupLearner):
        return opened.learner.teacher(config.run.seed)
    return policy.make_teacher(config, opened.model, opened.ranks, precision=opened.learner.precision)


async def _warm_start(config: Config, opened: Any, say: Say) -> bool:
    section, run = config.warm_start, opened.run
    say(f"warm start: {section.steps} supervised steps on {section.demos} demonstrations of the oracle")
    demos: list[Demo] = []
    far = Paced(say)
    for demo in policy.readable(opened.model, need_demos(opened.stage)(section.demos, config.run.seed)):
        done("demo")
        if run.draining:
            break
        demos.append(demo)
        if len(demos) < section.demos:
            far(f"warm start: {len(demos)} of {section.demos} demonstrations")
    if run.asked():
        return False
    teacher = make_teacher(config, opened)

    async def tell(steps: int) -> bool:
        done("demo")
        if steps < section.steps and steps % -(-section.steps // 10) == 0:
            say(f"warm start: {steps} of {section.steps} steps")
        return run.draining

    history = await imitate(teacher, demos, steps=section.steps, size=section.batch, stop_when=tell, every=1)
    teacher.close()
    if len(history) < section.steps:
        run.draining = True  # as the first rank says
        return False
    if opened.ranks.rank == 0:
        for step, row in enumerate(history):
            opened.run.keeper.write(step, "sft", dict(row))
    say(f"warm start: {told(history)}")
    return True


def told(history: Sequence[Mapping[str, float]]) -> str:
    """The loss of the first and the last supervised step that was taken, and how many were not.

    Example:
        >>> told([{"updates": 0, "loss": 0.0}, {"updates": 1, "loss": 2.0}, {"updates": 1, "loss": 1.0}])
        'loss 2.000 -> 1.000; 1 of 3 steps was left out, as its loss or gradient was not finite'
    """
    taken = [row["loss"] for row in history if row["updates"]]
    out = len(history) - len(taken)
    losses = f"loss {taken[0]:.3f} -> {taken[-1]:.3f}" if taken else "nothing was learned"
    verb, whose = ("was", "its") if out == 1 else ("were", "their")
    return losses + (
        f"; {out} of {len(history)} steps {verb} left out, as {whose} loss or gradient was not finite" if out else ""
    )
