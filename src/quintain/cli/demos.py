"""`quintain demos WORLD... -n N`: the oracle's play as chats, one JSON line each, to fine-tune any model on."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from quintain import __version__
from quintain import config as configs
from quintain.cli.args import sources
from quintain.types import QuintainError, Task

EXAMPLE = """example:
  quintain demos KeyDoor Sokoban -n 100 --levels 0-3 --slips 0.1 --out demos.jsonl

Each line holds `messages` in the form of the chat API (pictures as data URLs with env.scaffold.image=256), `imitate` (for each answer
whether it is the oracle's, not a slip), and where it comes from: world, seed, level, split, scaffold, oracle, version."""


def main(arguments: list[str]) -> int:
    """Write demonstrations and say how many."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="quintain demos",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "items", nargs="+", metavar="WORLD|env.scaffold.KEY=VALUE", help="`quintain list worlds` names worlds"
    )
    parser.add_argument("-n", type=int, default=10, help="demonstrations of each world (default 10)")
    parser.add_argument("--levels", default="0-9", help="one level or a range, taken in turn (default 0-9)")
    parser.add_argument("--split", default="train", help="train, validation or test")
    parser.add_argument("--seed", type=int, default=0, help="the first instance (default 0)")
    parser.add_argument(
        "--slips", type=float, default=0.0, help="share of turns with a stray move to recover from (default 0)"
    )
    parser.add_argument("--why", action="store_true", help="a line of the oracle's plan before each answer")
    parser.add_argument("--out", type=Path, help="file to write (default: standard output)")
    given = parser.parse_intermixed_args(arguments)
    given.worlds, overrides = sources(given.items)
    given.scaffold = scaffold_of(overrides)
    if not given.worlds:
        raise QuintainError(
            "name at least one world: quintain demos KeyDoor -n 100 (`quintain list worlds` names them)"
        )
    if given.n < 1:
        raise QuintainError(f"-n is {given.n}; at least one demonstration of each world must be asked for")
    if given.out is None:
        _write(given, sys.stdout)
        return 0
    if given.out.exists():
        raise QuintainError(f"{given.out} is there already; choose another file")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with given.out.open("w", encoding="utf-8") as file:
        count = _write(given, file)
    print(f"wrote {given.out}: {count} demonstrations of {', '.join(given.worlds)}")
    return 0


def _write(given: argparse.Namespace, file: TextIO) -> int:
    from quintain.envs.demos import demonstrations
    from quintain.envs.world import WorldEnv, world_of

    levels, count = levels_of(given.levels), 0
    for env in [WorldEnv(world_of(name), given.scaffold) for name in given.worlds]:
        name = env.facts.name
        tasks = _tasks(name, levels, given.split, given.seed)
        for task, turns in demonstrations(env, tasks, given.n, given.seed, given.slips, given.why):
            file.write(json.dumps(_line(env, task, turns), ensure_ascii=False) + "\n")
            count += 1
    return count


def _tasks(name: str, levels: range, split: str, seed: int) -> Iterator[Task]:
    while True:
        level = levels[seed % len(levels)]
        yield Task(key=f"{name}/{level}/{split}/{seed}", env=name, seed=seed, level=level, split=split)
        seed += 1


def _line(env: Any, task: Task, turns: Any) -> dict[str, Any]:
    """A demonstration with its provenance."""
    from quintain.engines.openai import chat_turns

    messages = [told for turn in turns for m in (*turn.messages, turn.answer) for told in chat_turns(m)]
    return {
        "messages": messages,
        "imitate": [not turn.slip for turn in turns],
        "world": task.env,
        "seed": task.seed,
        "level": task.level,
        "split": task.split,
        "oracle": env.facts.proof,
        "scaffold": dataclasses.asdict(env.scaffold),
        "version": __version__,
    }


def levels_of(text: str) -> range:
    """`3` or `0-5` as a range of levels."""
    low, _, high = text.partition("-")
    if not (low.isdigit() and (high or low).isdigit() and 0 <= int(low) <= int(high or low) <= 9):
        raise QuintainError(f"--levels {text}: give one level or a range from 0 to 9, such as 3 or 0-5")
    return range(int(low), int(high or low) + 1)


def scaffold_of(overrides: list[str]) -> Any:
    """What `env.scaffold.KEY=VALUE` ask for."""
    from quintain.envs.scaffold import Scaffold

    for word in overrides:
        if not word.startswith("env.scaffold."):
            raise QuintainError(f"{word}: this verb takes only env.scaffold.KEY=VALUE, such as env.scaffold.image=256")
    return Scaffold.of(configs.make(overrides=overrides).env.scaffold)
