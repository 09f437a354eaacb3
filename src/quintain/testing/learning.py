"""Run an algorithm on an exercise with the real engine, learner, gates, advantages and objectives, in one process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quintain.algorithms import Algorithm
from quintain.engines.torch import TorchEngine
from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.pack import pack
from quintain.learn.plan import Plan
from quintain.learn.topk import wanted
from quintain.learn.value import value_head
from quintain.models import build_model
from quintain.registry import build
from quintain.testing.exercises import VOCAB, Exercise, Learned, as_answer, both
from quintain.types import Group, Kind, Node, Request, Sampling, Stop, Task, Trajectory, Weights

SIZES: dict[str, Any] = {"hidden": 24, "layers": 1, "heads": 2, "kv_heads": 2, "ffn": 48, "context": 32}
ENDS = 4  # steps at either end whose mean reward counts


def practise(
    algorithm: Algorithm,
    exercise: Exercise,
    *,
    seed: int = 0,
    plan: Plan | None = None,
    engine: str = "fp32",
    learner: str = "fp32",
    checks: int = 0,
) -> Learned:
    """Train a new tiny policy on an exercise and say what it gained.

    When to use: to see that a method learns, and that a wrong form of it does not.

    Args:
        algorithm: its parts; what they need is supplied.
        exercise: the task.
        seed: of weights, tasks and sampling.
        plan: minibatches and epochs; one pass over the batch if None.
        engine: the precision that the engine keeps its weights and computes in: fp32, bf16, fp16 or fp8.
        learner: the precision plan of the learner, whose own weights stay fp32.
        checks: as many steps are played with the newest weights, and without learning, once all others are over.

    Returns:
        Mean rewards of the first and last steps, and what each step measured; the same numbers for the same seed.

    Raises:
        NotFinite: the policy's logits are not numbers any more.
    """
    with asyncio.Runner(loop_factory=Inline) as runner:
        return runner.run(_practise(algorithm, exercise, seed, plan or Plan(), (engine, learner), checks))


class Inline(asyncio.SelectorEventLoop):
    """An event loop that sends nothing to other threads: a step of a tiny model is shorter than the way there and back."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Call at once."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


async def _practise(
    algorithm: Algorithm, exercise: Exercise, seed: int, plan: Plan, kinds: tuple[str, str], checks: int
) -> Learned:
    needs = algorithm.needs
    kept, plans = (build("precision", kind) for kind in kinds)
    value = value_head(SIZES["hidden"], needs, lr=0.03)
    learner = TorchLearner(
        plans.prepare(_model(seed)),
        adamw(exercise.lr),
        plan=plan,
        precision=plans,
        value=value,
        reference="ref" in needs,
    )
    learner.check(needs & frozenset(learner.supplies | {"ref", "value", "values"}))
    engine = TorchEngine(kept.prepare(_model(seed)).to(kept.dtype), slots=256, inline=True)
    gates = algorithm.gate
    state, held = algorithm.advantage.init(), gates.init() if gates else None
    said, trace, feed = list[tuple[Group, ...]](), list[dict[str, float]](), deque[Weights]()
    rng = np.random.default_rng(seed)
    for step in range(exercise.steps):
        groups = await _play(engine, exercise, rng, (seed, step), needs)
        trace.append({"reward": _reward(groups)})
        said.append(groups)
        if gates is not None:
            groups, held = gates.apply(groups, held)
        groups = await learner.score(groups, needs)
        groups, state = algorithm.advantage.apply(groups, state)
        if any(g.trajectories for g in groups):
            found = await learner.update(pack(groups, topk=wanted(needs)), algorithm.objective)
            trace[-1] |= {k: v for k, v in found.items() if not k.startswith("seconds")}
        if exercise.lag == 0 or step % exercise.lag == exercise.lag - 1:
            feed.append(_copy(await learner.publish()) if exercise.behind else await learner.publish())
        if len(feed) > exercise.behind:
            await engine.load(feed.popleft())
    rewards = [found["reward"] for found in trace]
    first, last = (float(np.mean(part)) for part in (rewards[:ENDS], rewards[-ENDS:]))
    if checks:
        await engine.load(await learner.publish())
    after = [_reward(await _play(engine, exercise, rng, (seed, exercise.steps + i), needs)) for i in range(checks)]
    learner.close()
    mean = float(np.mean(after)) if after else None
    return Learned(first=first, last=last, minority=_minority(said[-ENDS:]), trace=tuple(trace), after=mean)


def _model(seed: int) -> Any:
    return build_model("qwen3", seed=seed, vocab=VOCAB, **SIZES)


def _copy(weights: Weights) -> Weights:
    """Weights that stay as they are while the learner goes on."""
    return replace(weights, source={name: tensor.clone() for name, tensor in weights.source.state_dict().items()})


def _reward(groups: Sequence[Group]) -> float:
    return float(np.mean([t.rewards["score"] for g in groups for t in g.trajectories]))


async def _play(
    engine: TorchEngine, exercise: Exercise, rng: np.random.Generator, key: tuple[int, int], needs: frozenset[str]
) -> tuple[Group, ...]:
    contexts = [exercise.first(rng) for _ in range(exercise.groups)]
    cool = Sampling(temperature=exercise.temperature, max_tokens=exercise.tokens, top_logprobs=wanted(needs))
    hows = [replace(cool, temperature=heat) for heat in exercise.heats] or [cool]
    each = await asyncio.gather(
        *(
            _episode(
                engine,
                exercise,
                hows[ticket % len(hows)],
                context,
                seat,
                (*key, ticket, member * exercise.seats + seat),
            )
            for ticket, context in enumerate(contexts)
            for member in range(exercise.members)
            for seat in range(exercise.seats)
        )
    )
    size = exercise.members * exercise.seats
    return tuple(
        Group(
            task=Task(key=str(context), env="exercise"),
            trajectories=tuple(each[ticket * size : (ticket + 1) * size]),
            ticket=key[1] * exercise.groups + ticket,
            version=key[1],
        )
        for ticket, context in enumerate(contexts)
    )


async def _episode(
    engine: TorchEngine, exercise: Exercise, how: Sampling, context: int, seat: int, key: tuple[int, ...]
) -> Trajectory:
    tokens = exercise.opening(context, seat)
    nodes, scores, actions = [Node.given(None, tokens, kind=Kind.prompt)], list[float](), list[str]()
    digests = [f"{context}"]
    about = context
    for turn in range(exercise.turns):
        request = Request(session="", prompt=tokens, sampling=how, key=(*key, turn))
        completion = await engine.generate(request)
        nodes.append(Node.sampled(len(nodes) - 1, completion, turn=turn, sampling=how))
        answers = tuple(map(as_answer, completion.tokens))
        scores.append(exercise.score(about, turn, answers))
        actions.append(str(answers))
        seen = exercise.between(about, turn)
        tokens = (*tokens, *completion.tokens, *seen)
        about = seen[0] - 1
        digests.append(f"{about}.{turn}")
        if turn + 1 < exercise.turns:
            nodes.append(Node.given(len(nodes) - 1, seen))
    name = f"p{seat}" if exercise.seats > 1 else ""
    turns = exercise.turns
    return Trajectory(
        id=".".join(map(str, key)),
        nodes=tuple(nodes),
        stop=Stop.done,
        rewards={"score": sum(scores) / turns, **({"seat": exercise.offset * seat} if seat else {})},
        turn_rewards=tuple(s / turns for s in scores) if turns > 1 else (),
        digests=tuple(digests[:-1]),
        next_digests=tuple(digests[1:]),
        actions=tuple(actions),
        agent=name,
        role="policy",  # as in a run: one policy plays all seats
        episode=key[-1] // exercise.seats,
        tags={"stratum": context % 2},
    )


def _minority(steps: Sequence[Sequence[Group]]) -> float:
    """The smaller share of two right answers among the episodes that gave one, over the contexts that were asked for."""
    counts: dict[int, list[int]] = {}
    for groups in steps:
        for group in groups:
            context = int(group.task.key)
            for t in group.trajectories:
                answer = as_answer(t.nodes[1].tokens[0])
                if answer in both(context):
                    counts.setdefault(context, [0, 0])[both(context).index(answer)] += 1
    return float(np.mean([min(c) / max(1, sum(c)) for c in counts.values()])) if counts else 0.0


def flipped(algorithm: Algorithm) -> Algorithm:
    """A planted fault: every advantage has the other sign."""
    return _spoilt(algorithm, lambda rows, _: [tuple(-v for v in row) for row in rows])


def shuffled(algorithm: Algorithm) -> Algorithm:
    """A planted fault: each trajectory gets the advantage of its neighbour in the group."""

    def apply(groups: tuple[Group, ...], state: Any) -> tuple[tuple[Group, ...], Any]:
        out, state = algorithm.advantage.apply(groups, state)
        return tuple(replace(g, trajectories=_moved(g.trajectories)) for g in out), state

    return replace(algorithm, advantage=algorithm.advantage._replace(apply=apply))


def _moved(members: tuple[Trajectory, ...]) -> tuple[Trajectory, ...]:
    values = [max((v for row in t.streams["advantage"] for v in row), key=abs, default=0.0) for t in members]
    return tuple(t.with_value("advantage", v) for t, v in zip(members, values[1:] + values[:1], strict=True))


def _spoilt(algorithm: Algorithm, change: Any) -> Algorithm:
    def apply(groups: tuple[Group, ...], state: Any) -> tuple[tuple[Group, ...], Any]:
        out, state = algorithm.advantage.apply(groups, state)

        def spoil(t: Trajectory) -> Trajectory:
            return t.with_stream("advantage", tuple(change(t.streams["advantage"], t)))

        return tuple(replace(g, trajectories=tuple(map(spoil, g.trajectories))) for g in out), state

    return replace(algorithm, advantage=algorithm.advantage._replace(apply=apply))


def inverted(algorithm: Algorithm) -> Algorithm:
    """A planted fault: ratios are taken the wrong way round, the anchor over the policy under training."""

    def apply(terms: Any, state: Any) -> tuple[Any, Any]:
        turned = 2 * terms.rollout - terms.new
        old = None if terms.old is None else turned.detach() + (terms.new - terms.old).detach()
        return algorithm.objective.apply(replace(terms, new=turned, old=old), state)

    return replace(algorithm, objective=algorithm.objective._replace(apply=apply))
