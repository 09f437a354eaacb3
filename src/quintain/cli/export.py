"""`quintain export WORLD... --out FOLDER`: worlds as a dataset of questions that Hugging Face `datasets` loads."""

from __future__ import annotations

import argparse
from pathlib import Path

from quintain.cli.args import agree, levels_of
from quintain.cli.places import TOLD, WORDS, places
from quintain.types import QuintainError

ASKED = ("plan", "moves", "last")  # as envs.asking has them, which --help does not wait for
EXAMPLE = """example:
  quintain export MiniSudoku MaxRectangle -n 1000 --levels 0-5 --image 256 --out puzzles
  python -c "from datasets import load_dataset; print(load_dataset('puzzles')['train'][0])"

--ask plan: the answer to a world of several turns is the whole plan, one action a line. Worlds with several seats, chance, opponents or
hidden parts have no such plan.
--ask moves: every action that is possible at the start, in worlds whose actions are a list.
--ask last: the oracle plays up to the action that ends an episode with success, and the answer is that action, in worlds of one seat whose
oracle is sure of it.
Splits share no instance; a question that was there before is left out (low levels of some worlds have few). In worlds of yours that know no
splits it stays in test, or else in validation, and is left out of train.
quintain.envs.export.score(row, answer) checks any answer."""


def main(arguments: list[str]) -> int:
    """Write the folder and say how many rows."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="quintain export",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("items", nargs="+", metavar=WORDS, help=f"{TOLD}, env.scaffold.KEY")
    parser.add_argument("-n", type=int, default=100, help="training instances of each world (default 100)")
    parser.add_argument("--validation", type=int, default=0, metavar="N", help="and validation instances (default 0)")
    parser.add_argument("--test", type=int, default=0, metavar="N", help="and test instances (default 0)")
    parser.add_argument("--levels", "--level", default="0-9", help="one level or a range, taken in turn (default 0-9)")
    parser.add_argument("--ask", choices=ASKED, default=ASKED[0], help="what each question asks for: see below")
    parser.add_argument("--seed", type=int, default=0, help="the first instance (default 0)")
    parser.add_argument(
        "--image", type=int, metavar="PIXELS", help="with a picture of that side; env.scaffold.caption=0: no caption"
    )
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    given = parser.parse_intermixed_args(arguments)
    if given.image is not None:
        agree(f"--image {given.image}", given.image, "env.scaffold.image", given.items)
    place = places(given.items)
    worlds = place.worlds
    counts = {"train": given.n, "validation": given.validation, "test": given.test}
    if not worlds or min(counts.values()) < 0 or not any(counts.values()):
        there = f"{len(worlds)} world{'s' * (len(worlds) != 1)}"
        raise QuintainError(
            f"nothing to write: {there} and {counts} instances of each; name a world and ask for one instance or more, "
            "such as: quintain export MiniSudoku -n 100 --out puzzles"
        )
    from quintain.envs.export import write
    from quintain.envs.scaffold import Scaffold

    scaffold = Scaffold.of(
        {"grammar": "word", **place.scaffold, **({} if given.image is None else {"image": given.image})}
    )
    asked = {split: n for split, n in counts.items() if n}
    seeds = {split: range(given.seed, given.seed + n) for split, n in asked.items()}
    found = write(given.out, worlds, levels_of(given.levels), seeds, scaffold, place.params, given.ask)
    names = list(dict.fromkeys(worlds))
    told = ", ".join(f"{n} of {asked[split] * len(names)} {split}" for split, n in found.items())
    print(f"wrote {given.out}: {told} rows of {', '.join(names)}")
    if sum(found.values()) < sum(asked.values()) * len(names):
        print(
            "  the rest would have repeated a question, also one of test or validation, or has no answer that earns all; higher levels "
            "have more questions"
        )
    return 0
