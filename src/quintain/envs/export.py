"""Worlds of one turn as a folder that Hugging Face `datasets` loads: questions, pictures, answers, and how to check any other answer."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from quintain import __version__
from quintain.envs.adapters.play import Play
from quintain.envs.scaffold import Scaffold
from quintain.ports import SOLO
from quintain.registry import entry
from quintain.types import QuintainError

CARD = """---
configs:
- config_name: default
  data_files:
{files}
---
# {title}

{count} questions of {worlds} by Quintain {version}, levels {levels}. Each row: `question`, the oracle's `answer`, {picture}and
where it comes from: `world`, `domain`, `level`, `seed`, `split`, `scaffold`.

`datasets.load_dataset("FOLDER")` loads it. Other answers may be right as well. This plays one and says what it earns, from 0 to 1:

```python
from quintain.envs.export import score

score(row, answer)
```
"""


class ExportError(QuintainError):
    """Worlds cannot be written in the way that was asked for; the message says what fits."""


def questions(
    world: str, levels: Sequence[int], seeds: Sequence[int], split: str, scaffold: Scaffold
) -> Iterator[tuple[dict[str, Any], np.ndarray | None]]:
    """A row and a picture (uint8 [side, side, 3], or None) for each seed, the levels in turn.

    Special cases: a question that was there before is left out (low levels of some worlds have few), and one whose oracle has no
    answer that earns all.

    Raises:
        ExportError: episodes of the world have more than one turn or seat.

    Example:
        >>> ((row, picture),) = questions("MiniSudoku", [1], [0], "test", Scaffold(grammar="word"))
        >>> row["world"], row["level"], score(row, row["answer"]), score(row, "no idea"), picture
        ('MiniSudoku', 1, 1.0, 0.0, None)
    """
    play = _fitting(world, levels[0], scaffold, split)
    domain, known = str(entry("world", world).tags.get("domain", "")), set[Any]()
    shown = json.dumps(dataclasses.asdict(scaffold))
    for seed in seeds:
        level = levels[seed % len(levels)]
        heard = play.begin(seed, {"level": level})[SOLO]
        row: dict[str, Any] = {
            "world": world,
            "domain": domain,
            "level": level,
            "seed": seed,
            "split": split,
            "scaffold": shown,
        }
        row |= {"question": heard.text, "answer": play.best()}
        asked = heard.text if heard.image is None else (heard.text, heard.image.tobytes())
        if asked not in known and score(row, row["answer"]) >= 1.0:
            known.add(asked)
            yield row, heard.image


def _fitting(world: str, level: int, scaffold: Scaffold, split: str = "train") -> Play:
    """The world, if an episode is one question."""
    play = Play(world, level, scaffold, split)
    play.begin(0)
    if play.env.limit != 1 or play.seats != (SOLO,):
        raise ExportError(
            f"an episode of {world} has {play.env.limit} turns and {len(play.seats)} seats, a question one of each; "
            "quintain demos writes such worlds as chats, and quintain list worlds --json tells the turns of each"
        )
    return play


@functools.lru_cache(maxsize=64)
def _player(world: str, split: str, scaffold: str) -> Play:
    return Play(world, 0, {**json.loads(scaffold), "image": 0, "caption": 1}, split)  # what is seen changes no score


def score(row: Mapping[str, Any], answer: str | None) -> float:
    """What an answer to the question of a row earns, in [0, 1]; 0 for None and for what cannot be read.

    Args:
        row: with `world`, `level`, `seed`, `split` and `scaffold`, as `questions` wrote it.
        answer: text, written as the question asks.
    """
    play = _player(str(row["world"]), str(row["split"]), str(row["scaffold"]))
    play.begin(int(row["seed"]), {"level": int(row["level"])})
    return min(max(play.say({SOLO: answer or ""})[SOLO].reward, 0.0), 1.0)


def write(
    folder: Path,
    worlds: Sequence[str],
    levels: Sequence[int],
    counts: Mapping[str, int],
    seed: int = 0,
    scaffold: Scaffold | None = None,
) -> dict[str, int]:
    """Write rows as JSON lines, a folder for each split, pictures as PNG files beside them, and a card.

    Args:
        folder: a new or empty one; it is there once all is written.
        worlds: names of worlds of one turn.
        levels: 0-9, taken in turn.
        counts: split -> instances of each world.
        seed: the first instance.
        scaffold: how worlds are shown and answered; unless told, an answer is written alone.

    Returns:
        Rows written, by split.

    Raises:
        ExportError: the folder holds something, or a world does not fit; said before anything is written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportError(f"{folder} is not an empty folder; choose another")
    scaffold, worlds = scaffold or Scaffold(grammar="word"), tuple(dict.fromkeys(worlds))
    for world in worlds:  # before anything is written
        _fitting(world, levels[0], scaffold)
    room = folder.with_name(f".{folder.name}.part")  # what is interrupted leaves no folder that looks whole
    shutil.rmtree(room, ignore_errors=True)
    try:
        written = _write(room, worlds, levels, counts, seed, scaffold)
        (room / "README.md").write_text(_card(worlds, levels, written, scaffold), encoding="utf-8")
        if folder.exists():
            folder.rmdir()
        room.rename(folder)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return written


def _write(
    folder: Path, worlds: Sequence[str], levels: Sequence[int], counts: Mapping[str, int], seed: int, scaffold: Scaffold
) -> dict[str, int]:
    """The rows and pictures of all splits; how many rows of each."""
    written: dict[str, int] = dict.fromkeys(counts, 0)
    for split, count in counts.items():
        there = folder / split
        there.mkdir(parents=True, exist_ok=True)
        with (there / "metadata.jsonl").open("w", encoding="utf-8") as file:
            for world in worlds:
                seeds = range(seed, seed + count)
                for row, picture in questions(world, levels, seeds, split, scaffold):
                    if picture is not None:
                        name = f"{world}-{row['level']}-{row['seed']}.png"
                        Pillow.fromarray(picture).save(there / name)
                        row = {"file_name": name, **row}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    written[split] += 1
    return written


def _card(worlds: Sequence[str], levels: Sequence[int], written: Mapping[str, int], scaffold: Scaffold) -> str:
    pattern = "*" if scaffold.image else "metadata.jsonl"
    files = "\n".join(f"  - split: {split}\n    path: {split}/{pattern}" for split, n in written.items() if n)
    told = ", ".join(worlds) if len(worlds) <= 6 else f"{len(worlds)} worlds"
    span = str(levels[0]) if len(levels) == 1 else f"{levels[0]} to {levels[-1]}"
    return CARD.format(
        files=files,
        title=told,
        count=", ".join(f"{n} {split}" for split, n in written.items()),
        worlds=told,
        version=__version__,
        levels=span,
        picture="a picture, " if scaffold.image else "",
    )
