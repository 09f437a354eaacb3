"""What is said of a run's training is what its record shows, and nothing where there is too little of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quintain.config import make
from quintain.evals.diagnose import LEAST, entropy_law, findings, hard_weight, reward_cliffs, step_noise, survivorship
from quintain.ledger import RunDir
from quintain.types import Event, Group, Kind, Node, Role, Span, Stop, Task, Trajectory


def member(i: int, reward: float, action: str, turns: int = 1) -> Trajectory:
    spoken = [
        Node(
            role=Role.assistant,
            kind=Kind.sampled,
            tokens=(1, 2),
            text=action,
            logprobs=(-0.1, -0.1),
            mask=(True, True),
            spans=(Span(start=0, stop=2, version=0),),
            parent=None if k == 0 else k - 1,
        )
        for k in range(turns)
    ]
    return Trajectory(id=f"{i}", nodes=tuple(spoken), stop=Stop.done, rewards={"r": reward}, actions=(action,) * turns)


def group(ticket: int, *paid: tuple[float, str], turns: int = 1) -> Group:
    members = tuple(member(10 * ticket + k, r, a, turns) for k, (r, a) in enumerate(paid))
    return Group(task=Task(key=f"t{ticket}", env="none"), trajectories=members, ticket=ticket)


def test_the_law_is_found_again_in_what_follows_it():
    entropy = np.linspace(2.0, 0.1, 40)
    law = entropy_law(entropy, -0.12 * np.exp(entropy) + 0.9)
    assert [law[k] for k in ("a", "b", "ceiling", "explained")] == pytest.approx([0.12, 0.9, 0.78, 1.0])
    noise = np.random.default_rng(0).normal(0, 1.0, 40)
    assert entropy_law(entropy, noise)["explained"] < 0.2, "noise follows no law"
    assert math.isnan(entropy_law([1.0, 1.0], [0.0, 1.0])["a"])


def test_noise_between_successive_steps_is_that_of_the_batch():
    rng = np.random.default_rng(1)
    signal = np.full(2000, 1.0)
    gradients = signal + rng.normal(0, math.sqrt(3.0), (200, 2000))  # variance three times the square of the signal
    pairs = zip(gradients[1:], gradients[:-1], strict=True)
    cosines = [float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) for a, b in pairs]
    assert step_noise(cosines) == pytest.approx(3.0, rel=0.05)
    assert step_noise([0.1, -0.2]) == math.inf and math.isnan(step_noise([]))


def test_a_cliff_is_where_different_answers_share_the_best_reward():
    tied, clear = group(0, (1.0, "a"), (1.0, "b"), (0.0, "c")), group(1, (1.0, "a"), (1.0, "a"), (0.0, "b"))
    seen = reward_cliffs([tied])
    assert seen["ties"] == 1.0 and seen["greedy"] == 2.0 and 0 < seen["softmax"] <= 2 * 0.01 / 0.1
    assert reward_cliffs([clear]) == {"ties": 0.0, "greedy": 0.0, "softmax": pytest.approx(0, abs=1e-4)}
    assert reward_cliffs([tied, clear])["ties"] == 0.5 and math.isnan(reward_cliffs([])["ties"])


def test_what_was_dropped_is_counted_apart():
    groups = [group(0, (1.0, "a"), turns=2), group(1, (0.0, "a")), group(2, (0.5, "a"))]
    sides = survivorship(groups, trained={0}, dropped={1, 0})
    assert sides["trained"] == {"trajectories": 1.0, "reward": 1.0, "turns": 2.0, "tokens": 4.0}
    assert sides["dropped"] == {"trajectories": 1.0, "reward": 0.0, "turns": 1.0, "tokens": 2.0}
    assert math.isnan(survivorship(groups, set(), set())["trained"]["reward"])


def test_the_weight_of_hard_questions_depends_on_the_objective():
    groups = [
        group(0, (1.0, "a"), *[(0.0, "b")] * 9),
        group(1, *[(1.0, "a")] * 8, *[(0.0, "b")] * 2),
        group(2, (1.0, "a")),
    ]
    found = hard_weight(groups)
    assert found["played"] == 0.5 and found["rft"] == pytest.approx(0.1 / 0.9)
    assert found["grpo"] == pytest.approx(0.3 / 0.7) and found["grpo_mean"] == pytest.approx(0.09 / 0.25)


def test_groups_of_both_outcomes_and_noise_are_told_of(tmp_path):
    with RunDir.create(tmp_path / "run", make("tiny").toml()) as store:
        for i in range(LEAST):
            one = {"ticket": i, "group": group(i, (1.0, "a"), (float(i % 2), "b"), (0.0, "c"))}
            store.append(Event(time=float(i), step=i, actor="run", kind="played", payload=one))
        store.commit()
        told = dict(findings(store, {"entropy": [], "reward": [], "grad_cosine": [0.2] * LEAST}, 8))
    assert told["Weight of hard questions"].startswith(
        f"50 % of {LEAST} recorded groups with both outcomes fail more often than not"
    )
    assert "a noise scale of 32 groups at 8 an update; 4 updates of that size a step" in told["Noise of a step"]
    assert told["Noise of a step"].endswith("leave 0.50 of the noise")


@pytest.mark.parametrize("count", [LEAST - 1, LEAST])
def test_little_is_said_of_little(tmp_path, count):
    with RunDir.create(tmp_path / "run", make("tiny").toml()) as store:
        for i in range(2 * count):
            kind, ticket = ("trained", i) if i < count else ("dropped", i)
            payload = {"trained": {"tickets": [ticket]}, "dropped": {"ticket": ticket, "reason": "gate"}}[kind]
            one = {"ticket": i, "group": group(i, (float(i % 2), "a"))}
            store.append(Event(time=float(i), step=i, actor="run", kind="played", payload=one))
            store.append(Event(time=float(i), step=i, actor="run", kind=kind, payload=payload))
        store.commit()
        entropy = [1.0 / (i + 1) for i in range(count)]
        series = {
            "entropy": entropy,
            "reward": [0.9 - 0.1 * math.exp(e) for e in entropy],
            "grad_cosine": [0.5] * count,
        }
        told = dict(findings(store, series, 8))
        doubtful = {
            "entropy": entropy,
            "reward": [float(i % 2) for i in range(count)],
            "grad_cosine": [0.5, -0.5] * count,
        }
        unsure = dict(findings(store, doubtful, 8))
        assert "Noise of a step" not in dict(findings(store, series, math.nan)), (
            "steps on the same data share their noise"
        )
    if count < LEAST:
        assert told.keys() <= {"Ties of rewards"}, "twice as many groups as steps"
        return
    assert list(told) == ["Entropy law", "Noise of a step", "Ties of rewards", "Trained and thrown away"]
    assert "without entropy it would be 0.80" in told["Entropy law"]
    assert "a noise scale of 8 groups at 8 an update" in told["Noise of a step"]
    assert "trained 0.50 reward, 1.0 turns, 2 tokens (10 recorded trajectories)" in told["Trained and thrown away"]
    assert "does not hold here" in unsure["Entropy law"] and "without entropy" not in unsure["Entropy law"]
    assert "share nothing" in unsure["Noise of a step"]
