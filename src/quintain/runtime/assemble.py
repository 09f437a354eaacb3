"""From a config to a run, and the run itself: the one place where all families meet."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from quintain.algorithms import Algorithm, assemble
from quintain.config import Config, ConfigError
from quintain.learn.pack import pack
from quintain.learn.publish import publish
from quintain.learn.ranks import Ranks
from quintain.learn.sft import imitate
from quintain.ledger import RunDir
from quintain.loop import LagError, Window, train
from quintain.parts import Cast, Reward, Rollout
from quintain.ports import Sink
from quintain.registry import build
from quintain.runtime import policy
from quintain.runtime.crew import Crew, CrewEngine
from quintain.runtime.evaluate import Evaluator
from quintain.runtime.keeper import Keeper
from quintain.runtime.launch import Place
from quintain.runtime.run import LocalRun, Parts, Plan
from quintain.runtime.stage import APART, Stage, env_of, make_stage, need_demos, tasks, turn_tokens
from quintain.types import Sampling, Weights

Say = Callable[[str], None]


@dataclass(kw_only=True, slots=True)
class Open:
    """A run that is ready to go: its bookkeeping, its stage, its model and ranks."""

    run: LocalRun
    stage: Stage
    model: Any
    ranks: Ranks


def make_algorithm(config: Config) -> Algorithm:
    """The algorithm of a config: its alias with options, with the chains that are written out in place of its own."""
    section = config.algorithm
    chains = {"advantage": section.advantage, "gate": section.gate, "objective": section.objective}
    return assemble(section.name, section.options, **chains)


def make_reward(config: Config) -> Reward:
    """The reward part of a config; `FILE.py:function` is a function of the user's.

    Raises:
        ConfigError: nothing would give a reward.
    """
    spec, env = config.reward, env_of(config)
    if spec["name"] == "env" and env in ("data", "tools"):
        raise ConfigError(
            f"reward is 'env', but the env {env!r} gives no reward, so that every episode would score 0; set "
            "reward=FILE.py:function, or compare with the answer of the data: reward=exact, number or math_verify"
        )
    if ":" in spec["name"]:
        options = {k: v for k, v in spec.items() if k != "name"}
        return build("reward", {"name": "function", "path": spec["name"], **options})
    return build("reward", spec)


def make_rollout(config: Config, group_size: int, **more: Any) -> Rollout:
    """The rollout part of a config, with groups of `group_size`.

    Raises:
        ConfigError: `rollout.options` sets what has a key of its own.
    """
    section = config.rollout
    for key in ("group_size", "max_turns", "context"):
        if key in section.options:
            own = "model.context" if key == "context" else f"rollout.{key}"
            raise ConfigError(f"rollout.options.{key} is {section.options[key]!r}, which {own} sets; set {own} instead")
    limits = {"max_turns": section.max_turns, "context": config.model.context}
    return build("rollout", {"name": section.name, "group_size": group_size, **limits, **section.options, **more})


def rollouts_of(config: Config, model: Any, algorithm: Algorithm) -> Callable[[int], Rollout]:
    """The rollout part by group size, within the context of the model, with what the algorithm needs."""
    context = min(config.model.context, policy.context_limit(model))  # no path is longer than the learner can read
    return partial(make_rollout, config, digests="digests" in algorithm.needs, context=context)


def groups_of_rank(config: Config, size: int) -> int:
    """The groups that each of `size` ranks plays in a step.

    Raises:
        ConfigError: they cannot share equally.
    """
    count = config.run.groups_per_step
    if count % size:
        raise ConfigError(
            f"run.groups_per_step is {count}, which {size} processes cannot share equally; make it a multiple of {size}"
        )
    return count // size


def check(config: Config) -> None:
    """Refuse what a run of this config would refuse, as far as that shows before a model is built.

    Raises:
        ConfigError: settings that contradict each other.
    """
    groups_of_rank(config, config.runtime.processes)
    section = config.runtime
    if section.actors and section.processes > 1:
        raise ConfigError(
            f"runtime.actors is {section.actors} and runtime.processes is {section.processes}: actors play for one process "
            "that learns; set runtime.processes=1, or runtime.actors=0"
        )
    make_rollout(config, config.rollout.group_size)
    make_reward(config)


def make_cast(config: Config, stage: Stage, engine: Any) -> Cast:
    """The policy as the only player."""
    section = config.rollout
    sampling = Sampling(
        temperature=section.temperature,
        top_p=section.top_p,
        top_k=section.top_k,
        min_p=section.min_p,
        max_tokens=turn_tokens(config),
        stop=tuple(stage.renderer.stop),
    )
    players = {"engines": {"policy": engine}, "renderers": {"policy": stage.renderer}}
    return Cast(env=stage.env, sampling=sampling, seed=config.run.seed, **players)


def make_evaluator(config: Config, stage: Stage, cast: Cast, ranks: Ranks, rollout: Rollout) -> Evaluator | None:
    """The evaluation of a config, or None when it asks for no instances; `rollout` plays one episode a task."""
    section = config.eval
    short, long = section.instances, section.final_instances or section.instances
    if not long:
        return None
    drawn = tasks(stage.sampler(section.split, APART, (0, 1)), max(short, long))
    reward = make_reward(config)
    options = {"short": short or long, "last": config.run.steps, "greedy": section.greedy}
    cast = replace(cast, sampling=replace(cast.sampling, temperature=section.temperature))
    return Evaluator(tasks=drawn, cast=cast, rollout=rollout, reward=reward, ranks=ranks, **options)


def open_run(config: Config, store: RunDir, ranks: Ranks, sinks: Sequence[Sink] = (), crew: Crew | None = None) -> Open:
    """Build every part and port of a config and refuse, before anything runs, what cannot work together."""
    stage = make_stage(config)
    model = policy.make_model(config, stage.renderer)
    algorithm = make_algorithm(config)
    learner = policy.make_learner(config, model, algorithm.needs, ranks, crew.weights if crew else "")
    cast = make_cast(config, stage, CrewEngine(crew) if crew else policy.make_engine(config, model))
    section, share = config.run, groups_of_rank(config, ranks.size)
    refills = {"steps": section.steps, "max_refills": section.max_refills}
    window = Window(share, section.max_lag, section.look, algorithm.gate, **refills)
    rollout = crew.rollout if crew else rollouts_of(config, model, algorithm)
    parts = Parts(
        rollout=rollout(config.rollout.group_size),
        reward=make_reward(config),
        sampler=stage.sampler("train", section.seed, (ranks.rank, ranks.size)),
        advantage=algorithm.advantage,
        objective=algorithm.objective,
        learner=learner,
        cast=cast,
        pack=partial(pack, skip_idle=not (algorithm.objective.needs & {"entropy", "ref", "values", "value"})),
        evaluate=make_evaluator(config, stage, cast, ranks, rollout(1)),
    )
    learner.check(algorithm.needs - {"digests"})
    plan = Plan(steps=section.steps, eval_every=config.eval.every, checkpoint_every=section.checkpoint_every)
    run = LocalRun(parts, window, plan, Keeper(store, ranks), sinks)
    return Open(run=run, stage=stage, model=model, ranks=ranks)


async def warm_start(config: Config, opened: Open, say: Say) -> bool:
    """Imitate the oracle for a fixed number of steps, if the config asks for it; False if the run drains before their end."""
    section, run = config.warm_start, opened.run
    if not section.steps:
        return True
    say(f"warm start: {section.steps} supervised steps on {section.demos} demonstrations of the oracle")
    written = need_demos(opened.stage)(section.demos, config.run.seed)
    demos = list(takewhile(lambda _: not run.draining, written))
    if run.asked():
        return False
    teacher = policy.make_teacher(config, opened.model, opened.ranks)

    async def tell(done: int) -> bool:
        if done < section.steps and done % -(-section.steps // 10) == 0:
            say(f"warm start: {done} of {section.steps} steps")
        return run.draining

    history = await imitate(teacher, demos, steps=section.steps, size=section.batch, stop_when=tell, every=1)
    teacher.close()
    if len(history) < section.steps:
        run.draining = True  # as the first rank says
        return False
    if opened.ranks.rank == 0:
        for step, row in enumerate(history):
            opened.run.keeper.write(step, "sft", dict(row))
    say(f"warm start: loss {history[0]['loss']:.3f} -> {history[-1]['loss']:.3f}")
    return True


def play(
    config: Config,
    folder: Path,
    place: Place | None = None,
    *,
    sinks: Sequence[Sink] = (),
    say: Say = lambda text: None,
    ready: Callable[[LocalRun], None] = lambda run: None,
) -> dict[str, Any]:
    """Train the run in `folder` as one rank, from its start or a checkpoint, until it is done or drained.

    Returns:
        `reason` (`done` or `drained`), `step`, and the last evaluation.
    """
    place = place or Place()
    policy.set_threads(config.runtime.threads)
    ranks = Ranks.join(place.rank, place.size, port=place.port)
    store = RunDir.open(folder, "a", rank=place.rank, record=config.run.record, keep=config.run.keep_checkpoints)
    crew = Crew(folder, config.runtime.actors) if config.runtime.actors else None
    try:
        check(config)
        opened = open_run(config, store, ranks, sinks, crew)
        opened.run.others = place.tell
        ready(opened.run)
        return asyncio.run(_play(config, opened, place, say, crew))
    finally:
        if crew is not None:
            crew.remove()
        store.close()
        ranks.close()


async def _play(config: Config, opened: Open, place: Place, say: Say, crew: Crew | None) -> dict[str, Any]:
    run = opened.run
    run.say = say
    if crew is not None:
        run.leave = crew.leave
    run.begin()
    if crew is None:
        return await _train(
            config, opened, place, lambda step: Weights(version=step, kind="pointer", source=opened.model)
        )
    crew.tell = lambda fact: run.keeper.write(run.step, "actor", fact)
    try:
        await crew.start()
        return await _train(config, opened, place, lambda step: publish(opened.model, step, crew.weights, opened.ranks))
    finally:
        await crew.close()


async def _train(config: Config, opened: Open, place: Place, weights: Callable[[int], Weights]) -> dict[str, Any]:
    """Begin or go on, train, evaluate; `weights(step)` are those that the first tickets are played with."""
    run, scores = opened.run, {}
    resumed = place.resume and run.restore(place.step)
    if resumed:
        run.say(f"resumed at step {run.step} of {config.run.steps}")
    elif not await warm_start(config, opened, run.say):
        run.say("stopped during the warm start: nothing of it is kept, to go on begins it anew")
        return _ended(run, "drained", scores)
    await run.cast.load(weights(run.step))
    if not resumed:
        run.capture()
        run.checkpoint()
    if run.owes():  # also what a drain gave up before
        run.say(f"evaluating {f'after step {run.step}' if run.step else 'before the first step'}")
        scores = await run.evaluate(run.step)
    gc.collect()
    gc.freeze()  # a full collection looks at millions of objects of torch: without it rollouts lose a third of their time
    if run.step < config.run.steps:
        try:
            await train(run)
        except LagError:  # refills without end have a cause where no episode gets through
            run.failures.check()
            raise
        run.asked()
        if run.step < config.run.steps:
            run.checkpoint()
        if not run.draining or run.step == config.run.steps:
            scores = await run.evaluate(run.step)
            if run.step < config.run.steps:
                run.say(f"no more tasks after step {run.step} of {config.run.steps}")
    cut = run.draining and (run.step < config.run.steps or run.unplayed)
    return _ended(run, "drained" if cut else "done", scores)


def _ended(run: LocalRun, reason: str, scores: Mapping[str, float]) -> dict[str, Any]:
    run.keeper.stopped(run.step, reason)
    return {"reason": reason, "step": run.step, "scores": dict(scores)}
