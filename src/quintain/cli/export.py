"""`quintain export WORLD... --out FOLDER`: worlds of one turn as a dataset that Hugging Face `datasets` loads."""

from __future__ import annotations

import argparse
from pathlib import Path

from quintain.cli.args import sources
from quintain.cli.demos import levels_of, scaffold_of
from quintain.types import QuintainError

EXAMPLE = """example:
  quintain export MiniSudoku MaxRectangle -n 1000 --levels 0-5 --image 256 --out puzzles
  python -c "from datasets import load_dataset; print(load_dataset('puzzles')['train'][0])"

Splits share no instance; a question that was there before is left out (low levels of some worlds have few).
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
    parser.add_argument(
        "items", nargs="+", metavar="WORLD|env.scaffold.KEY=VALUE", help="`quintain list worlds` names worlds"
    )
    parser.add_argument("-n", type=int, default=100, help="training instances of each world (default 100)")
    parser.add_argument("--validation", type=int, default=0, metavar="N", help="and validation instances (default 0)")
    parser.add_argument("--test", type=int, default=0, metavar="N", help="and test instances (default 0)")
    parser.add_argument("--levels", default="0-9", help="one level or a range, taken in turn (default 0-9)")
    parser.add_argument("--seed", type=int, default=0, help="the first instance (default 0)")
    parser.add_argument(
        "--image",
        type=int,
        default=0,
        metavar="PIXELS",
        help="with a picture of that side; env.scaffold.caption=0 leaves the caption out",
    )
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    given = parser.parse_intermixed_args(arguments)
    worlds, overrides = sources(given.items)
    counts = {"train": given.n, "validation": given.validation, "test": given.test}
    if not worlds or min(counts.values()) < 0 or not any(counts.values()):
        raise QuintainError(
            f"nothing to write: {len(worlds)} worlds and {counts} instances of each; name a world and ask for one instance or more, "
            "such as: quintain export MiniSudoku -n 100 --out puzzles"
        )
    from quintain.envs.export import write

    image = [f"env.scaffold.image={given.image}"] if given.image else []
    scaffold = scaffold_of(["env.scaffold.grammar=word", *overrides, *image])
    asked = {split: n for split, n in counts.items() if n}
    found = write(given.out, worlds, levels_of(given.levels), asked, given.seed, scaffold)
    names = list(dict.fromkeys(worlds))
    told = ", ".join(f"{n} of {asked[split] * len(names)} {split}" for split, n in found.items())
    print(f"wrote {given.out}: {told} rows of {', '.join(names)}")
    if sum(found.values()) < sum(asked.values()) * len(names):
        print(
            "  the rest would have repeated a question, or has no answer that earns all; higher levels have more questions"
        )
    return 0
