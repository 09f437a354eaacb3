"""Worlds as a folder of questions that Hugging Face `datasets` loads: questions, pictures, answers, and how to check any other answer."""

from __future__ import annotations

import dataclasses
import errno
import functools
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from quintain import __version__
from quintain.envs.adapters.play import Play, scaffold_of
from quintain.envs.asking import ASKS, reason, too_few
from quintain.envs.files import beside, room_for
from quintain.envs.scaffold import Scaffold
from quintain.registry import entry, unknown
from quintain.types import QuintainError
from quintain.worlds.splits import SPLITS

CARD = """---
configs:
- config_name: default
  description: Quintain {version}, {digest}
  data_files:
{files}
---
# {title}

{count} questions of {worlds} by Quintain {version}, levels {levels}. Each row: `question`, the oracle's `answer`, `reason` (how
it comes about, for worlds of one turn), {picture}and where it comes from: `world`, `domain`, `level`, `seed`, `split`, `scaffold`,
`params`, `asks`.

`datasets.load_dataset("FOLDER")` loads it (`pip install datasets`). Other answers may be right as well. This plays one and says what it
earns, from 0 to 1:

```python
from quintain.envs.export import score

score(row, answer)
```
"""
OTHERS = {"moves": "every action that is possible", "last": "the action that ends an episode"}


class ExportError(QuintainError):
    """Worlds cannot be written in the way that was asked for; the message says what fits."""


def questions(
    world: str,
    levels: Sequence[int],
    seeds: Iterable[int],
    split: str,
    scaffold: Mapping[str, Any] | Scaffold | None = None,
    params: Mapping[str, Any] | None = None,
    asks: str = "plan",
) -> Iterator[tuple[dict[str, Any], np.ndarray | None]]:
    """A row and a picture (uint8 [side, side, 3], or None) for each seed, the levels in turn; `params` are knobs of the world, the
    `scaffold` is one or its options, with an answer that is written alone unless told.

    It `asks` for the `plan`: where an episode has several turns the answer is the whole of it, one action a line. Or for the `moves`: every
    action that is possible at the start, which any world can be asked for whose actions are a list. Or for the `last`: the action that ends
    an episode which the oracle has played up to there, where the oracle is sure of it. The `reason` of a row says how the answer comes
    about where an episode has one turn, and is "" elsewhere.

    Special cases: a question that was there before is left out (low levels of some worlds have few), and one whose oracle has no
    answer that earns all. For that 16 bytes of each question are remembered, about 100 MB for a million; whoever draws from endless
    seeds for longer begins anew now and then.

    Raises:
        ExportError: the world cannot be asked about in one question; see the functions `unfit` of `asking.ASKS`.

    Example:
        >>> ((row, picture),) = questions("MiniSudoku", [1], [0], "test", Scaffold(grammar="word"))
        >>> row["world"], row["level"], score(row, row["answer"]), score(row, "no idea"), picture
        ('MiniSudoku', 1, 1.0, 0.0, None)
    """
    scaffold = scaffold_of(scaffold, "word")
    play, ask = _fitting(world, levels, scaffold, split, params, asks), ASKS[asks]
    domain, known = str(entry("world", world).tags.get("domain", "")), set[bytes]()
    shown, told = json.dumps(dataclasses.asdict(scaffold)), json.dumps(dict(params or {}))
    for seed in seeds:
        level = levels[seed % len(levels)]
        seen_by = play.begin(seed, {"level": level})
        heard = ask.pose(play, seen_by[play.movers[0]])
        if heard is None:
            continue
        row: dict[str, Any] = {
            "world": world,
            "domain": domain,
            "level": level,
            "seed": seed,
            "split": split,
            "scaffold": shown,
            "params": told,
            "asks": asks,
        }
        row |= {"question": heard.text, "answer": ask.best(play), "reason": "" if asks == "moves" else reason(play)}
        asked = _mark(row, heard.image)
        if asked not in known and score(row, row["answer"]) >= 1.0:
            known.add(asked)
            yield row, heard.image


def _mark(row: Mapping[str, Any], picture: np.ndarray | None) -> bytes:
    """Equal questions, equal marks."""
    seen = b"" if picture is None else picture.tobytes()
    return hashlib.blake2b(row["question"].encode() + b"\0" + seen, digest_size=16).digest()


def _fitting(
    world: str,
    levels: Sequence[int],
    scaffold: Scaffold,
    split: str = "train",
    params: Mapping[str, Any] | None = None,
    asks: str = "plan",
) -> Play:
    """The world, if it can be asked about in one question at each level."""
    if asks not in ASKS:
        raise ExportError(unknown("question", asks, ASKS))
    play, unfit = Play(world, levels[0], scaffold, split, params), ASKS[asks].unfit
    if why := unfit(play, levels):
        one = [level for level in levels if not unfit(play, [level])]
        fits = f"; of these levels {', '.join(map(str, one))} can be asked about" if one else ""
        asked = next((name for name in OTHERS if name != asks and not ASKS[name].unfit(play, levels)), "")
        other = f"; --ask {asked} asks for {OTHERS[asked]}" if asked else ""
        raise ExportError(f"{why}{fits}{other}; quintain demos writes such worlds as chats")
    return play


@functools.lru_cache(maxsize=64)
def _player(world: str, split: str, scaffold: str, params: str) -> Play:
    seen = {**json.loads(scaffold), "image": 0, "caption": 2}  # what is seen changes no score
    return Play(world, 0, seen, split, json.loads(params))


def score(row: Mapping[str, Any], answer: str | None) -> float:
    """What an answer to the question of a row earns, in [0, 1]; 0 for None and for what cannot be read.

    Args:
        row: with `world`, `level`, `seed`, `split`, `scaffold`, `asks` and, unless there are none, `params`, as `questions` wrote it.
        answer: text, written as the question asks.
    """
    play = _player(str(row["world"]), str(row["split"]), str(row["scaffold"]), str(row.get("params", "{}")))
    told, ask = play.begin(int(row["seed"]), {"level": int(row["level"])}), ASKS[str(row.get("asks", "plan"))]
    return ask.grade(play, answer) if ask.pose(play, told[play.movers[0]]) is not None else 0.0


def write(
    folder: Path,
    worlds: Sequence[str],
    levels: Sequence[int],
    seeds: Mapping[str, Sequence[int]],
    scaffold: Scaffold | None = None,
    params: Mapping[str, Any] | None = None,
    asks: str = "plan",
) -> dict[str, int]:
    """Write rows as JSON lines, a folder for each split, pictures as PNG files beside them, and a card.

    No question is in two splits: one that would be stays in `test`, or else in `validation`.

    Args:
        folder: a new or empty one; it is there once all is written.
        worlds: their names.
        levels: 0-9, taken in turn.
        seeds: split -> the instances of each world.
        scaffold: how worlds are shown and answered; unless told, an answer is written alone.
        params: knobs of the worlds.
        asks: for the `plan`, the `moves` that are possible, or the `last` action; see `questions`.

    Returns:
        Rows written, by split.

    Raises:
        ExportError: the folder holds something, or a world does not fit; said before anything is written. Or there was no question.
        CannotWrite: the disk is full, or the folder cannot be made; nothing is left of it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportError(f"{folder} is not an empty folder; choose another")
    if folder.resolve() == Path.cwd():
        raise ExportError(f"{folder} is the working folder, which cannot be replaced; name a new one within it")
    scaffold, worlds = scaffold or Scaffold(grammar="word"), tuple(dict.fromkeys(worlds))
    for world in worlds:  # before anything is written
        _fitting(world, levels, scaffold, params=params, asks=asks)
    place = Path(beside(folder, tempfile.mkdtemp))
    room = (
        place / folder.name
    )  # what is interrupted leaves no folder that looks whole, and each run has a room of its own
    try:
        asked = functools.partial(questions, levels=levels, scaffold=scaffold, params=params, asks=asks)
        with room_for(folder):
            written = _write(room, worlds, seeds, asked)
            if not any(written.values()):
                few = too_few(_fitting(worlds[0], levels, scaffold, params=params, asks=asks))
                raise ExportError(
                    f"nothing to write: no instance of {', '.join(worlds)} has a question that the oracle answers{few}; "
                    "name other levels or more instances"
                )
            card = _card(worlds, levels, written, scaffold, _digest(room))
            (room / "README.md").write_text(card, encoding="utf-8")
        _name(room, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return written


def _name(room: Path, folder: Path) -> None:
    """Give what is whole its name; an empty folder is replaced, one that holds something is not."""
    try:
        room.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise ExportError(
            f"{folder} is no longer an empty folder: something else wrote it meanwhile; choose another"
        ) from error


def _write(
    folder: Path, worlds: Sequence[str], seeds: Mapping[str, Sequence[int]], asked: Callable[..., Iterator[Any]]
) -> dict[str, int]:
    """The rows and pictures of all splits; how many rows of each.

    A question that is in two, as in worlds that know no splits, stays where it is held out: in `test`, else in `validation`.
    """
    written: dict[str, int] = dict.fromkeys(seeds, 0)
    elsewhere = set[bytes]()
    for split in sorted(seeds, key=lambda name: SPLITS.index(name) if name in SPLITS else -1, reverse=True):
        there, here = folder / split, set[bytes]()
        there.mkdir(parents=True, exist_ok=True)
        with (there / "metadata.jsonl").open("w", encoding="utf-8") as file:
            for world in worlds:
                for row, picture in asked(world, seeds=seeds[split], split=split):
                    if (mark := _mark(row, picture)) in elsewhere:
                        continue
                    here.add(mark)
                    if picture is not None:
                        name = f"{world}-{row['level']}-{row['seed']}.png"
                        Pillow.fromarray(picture).save(there / name)
                        row = {"file_name": name, **row}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    written[split] += 1
        elsewhere |= here
    return written


def _digest(folder: Path) -> str:
    """Of all files in a folder: `datasets` caches what it loads by the card and the name of the folder, so each card must differ."""
    found = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _card(
    worlds: Sequence[str], levels: Sequence[int], written: Mapping[str, int], scaffold: Scaffold, digest: str
) -> str:
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
        digest=digest,
        levels=span,
        picture="a picture, " if scaffold.image else "",
    )
