"""What `train`, `plan` and `eval` refuse before a model is made, without torch: settings that contradict each other or the data."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Sequence

from quintain.config import Config, ConfigError
from quintain.envs.world import world_of
from quintain.parts import remembering
from quintain.registry import names, user_object
from quintain.rewards.function import arguments, given
from quintain.runtime import cluster, learner_pool
from quintain.runtime.drawn import check_drawn, told_places
from quintain.runtime.launch import groups_of_rank
from quintain.runtime.playing import make_reward, make_rollout, training_only
from quintain.runtime.stage import data_sampler, env_of, refuse_pictures, rows_of
from quintain.samplers.dataset import Dataset
from quintain.types import Group, Stop, Task, Trajectory
from quintain.window import OverLimit
from quintain.worlds.kernel import check_level
from quintain.worlds.knobs import started


def check(config: Config) -> None:
    """Refuse a config that no run can have.

    Raises:
        ConfigError: settings that contradict each other.
        UnknownName: a part that does not exist; the nearest one is named.
        UnknownLevel: a world is asked for a level that it has not.
    """
    evaluated = config.eval.instances or config.eval.final_instances
    check_playing(config, "train", *([config.eval.split] if evaluated else []))
    check_drawn(config)
    refuse_pictures(config)
    _check_memory(config)
    groups_of_rank(config, config.runtime.processes)
    (over := OverLimit(config.run.over_limit, config.run.ahead)).check(config.run.max_lag)
    if config.run.look and not config.run.max_lag:
        raise ConfigError(
            f"run.look is {config.run.look} and run.max_lag is 0: a synchronous run plays nothing ahead that could overtake; set "
            "run.max_lag=1 or more, or run.look=0"
        )
    if not (over.exact or config.run.max_lag):
        raise ConfigError(
            f"run.over_limit is {over.policy!r} and run.max_lag is 0: no group of a synchronous run can come too late; set "
            "run.max_lag=1 or more, or run.over_limit=wait"
        )
    cluster.check(config)
    section = config.runtime
    if section.spares and not section.actors:
        raise ConfigError(
            f"runtime.spares is {section.spares} and runtime.actors is 0: spares take the place of actors; set runtime.actors=1 or "
            "more, or runtime.spares=0"
        )
    if section.actors and section.processes > 1:
        raise ConfigError(
            f"runtime.actors is {section.actors} and runtime.processes is {section.processes}: actors play for one process "
            "that learns; set runtime.processes=1, or runtime.actors=0"
        )
    learner_pool.check(config)
    if config.eval.beside and section.processes > 1:
        raise ConfigError(
            f"eval.beside is true and runtime.processes is {section.processes}: ranks meet in every evaluation; set "
            "runtime.processes=1 (and runtime.actors for overlap), or eval.beside=false"
        )


def _check_memory(config: Config) -> None:
    """A rollout of one's own that remembers is refused where no checkpoint could keep, or give back, what it does."""
    one = remembering(make_rollout(config, config.rollout.group_size, **training_only(config)))
    if one is not None and not callable(getattr(one, "restore", None)):
        raise ConfigError(
            f"rollout {config.rollout.name!r} has state(), which checkpoints keep, and no restore(state) that a resume could give it "
            "back to; add one"
        )
    if one is not None and (config.runtime.actors or config.cluster.pools):
        raise ConfigError(
            f"rollout {config.rollout.name!r} remembers (it has state()), and each actor would have a memory of its own that no "
            "checkpoint keeps; set runtime.actors=0 and no cluster.pools (runtime.processes may be more than 1)"
        )


def check_playing(config: Config, *splits: str) -> None:
    """Refuse what would otherwise show only when the first episode is played or scored; also an evaluation wants this much.

    Args:
        config: of the run.
        splits: those whose instances will be played.

    Raises:
        ConfigError: nothing gives a reward, or a function as a reward wants the answers of data that have none.
        RewardError: such a function asks for what nothing provides, or a judge does not take what it is given.
        UnknownLevel: a world is asked for a level that it has not.
        BadKnob: it is given a knob that it does not take.
        GenerationError: no instance of one of the splits has those knobs.
    """
    name, knobs = env_of(config), config.env.params
    if name in names("world"):
        for level in sorted(set(map(check_level, config.env.levels))):
            if knobs:  # a start tells more than a look at each: knobs may contradict each other
                for split in splits:
                    started(world_of(name), 0, level, split, knobs)
    make_rollout(config, config.rollout.group_size)
    make_reward(config)
    if ":" in config.reward["name"]:
        _check_answers(config, splits) if config.data else _check_arguments(config)


def _check_arguments(config: Config) -> None:
    """A function that asks for what no task of a world has is refused; those of samplers that do not tell may have anything."""
    if places := told_places(config):
        knobs = {name: value for place in places for name, value in place.knobs.items()}
        nobody = Trajectory(id="", nodes=(), stop=Stop.done)
        there = given(Group(task=Task(key="", env="", params=knobs), trajectories=(nobody,)), nobody)
        with contextlib.suppress(TypeError, ValueError):  # nothing to read a signature from: the run itself will tell
            arguments(user_object(config.reward["name"]), there, config.reward.get("options", {}))


def _check_answers(config: Config, splits: Sequence[str]) -> None:
    """A function with a parameter `answer` and no default for it gets None where rows have no answer."""
    where = config.reward["name"]
    try:
        wanted = inspect.signature(user_object(where)).parameters.get("answer")
    except (TypeError, ValueError):  # nothing to read a signature from: the run itself will tell
        return
    if wanted is None or wanted.default is not wanted.empty or "answer" in config.reward.get("options", {}):
        return
    tasks: list[Task] = []
    for split in {rows_of(config, split): split for split in splits}.values():
        sampler = data_sampler(config, split, 0, (0, 1))
        tasks += sampler.tasks if isinstance(sampler, Dataset) else filter(None, sampler.draw(sampler.init())[:1])
    bare = [task for task in tasks if "answer" not in task.params]
    if bare and len(bare) < len(tasks):
        raise ConfigError(
            f"the reward {where} wants `answer`, and {len(bare)} of {len(tasks)} rows of {config.data} have none, the first "
            f"{bare[0].key}: give each an answer, leave them out, or give the parameter a default"
        )
    if bare:
        columns = ", ".join(sorted(bare[0].params))
        raise ConfigError(
            f"the reward {where} wants `answer`, and no column of {config.data} is called so; "
            + (
                f"beside the prompt there are: {columns}; set columns.answer={min(bare[0].params)}"
                if columns
                else "it has the prompt only"
            )
        )
