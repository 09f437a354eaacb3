"""What `quintain new` writes: the smallest part of each kind that is whole."""

from __future__ import annotations

from typing import NamedTuple


class Template(NamedTuple):
    """The code of a part, its test, and how to use it."""

    code: str
    test: str
    use: str


REWARD = Template(
    code='''"""A reward: how good is what the policy said?"""


def score(text: str, answer: object = None) -> float:
    """1 if the last word of the reply is the answer, else 0.

    Parameters are filled in by name: `text` (the reply), `prompt`, `messages`, `task`, `trajectory`, and every column of the data
    beside the prompt, such as `answer`. The function may be async.
    """
    words = text.strip().rstrip(".").split()
    return float(bool(words) and words[-1] == str(answer))
''',
    test="""from NAME import score


def test_the_answer_counts_and_nothing_else_does():
    assert score("It is 12.", answer=12) == 1.0
    assert score("12 or 13", answer=12) == 0.0
    assert score("", answer=12) == 0.0
""",
    use="use it:  quintain train data=prompts.jsonl reward=NAME.py:score model=FOLDER",
)

ALGORITHM = Template(
    code='''"""An algorithm: an advantage, a gate and an objective, each a chain of parts."""

from quintain.algorithms import Algorithm
from quintain.objectives import clip, token_mean, token_ratio
from quintain.parts import chain
from quintain.registry import build, register


@register("algorithm", "NAME")
def NAME(low: float = 0.2, high: float = 0.3) -> Algorithm:
    """Clipped policy gradient on the reward minus its group mean, over all tokens alike."""
    return Algorithm(
        advantage=build("advantage", {"name": "normalise", "scale": "none"}),
        gate=build("gate", "zero_variance"),
        objective=chain(token_ratio("rollout"), clip(low, high), token_mean()),
    )
''',
    test="""import NAME as module
from quintain.registry import build


def test_it_is_registered_and_says_what_it_is():
    made = build("algorithm", {"name": "NAME", "high": 0.4})
    assert [link["name"] for link in made.expand()["objective"]] == ["token_ratio", "clip", "token_mean"]
    assert made.needs == module.NAME().needs
""",
    use="use it:  quintain train keydoor NAME.py algorithm=NAME",
)

WORLD = Template(
    code='''"""A world: walk a line to its end. A pure reducer over a frozen state; everything else follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from quintain.ports import SOLO
from quintain.registry import register
from quintain.worlds.kernel import LEVELS, Answer, Choices, Facts, Move, Outcome, Plan, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Disc, Scene

CHOICES = Choices("left", "right")


@dataclass(frozen=True, slots=True)
class Line:
    """A walker `at` a cell of a line of `size` cells, with the goal on cell `goal`."""

    size: int
    at: int
    goal: int


class TITLE:
    """The line world."""

    schema = Line
    levels = [{"size": 5 + 2 * level} for level in range(LEVELS)]
    facts = Facts(
        name="TITLE",
        rules="Walk to the goal G. You are P.",
        answer="One of: left, right.",
        example="left",
        ceilings={"random": 0.6, "constant": 0.6, "first": 0.6, "blind": 0.6},
    )

    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Line:
        """The goal at one end, the walker somewhere else; higher levels have longer lines."""
        size = check_knobs(knobs, self.levels, level)["size"]
        rng = Rng("TITLE", seed, level, split)
        goal = rng.pick((0, size - 1))
        return Line(size, rng.pick([i for i in range(size) if i != goal]), goal)

    def view(self, state: Line, seat: str) -> View[Line]:
        return View(self, state, seat)

    def step(self, state: Line, moves: Mapping[str, Move]) -> Outcome[Line]:
        to = state.at + (1 if moves[SOLO].key == "right" else -1)
        if not 0 <= to < state.size:
            return Outcome(state, events={SOLO: ("blocked",)})
        after = replace(state, at=to)
        return Outcome(after, {SOLO: {"success": 1.0}}, True) if to == state.goal else Outcome(after)

    def solve(self, state: Line, seat: str) -> Answer:
        far = state.goal - state.at
        if not far:
            return Unsolvable("the episode is over")
        return Plan((CHOICES["right" if far > 0 else "left"],) * abs(far))

    def read(self, text: str, seat: str) -> Move | None:
        return CHOICES.read(text)

    def turns(self, state: Line) -> int:
        return 2 * state.size

    def words(self, level: int) -> tuple[str, ...]:
        cells = range(5 + 2 * check_level(level))
        return ("left", "right", *(f"{sign}{i}" for sign in "PG" for i in cells))

    def legal(self, state: Line, seat: str) -> tuple[Move, ...]:
        return tuple(m for m in CHOICES.moves if self.step(state, {SOLO: m}).state != state)

    def sample(self, state: Line, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat))

    def caption(self, state: Line, seat: str, level: int) -> str:
        return " ".join("P" if i == state.at else "G" if i == state.goal else "." for i in range(state.size))

    def rebuild(self, caption: str, seat: str) -> Line:
        cells = caption.split()
        at = cells.index("P")
        return Line(len(cells), at, cells.index("G") if "G" in cells else at)

    def static(self, state: Line, seat: str) -> tuple[str, ...]:
        return (f"G{state.goal}",)

    def moving(self, state: Line, seat: str) -> tuple[str, ...]:
        return (f"P{state.at}",)

    def scene(self, state: Line, seat: str) -> Scene:
        marks = ((state.goal, "green"), (state.at, "brick"))
        discs = tuple(Disc(x=x + 0.5, y=0.5, radius=0.35, fill=fill) for x, fill in marks)
        return Scene(width=state.size, height=1, shapes=discs)


@register("world", "TITLE", domain="own", engine="own")
def NAME() -> TITLE:
    """Walk a line to its end."""
    return TITLE()
''',
    test="""import asyncio

from NAME import TITLE
from quintain.envs.world import WorldEnv
from quintain.ports import SOLO
from quintain.types import Message, Task
from quintain.worlds.kernel import Plan


def test_the_oracle_earns_the_reward_from_any_instance():
    for seed in range(20):
        env = WorldEnv(TITLE())
        asyncio.run(env.reset(Task(key="t", env="TITLE", seed=seed, level=seed % 10)))
        total = 0.0
        while env.stop is None:
            plan = env.world.solve(env.state, SOLO)
            assert isinstance(plan, Plan)
            said = env.advance({SOLO: Message.of("assistant", f"<action>{plan.moves[0].key}</action>")})[SOLO]
            total += sum(said.reward.values())
        assert total == 1.0


def test_the_caption_tells_all_that_is_seen():
    world = TITLE()
    for seed in range(20):
        state = world.start(seed, seed % 10)
        assert world.start(seed, seed % 10) == state  # a seed is an episode: the members of a group start alike
        rebuilt = world.rebuild(world.caption(state, SOLO, 2), SOLO)  # where nothing is hidden, it equals the state
        assert world.caption(rebuilt, SOLO, 2) == world.caption(state, SOLO, 2)
        for look in (world.legal, world.static, world.moving, world.scene):
            assert look(rebuilt, SOLO) == look(state, SOLO)


def test_nonsense_is_an_event_and_earns_nothing():
    env = WorldEnv(TITLE())
    env.begin(Task(key="t", env="TITLE", seed=0, level=0))
    said = env.advance({SOLO: Message.of("assistant", "<action>fly</action>")})[SOLO]
    assert said.events == ("malformed",) and not said.reward
""",
    use="use it:  quintain train NAME.py world=TITLE level=0 env.scaffold.style=words warm_start.steps=20 steps=20",
)

TEMPLATES = {"reward": REWARD, "algorithm": ALGORITHM, "world": WORLD}
