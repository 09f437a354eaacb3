"""`quintain demos WORLD... -n N`: the oracle's play as chats, one JSON line each, to fine-tune any model on."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from quintain import __version__
from quintain.cli.args import levels_of
from quintain.cli.places import TOLD, WORDS, places
from quintain.types import QuintainError, Task
from quintain.waits import Paced

EXAMPLE = """example:
  quintain demos KeyDoor Sokoban -n 100 --levels 0-3 --slips 0.1 --out demos.jsonl

Each line holds `messages` in the form of the chat API (pictures as data URLs with env.scaffold.image=256), `imitate` (for each answer
whether it is the oracle's, not a slip), the `reward` of the episode, and where it comes from: world, seat, seed, level, split,
scaffold, params, oracle, version. In worlds of several seats the oracle plays them all, and each seat that earned the reward is a line.

--why says before each answer how many moves are to go and the next of them, where the full caption tells all that the plan stands on;
elsewhere the next move alone, and that it is an estimate where it is one. An answer that is given at once has the solver's way there, step
by step from what is shown, and so has each next cell of a sudoku, a nonogram or a mine field. Slips have no reason."""


def main(arguments: list[str]) -> int:
    """Write demonstrations and say how many."""
    given = _parser().parse_intermixed_args(arguments)
    place = places(given.items)
    given.worlds, given.params, given.scaffold = place.worlds, place.params, place.scaffold
    if not given.worlds:
        raise QuintainError(
            "name at least one world: quintain demos KeyDoor -n 100 (`quintain list worlds` names them)"
        )
    if given.n < 1:
        raise QuintainError(f"-n is {given.n}; at least one demonstration of each world must be asked for")
    if given.seed < 0:
        raise QuintainError(f"--seed is {given.seed}; it must be at least 0")
    from quintain.envs.files import whole

    envs, levels = _envs(given), levels_of(given.levels)
    if given.out is None:
        _print(given, envs, levels)
        return 0
    with whole(given.out) as file:
        wrote = _write(given, envs, levels, file)
    print(
        f"wrote {given.out}: {_count(wrote['lines'], 'demonstration')} of {', '.join(given.worlds)}{_slipped(given, wrote)}"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="quintain demos",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("items", nargs="+", metavar=WORDS, help=f"{TOLD}, env.scaffold.KEY")
    parser.add_argument("-n", type=int, default=10, help="demonstrations of each world (default 10)")
    parser.add_argument("--levels", "--level", default="0-9", help="one level or a range, taken in turn (default 0-9)")
    parser.add_argument("--split", default="train", help="train (default), validation, test, or all: any instance")
    parser.add_argument("--seed", type=int, default=0, help="the first instance (default 0)")
    parser.add_argument(
        "--reward",
        type=float,
        default=1.0,
        metavar="R",
        help="least reward of an episode that is written (default 1: all); less where luck decides, as in poker",
    )
    parser.add_argument(
        "--slips",
        type=float,
        default=0.0,
        help="share of turns with a stray move to recover from, before episodes below --reward are left out (default 0)",
    )
    parser.add_argument(
        "--why", action="store_true", help="a line before each answer: what comes next of the plan, or how it was found"
    )
    parser.add_argument("--out", type=Path, help="file to write (default: standard output)")
    return parser


def _manner(given: argparse.Namespace) -> Any:
    from quintain.envs.demos import Manner

    return Manner(seed=given.seed, reward=given.reward, slips=given.slips, why=given.why)


def _envs(given: argparse.Namespace) -> list[Any]:
    """The worlds that are to be demonstrated, all of them looked at before anything is written."""
    from quintain.envs.demos import check
    from quintain.envs.scaffold import Scaffold
    from quintain.envs.world import WorldEnv, world_of

    scaffold = Scaffold.of(given.scaffold)
    envs, once, levels = [WorldEnv(world_of(name), scaffold) for name in given.worlds], [], levels_of(given.levels)
    for env in envs:
        check(env, _manner(given))
        tasks = _tasks(given, env.facts.name, levels)
        env.begin(next(tasks))  # knobs, split
        if given.slips and all(_at_once(env.world, task) for task in itertools.islice(tasks, len(levels))):
            once.append(env.facts.name)
    if once and len(once) == len(envs):
        raise QuintainError(
            f"--slips {given.slips:g}: {', '.join(once)}: one answer is given, after which nothing can be mended"
        )
    if once:
        print(f"no slips in {', '.join(once)}, where one answer is given", file=sys.stderr)
    return envs


def _at_once(world: Any, task: Task) -> bool:
    """Whether an instance has one turn."""
    return world.turns(world.start(task.seed, task.level, split=task.split, **task.params)) == 1


def _print(given: argparse.Namespace, envs: list[Any], levels: Sequence[int]) -> None:
    """Demonstrations on standard output; where that is full, nothing more is tried on it."""
    from quintain.envs.files import CannotWrite, room_for

    try:
        with room_for("standard output"):
            wrote = _write(given, envs, levels, sys.stdout)
            sys.stdout.flush()
        if told := _slipped(given, wrote).removeprefix("; "):
            print(told, file=sys.stderr)
    except CannotWrite:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still held goes nowhere
        raise


def _write(given: argparse.Namespace, envs: list[Any], levels: Sequence[int], file: TextIO) -> Counter[str]:
    """Write them, and count lines, turns and slips."""
    from quintain.runtime.spread import cores, spread

    wrote, whole, far = Counter[str](), given.n * len(envs), Paced()
    for env in envs:
        tasks = _tasks(given, env.facts.name, levels)
        for task, turns in spread(env, tasks, given.n, cores(), _manner(given)):
            file.write(json.dumps(_line(env, task, turns), ensure_ascii=False) + "\n")
            wrote.update(lines=1, turns=len(turns), slips=sum(turn.slip for turn in turns))
            far(f"{wrote['lines']} of {whole} demonstrations, {env.facts.name}")
    return wrote


def _slipped(given: argparse.Namespace, wrote: Counter[str]) -> str:
    """The share of slips in what is written, which is lower than that asked for where slips cost the reward."""
    share = wrote["slips"] / max(1, wrote["turns"])
    left = f" (--slips {given.slips:g} is of all that is played, also of episodes that came to less than --reward)"
    return (
        f"; {100 * share:.0f} % of the turns are slips{left}" if given.slips and wrote["turns"] > wrote["lines"] else ""
    )


def _tasks(given: argparse.Namespace, name: str, levels: Sequence[int]) -> Iterator[Task]:
    seed, split = given.seed, given.split
    while True:
        level = levels[seed % len(levels)]
        key = f"{name}/{level}/{split}/{seed}"
        yield Task(key=key, env=name, seed=seed, level=level, split=split, params=given.params)
        seed += 1


def _line(env: Any, task: Task, turns: Any) -> dict[str, Any]:
    """A demonstration with its provenance."""
    from quintain.engines.chat import chat, chat_tool

    return {
        "messages": chat(message for turn in turns for message in (*turn.messages, turn.answer)),
        **({"tools": [chat_tool(tool) for tool in env.tools]} if env.tools else {}),
        "imitate": [not turn.slip for turn in turns],
        "world": task.env,
        "seat": turns[0].seat,
        "seed": task.seed,
        "level": task.level,
        "split": task.split,
        "oracle": env.facts.proof,
        "reward": sum(turn.earned for turn in turns),  # as it is: a replay is compared with it
        "scaffold": dataclasses.asdict(env.scaffold),
        "params": dict(task.params),
        "version": __version__,
    }


def _count(n: int, word: str) -> str:
    return f"{n} {word}" + ("s" if n != 1 else "")
