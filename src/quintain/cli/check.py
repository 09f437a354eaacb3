"""What `train`, `plan` and `eval` refuse before anything is made: levels that no world has, a reward that wants what the data lack."""

from __future__ import annotations

import inspect

from quintain.config import Config, ConfigError


def check(config: Config) -> None:
    """Refuse the mistakes of a config that would otherwise show only when the first episode is played or scored.

    Raises:
        UnknownLevel: a world is asked for a level that it has not.
        ConfigError: a function as a reward wants the answers of data that have none.
    """
    from quintain.registry import names
    from quintain.runtime.stage import env_of
    from quintain.worlds.kernel import check_level

    if env_of(config) in names("world"):
        for level in config.env.levels:
            check_level(level)
    if config.data and ":" in config.reward["name"]:
        _check_answers(config)


def _check_answers(config: Config) -> None:
    """A function with a parameter `answer` and no default for it gets None where the data have no answers."""
    from quintain.registry import user_object
    from quintain.runtime.stage import data_sampler

    where = config.reward["name"]
    try:
        wanted = inspect.signature(user_object(where)).parameters.get("answer")
    except (TypeError, ValueError):  # nothing to read a signature from: the run itself will tell
        return
    if wanted is None or wanted.default is not wanted.empty or "answer" in config.reward.get("options", {}):
        return
    sampler = data_sampler(config, "train", 0, (0, 1))
    task, _ = sampler.draw(sampler.init())
    if task is not None and "answer" not in task.params:
        columns = ", ".join(sorted(task.params))
        raise ConfigError(
            f"the reward {where} wants `answer`, and no column of {config.data} is called so; "
            + (
                f"beside the prompt there are: {columns}; set columns.answer={min(task.params)}"
                if columns
                else "it has the prompt only"
            )
        )
