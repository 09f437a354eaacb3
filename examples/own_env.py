"""Train in an environment that somebody else wrote: a class with `reset` and `step` of its own, and the adapter that Quintain needs.

quintain new model guesser env.name=examples/own_env.py:make --vocab 300 \
    'model.sizes={hidden=32, layers=2, heads=2, kv_heads=2, head_dim=16, ffn=64}'
quintain train env.name=examples/own_env.py:make model=guesser rollout.max_tokens=1 model.context=256 \
    run.steps=60 run.groups_per_step=8 learner.optimizer=adamw learner.lr=0.01 learner.schedule=constant
"""

import random
from collections.abc import Mapping
from typing import Any

from quintain.types import Feedback, Message, Stop, Task


class Guess:
    """What somebody else wrote: find a digit in four guesses."""

    def reset(self, seed: int) -> str:
        self.secret, self.left = random.Random(seed).randint(1, 9), 4
        return "Which digit from 1 to 9 is it?"

    def step(self, text: str) -> tuple[str, float, bool]:
        self.left -= 1
        if not (text.isascii() and text.isdigit()):
            return "A digit, please.", 0.0, not self.left
        if int(text) == self.secret:
            return "Yes.", 1.0, True
        return "More." if int(text) < self.secret else "Less.", 0.05, not self.left


class Env:
    """Matches `quintain.ports.Env`: a single seat, `agent`, that is to move until there is a `stop`."""

    def __init__(self) -> None:
        self.game, self.task, self.said = Guess(), None, []

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        self.task, self.said = task, []
        return {"agent": Feedback(messages=(Message.of("user", self.game.reset(task.seed)),))}

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        self.said.append(moves["agent"].text.strip())
        answer, reward, over = self.game.step(self.said[-1])
        stop = Stop.done if over else None  # one of quintain.types.Stop, or None: the episode goes on
        return {"agent": Feedback(messages=(Message.of("user", answer),), reward={"found": reward}, stop=stop)}

    def snapshot(self) -> Any:
        return self.task.seed, list(self.said)  # the same game and the same guesses lead to the same place

    def restore(self, snapshot: Any) -> None:
        seed, said = snapshot
        self.game.reset(seed)
        for text in said:
            self.game.step(text)
        self.said = list(said)

    async def close(self) -> None:
        pass  # nothing is held: a browser or a socket would be closed here


def make(task: Task) -> Env:
    """The env of a task: called for every episode."""
    return Env()
