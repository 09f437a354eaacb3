"""`quintain sft [RECIPE|FILE|key=value...] --steps N --out FOLDER`: supervised steps on an oracle or a file, saved as a model folder."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import agree
from quintain.cli.evaluation import warn
from quintain.cli.paths import empty
from quintain.cli.places import setting
from quintain.registry import require_extra

WORDS = """This writes a model of whole words without a tokenizer, which `eval` and `model=` cannot read from a folder. Instead:
  quintain train {recipe} warm_start.steps={steps} steps=0   makes a run of it, which `eval` and `--resume` take
  quintain new model small keydoor_text        makes a folder with a tokenizer, for `quintain sft keydoor_text model=small`"""


def main(arguments: list[str]) -> int:
    """Imitate the oracle and write a folder that `transformers` loads."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain sft", description=__doc__)
    parser.add_argument("items", nargs="*", metavar="RECIPE|FILE|key=value")
    parser.add_argument("--steps", type=int, help="supervised steps (default: warm_start.steps of the config)")
    parser.add_argument("--out", type=Path, required=True, help="model folder to write")
    parser.add_argument(
        "--demos", type=Path, metavar="FILE", help="imitate what `quintain demos --out FILE` wrote (text only)"
    )
    parser.add_argument("-n", type=int, default=200, help="held-out instances to evaluate on; 0 is none")
    given = parser.parse_intermixed_args(arguments)
    require_extra("train", "torch", "transformers", "safetensors")
    files, overrides = setting(given.items)
    for file in files:
        if file.endswith(".jsonl"):
            raise configs.ConfigError(f"{file} is no recipe; where it has demonstrations, write --demos {file}")
    config = configs.make(*files, overrides=overrides)
    if given.steps is not None and given.steps < 1:
        raise configs.ConfigError(f"--steps is {given.steps}; it must be at least 1")
    if given.n < 0:
        raise configs.ConfigError(f"-n is {given.n}; it must be at least 0")
    if given.steps is not None:
        agree(f"--steps {given.steps}", given.steps, "warm_start.steps", overrides)
    config.warm_start.steps = given.steps or config.warm_start.steps or 100
    out = empty(given.out)
    advice = "" if config.model.folder else WORDS.format(recipe=shlex.join(given.items), steps=config.warm_start.steps)
    asyncio.run(_teach(config, out, given.n, advice, given.demos))
    print(f"wrote {given.out}")
    return 0


def told(steps: int) -> list[int]:
    """The steps whose loss is printed: about ten, the first and the last among them.

    Example:
        >>> told(1), told(3), told(11)[-2:], told(95)[:3], told(95)[-2:]
        ([1], [1, 2, 3], [10, 11], [1, 10, 19], [91, 95])
    """
    return sorted({*range(1, steps + 1, max(1, steps // 10)), steps})


def _shown(config: configs.Config, stage: Any, file: Path | None) -> Iterable[Any]:
    """What is imitated: the demonstrations of a file, or of the oracle where the config plays.

    Raises:
        ConfigError: there is neither.
    """
    from quintain.runtime.demo_files import read_demos
    from quintain.runtime.stage import written

    if file is not None:
        return written(config, read_demos(file), stage.renderer)
    if stage.demos is None:
        raise configs.ConfigError(
            "only worlds have an oracle to imitate, and none is played here: name a world (world=KeyDoor), or a file of demonstrations "
            "(--demos FILE)"
        )
    return stage.demos(config.warm_start.demos, config.run.seed)


async def _teach(config: configs.Config, out: Path, count: int, advice: str, file: Path | None) -> None:
    from quintain.evals.players import held_out
    from quintain.evals.stats import summary, table
    from quintain.learn.ranks import Ranks
    from quintain.learn.sft import imitate
    from quintain.runtime import policy
    from quintain.runtime.demo_files import told_apart
    from quintain.runtime.evaluate import play
    from quintain.runtime.failures import cut_of
    from quintain.runtime.playing import make_cast, make_reward, make_rollout
    from quintain.runtime.stage import make_stage
    from quintain.runtime.words import fitted

    config = fitted(config)
    policy.set_threads(config.runtime.threads)
    section, stage = config.warm_start, make_stage(config)
    if advice:
        print(advice, flush=True)
    model = policy.make_model(config, stage.renderer)
    teacher = policy.make_teacher(config, model, Ranks())
    demos = policy.readable(model, _shown(config, stage, file))
    history = await imitate(teacher, demos, steps=section.steps, size=section.batch)
    for step in told(len(history)):
        print(f"step {step}/{len(history)}  loss {history[step - 1]['loss']:.3f}")
    if count:
        warn(told_apart(file, config) if file is not None else "")
        cast = make_cast(config, stage, policy.make_engine(config, model))
        groups = await play(held_out(config, count, 7919), cast, make_rollout(config, 1), make_reward(config))
        print(table("after the supervised steps", summary(groups)))
        warn(cut_of(t for group in groups for t in group.trajectories).told())
    policy.export(model, stage.renderer, out)
