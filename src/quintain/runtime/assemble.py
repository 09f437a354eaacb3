"""From a config to a run, and the run itself: the one place where all families meet."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from quintain.algorithms import Algorithm, assemble
from quintain.config import Config, ConfigError
from quintain.learn.learner import TorchLearner
from quintain.learn.pack import pack
from quintain.learn.publish import publish, published
from quintain.learn.ranks import Ranks
from quintain.learn.topk import wanted
from quintain.ledger import RunDir
from quintain.ledger.recording import Recording
from quintain.loop import LagError, OverLimit, Window, train
from quintain.parts import reads_idle
from quintain.ports import Sink
from quintain.runtime import cluster as clusters
from quintain.runtime import learner_pool, policy
from quintain.runtime.affinity import Affinity
from quintain.runtime.beside import Beside
from quintain.runtime.check import check
from quintain.runtime.crew import Crew
from quintain.runtime.crew_engine import CrewEngine, PinnedCrewEngine
from quintain.runtime.drawn import astray, drawn_places
from quintain.runtime.env_pool import EnvPool
from quintain.runtime.evaluate import Evaluator, make_evaluator
from quintain.runtime.fits import cramped
from quintain.runtime.keeper import Keeper
from quintain.runtime.launch import Place, groups_of_rank
from quintain.runtime.leading import leading
from quintain.runtime.learner_group import GroupLearner
from quintain.runtime.measure import apart
from quintain.runtime.memory import settle
from quintain.runtime.playing import close_engines, make_cast, make_reward, rollouts_of, training_only
from quintain.runtime.processes import Processes
from quintain.runtime.run import LocalRun, Parts, Plan
from quintain.runtime.stage import Stage, make_stage
from quintain.runtime.vouch import make_proof
from quintain.runtime.warm import warm_start
from quintain.runtime.watch import Watch, attach, watched
from quintain.types import Weights
from quintain.waits import waiting

Say = Callable[[str], None]
# settings that an evaluation depends on: with others than it had, it tells of something else
JUDGED = ("env.", "eval.", "reward", "rollout.", "model.", "engine.", "data", "columns")


@dataclass(kw_only=True, slots=True)
class Open:
    """A run that is ready to go: its bookkeeping, its stage, its model, ranks and learner."""

    run: LocalRun
    stage: Stage
    model: Any
    ranks: Ranks
    learner: TorchLearner | GroupLearner


def make_algorithm(config: Config) -> Algorithm:
    """The algorithm of a config: its alias with options, with the chains that are written out in place of its own.

    Raises:
        ConfigError: it reads hints, and the rollout shows none.
    """
    section = config.algorithm
    chains = {"advantage": section.advantage, "gate": section.gate, "objective": section.objective}
    made = assemble(section.name, section.options, form=section.preset, **chains)
    hint = config.rollout.options.get("hint") or {}
    for tag, setting in (("hint", "text"), ("critique", "critique")):
        if f"tag:{tag}" in made.needs and config.rollout.name == "episodes" and not hint.get(setting):
            raise ConfigError(
                f"algorithm {section.name} puts the tag {tag!r} in place of a hint, and the rollout shows none; set "
                f"rollout.options.hint.text{'' if setting == 'text' else ' and rollout.options.hint.critique'}"
            )
    return made


def make_crew(config: Config, folder: Path) -> Crew | None:
    """The actors of a run, over a cluster or as processes of this machine; None where this process plays itself."""
    if config.cluster.pools:
        transport = clusters.transport(config, folder)
        crew = Crew(transport, len(clusters.slots(config.cluster)), affinity=Affinity(config.cluster.prefill_share))
        if config.cluster.reward_tasks:
            crew.reward = transport.reward(config, lambda fact: crew.tell(fact))
        return crew
    section = config.runtime
    if not section.actors:
        return None
    return Crew(Processes(folder, section.heartbeat_s), section.actors, spares=section.spares)


def make_learner(
    config: Config, stage: Stage, algorithm: Algorithm, ranks: Ranks, crew: Crew | None
) -> tuple[Any, Any]:
    """The model under training and its learner; a learner group holds its own models."""
    if crew is not None and learner_pool.learner_pool(config) is not None:
        return None, GroupLearner(algorithm.objective, crew.weights, sharded=config.learner.shard == "full")
    model = policy.make_model(config, stage.renderer)
    return model, policy.make_learner(config, model, algorithm.needs, ranks, crew.weights if crew else "")


def make_beside(
    config: Config, stage: Stage, model: Any, evaluator: Evaluator | None, crew: Crew | None
) -> Beside | None:
    """The evaluation on a copy of the policy while training goes on, where the config asks for it.

    Raises:
        ConfigError: the engine cannot give its copy back, so that a run that drains could not go on with it.
    """
    if not config.eval.beside or evaluator is None:
        return None
    if crew is not None:
        engine = PinnedCrewEngine(crew)
        cast = replace(evaluator.cast, engines={"policy": engine})
        return Beside(replace(evaluator, cast=cast), engine, partial(published, crew.weights), engine.save)
    own = policy.make_engine(config, model, own=True)
    held = getattr(own, "model", None)
    if held is None:
        raise ConfigError(
            f"eval.beside is true, but the engine {config.engine.name!r} cannot give back the weights that it holds; set "
            "engine.name=torch or runtime.actors, or eval.beside=false"
        )
    cast = replace(evaluator.cast, engines={"policy": own})
    live = partial(Weights, kind="pointer", source=model)
    return Beside(replace(evaluator, cast=cast), own, lambda step: live(version=step), partial(policy.save, held))


def open_run(config: Config, store: RunDir, ranks: Ranks, sinks: Sequence[Sink] = (), crew: Crew | None = None) -> Open:
    """Build every part and port of a config and refuse, before anything runs, what cannot work together."""
    stage = make_stage(config)
    algorithm = make_algorithm(config)
    model, learner = make_learner(config, stage, algorithm, ranks, crew)
    engine, topk = CrewEngine(crew) if crew else policy.make_engine(config, learner.playing), wanted(algorithm.needs)
    cast = make_cast(config, stage, engine, topk)
    proof = make_proof(config, learner, cast, crew)
    section, share = config.run, groups_of_rank(config, ranks.size)
    more = {"max_refills": section.max_refills, "over": OverLimit(section.over_limit, section.ahead)}
    window = Window(share, section.max_lag, section.look, algorithm.gate, steps=section.steps, **more)
    rollout = crew.rollout if crew else rollouts_of(config, policy.context_limit(model), algorithm.needs)
    parts = Parts(
        rollout=rollout(config.rollout.group_size, **training_only(config)),
        reward=crew.reward if crew and crew.reward else make_reward(config),
        sampler=stage.sampler("train", section.seed, (ranks.rank, ranks.size)),
        advantage=algorithm.advantage,
        objective=algorithm.objective,
        learner=learner,
        cast=replace(cast, prove=proof.synced),
        pack=partial(pack, skip_idle=not reads_idle(algorithm.objective), topk=topk),
        evaluate=make_evaluator(config, stage, cast, ranks, partial(rollout, 1)),
        proof=proof,
    )
    parts.beside = make_beside(config, stage, model, parts.evaluate, crew)  # pyrefly: ignore
    learner.check(algorithm.needs)
    played = config.rollout
    care = {"quarantine": played.quarantine, "drop_failed": played.drop_failed}
    asked = (played.name, played.group_size)
    every = {"eval_every": config.eval.every, "checkpoint_every": section.checkpoint_every}
    kinds = {"racing": config.rollout.redundancy > 0, "apart": apart(config)}
    plan = Plan(steps=section.steps, asked=asked, **kinds, **every, **care)
    run = LocalRun(parts, window, plan, Keeper(store, ranks), sinks)
    return Open(run=run, stage=stage, model=model, ranks=ranks, learner=learner)


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

    Raises:
        StoppedEarly: `place.check_in` raised it before anything was built.
    """
    place = place or Place()
    policy.set_threads(config.runtime.threads)
    ranks = Ranks.join(place.rank, place.size, port=place.port, check_in=place.check_in)
    record = Recording.of_rank(config.run.record, place.rank, place.size)
    store = RunDir.open(folder, "a", rank=place.rank, record=record, keep=config.run.keep_checkpoints)
    crew = opened = None
    try:
        with watched(config, folder, place) as watch:
            check(config)
            crew = make_crew(config, folder)
            with waiting("build"):
                opened = open_run(config, store, ranks, sinks, crew)
            opened.run.others = place.tell
            attach(watch, opened.run, crew, say)
            ready(opened.run)
            return asyncio.run(_play(config, opened, place, say, crew, watch))
    finally:
        store.close()
        ranks.close()
        if opened is not None:
            opened.learner.close()  # an error may have left it in the middle of a version
        if crew is not None:
            crew.remove()


async def _play(
    config: Config, opened: Open, place: Place, say: Say, crew: Crew | None, watch: Watch
) -> dict[str, Any]:
    run = opened.run
    watch.clock.start()
    run.say = say
    if isinstance(run.parts.evaluate, Evaluator):
        run.parts.evaluate = replace(run.parts.evaluate, say=say)
    if crew is not None:
        run.leave = crew.leave
    run.begin()
    if isinstance(opened.stage.env, EnvPool):
        opened.stage.env.tell = run.env_died
    if crew is None:
        try:
            return await _train(config, opened, place, watch, partial(_live, opened.learner))
        finally:
            await close_engines(run.cast)
    crew.tell = lambda fact: run.keeper.write(run.step, "actor", fact)
    crew.env_died = run.env_died
    try:
        await crew.start()
        async with leading(opened.learner, crew.transport, run):
            return await _train(config, opened, place, watch, partial(_first, opened, crew.weights))
    finally:
        await crew.close()


async def _live(learner: Any, step: int) -> Weights:
    return Weights(version=step, kind="pointer", source=learner.whole())


async def _first(opened: Open, folder: str, step: int) -> Weights:
    if isinstance(opened.learner, GroupLearner):
        return await opened.learner.show(step)
    return publish(opened.model, step, folder, opened.ranks)


async def _train(
    config: Config, opened: Open, place: Place, watch: Watch, weights: Callable[[int], Awaitable[Weights]]
) -> dict[str, Any]:
    """Begin or go on, train, evaluate; `weights(step)` are those that the first tickets are played with."""
    run, scores = opened.run, {}
    if narrow := policy.narrower(config, opened.model):
        run.say(narrow)
    for told in filter(None, (cramped(config, opened.stage.renderer, drawn_places(config)), astray(config))):
        run.say(f"WARNING: {told}")
    alike = not any(key.startswith(JUDGED) for key in place.changed)
    resumed = place.resume and run.restore(place.step, alike)
    watch.went_on = True
    if resumed:
        if place.changed:
            run.keeper.write(run.step, "changed", {"settings": {k: list(pair) for k, pair in place.changed.items()}})
        run.say(_resumed(run.step, config.run.steps, run.keeper.store.path))
    elif not await warm_start(config, opened, run.say):
        run.say("stopped during the warm start: nothing of it is kept, to go on begins it anew")
        return _ended(run, "drained", scores)
    await run.cast.load(await weights(run.step))
    if not resumed:
        run.capture()
        run.checkpoint()
    if run.owes():  # also what a drain gave up before
        scores = await run.evaluate(run.step)
    await run.take_up()
    settle()
    if run.step < config.run.steps:
        try:
            await train(run)
        except LagError:  # refills without end have a cause where no episode gets through, or none is scored
            run.failures.check()
            run.failures.check_scored()
            raise
        run.asked()
        if run.step < config.run.steps:
            run.checkpoint()
        await run.settle()
        if not run.draining or run.step == config.run.steps:
            scores = await run.evaluate(run.step)
            if run.step < config.run.steps:
                run.say(f"no more tasks after step {run.step} of {config.run.steps}")
    await run.settle()
    if run.failure is not None:  # what drained it
        raise run.failure
    cut = run.draining and (run.step < config.run.steps or run.unplayed)
    return _ended(run, "drained" if cut else "done", scores)


def _resumed(step: int, steps: int, folder: Path) -> str:
    if step < steps:
        return f"resumed at step {step} of {steps}"
    more = f"--resume {shlex.quote(str(folder))} run.steps={2 * step or 100}"
    return f"all {step} steps are done, nothing is left to train; `quintain train {more}` trains on"


def _ended(run: LocalRun, reason: str, scores: Mapping[str, float]) -> dict[str, Any]:
    run.keeper.stopped(run.step, reason)
    return {"reason": reason, "step": run.step, "scores": dict(scores)}
